/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* ethosu_execute: the commands of a stream: registers, transfers, operations. */
#include <string.h>

#include "ethosu_sim.h"

uint32_t ethosu_get(const ethosu_device *d, uint32_t code)
{
    return d->narrow[code - (uint32_t)ETHOSU_NARROW];
}

int32_t ethosu_signed(const ethosu_device *d, uint32_t code)
{
    return (int16_t)d->narrow[code - (uint32_t)ETHOSU_NARROW];
}

int64_t ethosu_address(const ethosu_device *d, uint32_t code)
{
    return (int64_t)(((uint64_t)d->high[code] << 32) | d->wide[code]);
}

const uint8_t *ethosu_bytes(ethosu_device *d, int32_t region, int64_t at, int64_t bytes)
{
    if (region < 0 || region >= (int32_t)ETHOSU_REGIONS || bytes < 0 || at < 0 ||
        at > (int64_t)d->region[region].bytes - bytes) {
        d->status = ETHOSU_ERR_ADDRESS;
        return NULL;
    }
    return d->region[region].read + at;
}

static void ethosu_transfer(ethosu_device *d)
{
    const int32_t to = (int32_t)ethosu_get(d, 0x131u);
    const int64_t at = ethosu_address(d, 0x31u);
    const int64_t n = ethosu_address(d, 0x32u);
    const uint8_t *const from = ethosu_bytes(d, (int32_t)ethosu_get(d, 0x130u), ethosu_address(d, 0x30u), n);

    if (from == NULL) {
        return;
    }
    if (to == ETHOSU_SHRAM) {
        const int64_t first = at - (int64_t)d->lut_at;

        if (first < 0 || first > (int64_t)ETHOSU_LUT_BYTES - n) {
            d->status = ETHOSU_ERR_ADDRESS;
        } else {
            (void)memcpy(d->lut + first, from, (size_t)n);
        }
        return;
    }
    if (ethosu_bytes(d, to, at, n) == NULL || d->region[to].write == NULL) {
        d->status = ETHOSU_ERR_ADDRESS;
        return;
    }
    (void)memmove(d->region[to].write + at, from, (size_t)n);
}

static void ethosu_set(ethosu_device *d, uint32_t code, uint32_t param)
{
    if (code < (uint32_t)ETHOSU_NARROW || code >= (uint32_t)ETHOSU_NARROW + (uint32_t)ETHOSU_NARROW_REGS) {
        d->status = ETHOSU_ERR_COMMAND;
        return;
    }
    d->narrow[code - (uint32_t)ETHOSU_NARROW] = (uint16_t)param;
}

/* One command of one word. */
static void ethosu_command(ethosu_device *d, uint32_t code, uint32_t param)
{
    switch (code) {
    case 0x01: /* INTERRUPT */
    case 0x11: /* DMA_WAIT */
    case 0x12: /* KERNEL_WAIT */
    case 0x13: /* PMU */
        break; /* each is done before the next begins */
    case 0x10: /* DMA */
        ethosu_transfer(d);
        break;
    case ETHOSU_CONV:
    case ETHOSU_DEPTHWISE:
    case ETHOSU_POOL:
    case ETHOSU_ELEMENTWISE:
        ethosu_operate(d, code, param);
        break;
    default:
        ethosu_set(d, code, param);
        break;
    }
}

void ethosu_execute(ethosu_device *d, const uint8_t *words, uint32_t count)
{
    uint32_t i = 0;

    while (d->status == ETHOSU_OK && i < count) {
        const uint8_t *const p = words + 4u * i;
        const uint32_t code = (uint32_t)p[0] | ((uint32_t)p[1] << 8);
        const uint32_t param = (uint32_t)p[2] | ((uint32_t)p[3] << 8);

        i++;
        if (code == 0x00u) {
            return;
        }
        if ((code & 0xC000u) == 0x4000u) {
            const uint32_t reg = code & 0x3FFFu;

            if (i == count || reg >= (uint32_t)ETHOSU_WIDE_REGS) {
                d->status = ETHOSU_ERR_COMMAND;
                return;
            }
            d->high[reg] = (uint16_t)param;
            d->wide[reg] = (uint32_t)p[4] | ((uint32_t)p[5] << 8) | ((uint32_t)p[6] << 16) | ((uint32_t)p[7] << 24);
            i++;
        } else {
            ethosu_command(d, code, param);
        }
    }
    if (d->status == ETHOSU_OK) {
        d->status = ETHOSU_ERR_STREAM;
    }
}

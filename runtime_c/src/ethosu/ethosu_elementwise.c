/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* ethosu_elementwise: operations on one or two elements. */
#include "ethosu_sim.h"

static int64_t ethosu_scaled(const ethosu_device *d, int64_t v)
{
    return d->per_channel != 0 ? v : ethosu_scale(v, d->wide[0x24], d->high[0x24], d->rounding);
}

/* The sum of two elements, or their difference: both scaled by 16 bits, or one of them by 32. */
static int64_t ethosu_sum(const ethosu_device *d, int64_t x, int64_t y, uint32_t mode)
{
    const uint32_t which = (ethosu_get(d, 0x105u) >> 8) & 3u;
    const int64_t other = d->ifm.bytes == 1 ? (int64_t)1 << 19 : (int64_t)1 << 14;

    if (which == 1u) {
        x = ethosu_scale(x, d->wide[0x25], d->high[0x25], d->rounding);
        y *= other;
    } else if (which == 2u) {
        x *= other;
        y = ethosu_scale(y, d->wide[0x25], d->high[0x25], d->rounding);
    } else {
        x *= (int64_t)(d->wide[0x25] & 0xFFFFu);
        y *= (int64_t)(d->wide[0x26] & 0xFFFFu);
    }
    return ethosu_scaled(d, mode == 2u ? x - y : x + y);
}

static int64_t ethosu_leading(int64_t x)
{
    uint32_t u = (uint32_t)x;
    int64_t n = 32;

    while (u != 0u) {
        u >>= 1;
        n--;
    }
    return n;
}

static int64_t ethosu_element(const ethosu_device *d, int64_t x, int64_t y, uint32_t mode)
{
    const uint32_t by = (uint32_t)y & 63u;

    switch (mode) {
    case 0: /* MUL */
        return d->ifm.bytes == 4 ? ethosu_scale(x * y, 1, d->high[0x24], d->rounding) : ethosu_scaled(d, x * y);
    case 1: /* ADD */
    case 2: /* SUB */
        return ethosu_sum(d, x, y, mode);
    case 3: /* LESSER */
        return x < y ? x : y;
    case 4: /* GREATER */
        return x > y ? x : y;
    case 5: /* LRELU */
        return x < 0 ? ethosu_scaled(d, x) : x;
    case 6: /* ABS */
        return ethosu_scaled(d, x < 0 ? -x : x);
    case 7: /* CLZ */
        return ethosu_leading(x);
    case 8: /* SHR */
        return ethosu_scale(x, 1, by, d->rounding);
    default:
        return by < 32u ? (int64_t)(int32_t)((uint32_t)x << by) : 0;
    }
}

void ethosu_elementwise(ethosu_device *d, uint32_t mode)
{
    const uint32_t how = ethosu_get(d, 0x180u);
    const int32_t unary = mode == 5u || mode == 6u || mode == 7u;
    const int32_t wide = d->ifm2.is_signed != 0 || d->ifm2.bytes == 4 ? 1 : 0;
    const int32_t number = wide != 0 ? ethosu_signed(d, 0x181u) : (int32_t)ethosu_get(d, 0x181u);

    if (mode > 9u) {
        d->status = ETHOSU_ERR_COMMAND;
    }
    for (int32_t oy = 0; oy < d->ofm.h && d->status == ETHOSU_OK; oy++) {
        for (int32_t ox = 0; ox < d->ofm.w; ox++) {
            for (int32_t c = 0; c < d->ofm.c; c++) {
                int64_t x = ethosu_load(d, &d->ifm, oy, ox, c);
                int64_t y = 0;

                if (unary == 0 && (how & 128u) != 0u) {
                    y = (int64_t)number - d->ifm2.zero;
                } else if (unary == 0) {
                    y = ethosu_load(d, &d->ifm2, (how & 1u) != 0u ? 0 : oy, (how & 2u) != 0u ? 0 : ox,
                                    (how & 4u) != 0u ? 0 : c);
                } else {
                    /* there is no second one */
                }
                if ((how & 64u) != 0u && unary == 0) {
                    const int64_t first = x;

                    x = y;
                    y = first;
                }
                ethosu_store(d, oy, ox, c, ethosu_finish(d, ethosu_element(d, x, y, mode)));
            }
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* ethosu_run: inputs in, the driver's actions, results out. */
#include <string.h>

#include "ethosu_sim.h"

#ifdef NNCC_ETHOSU_DRIVER

#undef ETHOSU_DRIVER_H /* Arm's header has the same guard as ours */
#include NNCC_ETHOSU_DRIVER

/* Runs actions on regions by Arm's driver. */
static ethosu_status ethosu_invoke_actions(const uint8_t *actions, uint32_t bytes, const ethosu_region *region)
{
    struct ethosu_driver *const driver = ethosu_reserve_driver();
    uint64_t base[ETHOSU_REGIONS];
    size_t size[ETHOSU_REGIONS];

    if (driver == NULL) {
        return ETHOSU_ERR_DRIVER;
    }
    for (int32_t i = 0; i < (int32_t)ETHOSU_REGIONS; i++) {
        base[i] = (uint64_t)(uintptr_t)region[i].read;
        size[i] = region[i].bytes;
    }

    const int failed = ethosu_invoke_v3(driver, actions, (int)bytes, base, size, (int)ETHOSU_REGIONS, NULL);

    ethosu_release_driver(driver);
    return failed == 0 ? ETHOSU_OK : ETHOSU_ERR_DRIVER;
}

#else

enum
{
    ETHOSU_ACT_CONFIG = 1,
    ETHOSU_ACT_STREAM = 2,
    ETHOSU_ACT_NOP = 5
};

static uint32_t ethosu_word(const uint8_t *p)
{
    return (uint32_t)p[0] | ((uint32_t)p[1] << 8) | ((uint32_t)p[2] << 16) | ((uint32_t)p[3] << 24);
}

/* The configuration: MACs of a core, cores, and where the tables of activations lie. */
static void ethosu_config(ethosu_device *d, uint32_t word)
{
    const uint32_t macs = 1u << (word & 15u);
    const uint32_t kib = (word >> 8) & 0xFFu;

    d->cores = macs > 256u ? 2u : 1u;
    d->macs = macs / d->cores;
    if (kib < 4u) {
        d->status = ETHOSU_ERR_STREAM;
        return;
    }
    d->lut_at = (kib / d->cores - 2u) * 1024u;
}

static void ethosu_actions(ethosu_device *d, const uint8_t *p, uint32_t words)
{
    uint32_t i = 1;

    if (words < 2u || ethosu_word(p) != 0x31504F43u) {
        d->status = ETHOSU_ERR_STREAM;
    }
    while (d->status == ETHOSU_OK && i < words) {
        const uint32_t w = ethosu_word(p + 4u * i);
        const uint32_t tag = w & 0xFFu;
        uint32_t n = 0;

        i++;
        if (tag == ETHOSU_ACT_CONFIG) {
            n = 2;
        } else if (tag == ETHOSU_ACT_STREAM) {
            n = (w >> 16) | ((w & 0xFF00u) << 8);
        } else if (tag > ETHOSU_ACT_NOP) {
            d->status = ETHOSU_ERR_STREAM;
        }
        if (n > words - i) {
            d->status = ETHOSU_ERR_STREAM;
        } else if (tag == ETHOSU_ACT_CONFIG) {
            ethosu_config(d, ethosu_word(p + 4u * i));
        } else if (tag == ETHOSU_ACT_STREAM) {
            ethosu_execute(d, p + 4u * i, n);
        }
        i += n;
    }
}

/* The device. */
static ethosu_device ethosu_npu;

/* Runs actions on regions by the simulator. */
static ethosu_status ethosu_invoke_actions(const uint8_t *actions, uint32_t bytes, const ethosu_region *region)
{
    ethosu_device *const d = &ethosu_npu;

    (void)memset(d, 0, sizeof(*d));
    (void)memcpy(d->region, region, sizeof(d->region));
    ethosu_actions(d, actions, bytes / 4u);
    return d->status;
}

#endif

/* Whether bytes lie in a region, one that may be written where write is not 0. */
static int32_t ethosu_inside(const ethosu_region *all, uint32_t region, uint32_t at, uint32_t bytes, int32_t write)
{
    return region < (uint32_t)ETHOSU_REGIONS && at <= all[region].bytes && bytes <= all[region].bytes - at &&
           (write == 0 || all[region].write != NULL);
}

ethosu_status ethosu_run(const uint8_t *actions, uint32_t action_bytes, const ethosu_region *regions,
                         uint32_t region_count, const ethosu_input *in, uint32_t in_count, const ethosu_output *out,
                         uint32_t out_count)
{
    ethosu_region all[ETHOSU_REGIONS];
    ethosu_status status;

    if (region_count > (uint32_t)ETHOSU_REGIONS) {
        return ETHOSU_ERR_ADDRESS;
    }
    (void)memset(all, 0, sizeof(all));
    (void)memcpy(all, regions, region_count * sizeof(regions[0]));
    for (uint32_t i = 0; i < in_count; i++) {
        if (ethosu_inside(all, in[i].region, in[i].at, in[i].bytes, 1) == 0) {
            return ETHOSU_ERR_ADDRESS;
        }
        (void)memcpy(all[in[i].region].write + in[i].at, in[i].data, in[i].bytes);
    }
    status = ethosu_invoke_actions(actions, action_bytes, all);
    for (uint32_t i = 0; i < out_count; i++) {
        if (ethosu_inside(all, out[i].region, out[i].at, out[i].bytes, 0) == 0) {
            return ETHOSU_ERR_ADDRESS;
        }
        (void)memcpy(out[i].data, all[out[i].region].read + out[i].at, out[i].bytes);
    }
    return status;
}

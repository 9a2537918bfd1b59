/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * ethosu_driver.h: how a model's firmware runs a command stream on an Arm Ethos-U. The sources that nncc ships stand
 * for the hardware: they execute streams with the same results bit for bit. There is one device.
 *
 * Where NNCC_ETHOSU_DRIVER is defined as the header of Arm's driver (-DNNCC_ETHOSU_DRIVER='<ethosu_driver.h>'), streams
 * run on the hardware by ethosu_reserve_driver and ethosu_invoke_v3. The driver has to be initialised, without fast
 * memory of its own; it cleans and invalidates caches by ethosu_flush_dcache and ethosu_invalidate_dcache.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a run returns. Whatever a stream holds, running it ends with one of these. */
typedef enum
{
    ETHOSU_OK = 0,
    ETHOSU_ERR_STREAM = 1,  /* no stream, or cut short */
    ETHOSU_ERR_COMMAND = 2, /* a command or a mode that there is not */
    ETHOSU_ERR_ADDRESS = 3, /* it reads or writes outside of its regions */
    ETHOSU_ERR_WEIGHTS = 4, /* damaged weights */
    ETHOSU_ERR_DRIVER = 5   /* Arm's driver refuses the stream, or it failed */
} ethosu_status;

/* Bytes of a region: write is NULL where it is read only. */
typedef struct
{
    const uint8_t *read;
    uint8_t *write;
    uint32_t bytes;
} ethosu_region;

/* An input that is copied, and where it goes in a region. */
typedef struct
{
    const void *data;
    uint32_t bytes;
    uint32_t region;
    uint32_t at;
} ethosu_input;

/* A result that is copied, and where it lies in a region. */
typedef struct
{
    void *data;
    uint32_t bytes;
    uint32_t region;
    uint32_t at;
} ethosu_output;

/*
 * Runs the stream in a driver's actions on up to eight regions, by number. Inputs are copied into them before,
 * results out of them behind.
 */
ethosu_status ethosu_run(const uint8_t *actions, uint32_t action_bytes, const ethosu_region *regions,
                         uint32_t region_count, const ethosu_input *in, uint32_t in_count, const ethosu_output *out,
                         uint32_t out_count);

#ifdef __cplusplus
}
#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * ethosu_driver.h: how a model's firmware runs a command stream on an Arm Ethos-U. The sources that nncc ships stand
 * for the hardware: they execute streams with the same results bit for bit. There is one device.
 */
#ifndef ETHOSU_DRIVER_H
#define ETHOSU_DRIVER_H

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
    ETHOSU_ERR_WEIGHTS = 4  /* damaged weights */
} ethosu_status;

/* An input, and where it goes in the memory. */
typedef struct
{
    const void *data;
    uint32_t bytes;
    uint32_t at;
} ethosu_input;

/* A result, and where it lies in the memory. */
typedef struct
{
    void *data;
    uint32_t bytes;
    uint32_t at;
} ethosu_output;

/*
 * Runs the stream in a driver's actions: constants are region 0, memory is region 1, fast is region 2. Inputs are
 * copied into the memory before, results out of it behind.
 */
ethosu_status ethosu_run(const uint8_t *actions, uint32_t action_bytes, const uint8_t *constants,
                         uint32_t constant_bytes, uint8_t *memory, uint32_t memory_bytes, uint8_t *fast,
                         uint32_t fast_bytes, const ethosu_input *in, uint32_t in_count, const ethosu_output *out,
                         uint32_t out_count);

#ifdef __cplusplus
}
#endif

#endif

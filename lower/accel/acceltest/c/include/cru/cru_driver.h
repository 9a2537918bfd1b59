/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cru_driver.h: the interface between a model's firmware and a CRU. A vendor's driver implements cru_run for the hardware
 * (compile with CRU_DRIVER_INSTALLED); the source beside it does so by a functional simulator.
 */
#ifndef CRU_DRIVER_H
#define CRU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    CRU_OK = 0,
    CRU_ERR_PROGRAM = 1, /* no CRU program, damaged, or with an unknown operation */
    CRU_ERR_MEMORY = 2,  /* less memory than the program needs */
    CRU_ERR_IO = 3       /* another number of inputs or outputs than the program's */
} cru_status;

/* An input or output of a run: int8_t in logical order, as many as the program says. */
typedef struct {
    const void *data;
} cru_input;

typedef struct {
    void *data;
} cru_output;

/*
 * Runs a program: copies the inputs into memory, executes the commands, copies the outputs back. memory is working memory,
 * aligned to 4 bytes, as is the program.
 */
cru_status cru_run(const void *program, size_t program_bytes, uint8_t *memory, size_t memory_bytes, const cru_input *in,
                   uint32_t in_count, const cru_output *out, uint32_t out_count);

#ifdef __cplusplus
}
#endif

#endif /* CRU_DRIVER_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Step by step: counts, and the bytes before and after a step that the case wants given or dumped. */
#ifndef NNCC_TRACING_H
#define NNCC_TRACING_H

#include "nncc_harness.h"

/* Words of a fill: step, offset, bytes; what eight bytes of noise keep, and what they are XORed with. */
#define NNCC_FILL_WORDS 7u

/* Opens cases.bin twice, for its dumps and its fills; 0 is success. */
int32_t nncc_tracing_open(void);

/* The inference that follows is traced: count dumps of the table at dump_table in cases.bin, and fills at fills_at.
 * 0 is success. */
int32_t nncc_tracing_start(const nncc_harness_model *m, uint32_t dump_table, uint32_t dump_count, uint32_t fills_at,
                           uint32_t fill_count);
void nncc_tracing_stop(void);

/* Ticks that tracing a step that does nothing costs. */
uint32_t nncc_tracing_cost(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_record.h: the size of a record of packed weights (nncc_helium.h), and the portable use of one. A file
 * that defines NNCC_RECORD_W4 as 1 has records of weights of 4 bits.
 */
#ifndef NNCC_HELIUM_RECORD_H
#define NNCC_HELIUM_RECORD_H

#include "nncc_helium_core.h"

/* Bytes of bias, multipliers and shifts in front of the weights of a record. */
#define NNCC_RECORD_HEAD 48

#ifndef NNCC_RECORD_W4
#define NNCC_RECORD_W4 0
#endif
/* Bytes of the weights of 4 channels for a vector of inputs. */
#if NNCC_RECORD_W4
#define NNCC_RECORD_VECTOR (2 * NNCC_HELIUM_BYTES)
#else
#define NNCC_RECORD_VECTOR (4 * NNCC_HELIUM_BYTES)
#endif

static inline int32_t nncc_record_bytes(int32_t vectors)
{
    return NNCC_RECORD_HEAD + NNCC_RECORD_VECTOR * vectors;
}

#if !NNCC_HELIUM_MVE

/* The weight of channel c for input i. */
static inline int32_t nncc_record_weight(const int8_t *w, int32_t c, int32_t i)
{
    const int8_t *v = w + i / NNCC_HELIUM_BYTES * NNCC_RECORD_VECTOR + i % NNCC_HELIUM_BYTES;
#if NNCC_RECORD_W4
    const int32_t two = v[c / 2 * NNCC_HELIUM_BYTES];
    const int32_t even = (two & 15) - ((two & 8) << 1);

    return c % 2 == 0 ? even : (two - even) / 16;
#else
    return v[c * NNCC_HELIUM_BYTES];
#endif
}

/* 4 output channels of one row of `depth` bytes. */
static inline void nncc_record_row(const nncc_helium_matmul_params *p, const int8_t *x, int32_t depth,
                                   const int8_t *record, int8_t y[4])
{
    const int8_t *w = record + NNCC_RECORD_HEAD;
    int32_t head[NNCC_RECORD_HEAD / 4];
    int32_t c;
    int32_t i;

    memcpy(head, record, sizeof head);
    for (c = 0; c < 4; c++) {
        uint32_t acc = (uint32_t)head[c];

        for (i = 0; i < depth; i++) {
            acc += (uint32_t)(x[i] * nncc_record_weight(w, c, i));
        }
        y[c] = nncc_rq_s8(acc, head[4 + c], head[8 + c], p->zero, p->act_min, p->act_max);
    }
}

#endif

#endif /* NNCC_HELIUM_RECORD_H */

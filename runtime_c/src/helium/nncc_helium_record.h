/* nncc_helium_record.h: the size of a record of packed weights (nncc_helium.h), and the portable use of one. */
#ifndef NNCC_HELIUM_RECORD_H
#define NNCC_HELIUM_RECORD_H

#include "nncc_helium_core.h"

/* Bytes of bias, multipliers and shifts in front of the weights of a record. */
#define NNCC_RECORD_HEAD 48

static inline int32_t nncc_record_bytes(int32_t vectors)
{
    return NNCC_RECORD_HEAD + 4 * NNCC_HELIUM_BYTES * vectors;
}

#if !NNCC_HELIUM_MVE

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
            acc += (uint32_t)(x[i] * w[(i / NNCC_HELIUM_BYTES * 4 + c) * NNCC_HELIUM_BYTES + i % NNCC_HELIUM_BYTES]);
        }
        y[c] = nncc_rq_s8(acc, head[4 + c], head[8 + c], p->zero, p->act_min, p->act_max);
    }
}

#endif

#endif /* NNCC_HELIUM_RECORD_H */

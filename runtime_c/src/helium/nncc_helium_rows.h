/*
 * nncc_helium_rows.h: walks over records and rows for the kernels nncc_helium_dot*: an including file defines
 * nncc_dot_pairs, which computes pairs of rows with the 4 channels of one record.
 */
#ifndef NNCC_HELIUM_ROWS_H
#define NNCC_HELIUM_ROWS_H

#include "nncc_helium_record.h"

#if NNCC_HELIUM_MVE

/* Lanes 0 to 3 of q0 and q1 from the accumulators of row 0 and row 1. */
#define NNCC_DOT_COLLECT                                                                                                           \
    "vmov q0[2], q0[0], r0, r4\nvmov q0[3], q0[1], r2, r6\nvmov q1[2], q1[0], r8, r12\nvmov q1[3], q1[1], r10, lr\n"
/* Bias in q5, multipliers in q6, shifts in q7, clamp in q3 and q4, zero point in r2, t free: accumulators to output values. */
#define NNCC_DOT_REQUANTISE(q, round, t)                                                                                           \
    "vqrdmulh.s32 " #q ", " #q ", q6\n" round(q, t) "vrshl.s32 " #q ", " #q ", q7\nvadd.i32 " #q ", " #q ", r2\n"            \
    "vmax.s32 " #q ", " #q ", q3\nvmin.s32 " #q ", " #q ", q4\n"
#define NNCC_DOT_ACCUMULATORS "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7"

static void nncc_dot_pairs(const nncc_helium_mac *p, const int8_t *x, const int8_t *record, int8_t *y, int32_t pairs);

#else

/* The portable body: rows 0 to 2 * pairs - 1 with the channels of one record. */
static void nncc_dot_pairs(const nncc_helium_mac *p, const int8_t *x, const int8_t *record, int8_t *y, int32_t pairs)
{
    int32_t r;

    for (r = 0; r < 2 * pairs; r++) {
        nncc_record_row(p, x, NNCC_HELIUM_BYTES * p->vectors, record, y);
        x += NNCC_HELIUM_BYTES * p->vectors;
        y += p->pitch;
    }
}

#endif

/* Fewer than 4 channels: what the record gives goes through a buffer. */
static inline void nncc_dot_narrow(const nncc_helium_mac *p, const int8_t *x, const int8_t *packed, int8_t *y, int32_t rows)
{
    nncc_helium_mac q = *p;
    int8_t two[8];
    int32_t r;

    q.pitch = 4;
    for (r = 0; r < rows; r += 2) {
        int32_t at = r + 2 <= rows ? r : rows - 2;

        nncc_dot_pairs(&q, x + at * NNCC_HELIUM_BYTES * p->vectors, packed, two, 1);
        memcpy(y + at * p->pitch, two, (size_t)p->channels);
        memcpy(y + (at + 1) * p->pitch, two + 4, (size_t)p->channels);
    }
}

/* All records over all rows; an odd last row is computed together with the one before it. */
static inline void nncc_dot_rows(const nncc_helium_mac *p, const int8_t *x, const int8_t *packed, int8_t *y, int32_t rows)
{
    int32_t record = nncc_record_bytes(p->vectors);
    int32_t c;

    if (p->channels < 4) {
        nncc_dot_narrow(p, x, packed, y, rows);
        return;
    }
    for (c = 0; c < p->channels; c += 4) {
        int8_t *to = y + (c + 4 <= p->channels ? c : p->channels - 4);

        nncc_dot_pairs(p, x, packed, to, rows / 2);
        if (rows % 2 != 0) {
            nncc_dot_pairs(p, x + (rows - 2) * NNCC_HELIUM_BYTES * p->vectors, packed, to + (rows - 2) * p->pitch, 1);
        }
        packed += record;
    }
}

#endif /* NNCC_HELIUM_ROWS_H */

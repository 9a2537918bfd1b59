/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_helium_copy.h: copies and fills of any number of bytes; nothing beyond is touched. */
#include "nncc_helium_core.h"
#include "nncc_short_runs.h"

/* n bytes, n may be 0 or less; and of the value v. */
static inline void nncc_helium_copy(int8_t *to, const int8_t *from, int32_t n)
{
    nncc_copy(to, from, n > 0 ? n : 0);
}

static inline void nncc_helium_fill(int8_t *to, int32_t v, int32_t n)
{
    nncc_set(to, (uint8_t)v, n > 0 ? n : 0);
}

/* What nncc_helium_gather copies: `count` pieces of n bytes; both are at least 1. */
typedef struct
{
    int32_t n;
    int32_t from_step; /* bytes from a piece to the next */
    int32_t to_step;
    int32_t count;
} nncc_pieces;

#if NNCC_HELIUM_ASM
/* Pieces of a vector or two; what is in front of the loop. */
#define NNCC_HELIUM_PIECES(front, load, store) \
    __asm volatile(front "dls lr, %[count]\n" \
                         "1:\n\t" load "add %[from], %[from], %[from_step]\n\t" store \
                         "add %[to], %[to], %[to_step]\n\t" \
                         "le lr, 1b\n\t" \
                   : [to] "+r"(to), [from] "+r"(from) \
                   : [n] "r"(n), [count] "r"(a->count), [from_step] "r"(from_step), [to_step] "r"(to_step) \
                   : "q0", "q1", "lr", "cc", "memory")
#endif

static inline void nncc_helium_gather(int8_t *to, const int8_t *from, const nncc_pieces *a)
{
    const int32_t n = a->n, from_step = a->from_step, to_step = a->to_step;

#if NNCC_HELIUM_ASM
    if (n == NNCC_HELIUM_BYTES) {
        NNCC_HELIUM_PIECES("", "vldrb.8 q0, [%[from]]\n\t", "vstrb.8 q0, [%[to]]\n\t");
        return;
    }
    if (n == 2 * NNCC_HELIUM_BYTES) {
        NNCC_HELIUM_PIECES("", "vldrb.8 q0, [%[from]]\n\tvldrb.8 q1, [%[from], #16]\n\t",
                           "vstrb.8 q0, [%[to]]\n\tvstrb.8 q1, [%[to], #16]\n\t");
        return;
    }
    if (n < NNCC_HELIUM_BYTES) {
        NNCC_HELIUM_PIECES("vctp.8 %[n]\n\t", "vpstt\n\tvldrbt.8 q0, [%[from]]\n\tvstrbt.8 q0, [%[to]]\n\t", "");
        return;
    }
#elif NNCC_HELIUM_MVE
    if (n != NNCC_HELIUM_BYTES) {
        const nncc_short_runs r = {n, a->count, from_step, to_step};

        nncc_copy_runs(&r, to, from);
        return;
    }
#endif
    for (int32_t i = a->count; i > 0; i--) {
        nncc_copy(to, from, n);
        from += from_step;
        to += to_step;
    }
}

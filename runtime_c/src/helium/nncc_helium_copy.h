/* nncc_helium_copy.h: copies and fills of any number of bytes; the last vector is predicated, so nothing beyond is touched. */
#ifndef NNCC_HELIUM_COPY_H
#define NNCC_HELIUM_COPY_H

#include "nncc_helium_core.h"

/* n bytes, n may be 0 or less. */
static inline void nncc_helium_copy(int8_t *to, const int8_t *from, int32_t n)
{
#if NNCC_HELIUM_MVE
    __asm volatile("wlstp.8 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[from]], #16\n\t"
                   "vstrb.8 q0, [%[to]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [to] "+r"(to), [from] "+r"(from)
                   : [n] "r"(n > 0 ? n : 0)
                   : "q0", "lr", "cc", "memory");
#else
    if (n > 0) {
        memcpy(to, from, (size_t)n);
    }
#endif
}

/* n bytes of the value v, n may be 0 or less. */
static inline void nncc_helium_fill(int8_t *to, int32_t v, int32_t n)
{
#if NNCC_HELIUM_MVE
    __asm volatile("vdup.8 q0, %[v]\n\t"
                   "wlstp.8 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vstrb.8 q0, [%[to]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [to] "+r"(to)
                   : [v] "r"(v), [n] "r"(n > 0 ? n : 0)
                   : "q0", "lr", "cc", "memory");
#else
    if (n > 0) {
        memset(to, (int)(uint8_t)v, (size_t)n);
    }
#endif
}

/* What nncc_helium_gather copies: rows of n bytes; n and rows are at least 1. */
typedef struct {
    int32_t n;
    int32_t from_step; /* bytes from a row to the next */
    int32_t to_step;
    int32_t rows;
} nncc_rows;

static inline void nncc_helium_gather(int8_t *to, const int8_t *from, const nncc_rows *r)
{
#if NNCC_HELIUM_MVE
    if (r->n <= NNCC_HELIUM_BYTES) {
        __asm volatile("vctp.8 %[n]\n\t"
                       "dls lr, %[rows]\n"
                       "1:\n\t"
                       "vpstt\n\t"
                       "vldrbt.8 q0, [%[from]]\n\t"
                       "vstrbt.8 q0, [%[to]]\n\t"
                       "add %[from], %[from], %[from_step]\n\t"
                       "add %[to], %[to], %[to_step]\n\t"
                       "le lr, 1b\n\t"
                       : [to] "+r"(to), [from] "+r"(from)
                       : [n] "r"(r->n), [rows] "r"(r->rows), [from_step] "r"(r->from_step), [to_step] "r"(r->to_step)
                       : "q0", "lr", "cc", "memory");
    } else {
        NNCC_REG(int8_t *, y, "r0", to);
        NNCC_REG(const int8_t *, x, "r1", from);
        NNCC_REG(int32_t, rows, "r4", r->rows);
        NNCC_REG(int32_t, n, "r5", r->n);
        NNCC_REG(int32_t, from_step, "r6", r->from_step);
        NNCC_REG(int32_t, to_step, "r8", r->to_step);

        __asm volatile("1:\n\t"
                       "mov r2, %[from]\n\t"
                       "mov r3, %[to]\n\t"
                       "dlstp.8 lr, %[n]\n"
                       "2:\n\t"
                       "vldrb.8 q0, [r2], #16\n\t"
                       "vstrb.8 q0, [r3], #16\n\t"
                       "letp lr, 2b\n\t"
                       "add %[from], %[from], %[from_step]\n\t"
                       "add %[to], %[to], %[to_step]\n\t"
                       "subs %[rows], %[rows], #1\n\t"
                       "bne 1b\n\t"
                       : [to] "+r"(y), [from] "+r"(x), [rows] "+r"(rows)
                       : [n] "r"(n), [from_step] "r"(from_step), [to_step] "r"(to_step)
                       : "r2", "r3", "q0", "lr", "cc", "memory");
    }
#else
    int32_t i;

    for (i = 0; i < r->rows; i++) {
        memcpy(to + i * r->to_step, from + i * r->from_step, (size_t)r->n);
    }
#endif
}

#endif /* NNCC_HELIUM_COPY_H */

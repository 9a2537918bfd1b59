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

static inline void nncc_helium_gather(int8_t *to, const int8_t *from, const nncc_pieces *a)
{
#if NNCC_HELIUM_ASM
    if (a->n == NNCC_HELIUM_BYTES) {
        __asm volatile("dls lr, %[count]\n"
                       "1:\n\t"
                       "vldrb.8 q0, [%[from]]\n\t"
                       "add %[from], %[from], %[from_step]\n\t"
                       "vstrb.8 q0, [%[to]]\n\t"
                       "add %[to], %[to], %[to_step]\n\t"
                       "le lr, 1b\n\t"
                       : [to] "+r"(to), [from] "+r"(from)
                       : [count] "r"(a->count), [from_step] "r"(a->from_step), [to_step] "r"(a->to_step)
                       : "q0", "lr", "cc", "memory");
    } else if (a->n == 2 * NNCC_HELIUM_BYTES) {
        __asm volatile("dls lr, %[count]\n"
                       "1:\n\t"
                       "vldrb.8 q0, [%[from]]\n\t"
                       "vldrb.8 q1, [%[from], #16]\n\t"
                       "add %[from], %[from], %[from_step]\n\t"
                       "vstrb.8 q0, [%[to]]\n\t"
                       "vstrb.8 q1, [%[to], #16]\n\t"
                       "add %[to], %[to], %[to_step]\n\t"
                       "le lr, 1b\n\t"
                       : [to] "+r"(to), [from] "+r"(from)
                       : [count] "r"(a->count), [from_step] "r"(a->from_step), [to_step] "r"(a->to_step)
                       : "q0", "q1", "lr", "cc", "memory");
    } else if (a->n < NNCC_HELIUM_BYTES) {
        __asm volatile("vctp.8 %[n]\n\t"
                       "dls lr, %[count]\n"
                       "1:\n\t"
                       "vpstt\n\t"
                       "vldrbt.8 q0, [%[from]]\n\t"
                       "vstrbt.8 q0, [%[to]]\n\t"
                       "add %[from], %[from], %[from_step]\n\t"
                       "add %[to], %[to], %[to_step]\n\t"
                       "le lr, 1b\n\t"
                       : [to] "+r"(to), [from] "+r"(from)
                       : [n] "r"(a->n), [count] "r"(a->count), [from_step] "r"(a->from_step), [to_step] "r"(a->to_step)
                       : "q0", "lr", "cc", "memory");
    } else {
        NNCC_REG(int8_t *, y, "r0", to);
        NNCC_REG(const int8_t *, x, "r1", from);
        NNCC_REG(int32_t, count, "r4", a->count);
        NNCC_REG(int32_t, n, "r5", a->n);
        NNCC_REG(int32_t, from_step, "r6", a->from_step);
        NNCC_REG(int32_t, to_step, "r8", a->to_step);

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
                       "subs %[count], %[count], #1\n\t"
                       "bne 1b\n\t"
                       : [to] "+r"(y), [from] "+r"(x), [count] "+r"(count)
                       : [n] "r"(n), [from_step] "r"(from_step), [to_step] "r"(to_step)
                       : "r2", "r3", "q0", "lr", "cc", "memory");
    }
#elif NNCC_HELIUM_MVE
    const nncc_short_runs r = {a->n, a->count, a->from_step, a->to_step};

    if (r.n == NNCC_HELIUM_BYTES) {
        for (int32_t i = r.count; i > 0; i--) {
            vstrbq_s8(to, vldrbq_s8(from));
            from += r.from_step;
            to += r.to_step;
        }
        return;
    }
    nncc_copy_runs(&r, to, from);
#else

    for (int32_t i = 0; i < a->count; i++) {
        memcpy(to + i * a->to_step, from + i * a->from_step, (size_t)a->n);
    }
#endif
}

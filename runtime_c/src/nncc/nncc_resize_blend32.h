/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_resize_blend32.h: two rows of the input blended into one of 32-bit values, and how a sum of them is rounded. */
#include "nncc_isa.h"
#include "nncc_mve.h"
#include "nncc_pair.h"
#include "nncc_resize_linear.h"

/* add + floor(v * m / 2^32) */
static inline int32_t nncc_resize_high(int32_t v, int32_t m, int32_t add)
{
#if NNCC_SIMD32 && NNCC_ASM
    int32_t r;

    __asm("smmla %0, %1, %2, %3" : "=r"(r) : "r"(v), "r"(m), "r"(add));
    return r;
#else
    return add + (int32_t)((int64_t)v * m >> 32);
#endif
}

#if NNCC_PAIR_MVE

static NNCC_RESIZE_APART void nncc_resize_blend32(const nncc_resize_linear_s8_params *p, const int8_t *a,
                                                  const int8_t *b, int32_t wa, int32_t wb, int32_t *row)
{
    __asm volatile("vdup.32 q2, %[wa]\n\t"
                   "wlstp.32 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.s32 q0, [%[a]], #4\n\t"
                   "vldrb.s32 q1, [%[b]], #4\n\t"
                   "vmlas.s32 q0, q2, %[bias]\n\t"
                   "vmla.s32 q0, q1, %[wb]\n\t"
                   "vstrw.32 q0, [%[row]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [a] "+l"(a), [b] "+l"(b), [row] "+l"(row)
                   : [n] "r"(p->in_w * p->channels), [wa] "r"(wa), [wb] "r"(wb), [bias] "r"(p->bias)
                   : "lr", "q0", "q1", "q2", "cc", "memory");
}

#elif NNCC_MVE_C

#define NNCC_RESIZE_BLEND32(what, row) \
    do { \
        NNCC_PUTW##what(row, vmlaq_n_s32(vmlasq_n_s32(NNCC_GET4##what(a), first, bias), NNCC_GET4##what(b), wb)); \
        a += 4; \
        b += 4; \
        row += 4; \
    } while (0)

static NNCC_RESIZE_APART void nncc_resize_blend32(const nncc_resize_linear_s8_params *p, const int8_t *a,
                                                  const int8_t *b, int32_t wa, int32_t wb, int32_t *row)
{
    const int32x4_t first = vdupq_n_s32(wa);
    const int32_t bias = p->bias;
    int32_t n = p->in_w * p->channels;

    NNCC_MVE_LOOP(n, 4, vctp32q, NNCC_RESIZE_BLEND32, row);
}

#else

static NNCC_RESIZE_APART void nncc_resize_blend32(const nncc_resize_linear_s8_params *p, const int8_t *a,
                                                  const int8_t *b, int32_t wa, int32_t wb, int32_t *row)
{
    const int32_t bias = p->bias;

    for (int32_t n = p->in_w * p->channels; n > 0; n--) {
        *row++ = *a++ * wa + bias + *b++ * wb;
    }
}

#endif

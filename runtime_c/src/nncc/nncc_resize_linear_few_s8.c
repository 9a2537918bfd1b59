/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_resize_linear_few_s8: the elements of a row of results one after the other, whatever pixel they are of: eight in
 * 12 instructions with Helium.
 */
#include "nncc_isa.h"
#include "nncc_mve.h"
#include "nncc_resize_blend16.h"
#include "nncc_resize_linear.h"

typedef int16_t nncc_resize_few_value;

/* The least sum whose ties go up. */
typedef struct
{
    int32_t up;
} nncc_resize_few_round;

static inline nncc_resize_few_round nncc_resize_few_rounding(const nncc_resize_linear_s8_params *p, const int8_t *x,
                                                             const int8_t *y)
{
    nncc_resize_few_round r = {p->out_zero * 256};

    (void)x;
    (void)y;
    return r;
}

static inline void nncc_resize_few_blend(const nncc_resize_linear_s8_params *p, const nncc_resize_few_round *r,
                                         const int8_t *a, const int8_t *b, int32_t wa, int32_t wb,
                                         nncc_resize_few_value *row)
{
    (void)r;
    nncc_resize_blend16(a, b, wa, wb, row, p->in_w * p->channels);
}

#if NNCC_MVE && NNCC_ASM

static NNCC_RESIZE_APART void nncc_resize_few_columns(const nncc_resize_linear_s8_params *p,
                                                      const nncc_resize_few_round *r, const nncc_resize_few_value *row,
                                                      const int16_t *at, int8_t *y)
{
    const int32_t n = p->out_w * p->channels;
    const int16_t *weight = at + n;

    __asm volatile("vmov.i16 q1, #1\n\t"
                   "wlstp.16 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrh.u16 q0, [%[at]], #16\n\t"
                   "vldrh.u16 q2, [%[row], q0, uxtw #1]\n\t"
                   "vldrh.u16 q3, [%[next], q0, uxtw #1]\n\t"
                   "vldrh.u16 q0, [%[weight]], #16\n\t"
                   "vsub.i16 q2, q2, q3\n\t"
                   "vmlas.s16 q2, q0, %[half]\n\t"
                   "vmla.s16 q2, q3, %[den]\n\t"
                   "vpt.s16 ge, q2, %[up]\n\t"
                   "vaddt.i16 q2, q2, q1\n\t"
                   "vshr.s16 q2, q2, #8\n\t"
                   "vstrb.16 q2, [%[y]], #8\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [at] "+r"(at), [weight] "+r"(weight), [y] "+l"(y)
                   : [n] "r"(n), [row] "r"(row), [next] "r"(row + p->channels), [half] "r"(127), [den] "r"(p->den),
                     [up] "r"(r->up + 127)
                   : "lr", "q0", "q1", "q2", "q3", "cc", "memory");
}

#elif NNCC_MVE

/* Rounded up at ties, and 1 less before that below the least sum whose ties go up: without a predicate. */
#define NNCC_RESIZE_FEW(what, y) \
    do { \
        const uint16x8_t i = vreinterpretq_u16_s16(NNCC_GETH##what(at)); \
        const int16x8_t b = NNCC_GATHERH##what(next, i); \
        const int16x8_t d = vsubq_s16(NNCC_GATHERH##what(row, i), b); \
        const int16x8_t s = vmlaq_n_s16(vmulq_s16(d, NNCC_GETH##what(weight)), b, den); \
\
        NNCC_PUT8##what(y, vrshrq_n_s16(vaddq_s16(s, vshrq_n_s16(vqsubq_n_s16(s, up), 15)), 8)); \
        at += 8; \
        weight += 8; \
        y += 8; \
    } while (0)

static NNCC_RESIZE_APART void nncc_resize_few_columns(const nncc_resize_linear_s8_params *p,
                                                      const nncc_resize_few_round *r, const nncc_resize_few_value *row,
                                                      const int16_t *at, int8_t *y)
{
    int32_t n = p->out_w * p->channels;
    const int16_t *weight = at + n;
    const nncc_resize_few_value *const next = row + p->channels;
    const int16_t den = (int16_t)p->den, up = (int16_t)r->up;

    NNCC_RESIZE_VECTORS(n, 8, vctp16q, NNCC_RESIZE_FEW);
}

#else

static NNCC_RESIZE_APART void nncc_resize_few_columns(const nncc_resize_linear_s8_params *p,
                                                      const nncc_resize_few_round *r, const nncc_resize_few_value *row,
                                                      const int16_t *at, int8_t *y)
{
    int32_t n = p->out_w * p->channels;
    const int16_t *weight = at + n;
    const nncc_resize_few_value *const next = row + p->channels;
    const int32_t den = p->den, up = r->up + 128;

    for (; n > 0; n--) {
        const int32_t i = *at++, b = next[i];
        const int32_t s = (row[i] - b) * *weight++ + (b * den + 128);

        *y++ = (int8_t)((s + ((s - up) >> 31)) >> 8);
    }
}

#endif

void nncc_resize_linear_few_s8(const nncc_resize_linear_s8_params *p, const int8_t *x, const int16_t *rows,
                               const int16_t *cols, void *scratch, int8_t *y)
{
    NNCC_RESIZE_LINEAR(nncc_resize_few);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_batch_matmul_s16: two rows by two columns at a time, VMLALDAVA over eight values of each: 9 instructions
 * for 32 MACs, about 33 for four results. Rows and columns whose values are no neighbours are put in lines first.
 */
#include "nncc_helium_core.h"

#if NNCC_MVE
#include <arm_mve.h>
#endif

/* What the products of a matrix share; the assembly has the offsets. Distances are bytes. */
typedef struct
{
    int32_t w_step; /* 0: from a line of the second operand to the next */
    int32_t k;      /* 4 */
    int32_t back;   /* 8: from behind a line to its beginning */
    int32_t next;   /* 12: from behind a line of the second operand to the one after the next */
    int32_t mult;   /* 16 */
    int32_t shift;  /* 20: to the left, so -1 or less */
    int32_t lo, hi; /* 24, 28 */
    int32_t w_off;  /* 32: results of two lines of the second operand */
    int8_t *y;      /* 36 */
    int32_t at[4];  /* 40: the results of lines (0, 0), (1, 0), (0, 1), (1, 1) */
    int32_t pairs;  /* 56 */
} nncc_bmm16_frame;

#if NNCC_HELIUM_ASM

/* Two lines from x0 and x1 times pairs of lines from w on. */
static void nncc_bmm16_pairs(nncc_bmm16_frame *f, const int16_t *x0, const int16_t *x1, const int16_t *w)
{
    NNCC_REG(nncc_bmm16_frame *, frame, "r0", f);
    NNCC_REG(const int16_t *, a, "r10", x0);
    NNCC_REG(const int16_t *, b, "r11", x1);
    NNCC_REG(const int16_t *, v, "r12", w);

    /* clang-format off */
    __asm volatile("vmov.32 q7[0],r0\n"
                   "ldrd r2,r3,[r0,#24]\n"
                   "vdup.32 q4,r2\n"
                   "vdup.32 q5,r3\n"
                   "add r2,r0,#40\n"
                   "vldrw.32 q6,[r2]\n"
                   "1:\n"
                   "vmov.32 r6,q7[0]\n"
                   "mov r0,#0\n"
                   "mov r1,#0\n"
                   "mov r2,#0\n"
                   "mov r3,#0\n"
                   "mov r4,#0\n"
                   "mov r5,#0\n"
                   "mov r8,#0\n"
                   "mov r9,#0\n"
                   "ldrd r6,lr,[r6]\n"
                   "add r6,r6,r12\n"
                   "dlstp.16 lr,lr\n"
                   "2:\n"
                   "vldrh.16 q0,[r10],#16\n"
                   "vldrh.16 q1,[r12],#16\n"
                   "vmlaldava.s16 r0,r1,q0,q1\n"
                   "vldrh.16 q2,[r11],#16\n"
                   "vmlaldava.s16 r2,r3,q2,q1\n"
                   "vldrh.16 q3,[r6],#16\n"
                   "vmlaldava.s16 r4,r5,q0,q3\n"
                   "vmlaldava.s16 r8,r9,q2,q3\n"
                   "letp lr,2b\n"
                   "vmov.32 r6,q7[0]\n"
                   "vmov q0[2],q0[0],r0,r4\n"
                   "vmov q0[3],q0[1],r2,r8\n"
                   "vmov q1[2],q1[0],r1,r5\n"
                   "vmov q1[3],q1[1],r3,r9\n"
                   "ldrd r0,r1,[r6,#8]\n"
                   "ldrd r2,r3,[r6,#16]\n"
                   "ldrd r4,r5,[r6,#32]\n"
                   "vdup.32 q2,r2\n"
                   "vmulh.u32 q0,q0,q2\n"
                   "vmla.s32 q0,q1,r2\n"
                   "vrshl.s32 q0,r3\n"
                   "vmax.s32 q0,q0,q4\n"
                   "vmin.s32 q0,q0,q5\n"
                   "vstrh.32 q0,[r5,q6]\n"
                   "vadd.i32 q6,q6,r4\n"
                   "ldr r2,[r6,#56]\n"
                   "sub r10,r10,r0\n"
                   "sub r11,r11,r0\n"
                   "add r12,r12,r1\n"
                   "subs r2,r2,#1\n"
                   "str r2,[r6,#56]\n"
                   "bne 1b\n"
                   : "+r"(frame), "+r"(a), "+r"(b), "+r"(v)
                   :
                   : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6",
                     "q7", "cc", "memory");
    /* clang-format on */
}

#else

/* The products of k values of two lines. */
static inline int64_t nncc_bmm16_sum(const int16_t *x, const int16_t *v, int32_t k)
{
    int64_t sum = 0;

#if NNCC_HELIUM_MVE
    for (; k > 0; k -= 8) {
        const mve_pred16_t rest = vctp16q((uint32_t)k);

        sum = vmlaldavaq_s16(sum, vldrhq_z_s16(x, rest), vldrhq_z_s16(v, rest));
        x += 8;
        v += 8;
    }
#else
    for (int32_t i = 0; i < k; i++) {
        sum += x[i] * v[i];
    }
#endif
    return sum;
}

/* Two lines from x0 and x1 times pairs of lines from w on. */
static void nncc_bmm16_pairs(nncc_bmm16_frame *f, const int16_t *x0, const int16_t *x1, const int16_t *w)
{
    for (int32_t i = 0; i < 4 * f->pairs; i++) {
        const int64_t sum = nncc_bmm16_sum(i % 2 == 0 ? x0 : x1, w + i / 2 * (f->w_step / 2), f->k);
        int32_t r = (int32_t)((sum * f->mult) >> 32);

        r = (r + (1 << (-f->shift - 1))) >> -f->shift;
        nncc_result16(r, f->lo, f->hi, f->y + f->at[i % 4] + i / 4 * f->w_off);
    }
}

#endif

/* Lines of k values and the way from one to the next, in values. */
typedef struct
{
    const int16_t *x;
    int32_t count, step;
} nncc_bmm16_lines;

/* Values k_step apart put side by side. */
static void nncc_bmm16_gather(const int16_t *x, int32_t lines, int32_t step, int32_t k, int32_t k_step, int16_t *to)
{
#if NNCC_MVE
    if (step == 1 && k < 8192) {
        const uint16x8_t at = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)k);

        for (int32_t l = 0; l < lines; l += 8) {
            /* The last eight again. */
            const int32_t first = l + 8 > lines && lines > 8 ? lines - 8 : l;
            const int16_t *from = x + first;
            int16_t *put = to + first * k;

            if (lines < 8) {
                const mve_pred16_t some = vctp16q((uint32_t)lines);

                for (int32_t i = k; i > 0; i--) {
                    vstrhq_scatter_shifted_offset_p_s16(put++, at, vldrhq_z_s16(from, some), some);
                    from += k_step;
                }
                return;
            }
            for (int32_t i = k & 3; i > 0; i--) {
                vstrhq_scatter_shifted_offset_s16(put++, at, vldrhq_s16(from));
                from += k_step;
            }
            for (int32_t i = k >> 2; i > 0; i--) {
                vstrhq_scatter_shifted_offset_s16(put++, at, vldrhq_s16(from));
                from += k_step;
                vstrhq_scatter_shifted_offset_s16(put++, at, vldrhq_s16(from));
                from += k_step;
                vstrhq_scatter_shifted_offset_s16(put++, at, vldrhq_s16(from));
                from += k_step;
                vstrhq_scatter_shifted_offset_s16(put++, at, vldrhq_s16(from));
                from += k_step;
            }
        }
        return;
    }
#endif
    for (int32_t l = 0; l < lines; l++) {
        const int16_t *from = x + l * step;

        for (int32_t i = 0; i < k; i++) {
            *to++ = *from;
            from += k_step;
        }
    }
}

/* All products of two matrices; w_off and x_off: values from the result of a line to that of the next. */
static void nncc_bmm16_product(nncc_bmm16_frame *f, const nncc_bmm16_lines *x, int32_t x_off, const nncc_bmm16_lines *w,
                               int32_t w_off, int16_t *y)
{
    const int32_t x_one = x->count > 1 ? 1 : 0, w_one = w->count > 1 ? 1 : 0;

    f->w_step = 2 * w_one * w->step;
    f->back = 16 * ((f->k + 7) / 8);
    f->next = 4 * w->step - f->back;
    f->w_off = 4 * w_off;
    f->at[0] = 0;
    f->at[1] = 2 * x_one * x_off;
    f->at[2] = 2 * w_one * w_off;
    f->at[3] = f->at[1] + f->at[2];
    for (int32_t r = 0; r < x->count; r += 2) {
        /* The last two again where their number is odd. */
        const int32_t first = r + 2 > x->count && r > 0 ? r - 1 : r;
        const int16_t *const from = x->x + first * x->step;
        int16_t *const to = y + first * x_off;

        if (w_one != 0) {
            f->y = (int8_t *)to;
            f->pairs = w->count / 2;
            nncc_bmm16_pairs(f, from, from + x_one * x->step, w->x);
        }
        if (w->count % 2 != 0) {
            const int32_t c = w_one * (w->count - 2);

            f->y = (int8_t *)(to + c * w_off);
            f->pairs = 1;
            nncc_bmm16_pairs(f, from, from + x_one * x->step, w->x + c * w->step);
        }
    }
}

void nncc_helium_batch_matmul_s16(const nncc_helium_batch_matmul16_params *p, const int16_t *a, const int16_t *b,
                                  int16_t *scratch, int16_t *y)
{
    int16_t *const columns = p->a_k == 1 ? scratch : scratch + p->m * p->k;
    const int16_t *left = NULL, *right = NULL;
    nncc_bmm16_lines x = {NULL, p->m, p->a_k == 1 ? p->a_m : p->k}, w = {NULL, p->n, p->b_k == 1 ? p->b_n : p->k};
    nncc_bmm16_frame f;

    f.k = p->k;
    f.mult = p->mult;
    f.shift = -p->shift;
    f.lo = p->act_min;
    f.hi = p->act_max;
    for (int32_t i = 0; i < p->batch[0]; i++) {
        for (int32_t j = 0; j < p->batch[1]; j++) {
            for (int32_t l = 0; l < p->batch[2]; l++) {
                const int16_t *const at = a + i * p->a_batch[0] + j * p->a_batch[1] + l * p->a_batch[2];
                const int16_t *const bt = b + i * p->b_batch[0] + j * p->b_batch[1] + l * p->b_batch[2];
                int16_t *const to = y + i * p->y_batch[0] + j * p->y_batch[1] + l * p->y_batch[2];

                x.x = at;
                if (p->a_k != 1) {
                    if (at != left) {
                        nncc_bmm16_gather(at, p->m, p->a_m, p->k, p->a_k, scratch);
                        left = at;
                    }
                    x.x = scratch;
                }
                w.x = bt;
                if (p->b_k != 1) {
                    if (bt != right) {
                        nncc_bmm16_gather(bt, p->n, p->b_n, p->k, p->b_k, columns);
                        right = bt;
                    }
                    w.x = columns;
                }
                if (p->n == 1) { /* pairs of rows then */
                    nncc_bmm16_product(&f, &w, 1, &x, p->y_m, to);
                } else {
                    nncc_bmm16_product(&f, &x, p->y_m, &w, 1, to);
                }
            }
        }
    }
}

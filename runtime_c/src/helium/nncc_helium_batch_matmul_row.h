/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_batch_matmul_row.h: nncc_helium_batch_matmul_s8 of single rows. The right matrix, whose columns are
 * neighbours, is taken as it is: 16 columns at a time, a lane each, 11 instructions for a row of the matrix.
 */
#include "nncc_helium_batch_matmul_columns.h"

#if NNCC_HELIUM_MVE

/* What a single row shares with its columns; the assembly has the offsets. */
typedef struct
{
    int32_t mult;     /* 0 */
    int32_t shift;    /* 4: to the left, so 0 or less */
    int32_t zero;     /* 8 */
    int32_t act_min;  /* 12 */
    int32_t act_max;  /* 16 */
    int32_t start;    /* 20: of every sum */
    int32_t k;        /* 24 */
    int32_t step;     /* 28: bytes from a row of the right matrix to the next */
    const int16_t *a; /* 32: the row without its zero point */
} nncc_bmm_row_frame;

#if NNCC_HELIUM_ASM

/* clang-format off */
#define NNCC_BMM_ROW_STEP(q, at) "vldrb.s32 q6,[%[b],#" #at "]\nvmla.s32 " #q ",q6,r3\n"
#define NNCC_BMM_ROW_END(q, at) \
    "vqrdmulh.s32 " #q "," #q ",r2\n" \
    NNCC_ROUND_ALL(q, q6) \
    "vrshl.s32 " #q ",r3\nvadd.i32 " #q "," #q ",r4\nvmax.s32 " #q "," #q ",q4\nvmin.s32 " #q "," #q ",q5\n" \
    "vstrb.32 " #q ",[%[y],#" #at "]\n"
#define NNCC_BMM_ROW(begin, steps, ends) \
    NNCC_REG(const int8_t *, b, "r0", right); \
    NNCC_REG(int8_t *, y, "r1", to); \
    NNCC_REG(const nncc_bmm_row_frame *, frame, "r5", f); \
\
    __asm volatile("ldrd r2,r3,[%[f],#20]\n" \
                   "vdup.32 q0,r2\n" \
                   begin \
                   "mov lr,r3\n" \
                   "ldrd r2,r4,[%[f],#28]\n" \
                   "dls lr,lr\n" \
                   "1:\n" \
                   "ldrsh r3,[r4],#2\n" \
                   steps \
                   "add %[b],%[b],r2\n" \
                   "le lr,1b\n" \
                   "ldrd r2,r3,[%[f],#12]\n" \
                   "vdup.32 q4,r2\n" \
                   "vdup.32 q5,r3\n" \
                   "ldrd r2,r3,[%[f]]\n" \
                   "ldr r4,[%[f],#8]\n" \
                   ends \
                   : [b] "+r"(b) \
                   : [y] "r"(y), [f] "r"(frame) \
                   : "r2", "r3", "r4", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "cc", "memory")

/* 16 columns of y. */
static void nncc_bmm_row16(const nncc_bmm_row_frame *f, const int8_t *right, int8_t *to)
{
    NNCC_BMM_ROW("vmov q1,q0\nvmov q2,q0\nvmov q3,q0\n",
                 NNCC_BMM_ROW_STEP(q0, 0) NNCC_BMM_ROW_STEP(q1, 4) NNCC_BMM_ROW_STEP(q2, 8) NNCC_BMM_ROW_STEP(q3, 12),
                 NNCC_BMM_ROW_END(q0, 0) NNCC_BMM_ROW_END(q1, 4) NNCC_BMM_ROW_END(q2, 8) NNCC_BMM_ROW_END(q3, 12));
}

/* 4 columns of y. */
static void nncc_bmm_row4(const nncc_bmm_row_frame *f, const int8_t *right, int8_t *to)
{
    NNCC_BMM_ROW("", NNCC_BMM_ROW_STEP(q0, 0), NNCC_BMM_ROW_END(q0, 0));
}
/* clang-format on */

#else

/* 4 columns of y. */
static void nncc_bmm_row4(const nncc_bmm_row_frame *f, const int8_t *right, int8_t *to)
{
    int32x4_t r = vdupq_n_s32(f->start);

    for (int32_t i = 0; i < f->k; i++) {
        r = vmlaq_n_s32(r, vldrbq_s32(right), f->a[i]);
        right += f->step;
    }
    r = vqrdmulhq_n_s32(r, f->mult);
    r = vaddq_n_s32(vrshlq_n_s32(NNCC_ROUND_ALL(r), f->shift), f->zero);
    vstrbq_s32(to, nncc_limit4(r, vdupq_n_s32(f->act_min), vdupq_n_s32(f->act_max)));
}

/* 16 columns of y. */
static void nncc_bmm_row16(const nncc_bmm_row_frame *f, const int8_t *right, int8_t *to)
{
    for (int32_t k = 0; k < 16; k += 4) {
        nncc_bmm_row4(f, right + k, to + k);
    }
}

#endif

/* One row times a matrix of at least four columns that are neighbours. The last ones may be computed twice. */
static void nncc_bmm_one_row(nncc_bmm_row_frame *f, const int8_t *b, int32_t n, int8_t *y)
{
    int32_t c = 0;

    while (n - c >= 16) {
        nncc_bmm_row16(f, b + c, y + c);
        c += 16;
    }
    if (n >= 16 && n - c > 4) {
        nncc_bmm_row16(f, b + n - 16, y + n - 16);
        return;
    }
    while (c < n) {
        const int32_t at = n - c >= 4 ? c : n - 4;

        nncc_bmm_row4(f, b + at, y + at);
        c += 4;
    }
}

/* Single rows: each without its zero point in scratch. */
static void nncc_bmm_rows(const nncc_helium_batch_matmul_params *p, const int8_t *a, const int8_t *b, int16_t *own,
                          int8_t *y)
{
    const int8_t *left = NULL;
    nncc_bmm_row_frame f;

    f.mult = p->mult;
    f.shift = p->shift;
    f.zero = p->zero;
    f.act_min = p->act_min;
    f.act_max = p->act_max;
    f.k = p->k;
    f.step = p->b_k;
    f.a = own;
    for (int32_t i = 0; i < p->batch[0]; i++) {
        for (int32_t j = 0; j < p->batch[1]; j++) {
            for (int32_t l = 0; l < p->batch[2]; l++) {
                const int8_t *const at = a + i * p->a_batch[0] + j * p->a_batch[1] + l * p->a_batch[2];

                if (at != left) {
                    f.start = -p->b_zero * nncc_bmm_without(at, p->k, p->a_k, p->a_zero, own);
                    left = at;
                }
                nncc_bmm_one_row(&f, b + i * p->b_batch[0] + j * p->b_batch[1] + l * p->b_batch[2], p->n,
                                 y + i * p->y_batch[0] + j * p->y_batch[1] + l * p->y_batch[2]);
            }
        }
    }
}

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_batch_matmul_s8: a right matrix becomes records of four columns, its rows and columns in whichever order;
 * so does a left one whose rows are not vectors of 16 neighbours. Two rows times a record at a time: per vector of both
 * rows 6 loads and 8 products. Single rows and fewer than four columns have ways of their own.
 */
#include "nncc_helium_batch_matmul_columns.h"
#include "nncc_helium_batch_matmul_line.h"
#include "nncc_helium_batch_matmul_row.h"

/* Words in front of the columns of a record: the start values of its sums. */
#define NNCC_BMM_HEAD 16

/* What pairs of rows share; the assembly has the offsets. */
typedef struct
{
    int8_t *y;            /* 0 */
    int32_t y_step;       /* 4: of a row */
    int32_t mult;         /* 8 */
    int32_t shift;        /* 12: to the left, so 0 or less */
    const int32_t *start; /* 16: what the sums of each row start with */
    int32_t zero;         /* 20 */
    int32_t act_min;      /* 24 */
    int32_t act_max;      /* 28 */
    const int8_t *w;      /* 32: the columns of a record */
    int32_t further;      /* 36: vectors of a row but the first one */
    int32_t next;         /* 40: from the end of a row to the row after the next */
    int32_t pairs;        /* 44 */
    int32_t step;         /* 48: from row to row */
} nncc_bmm_frame;

#if NNCC_HELIUM_ASM

/* A vector of both rows, q0 and q1, with those of four columns. */
#define NNCC_BMM_STEP(op) \
    "vldrb.8 q0,[%[x0]],#16\nvldrb.8 q1,[%[x1]],#16\n" \
    "vldrw.32 q2,[%[w]],#16\n" op " r0,q2,q0\n" op " r8,q2,q1\n" \
    "vldrw.32 q2,[%[w]],#16\n" op " r2,q2,q0\n" op " r10,q2,q1\n" \
    "vldrw.32 q2,[%[w]],#16\n" op " r4,q2,q0\n" op " r12,q2,q1\n" \
    "vldrw.32 q2,[%[w]],#16\n" op " r6,q2,q0\n" op " lr,q2,q1\n"

/* clang-format off */
#define NNCC_BMM_REQUANTISE(q, start) \
    "vadd.i32 " #q "," #q ",q5\nvadd.i32 " #q "," #q "," start "\nvqrdmulh.s32 " #q "," #q ",r0\n" \
    NNCC_ROUND_ALL(q, q2) \
    "vrshl.s32 " #q ",r2\nvadd.i32 " #q "," #q ",r6\nvmax.s32 " #q "," #q ",q3\nvmin.s32 " #q "," #q ",q4\n"
/* clang-format on */

static void nncc_bmm_pairs(nncc_bmm_frame *f, const int8_t *x, const int8_t *record)
{
    NNCC_REG(const int8_t *, x0, "r1", x);
    NNCC_REG(const int8_t *, w, "r3", record);
    NNCC_REG(int32_t, count, "r5", 0);
    NNCC_REG(const int8_t *, x1, "r9", x + f->step);
    NNCC_REG(nncc_bmm_frame *, frame, "r11", f);

    /* clang-format off */
    __asm volatile("vldrw.32 q5,[%[w]]\n"
                   "ldrd r0,r2,[%[f],#24]\n"
                   "vdup.32 q3,r0\n"
                   "vdup.32 q4,r2\n"
                   "1:\n"
                   "ldrd %[w],%[n],[%[f],#32]\n"
                   NNCC_BMM_STEP("vmladav.s8")
                   "cbz %[n],3f\n"
                   "2:\n"
                   NNCC_BMM_STEP("vmladava.s8")
                   "subs %[n],%[n],#1\n"
                   "bne 2b\n"
                   "3:\n"
                   "vmov q0[2],q0[0],r0,r4\n"
                   "vmov q0[3],q0[1],r2,r6\n"
                   "vmov q1[2],q1[0],r8,r12\n"
                   "vmov q1[3],q1[1],r10,lr\n"
                   "ldrd r0,r2,[%[f],#8]\n"
                   "ldrd r4,r6,[%[f],#16]\n"
                   "ldrd r8,r10,[r4],#8\n"
                   "str r4,[%[f],#16]\n"
                   NNCC_BMM_REQUANTISE(q0, "r8") NNCC_BMM_REQUANTISE(q1, "r10")
                   "ldrd r0,r2,[%[f]]\n"
                   "ldrd r4,r6,[%[f],#40]\n"
                   "vstrb.32 q0,[r0]\n"
                   "add r0,r0,r2\n"
                   "vstrb.32 q1,[r0]\n"
                   "add r0,r0,r2\n"
                   "str r0,[%[f]]\n"
                   "add %[x0],%[x0],r4\n"
                   "add %[x1],%[x1],r4\n"
                   "subs r6,r6,#1\n"
                   "str r6,[%[f],#44]\n"
                   "bne 1b\n"
                   : [x0] "+r"(x0), [x1] "+r"(x1), [w] "+r"(w), [n] "+r"(count)
                   : [f] "r"(frame)
                   : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "cc",
                     "memory");
    /* clang-format on */
}

#elif NNCC_HELIUM_MVE

/* A vector of both rows with those of four columns. The pointer to these is biased: GCC would copy it for an offset of
 * 0 and move the copy. */
#define NNCC_BMM_BIAS 64
#define NNCC_BMM_BEGIN(sum, q, x) vmladavq_s8(q, x)
#define NNCC_BMM_STEP(op) \
    do { \
        const int8x16_t u = vldrbq_s8(x0), v = vldrbq_s8(x1); \
        int8x16_t q = nncc_weights(w - NNCC_BMM_BIAS); \
\
        x0 += 16; \
        x1 += 16; \
        a0 = op(a0, q, u), b0 = op(b0, q, v); \
        q = nncc_weights(w - NNCC_BMM_BIAS + 16); \
        a1 = op(a1, q, u), b1 = op(b1, q, v); \
        q = nncc_weights(w - NNCC_BMM_BIAS + 32); \
        a2 = op(a2, q, u), b2 = op(b2, q, v); \
        q = nncc_weights(w - NNCC_BMM_BIAS + 48); \
        a3 = op(a3, q, u), b3 = op(b3, q, v); \
        w += 64; \
    } while (0)

/* What is volatile is loaded where it is used: sums fill the registers, and compilers would store those instead. */
NNCC_MVE_IN_ORDER static void nncc_bmm_pairs(nncc_bmm_frame *f, const int8_t *x, const int8_t *record)
{
    volatile nncc_bmm_frame *const live = f;
    const int8_t *volatile const weights = f->w + NNCC_BMM_BIAS;
    const int8_t *volatile const w_end = weights + 64 * (f->further + 1);
    const int32x4_t fixed = nncc_words(record), lo = vdupq_n_s32(f->act_min), hi = vdupq_n_s32(f->act_max);
    const int8_t *x0 = x, *x1 = x + f->step;
    int32_t left;

    do {
        const int8_t *w = weights;
        int32_t a0, a1, a2, a3, b0, b1, b2, b3;
        int32x4_t r, s;

        NNCC_BMM_STEP(NNCC_BMM_BEGIN);
        while (w != w_end) {
            NNCC_BMM_STEP(vmladavaq_s8);
        }
        r = nncc_four(a0, a1, a2, a3);
        s = nncc_four(b0, b1, b2, b3);
        {
            const int32_t *const start = live->start;
            const int32_t mult = live->mult, shift = live->shift, zero = live->zero, next = live->next;
            const int32_t y_step = live->y_step;
            int8_t *y = live->y;

            r = vqrdmulhq_n_s32(vaddq_n_s32(vaddq_s32(r, fixed), start[0]), mult);
            s = vqrdmulhq_n_s32(vaddq_n_s32(vaddq_s32(s, fixed), start[1]), mult);
            live->start = start + 2;
            r = vaddq_n_s32(vrshlq_n_s32(NNCC_ROUND_ALL(r), shift), zero);
            s = vaddq_n_s32(vrshlq_n_s32(NNCC_ROUND_ALL(s), shift), zero);
            vstrbq_s32(y, vminq_s32(vmaxq_s32(r, lo), hi));
            y += y_step;
            vstrbq_s32(y, vminq_s32(vmaxq_s32(s, lo), hi));
            live->y = y + y_step;
            x0 += next;
            x1 += next;
        }
        left = live->pairs - 1;
        live->pairs = left;
    } while (left != 0);
}

#else

static void nncc_bmm_pairs(nncc_bmm_frame *f, const int8_t *x, const int8_t *record)
{
    int32_t head[4];

    memcpy(head, record, sizeof head);
    for (int32_t r = 0; r < 2 * f->pairs; r++) {
        for (int32_t c = 0; c < 4; c++) {
            uint32_t acc = (uint32_t)head[c] + (uint32_t)f->start[r];

            for (int32_t i = 0; i < NNCC_HELIUM_BYTES * (f->further + 1); i++) {
                acc += (uint32_t)(x[r * f->step + i] *
                                  f->w[(i / NNCC_HELIUM_BYTES * 4 + c) * NNCC_HELIUM_BYTES + i % NNCC_HELIUM_BYTES]);
            }
            f->y[r * f->y_step + c] = nncc_rq_s8(acc, f->mult, f->shift, f->zero, f->act_min, f->act_max);
        }
    }
}

#endif

/* The left matrix: its rows, copied where they are no whole vectors, and what the sums of each start with. */
static const int8_t *nncc_bmm_left(const nncc_helium_batch_matmul_params *p, const int8_t *a, int32_t width,
                                   int32_t *start, int8_t *copy)
{
    const int32_t direct = p->a_k == 1 && p->k == width;

    for (int32_t r = 0; r < p->m; r++) {
        /* The sum of a row that stays where it is costs a copy onto itself. */
        const int32_t sum =
            nncc_bmm_line(a + r * p->a_m, p->k, p->a_k, copy + (direct ? 0 : r * width), NNCC_HELIUM_BYTES);

        start[r] = -p->b_zero * sum;
    }
    start[p->m] = start[p->m - 1];
    return direct ? a : copy;
}

/* The right matrix as records; the last one may overlap the one before it. */
static void nncc_bmm_right(const nncc_helium_batch_matmul_params *p, const int8_t *b, int32_t width, int8_t *record)
{
    const int32_t fixed = p->k * p->a_zero * p->b_zero;

    for (int32_t c = 0; c < p->n; c += 4) {
        const int32_t first = c + 4 <= p->n || p->n < 4 ? c : p->n - 4;
        int32_t head[4] = {0, 0, 0, 0};

        for (int32_t i = 0; i < 4; i++) {
            int8_t *const to = record + NNCC_BMM_HEAD + i * NNCC_HELIUM_BYTES;

            if (first + i < p->n) {
                head[i] = fixed -
                          p->a_zero * nncc_bmm_line(b + (first + i) * p->b_n, p->k, p->b_k, to, 4 * NNCC_HELIUM_BYTES);
                continue;
            }
            for (int32_t k = 0; k < width; k += NNCC_HELIUM_BYTES) {
                memset(to + 4 * k, 0, NNCC_HELIUM_BYTES);
            }
        }
        memcpy(record, head, sizeof head);
        record += NNCC_BMM_HEAD + 4 * width;
    }
}

/* The product of two matrices that are ready. */
static void nncc_bmm_product(const nncc_helium_batch_matmul_params *p, const int8_t *a, int32_t a_step, int32_t width,
                             const int32_t *start, const int8_t *record, int8_t *y)
{
    int8_t few[8];
    nncc_bmm_frame f;

    f.mult = p->mult;
    f.shift = p->shift;
    f.zero = p->zero;
    f.act_min = p->act_min;
    f.act_max = p->act_max;
    f.further = width / NNCC_HELIUM_BYTES - 1;
    f.step = a_step;
    f.next = 2 * a_step - width;
    for (int32_t c = 0; c < p->n; c += 4) {
        const int32_t first = c + 4 <= p->n ? c : p->n - 4;

        f.w = record + NNCC_BMM_HEAD;
        if (p->n >= 4 && p->m >= 2) {
            f.y = y + first;
            f.y_step = p->y_m;
            f.start = start;
            f.pairs = p->m / 2;
            nncc_bmm_pairs(&f, a, record);
        }
        /* An odd row is a pair with itself; fewer than four columns go through a buffer. */
        for (int32_t r = p->n >= 4 ? p->m & ~1 : 0; r < p->m; r++) {
            int32_t own[2];

            own[0] = start[r];
            own[1] = start[r];
            f.y = few;
            f.y_step = 4;
            f.start = own;
            f.pairs = 1;
            f.step = 0;
            nncc_bmm_pairs(&f, a + r * a_step, record);
            f.step = a_step;
            memcpy(y + r * p->y_m + (p->n < 4 ? 0 : first), few, (size_t)(p->n < 4 ? p->n : 4));
        }
        record += NNCC_BMM_HEAD + 4 * width;
    }
}

void nncc_helium_batch_matmul_s8(const nncc_helium_batch_matmul_params *p, const int8_t *a, const int8_t *b,
                                 int8_t *scratch, int8_t *y)
{
    const int32_t width = (p->k + NNCC_HELIUM_BYTES - 1) & ~(NNCC_HELIUM_BYTES - 1);
    int32_t *const start = (int32_t *)(void *)scratch;
    int8_t *const copy = scratch + (4 * (p->m + 1) + 15) / 16 * 16;
    int8_t *const records = copy + (p->a_k == 1 && p->k == width ? width : p->m * width);
    const int8_t *left = NULL, *right = NULL, *rows = NULL;
#if NNCC_HELIUM_MVE
    const int32_t row = p->m == 1 && p->b_k == 1, few = row || (p->n < 4 && p->a_k == 1 && p->y_m == p->n);
    nncc_helium_batch_matmul_params q = *p;

    if (row) { /* the column of the product turned round, of rows of b as they are */
        q.m = p->n;
        q.n = 1;
        q.a_m = p->b_n;
        q.b_k = p->a_k;
        q.a_zero = p->b_zero;
        q.b_zero = p->a_zero;
    }
    if (p->m == 1 && p->b_n == 1 && p->n >= 4) {
        nncc_bmm_rows(p, a, b, (int16_t *)(void *)scratch, y);
        return;
    }
#endif
    for (int32_t i = 0; i < p->batch[0]; i++) {
        for (int32_t j = 0; j < p->batch[1]; j++) {
            for (int32_t l = 0; l < p->batch[2]; l++) {
                const int8_t *const at = a + i * p->a_batch[0] + j * p->a_batch[1] + l * p->a_batch[2];
                const int8_t *const bt = b + i * p->b_batch[0] + j * p->b_batch[1] + l * p->b_batch[2];

#if NNCC_HELIUM_MVE
                if (few) {
                    nncc_bmm_columns(&q, row ? bt : at, row ? at : bt, copy,
                                     y + i * p->y_batch[0] + j * p->y_batch[1] + l * p->y_batch[2]);
                    continue;
                }
#endif
                if (at != left) {
                    rows = nncc_bmm_left(p, at, width, start, copy);
                    left = at;
                }
                if (bt != right) {
                    nncc_bmm_right(p, bt, width, records);
                    right = bt;
                }
                nncc_bmm_product(p, rows, rows == at ? p->a_m : width, width, start, records,
                                 y + i * p->y_batch[0] + j * p->y_batch[1] + l * p->y_batch[2]);
            }
        }
    }
}

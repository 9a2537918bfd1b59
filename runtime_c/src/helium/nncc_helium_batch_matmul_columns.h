/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_batch_matmul_columns.h: nncc_helium_batch_matmul_s8 to fewer than four columns, one after the other, and
 * of a single row, which is a column of the product turned round. Four rows go at a time, where they lie.
 */
#include "nncc_helium_core.h"

#if NNCC_HELIUM_MVE

#include <arm_mve.h>

/* n values, `stride` apart, without their zero point: their sum. Vectors of 8 are filled up with 0. */
static int32_t nncc_bmm_without(const int8_t *x, int32_t n, int32_t stride, int32_t zero, int16_t *to)
{
    int32_t sum = 0;
    int32_t i;

    if (n % 8 != 0) {
        memset(to + n / 8 * 8, 0, NNCC_HELIUM_BYTES);
    }
    if (stride <= 65535 / 8) {
        const uint16x8_t at = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)stride);

        for (i = n; i > 0; i -= 8) {
            const mve_pred16_t part = vctp16q((uint32_t)i);
            const int16x8_t v = vaddq_n_s16(vldrbq_gather_offset_z_s16(x, at, part), (int16_t)-zero);

            sum = vaddvaq_p_s16(sum, v, part);
            vstrhq_p_s16(to, v, part);
            x += 8 * stride;
            to += 8;
        }
        return sum;
    }
    for (i = 0; i < n; i++) {
        to[i] = (int16_t)(x[i * stride] - zero);
        sum += to[i];
    }
    return sum;
}

/* Four rows by a column, and as many behind each as there are; the assembly has the offsets. */
typedef struct
{
    const int16_t *x;     /* 0: the column without its zero point */
    int32_t further;      /* 4: vectors of 8 but the last one */
    const int8_t *row[4]; /* 8 */
    int32_t mult;         /* 24 */
    int32_t shift;        /* 28: to the left, so 0 or less */
    int32_t act_min;      /* 32 */
    int32_t act_max;      /* 36 */
    int32_t zero;         /* 40 */
    int32_t left;         /* 44: rows */
    int32_t next;         /* 48: from behind the whole vectors of a row to the row after the next three */
    int32_t tail;         /* 52: values of the last vector */
    int32_t start;        /* 56: of every sum */
    int32_t y_step;       /* 60: from a result to the next */
} nncc_bmm_column;

#if NNCC_HELIUM_ASM

static void nncc_bmm_fours(nncc_bmm_column *f, int8_t *to)
{
    NNCC_REG(int8_t *, y, "r9", to);
    NNCC_REG(nncc_bmm_column *, frame, "r11", f);

    /* clang-format off */
    __asm volatile("ldrd r0,r2,[%[f],#32]\nvdup.32 q3,r0\nvdup.32 q4,r2\n"
                   "ldrd r12,r10,[%[f],#56]\nmovs r0,#0\nvidup.u32 q7,r0,#1\nvmul.i32 q7,q7,r10\n"
                   "ldrd r1,r3,[%[f],#8]\nldrd r5,r6,[%[f],#16]\n"
                   "1:\n"
                   "ldrd r10,lr,[%[f]]\nmov r0,r12\nmov r2,r12\nmov r4,r12\nmov r8,r12\nwls lr,lr,3f\n"
                   "2:\n"
                   "vldrh.16 q0,[r10],#16\n"
                   "vldrb.s16 q1,[r1],#8\nvmladava.s16 r0,q1,q0\nvldrb.s16 q2,[r3],#8\nvmladava.s16 r2,q2,q0\n"
                   "vldrb.s16 q1,[r5],#8\nvmladava.s16 r4,q1,q0\nvldrb.s16 q2,[r6],#8\nvmladava.s16 r8,q2,q0\n"
                   "le lr,2b\n"
                   "3:\n"
                   "vldrh.16 q0,[r10]\nldrd r10,lr,[%[f],#48]\nvctp.16 lr\nvpstttt\n"
                   "vldrbt.s16 q1,[r1]\nvldrbt.s16 q2,[r3]\nvldrbt.s16 q5,[r5]\nvldrbt.s16 q6,[r6]\n"
                   "vmladava.s16 r0,q1,q0\nvmladava.s16 r2,q2,q0\nvmladava.s16 r4,q5,q0\nvmladava.s16 r8,q6,q0\n"
                   "add r1,r1,r10\nadd r3,r3,r10\nadd r5,r5,r10\nadd r6,r6,r10\n"
                   "vmov q0[2],q0[0],r0,r4\nvmov q0[3],q0[1],r2,r8\nldrd r0,r2,[%[f],#24]\nldrd r4,r8,[%[f],#40]\n"
                   "vqrdmulh.s32 q0,q0,r0\n" NNCC_ROUND_ALL(q0, q1) "vrshl.s32 q0,r2\nvadd.i32 q0,q0,r4\n"
                   "vmax.s32 q0,q0,q3\nvmin.s32 q0,q0,q4\nvctp.32 r8\nvpst\nvstrbt.32 q0,[%[y],q7]\n"
                   "ldr r0,[%[f],#60]\nadd %[y],%[y],r0,lsl #2\nsubs r8,r8,#4\nstr r8,[%[f],#44]\nbgt 1b\n"
                   : [y] "+r"(y)
                   : [f] "r"(frame)
                   : "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4",
                     "q5", "q6", "q7", "cc", "memory");
    /* clang-format on */
}

#else

NNCC_MVE_IN_ORDER static void nncc_bmm_fours(nncc_bmm_column *f, int8_t *y)
{
    const uint32x4_t at = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)f->y_step);
    const int8_t *a = f->row[0], *b = f->row[1], *c = f->row[2], *d = f->row[3];

    for (; f->left > 0; f->left -= 4) {
        const mve_pred16_t part = vctp16q((uint32_t)f->tail);
        const int16_t *x = f->x;
        int32_t r = f->start, s = r, t = r, u = r;
        int32x4_t v;

        for (int32_t i = f->further; i > 0; i--) {
            const int16x8_t w = vldrhq_s16(x);

            r = vmladavaq_s16(r, vldrbq_s16(a), w);
            s = vmladavaq_s16(s, vldrbq_s16(b), w);
            t = vmladavaq_s16(t, vldrbq_s16(c), w);
            u = vmladavaq_s16(u, vldrbq_s16(d), w);
            a += 8, b += 8, c += 8, d += 8, x += 8;
        }
        r = vmladavaq_s16(r, vldrbq_z_s16(a, part), vldrhq_s16(x));
        s = vmladavaq_s16(s, vldrbq_z_s16(b, part), vldrhq_s16(x));
        t = vmladavaq_s16(t, vldrbq_z_s16(c, part), vldrhq_s16(x));
        u = vmladavaq_s16(u, vldrbq_z_s16(d, part), vldrhq_s16(x));
        a += f->next, b += f->next, c += f->next, d += f->next;
        v = vqrdmulhq_n_s32(nncc_four(r, s, t, u), f->mult);
        v = vaddq_n_s32(vrshlq_n_s32(NNCC_ROUND_ALL(v), f->shift), f->zero);
        v = vminq_s32(vmaxq_s32(v, vdupq_n_s32(f->act_min)), vdupq_n_s32(f->act_max));
        vstrbq_scatter_offset_p_s32(y, at, v, vctp32q((uint32_t)f->left));
        y += 4 * f->y_step;
    }
}

#endif

/* Fewer than four columns, whose results lie side by side. */
static void nncc_bmm_columns(const nncc_helium_batch_matmul_params *p, const int8_t *a, const int8_t *b, int8_t *copy,
                             int8_t *y)
{
    nncc_bmm_column f;

    f.x = (const int16_t *)(const void *)copy;
    f.further = (p->k - 1) / 8;
    f.tail = p->k - 8 * f.further;
    f.mult = p->mult;
    f.shift = p->shift;
    f.act_min = p->act_min;
    f.act_max = p->act_max;
    f.zero = p->zero;
    f.next = 4 * p->a_m - 8 * f.further;
    f.y_step = p->n;
    for (int32_t c = 0; c < p->n; c++) {
        f.start = -p->a_zero * nncc_bmm_without(b + c * p->b_n, p->k, p->b_k, p->b_zero, (int16_t *)(void *)copy);
        for (int32_t first = 0, n; first < p->m; first += n) {
            n = p->m - first < 4 ? p->m - first : (p->m - first) & ~3;
            f.left = n;
            for (int32_t i = 0; i < 4; i++) {
                f.row[i] = a + (first + (i < n ? i : 0)) * p->a_m;
            }
            nncc_bmm_fours(&f, y + first * p->n + c);
        }
    }
}

#endif

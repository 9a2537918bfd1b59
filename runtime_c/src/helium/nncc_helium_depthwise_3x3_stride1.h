/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_depthwise_3x3_stride1.h: the body of nncc_helium_depthwise_3x3_stride1*_s8. Four rows of 16 channels are
 * brought into the order [column] [channel][row], four columns of 4 channels from there into [channel][column][row]:
 * then a vector is a patch of 4x4 inputs of one channel, of which 2x2 outputs are one VMLADAV each.
 */
#include "nncc_helium_depthwise_3x3.h"

/* Channels of a column in scratch, and its bytes: 4 rows. */
#define NNCC_COLUMN_CHANNELS 16
#define NNCC_COLUMN_BYTES 64
/* A record of 4 channels: bias, multipliers, shifts (NNCC_3X3_UPPER: scale and offset), and 16 bytes of taps each. */
#define NNCC_PATCH_HEAD 48
#define NNCC_PATCH_RECORD 112
/* A patch of 4 channels, and what the last load of a second column has behind it. */
#define NNCC_PATCH_BYTES 80

/* Columns of the output that go through scratch at a time. */
#define NNCC_PATCH_SPAN 24

/* Where columns come from: rows 1 to 3 of the window; row 0 is the `kept` one, whose place row 2 takes. */
typedef struct
{
    const int8_t *row[3];
    int32_t step[3]; /* bytes from a pixel to the next, 0 outside of the image */
    int8_t *kept;
    int32_t lanes; /* 1 to 16 */
    int32_t n;     /* columns, at least 1 */
} nncc_columns;

/* What two rows of the output need; the assembly has the offsets, and moves on from 4 channels to the next. */
typedef struct
{
    int32_t pitch;         /* 0: output channels */
    int32_t zero;          /* 4 */
    int32_t line;          /* 8: bytes to the second row, 0 where there is none */
    const int8_t *end;     /* 12: column behind the last pair */
    uint8_t lo[16];        /* 16 */
    uint8_t hi[16];        /* 32: less the zero point with NNCC_3X3_RELU */
    int8_t *y;             /* 48 */
    const int8_t *columns; /* 52 */
    int32_t lanes;         /* 56: channels, 1 to 16 */
    int32_t odd;           /* 60: a last column of the output that has no neighbour */
    int32_t act_min;
    int32_t act_max;
} nncc_patches;

#if NNCC_HELIUM_ASM

static inline void nncc_write_columns(const nncc_columns *a, int8_t *to)
{
    NNCC_REG(int8_t *, kept, "r0", a->kept);
    NNCC_REG(const int8_t *, x1, "r1", a->row[0]);
    NNCC_REG(const int8_t *, x2, "r2", a->row[1]);
    NNCC_REG(const int8_t *, x3, "r3", a->row[2]);
    NNCC_REG(int8_t *, y, "r4", to);
    NNCC_REG(int32_t, s1, "r5", a->step[0]);
    NNCC_REG(int32_t, s2, "r6", a->step[1]);
    NNCC_REG(int32_t, s3, "r8", a->step[2]);
    NNCC_REG(int32_t, lanes, "r9", a->lanes);
    NNCC_REG(int32_t, n, "lr", a->n);

    __asm volatile("vctp.8 %[lanes]\n"
                   "dls lr, lr\n"
                   "1:\n"
                   "vldrb.8 q0, [%[kept]]\n"
                   "vpsttt\n"
                   "vldrbt.8 q1, [%[x1]]\n"
                   "vldrbt.8 q2, [%[x2]]\n"
                   "vldrbt.8 q3, [%[x3]]\n"
                   "add %[x1], %[x1], %[s1]\n"
                   "vst40.8 {q0, q1, q2, q3}, [%[y]]\n"
                   "add %[x2], %[x2], %[s2]\n"
                   "vst41.8 {q0, q1, q2, q3}, [%[y]]\n"
                   "add %[x3], %[x3], %[s3]\n"
                   "vst42.8 {q0, q1, q2, q3}, [%[y]]\n"
                   "vstrb.8 q2, [%[kept]], #16\n"
                   "vst43.8 {q0, q1, q2, q3}, [%[y]]!\n"
                   "le lr, 1b\n"
                   : [kept] "+r"(kept), [x1] "+r"(x1), [x2] "+r"(x2), [x3] "+r"(x3), [y] "+r"(y), "+r"(n)
                   : [s1] "r"(s1), [s2] "r"(s2), [s3] "r"(s3), [lanes] "r"(lanes)
                   : "q0", "q1", "q2", "q3", "cc", "memory");
}

/* Four columns of 4 channels to the patches of these. Columns lie 64 bytes apart, the next patch begins two further on.
 */
#define NNCC_PATCH_GATHER \
    "vldrw.32 q0, [%[x]], #128\nvldrw.32 q1, [%[x], #-64]\nvldrw.32 q2, [%[x]]\nvldrw.32 q3, [%[x], #64]\n" \
    "vst40.32 {q0, q1, q2, q3}, [%[p]]\nvst41.32 {q0, q1, q2, q3}, [%[p]]\n" \
    "vst42.32 {q0, q1, q2, q3}, [%[p]]\nvst43.32 {q0, q1, q2, q3}, [%[p]]\n"
/* Channel k: a is the output at the left in the first row, b to its right, c and d below; taps one byte on are those of
 * a row below. */
#define NNCC_PATCH_MACS(k, a, b, c, d) \
    "vldrw.32 q2, [%[w], #48+16*" #k "]\nvldrw.32 q0, [%[p], #16*" #k "]\nvshl.i32 q3, q2, #8\nvmladav.s8 " #a \
    ", q0, q2\n" \
    "vldrw.32 q1, [%[p], #16*" #k "+4]\nvmladav.s8 " #c ", q0, q3\nvmladav.s8 " #b ", q1, q2\nvmladav.s8 " #d \
    ", q1, q3\n"
/* The same without a column to the right. */
#define NNCC_PATCH_MACS_LEFT(k, a, c) \
    "vldrw.32 q2, [%[w], #48+16*" #k "]\nvldrw.32 q0, [%[p], #16*" #k "]\nvshl.i32 q3, q2, #8\n" \
    "vmladav.s8 " #a ", q0, q2\nvmladav.s8 " #c ", q0, q3\n"

/*
 * The outputs a to d of a channel into the bytes 0, 2, 1, 3 of its lane in q4, clamped; the pitch into r0. Without a
 * column to the right: a and c into the bytes 0 and NNCC_PATCH_BELOW, the line into r2.
 */
#if NNCC_3X3_UPPER
#define NNCC_PATCH_BIAS(to, from) "vldrw.32 " #to ", [%[w]]\nvmla.s32 " #to ", " #from ", r0\n"
/* clang-format off */
#define NNCC_PATCH_OUT \
    "ldrd r0, r2, [%[w], #32]\n" \
    NNCC_PATCH_BIAS(q0, q4) NNCC_PATCH_BIAS(q1, q5) NNCC_PATCH_BIAS(q2, q6) NNCC_PATCH_BIAS(q3, q7) \
    "vldrw.32 q4, [%[w], #16]\n" \
    "vqrdmlash.s32 q0, q4, r2\nldr r0, [%[f]]\nvqrdmlash.s32 q1, q4, r2\nvsri.32 q1, q0, #16\n" \
    "vqrdmlash.s32 q2, q4, r2\nvqrdmlash.s32 q3, q4, r2\nvsri.32 q3, q2, #16\n" \
    "vqrshrnb.s16 q4, q1, #1\nvqrshrnt.s16 q4, q3, #1\n"
#define NNCC_PATCH_OUT_LEFT \
    "ldrd r0, r2, [%[w], #32]\n" \
    NNCC_PATCH_BIAS(q0, q4) NNCC_PATCH_BIAS(q2, q6) \
    "vldrw.32 q4, [%[w], #16]\nvqrdmlash.s32 q0, q4, r2\nvqrdmlash.s32 q2, q4, r2\n" \
    "ldr r2, [%[f], #8]\nvsri.32 q2, q0, #16\nvqrshrnb.s16 q4, q2, #1\n"
/* clang-format on */
#define NNCC_PATCH_BELOW 2
#else
#define NNCC_PATCH_ALL(op, q) op " q4, q4, " q "\n" op " q5, q5, " q "\n" op " q6, q6, " q "\n" op " q7, q7, " q "\n"
#define NNCC_PATCH_LEFT(op, q) op " q4, q4, " q "\n" op " q6, q6, " q "\n"
#define NNCC_PATCH_REQUANTISE(each) \
    "vldrw.32 q0, [%[w]]\nvldrw.32 q1, [%[w], #16]\nvldrw.32 q2, [%[w], #32]\n" each("vadd.i32", "q0") \
        each("vqrdmulh.s32", "q1")
/* clang-format off */
#define NNCC_PATCH_OUT \
    NNCC_PATCH_REQUANTISE(NNCC_PATCH_ALL) \
    NNCC_3X3_ROUND(q4, q0) NNCC_3X3_ROUND(q5, q1) NNCC_3X3_ROUND(q6, q0) NNCC_3X3_ROUND(q7, q1) \
    NNCC_PATCH_ALL("vrshl.s32", "q2") "ldrd r0, r2, [%[f]]\n" NNCC_3X3_NARROW("r2")
#define NNCC_PATCH_OUT_LEFT \
    NNCC_PATCH_REQUANTISE(NNCC_PATCH_LEFT) NNCC_3X3_ROUND(q4, q0) NNCC_3X3_ROUND(q6, q1) \
    NNCC_PATCH_LEFT("vrshl.s32", "q2") "ldrd r0, r2, [%[f], #4]\n" NNCC_3X3_NARROW("r0")
/* clang-format on */
#define NNCC_PATCH_BELOW 1
#endif

/* Two rows of the output. Where there is no second row, the first one is written over it. */
static inline void nncc_patch_rows(nncc_patches *f, const int8_t *records, int8_t *patch)
{
    NNCC_REG(int8_t *, y, "r1", f->y); /* a narrowing store wants one of r0 to r7 */
    NNCC_REG(const int8_t *, w, "r3", records);
    NNCC_REG(int8_t *, p, "r5", patch);
    NNCC_REG(const int8_t *, x, "r9", f->columns);
    NNCC_REG(nncc_patches *, frame, "r11", f);

    /* clang-format off */
    __asm volatile("0:\n"
                   "ldrd r0, r2, [%[f], #56]\n"
                   "vctp.32 r0\n"
                   "ldr r8, [%[f], #12]\n"
                   "cmp %[x], r8\n"
                   "beq 2f\n"
                   "1:\n"
                   NNCC_PATCH_GATHER
                   NNCC_PATCH_MACS(0, r0, r2, r4, r6) NNCC_PATCH_MACS(2, r8, r10, r12, lr)
                   "vmov q4[2], q4[0], r0, r8\nvmov q5[2], q5[0], r2, r10\nvmov q6[2], q6[0], r4, r12\n"
                   "vmov q7[2], q7[0], r6, lr\n"
                   NNCC_PATCH_MACS(1, r0, r2, r4, r6) NNCC_PATCH_MACS(3, r8, r10, r12, lr)
                   "vmov q4[3], q4[1], r0, r8\nvmov q5[3], q5[1], r2, r10\nvmov q6[3], q6[1], r4, r12\n"
                   "vmov q7[3], q7[1], r6, lr\n"
                   NNCC_PATCH_OUT
                   "ldrd r4, r8, [%[f], #8]\n"
                   "vshr.u32 q5, q4, #16\n"
                   "add r4, r4, %[y]\n"
                   "vshr.u32 q6, q4, #8\n"
                   "add r6, r4, r0\n"
                   "vshr.u32 q7, q4, #24\n"
                   "add r2, %[y], r0\n"
                   "vpstttt\n"
                   "vstrbt.32 q6, [r4]\n"
                   "vstrbt.32 q7, [r6]\n"
                   "vstrbt.32 q4, [%[y]]\n"
                   "vstrbt.32 q5, [r2]\n"
                   "add %[y], r2, r0\n"
                   "cmp %[x], r8\n"
                   "bne 1b\n"
                   "ldr r2, [%[f], #60]\n"
                   "2:\n"
                   "cmp r2, #0\n"
                   "beq 3f\n"
                   NNCC_PATCH_GATHER
                   NNCC_PATCH_MACS_LEFT(0, r0, r4) NNCC_PATCH_MACS_LEFT(2, r8, r12)
                   "vmov q4[2], q4[0], r0, r8\nvmov q6[2], q6[0], r4, r12\n"
                   NNCC_PATCH_MACS_LEFT(1, r0, r4) NNCC_PATCH_MACS_LEFT(3, r8, r12)
                   "vmov q4[3], q4[1], r0, r8\nvmov q6[3], q6[1], r4, r12\n"
                   NNCC_PATCH_OUT_LEFT
                   "vshr.u32 q6, q4, %[below]\n"
                   "add r2, r2, %[y]\n"
                   "vpstt\n"
                   "vstrbt.32 q6, [r2]\n"
                   "vstrbt.32 q4, [%[y]]\n"
                   "3:\n" /* the next 4 channels */
                   "ldrd %[y], %[x], [%[f], #48]\n"
                   "ldr r4, [%[f], #12]\n"
                   "ldr r0, [%[f], #56]\n"
                   "add %[y], %[y], #4\n"
                   "add %[x], %[x], #16\n"
                   "add r4, r4, #16\n"
                   "add %[w], %[w], #112\n"
                   "subs r0, r0, #4\n"
                   "strd %[y], %[x], [%[f], #48]\n"
                   "str r4, [%[f], #12]\n"
                   "str r0, [%[f], #56]\n"
                   "bgt 0b\n"
                   : [x] "+r"(x), [y] "+r"(y), [w] "+r"(w)
                   : [p] "r"(p), [f] "r"(frame), [below] "i"(8 * NNCC_PATCH_BELOW)
                   : "r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6",
                     "q7", "cc",
                     "memory");
    /* clang-format on */
}

#elif NNCC_HELIUM_MVE

static inline void nncc_write_columns(const nncc_columns *a, int8_t *to)
{
    const mve_pred16_t lanes = vctp8q((uint32_t)a->lanes);
    const int8_t *x1 = a->row[0], *x2 = a->row[1], *x3 = a->row[2];
    const int32_t s1 = a->step[0], s2 = a->step[1], s3 = a->step[2];
    int8_t *kept = a->kept;

    for (int32_t n = a->n; n > 0; n--) {
        int8x16x4_t v;

        v.val[0] = vldrbq_s8(kept);
        v.val[1] = vldrbq_z_s8(x1, lanes);
        v.val[2] = vldrbq_z_s8(x2, lanes);
        v.val[3] = vldrbq_z_s8(x3, lanes);
        vst4q_s8(to, v);
        vstrbq_s8(kept, v.val[2]);
        x1 += s1;
        x2 += s2;
        x3 += s3;
        kept += NNCC_COLUMN_CHANNELS;
        to += NNCC_COLUMN_BYTES;
    }
}

/* The outputs of four channels: a and b in the first row, c and d below, a and c at the left. */
typedef struct
{
    int32x4_t a, b, c, d;
} nncc_patch_sums;

/* What the pointer to columns is biased by: no offset is 0, where GCC would copy the pointer. */
#define NNCC_PATCH_BIAS 256

/* Four columns of 4 channels, 64 bytes apart, to the patches of these, by scatters to their places. */
static inline uint32x4_t nncc_patch_places(int8_t *patch)
{
    return vaddq_n_u32(vshlq_n_u32(vidupq_n_u32(0, 1), 4), (uint32_t)(uintptr_t)patch);
}

static inline void nncc_patch_gather(const int8_t *x, uint32x4_t at)
{
    vstrwq_scatter_base_s32(at, 0, nncc_words(x - NNCC_PATCH_BIAS));
    vstrwq_scatter_base_s32(at, 4, nncc_words(x - NNCC_PATCH_BIAS + NNCC_COLUMN_BYTES));
    vstrwq_scatter_base_s32(at, 8, nncc_words(x - NNCC_PATCH_BIAS + 2 * NNCC_COLUMN_BYTES));
    vstrwq_scatter_base_s32(at, 12, nncc_words(x - NNCC_PATCH_BIAS + 3 * NNCC_COLUMN_BYTES));
}

/* Channel k: taps one byte on are those of a row below. */
#define NNCC_PATCH_MACS(s, k) \
    do { \
        const int8x16_t taps = nncc_weights(w + (NNCC_PATCH_HEAD - 132) + 16 * (k)); \
        const int8x16_t below = vreinterpretq_s8_s32(vshlq_n_s32(vreinterpretq_s32_s8(taps), 8)); \
        const int8x16_t left = nncc_weights(p + 16 * (k)-64), right = nncc_weights(p + 16 * (k)-60); \
\
        (s).a = vsetq_lane_s32(vmladavq_s8(left, taps), (s).a, k); \
        (s).c = vsetq_lane_s32(vmladavq_s8(left, below), (s).c, k); \
        (s).b = vsetq_lane_s32(vmladavq_s8(right, taps), (s).b, k); \
        (s).d = vsetq_lane_s32(vmladavq_s8(right, below), (s).d, k); \
    } while (0)
/* Sums by the numbers of a record that begins 132 bytes before w. */
#define NNCC_PATCH_SCALED(v, w) NNCC_3X3_SCALED(v, (w)-132, 16, scalars[0], scalars[1])
/* The outputs into the bytes 0 (a), 1 (c), 2 (b), 3 (d) of a channel's lane, clamped. */
static inline int32x4_t nncc_patch_bytes(const nncc_patches *f, const nncc_patch_sums *s)
{
    return vreinterpretq_s32_s8(nncc_3x3_bytes(f->lo, f->hi, f->zero, s->a, s->b, s->c, s->d));
}

/* The lane's bytes from a place on. */
#define NNCC_PATCH_FROM(v, byte) vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(v), 8 * (byte)))

/* Two rows of the output for 4 channels. Where there is no second row, the first one is written over it. */
NNCC_MVE_APART static void nncc_patch_four(const nncc_patches *f, const int8_t *x, const int8_t *record, int8_t *patch,
                                           int32_t lanes, int32_t columns, int8_t *y)
{
    /* Loaded each turn: addresses are offsets from there, and none is 0. */
    const int8_t *NNCC_MVE_RELOAD const records = record + 132, *NNCC_MVE_RELOAD const patches = patch + 64;
    const mve_pred16_t store = vctp32q((uint32_t)lanes);
    const int32_t pitch = f->pitch, line = f->line;
    const uint32x4_t places = nncc_patch_places(patch);
#if NNCC_3X3_UPPER
    const int32_t *const head = (const int32_t *)(const void *)record, scalars[2] = {head[8], head[9]};
#endif
    nncc_patch_sums s;
    int32x4_t v;

    s.a = s.b = s.c = s.d = vdupq_n_s32(0);
    x += NNCC_PATCH_BIAS;
    for (int32_t n = columns; n > 0; n -= 2) {
        const int8_t *const w = records, *const p = patches;

        nncc_patch_gather(x, places);
        NNCC_PATCH_MACS(s, 0);
        NNCC_PATCH_MACS(s, 1);
        NNCC_PATCH_MACS(s, 2);
        NNCC_PATCH_MACS(s, 3);
        s.a = NNCC_PATCH_SCALED(s.a, w);
        s.b = NNCC_PATCH_SCALED(s.b, w);
        s.c = NNCC_PATCH_SCALED(s.c, w);
        s.d = NNCC_PATCH_SCALED(s.d, w);
        v = nncc_patch_bytes(f, &s);
        vstrbq_p_s32(y + line, NNCC_PATCH_FROM(v, 1), store);
        vstrbq_p_s32(y, v, store);
        if (n > 1) {
            vstrbq_p_s32(y + pitch + line, NNCC_PATCH_FROM(v, 3), store);
            vstrbq_p_s32(y + pitch, NNCC_PATCH_FROM(v, 2), store);
        }
        y += 2 * pitch;
        x += 2 * NNCC_COLUMN_BYTES;
    }
}

static inline void nncc_patch_rows(nncc_patches *f, const int8_t *records, int8_t *patch)
{
    const int32_t columns = (int32_t)(f->end - f->columns) / NNCC_COLUMN_BYTES + f->odd;

    for (int32_t c = 0; c < f->lanes; c += 4) {
        nncc_patch_four(f, f->columns + 4 * c, records, patch, f->lanes - c, columns, f->y + c);
        records += NNCC_PATCH_RECORD;
    }
}

#else

static inline void nncc_write_columns(const nncc_columns *a, int8_t *to)
{
    for (int32_t c = 0; c < a->lanes; c++) {
        for (int32_t i = 0; i < a->n; i++) {
            int8_t *word = to + i * NNCC_COLUMN_BYTES + 4 * c;
            int8_t *kept = a->kept + i * NNCC_COLUMN_CHANNELS + c;

            word[0] = *kept;
            for (int32_t r = 0; r < 3; r++) {
                word[r + 1] = a->row[r][i * a->step[r] + c];
            }
            *kept = word[2];
        }
    }
}

/* Row r of channel c; x is its channel in the first column. */
static inline void nncc_patch_row(const nncc_patches *f, const int8_t *x, const int8_t *record, int32_t c, int32_t r)
{
    const int8_t *w = record + NNCC_PATCH_HEAD + NNCC_HELIUM_BYTES * (c % 4);
    const int32_t n = (int32_t)(f->end - f->columns) / NNCC_COLUMN_BYTES + f->odd;
    int32_t head[NNCC_PATCH_HEAD / 4];

    memcpy(head, record, sizeof head);
    for (int32_t i = 0; i < n; i++) {
        int8_t *y = &f->y[i * f->pitch + r * f->line + c];
        int32_t acc = 0;

        for (int32_t t = 0; t < 9; t++) {
            acc += x[(i + t / 3) * NNCC_COLUMN_BYTES + t % 3 + r] * w[t / 3 * 4 + t % 3];
        }
#if NNCC_3X3_UPPER
        *y = nncc_upper_s8(acc, head[8], head[c % 4], 0, head[4 + c % 4], head[9]);
#else
        *y = nncc_rq_s8((uint32_t)acc + (uint32_t)head[c % 4], head[4 + c % 4], head[8 + c % 4], f->zero, f->act_min,
                        f->act_max);
#endif
    }
}

static inline void nncc_patch_rows(nncc_patches *f, const int8_t *records, int8_t *patch)
{
    (void)patch;
    for (int32_t c = 0; c < f->lanes; c++) {
        nncc_patch_row(f, f->columns + 4 * c, records + c / 4 * NNCC_PATCH_RECORD, c, 1);
        nncc_patch_row(f, f->columns + 4 * c, records + c / 4 * NNCC_PATCH_RECORD, c, 0);
    }
}

#endif

/* Scratch, but for the counts. */
typedef struct
{
    int32_t inside;  /* columns in the image, at least 1 */
    int32_t span;    /* output columns at a time, even */
    int32_t fresh;   /* columns of padding are to be written */
    int8_t *outside; /* 16 times the input's zero point */
    int8_t *patch;
    int8_t *kept;    /* [in_w][16], the row above the next one */
    int8_t *columns; /* [span + 2][16][4] */
} nncc_patch_scratch;

/* Rows iy, iy + 1 and iy + 2 below the kept one from their first column on; zero points where they are outside. */
static inline void nncc_patch_window(const nncc_helium_depthwise_3x3_params *p, const nncc_patch_scratch *s,
                                     nncc_columns *a, const int8_t *image, int32_t iy)
{
    const int32_t channels = p->in_c;
    const int32_t line = p->in_w * channels;
    const int8_t *row = image + iy * line;

    a->kept = s->kept;
    if (iy >= 0 && iy + 3 <= p->in_h) { /* all of them are inside */
        a->row[0] = row;
        a->row[1] = row + line;
        a->row[2] = row + 2 * line;
        a->step[0] = a->step[1] = a->step[2] = channels;
        return;
    }
    for (int32_t r = 0; r < 3; r++, iy++) {
        a->step[r] = iy >= 0 && iy < p->in_h ? channels : 0;
        a->row[r] = a->step[r] != 0 ? row + r * line : s->outside;
    }
}

/* Columns first to last - 1, counted from the padding; `to` is the place of the first. Those in the image are the next
 * ones of `a`. */
static inline void nncc_patch_bring(const nncc_helium_depthwise_3x3_params *p, const nncc_patch_scratch *s,
                                    nncc_columns *a, int32_t first, int32_t last, int8_t *to)
{
    const int32_t right = p->pad_left + s->inside;
    int32_t from = p->pad_left;
    int32_t end = right;

    if (first > 0 || last < right || s->fresh != 0) {
        from = first > p->pad_left ? first : (last < p->pad_left ? last : p->pad_left);
        end = last < right ? last : (from > right ? from : right);
    }
    if (s->fresh != 0) {
        nncc_helium_fill(to, p->in_zero, (from - first) * NNCC_COLUMN_BYTES);
        nncc_helium_fill(to + (end - first) * NNCC_COLUMN_BYTES, p->in_zero, (last - end) * NNCC_COLUMN_BYTES);
    }
    a->n = end - from;
    if (a->n <= 0) {
        return;
    }
    nncc_write_columns(a, to + (from - first) * NNCC_COLUMN_BYTES);
    if (end < right) {
        for (int32_t r = 0; r < 3; r++) {
            a->row[r] += a->n * a->step[r];
        }
        a->kept += a->n * NNCC_COLUMN_CHANNELS;
    }
}

/* All rows of one image for a block of up to 16 channels; y is its first output channel. */
static inline void nncc_patch_image(const nncc_helium_depthwise_3x3_params *p, nncc_patch_scratch *s, nncc_patches *f,
                                    nncc_columns *a, const int8_t *image, const int8_t *packed, int8_t *y)
{
    int32_t line = p->out_w * f->pitch;

    nncc_helium_fill(s->kept, p->in_zero, p->in_w * NNCC_COLUMN_CHANNELS);
    s->fresh = 1;
    if (p->pad_top == 0) { /* the first row is kept before there are columns with it */
        nncc_patch_window(p, s, a, image, -1);
        for (int32_t ox = p->pad_left; ox < p->pad_left + s->inside; ox += s->span) {
            nncc_patch_bring(p, s, a, ox, ox + s->span, s->columns);
        }
    }
    for (int32_t oy = 0; oy < p->out_h; oy += 2) {
        nncc_patch_window(p, s, a, image, oy + 1 - p->pad_top);
        f->line = oy + 1 < p->out_h ? line : 0;
        for (int32_t ox = 0; ox < p->out_w; ox += s->span) {
            const int32_t n = p->out_w - ox < s->span ? p->out_w - ox : s->span;
            const int32_t have = ox > 0 ? 2 : 0; /* columns that the span before has left */

            if (have > 0) {
                nncc_helium_copy(s->columns, s->columns + s->span * NNCC_COLUMN_BYTES, 2 * NNCC_COLUMN_BYTES);
            }
            nncc_patch_bring(p, s, a, ox + have, ox + n + 2, s->columns + have * NNCC_COLUMN_BYTES);
            f->y = y + ox * f->pitch;
            f->columns = s->columns;
            f->end = s->columns + n / 2 * (2 * NNCC_COLUMN_BYTES);
            f->odd = n % 2;
            f->lanes = a->lanes;
            nncc_patch_rows(f, packed, s->patch);
        }
        s->fresh = p->out_w > s->span ? 1 : 0; /* or the padding is there */
        y += 2 * line;
    }
}

static inline void nncc_depthwise_3x3(const nncc_helium_depthwise_3x3_params *p, const int8_t *x, const int8_t *packed,
                                      int8_t *scratch, int8_t *y)
{
    const int32_t channels = p->in_c;
    nncc_patch_scratch s;
    nncc_patches f;
    nncc_columns a;

    s.inside = p->out_w + 2 - p->pad_left < p->in_w ? p->out_w + 2 - p->pad_left : p->in_w;
    s.span = p->out_w < NNCC_PATCH_SPAN ? p->out_w + p->out_w % 2 : NNCC_PATCH_SPAN;
    s.outside = scratch;
    s.patch = s.outside + NNCC_HELIUM_BYTES;
    s.kept = s.patch + NNCC_PATCH_BYTES;
    s.columns = s.kept + p->in_w * NNCC_COLUMN_CHANNELS;
    nncc_helium_fill(s.outside, p->in_zero, NNCC_HELIUM_BYTES);
    f.pitch = channels;
    f.zero = p->zero;
    f.act_min = p->act_min;
    f.act_max = p->act_max;
    memset(f.lo, (int)(uint8_t)p->act_min, sizeof f.lo);
    memset(f.hi, (int)(uint8_t)(p->act_max - (NNCC_3X3_RELU ? p->zero : 0)), sizeof f.hi);
    for (int32_t first = 0; first < channels; first += NNCC_COLUMN_CHANNELS) {
        a.lanes = channels - first < NNCC_COLUMN_CHANNELS ? channels - first : NNCC_COLUMN_CHANNELS;
        for (int32_t n = 0; n < p->batch; n++) {
            nncc_patch_image(p, &s, &f, &a, x + n * p->in_h * p->in_w * channels + first, packed,
                             y + n * p->out_h * p->out_w * channels + first);
        }
        packed += NNCC_COLUMN_CHANNELS / 4 * NNCC_PATCH_RECORD;
    }
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_run: strided copies by element size. */
#include "nncc_run.h"
#include "nncc_short_runs.h"

/* n elements, s apart, go to elements that are t apart. */
#define NNCC_RUN(type, y, x, n) \
    do { \
        const type *u = (x); \
        type *v = (y); \
        int32_t k = (n); \
\
        for (; k >= 4; k -= 4) { \
            const type a = u[0], b = u[s], c = u[2 * s], d = u[3 * s]; \
\
            v[0] = a; \
            v[t] = b; \
            v[2 * t] = c; \
            v[3 * t] = d; \
            u += 4 * s; \
            v += 4 * t; \
        } \
        for (; k > 0; k--) { \
            *v = *u; \
            u += s; \
            v += t; \
        } \
    } while (0)

#if NNCC_MVE

/*
 * Whether lanes that are v elements apart have offsets that fit: 16 lanes of 8 bits, 8 of 16 bits, 4 of 32 bits. No
 * functions: where one is not inlined, its call changes the registers that nncc_lines has its variables in.
 */
#define NNCC_CLOSE(v) ((v) >= 0 && (v) <= 255 / 15)
#define NNCC_NEAR(v) ((v) >= 0 && (v) <= 65535 / 7)
#define NNCC_NEAR32(v) ((v) >= 0 && (v) < (1 << 27))

#endif

#if NNCC_COPY_MVE

#define NNCC_GATHER(type, lane) "vldr" type " q0, [r0, q1" lane "]\n\tadd r0, r0, %[sx]\n\t"
/*
 * Rows of lanes apart in memory: LOAD, which moves on, and STORE take offsets that are multiples of the strides. 16
 * bytes have offsets of 8 bits, 8 bytes or halfwords of 16, words of 32.
 */
#define NNCC_LINES(bits, shift, lanes, load, store) \
    __asm volatile("mov r0, #0\n\t" \
                   "vidup.u" bits " q1, r0, #1\n\t" \
                   "vmul.i" bits " q2, q1, %[sy]\n\t" \
                   "vmul.i" bits " q1, q1, %[sx]\n\t" \
                   "ldr r6, [%[p]]\n\t" \
                   "ldr r8, [%[p], #12]\n\t" \
                   "ldr r9, [%[p], #16]\n\t" \
                   "ldr r10, [%[p], #20]\n\t" \
                   "lsl r9, r9, #" shift "\n\t" \
                   "lsl r10, r10, #" shift "\n\t" \
                   "lsl %[sx], %[sx], #(" shift " + " lanes ")\n\t" \
                   "lsl %[sy], %[sy], #(" shift " + " lanes ")\n" \
                   "1:\n\t" \
                   "mov r0, %[x]\n\t" \
                   "mov r1, %[y]\n\t" \
                   "dlstp." bits " lr, r6\n" \
                   "2:\n\t" load store "add r1, r1, %[sy]\n\t" \
                   "letp lr, 2b\n\t" \
                   "add %[x], %[x], r9\n\t" \
                   "add %[y], %[y], r10\n\t" \
                   "subs r8, r8, #1\n\t" \
                   "bne 1b\n\t" \
                   : [x] "+r"(from), [y] "+r"(to), [sx] "+r"(sx), [sy] "+r"(sy) \
                   : [p] "r"(q) \
                   : "r0", "r1", "r6", "r8", "r9", "r10", "lr", "q0", "q1", "q2", "cc", "memory")

static int32_t nncc_lines(const nncc_runs_params *p, const void *x, void *y)
{
    register const void *from __asm("r2") = x;
    register void *to __asm("r3") = y;
    register int32_t sx __asm("r4") = p->x_stride;
    register int32_t sy __asm("r5") = p->y_stride;
    register const nncc_runs_params *q __asm("r12") = p;

    if (p->elem == 1 && sx == 1 && NNCC_CLOSE(sy)) {
        NNCC_LINES("8", "0", "4", "vldrb.8 q0, [r0], #16\n\t", "vstrb.8 q0, [r1, q2]\n\t");
    } else if (p->elem == 1 && NNCC_CLOSE(sx) && NNCC_CLOSE(sy)) {
        NNCC_LINES("8", "0", "4", NNCC_GATHER("b.u8", ""), "vstrb.8 q0, [r1, q2]\n\t");
    } else if (p->elem == 1 && NNCC_NEAR(sx) && NNCC_NEAR(sy)) {
        NNCC_LINES("16", "0", "3", NNCC_GATHER("b.u16", ""), "vstrb.16 q0, [r1, q2]\n\t");
    } else if (p->elem == 2 && NNCC_NEAR(sx) && NNCC_NEAR(sy)) {
        NNCC_LINES("16", "1", "3", NNCC_GATHER("h.u16", ", uxtw #1"), "vstrh.16 q0, [r1, q2, uxtw #1]\n\t");
    } else if (p->elem == 4 && NNCC_NEAR32(sx) && NNCC_NEAR32(sy)) {
        NNCC_LINES("32", "2", "2", NNCC_GATHER("w.u32", ", uxtw #2"), "vstrw.32 q0, [r1, q2, uxtw #2]\n\t");
    } else {
        return 0;
    }
    return 1;
}

#elif NNCC_MVE_C

/* Rows of lanes apart in memory: the offsets of lanes are multiples of the strides. */
#define NNCC_LINES(bits, type, ctp, count, get, put) \
    do { \
        const uint##bits##x##count##_t lane = vidupq_n_u##bits(0, 1); \
        const uint##bits##x##count##_t lx = vmulq_n_u##bits(lane, (uint##bits##_t)sx); \
        const uint##bits##x##count##_t ly = vmulq_n_u##bits(lane, (uint##bits##_t)sy); \
        const type *from = (const type *)x; \
        type *to = (type *)y; \
\
        for (int32_t r = p->rows; r > 0; r--) { \
            for (int32_t i = 0; i < p->n; i += (count)) { \
                const mve_pred16_t rest = ctp((uint32_t)(p->n - i)); \
\
                put##_offset_p_u##bits(to + i * sy, ly, get##_offset_z_u##bits(from + i * sx, lx, rest), rest); \
            } \
            from += p->x_row; \
            to += p->y_row; \
        } \
    } while (0)

static int32_t nncc_lines(const nncc_runs_params *p, const void *x, void *y)
{
    const int32_t sx = p->x_stride, sy = p->y_stride;

    if (p->elem == 1 && NNCC_CLOSE(sx) && NNCC_CLOSE(sy)) {
        NNCC_LINES(8, uint8_t, vctp8q, 16, vldrbq_gather, vstrbq_scatter);
    } else if (p->elem == 1 && NNCC_NEAR(sx) && NNCC_NEAR(sy)) {
        NNCC_LINES(16, uint8_t, vctp16q, 8, vldrbq_gather, vstrbq_scatter);
    } else if (p->elem == 2 && NNCC_NEAR(sx) && NNCC_NEAR(sy)) {
        NNCC_LINES(16, uint16_t, vctp16q, 8, vldrhq_gather_shifted, vstrhq_scatter_shifted);
    } else if (p->elem == 4 && NNCC_NEAR32(sx) && NNCC_NEAR32(sy)) {
        NNCC_LINES(32, uint32_t, vctp32q, 4, vldrwq_gather_shifted, vstrwq_scatter_shifted);
    } else {
        return 0;
    }
    return 1;
}

#endif

void nncc_run(const void *x, int32_t x_stride, void *y, int32_t y_stride, int32_t n, int32_t elem)
{
    const nncc_runs_params p = {n, x_stride, y_stride, 1, 0, 0, elem, 1, 0, 0};

    if (x_stride == 1 && y_stride == 1) {
        nncc_copy(y, x, n * elem);
    } else if (n > 0) {
        nncc_runs(&p, x, y);
    }
}

/* A statement for every run: from x, to y. */
#define NNCC_EACH_RUN(type, ...) \
    do { \
        const type *plane_x = (const type *)x; \
        type *plane_y = (type *)y; \
\
        for (int32_t q = p->planes; q > 0; q--) { \
            const type *from = plane_x; \
            type *to = plane_y; \
\
            for (int32_t r = rows; r > 0; r--) { \
                __VA_ARGS__; \
                from += x_row; \
                to += y_row; \
            } \
            plane_x += p->x_plane; \
            plane_y += p->y_plane; \
        } \
    } while (0)

#define NNCC_QUAD(y, x, s, t) \
    do { \
        const uint8_t a = (x)[0], b = (x)[s], c = (x)[2 * (s)], d = (x)[3 * (s)]; \
\
        (y)[0] = a; \
        (y)[t] = b; \
        (y)[2 * (t)] = c; \
        (y)[3 * (t)] = d; \
    } while (0)

/* Runs of more than four bytes: the last four end where the run does, and may overlap those before. */
#define NNCC_QUADS(s, t) \
    do { \
        const int32_t whole = (n - 1) >> 2, x_last = (n - 4) * (s), y_last = (n - 4) * (t); \
\
        NNCC_EACH_RUN( \
            uint8_t, const uint8_t *u = from; uint8_t *v = to; int32_t k = whole; NNCC_ROLLED do { \
                NNCC_QUAD(v, u, s, t); \
                u += 4 * (s); \
                v += 4 * (t); \
                k--; \
            } while (k > 0); \
            NNCC_QUAD(to + y_last, from + x_last, s, t)); \
    } while (0)

static void nncc_byte_runs(const nncc_runs_params *p, const uint8_t *x, uint8_t *y)
{
    const int32_t n = p->n, s = p->x_stride, t = p->y_stride, rows = p->rows, x_row = p->x_row, y_row = p->y_row;

    if (n == 1) {
        NNCC_EACH_RUN(uint8_t, to[0] = from[0]);
    } else if (n == 2) {
        NNCC_EACH_RUN(uint8_t, const uint8_t a = from[0], b = from[s]; to[0] = a; to[t] = b);
    } else if (n == 3) {
        const int32_t s2 = 2 * s, t2 = 2 * t;

        NNCC_EACH_RUN(uint8_t, const uint8_t a = from[0], b = from[s], c = from[s2]; to[0] = a; to[t] = b; to[t2] = c);
    } else if (n == 4) {
        NNCC_EACH_RUN(uint8_t, NNCC_QUAD(to, from, s, t));
    } else if (s == 1) {
        NNCC_QUADS(1, t);
    } else if (t == 1) {
        NNCC_QUADS(s, 1);
    } else {
        NNCC_QUADS(s, t);
    }
}

/* Runs that are dense on both sides, of n bytes. */
static void nncc_dense_runs(const nncc_runs_params *p, const uint8_t *x, uint8_t *y)
{
    const nncc_short_runs q = {p->n * p->elem, p->rows, p->x_row * p->elem, p->y_row * p->elem};

    for (int32_t k = p->planes; k > 0; k--) {
        nncc_copy_runs(&q, y, x);
        x += p->x_plane * p->elem;
        y += p->y_plane * p->elem;
    }
}

void nncc_runs(const nncc_runs_params *p, const void *x, void *y)
{
    const int32_t n = p->n, s = p->x_stride, t = p->y_stride, rows = p->rows, x_row = p->x_row, y_row = p->y_row;

#if NNCC_MVE
    if (s != 1 || t != 1) {
        const uint8_t *from = (const uint8_t *)x;
        uint8_t *to = (uint8_t *)y;
        int32_t k = p->planes;

        while (k > 0 && nncc_lines(p, from, to) != 0) {
            from += p->x_plane * p->elem;
            to += p->y_plane * p->elem;
            k--;
        }
        if (k == 0) {
            return;
        }
    }
#else
    if (p->elem == 1 && n <= 3) {
        nncc_byte_runs(p, x, y);
        return;
    }
#endif
    if (s == 1 && t == 1) {
        nncc_dense_runs(p, x, y);
        return;
    }
    switch (p->elem) {
    case 1:
        nncc_byte_runs(p, x, y);
        break;
    case 2:
        NNCC_EACH_RUN(nncc_any16, NNCC_RUN(nncc_any16, to, from, n));
        break;
    case 4:
        NNCC_EACH_RUN(nncc_any32, NNCC_RUN(nncc_any32, to, from, n));
        break;
    default:
        NNCC_EACH_RUN(nncc_any64, NNCC_RUN(nncc_any64, to, from, n));
        break;
    }
}

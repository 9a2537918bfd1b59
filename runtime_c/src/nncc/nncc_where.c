/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_copy.h"
#include "nncc_move.h"

/* One row: n elements, the strides of condition and operands in elements. */
typedef struct
{
    int32_t n, c, a, b;
} nncc_where_row;

#define NNCC_CHOOSE(type) \
    do { \
        const type *u = (const type *)a, *v = (const type *)b; \
        type *to = (type *)y; \
\
        for (int32_t i = r->n; i > 0; i--) { \
            *to++ = *c != 0 ? *u : *v; \
            c += r->c; \
            u += r->a; \
            v += r->b; \
        } \
    } while (0)

#if NNCC_COPY_MVE

/* Lanes of `bits` with offsets that are multiples of the strides: q1, q2, q3; `lanes` of them a step. */
#define NNCC_CHOOSE_LINES(bits, shift, lanes, load_c, load_a, load_b, store) \
    __asm volatile("mov r0, #0\n\t" \
                   "vidup.u" bits " q3, r0, #1\n\t" \
                   "vmul.i" bits " q1, q3, %[sc]\n\t" \
                   "vmul.i" bits " q2, q3, %[sa]\n\t" \
                   "vmul.i" bits " q3, q3, %[sb]\n\t" \
                   "lsl %[sc], %[sc], #" lanes "\n\t" \
                   "lsl %[sa], %[sa], #(" shift " + " lanes ")\n\t" \
                   "lsl %[sb], %[sb], #(" shift " + " lanes ")\n\t" \
                   "wls lr, %[steps], 2f\n" \
                   "1:\n\t" \
                   "vctp." bits " %[n]\n\t" \
                   "vpsttt\n\t" load_c load_a load_b "vcmp.i" bits " ne, q4, zr\n\t" \
                   "vpsel q5, q5, q6\n\t" \
                   "vctp." bits " %[n]\n\t" \
                   "vpst\n\t" store "add %[c], %[c], %[sc]\n\t" \
                   "add %[a], %[a], %[sa]\n\t" \
                   "add %[b], %[b], %[sb]\n\t" \
                   "sub %[n], %[n], #(1 << " lanes ")\n\t" \
                   "le lr, 1b\n" \
                   "2:\n\t" \
                   : [c] "+r"(from_c), [a] "+r"(from_a), [b] "+r"(from_b), [y] "+r"(to), [sc] "+r"(sc), [sa] "+r"(sa), \
                     [sb] "+r"(sb), [n] "+r"(n) \
                   : [steps] "r"(steps) \
                   : "r0", "lr", "q1", "q2", "q3", "q4", "q5", "q6", "cc", "memory")

static int32_t nncc_choose_lines(const nncc_where_row *r, int32_t elem, const uint8_t *c, const void *a, const void *b,
                                 void *y)
{
    register const uint8_t *from_c __asm("r1") = c;
    register const void *from_a __asm("r2") = a;
    register const void *from_b __asm("r3") = b;
    register void *to __asm("r4") = y;
    register int32_t sc __asm("r5") = r->c;
    register int32_t sa __asm("r6") = r->a;
    register int32_t sb __asm("r8") = r->b;
    register int32_t n __asm("r9") = r->n;
    register int32_t steps __asm("r10");

    if ((sc | sa | sb) != 1 && (sc | sa | sb) != 0) { /* strides are 0 or 1: no offset is too far */
        return 0;
    }
    if (elem == 1) {
        steps = (n + 15) >> 4;
        NNCC_CHOOSE_LINES("8", "0", "4", "vldrbt.u8 q4, [%[c], q1]\n\t", "vldrbt.u8 q5, [%[a], q2]\n\t",
                          "vldrbt.u8 q6, [%[b], q3]\n\t", "vstrbt.8 q5, [%[y]], #16\n\t");
    } else if (elem == 4) {
        steps = (n + 3) >> 2;
        NNCC_CHOOSE_LINES("32", "2", "2", "vldrbt.u32 q4, [%[c], q1]\n\t", "vldrwt.u32 q5, [%[a], q2, uxtw #2]\n\t",
                          "vldrwt.u32 q6, [%[b], q3, uxtw #2]\n\t", "vstrwt.32 q5, [%[y]], #16\n\t");
    } else {
        return 0;
    }
    return 1;
}

#elif NNCC_MVE_C

/* Lanes with offsets that are multiples of the strides: flag and get load, put stores. */
#define NNCC_CHOOSE_LINES(bits, lanes, type, ctp, flag, get, put) \
    do { \
        const uint##bits##x##lanes##_t lane = vidupq_n_u##bits(0, 1); \
        const uint##bits##x##lanes##_t at_c = vmulq_n_u##bits(lane, (uint##bits##_t)r->c); \
        const uint##bits##x##lanes##_t at_a = vmulq_n_u##bits(lane, (uint##bits##_t)r->a); \
        const uint##bits##x##lanes##_t at_b = vmulq_n_u##bits(lane, (uint##bits##_t)r->b); \
        const type *from_a = (const type *)a, *from_b = (const type *)b; \
        type *to = (type *)y; \
\
        for (int32_t n = r->n; n > 0; n -= (lanes)) { \
            const mve_pred16_t rest = ctp((uint32_t)n); \
            const mve_pred16_t second = vcmpeqq_u##bits(flag(c, at_c, rest), vdupq_n_u##bits(0)); \
\
            put(to, vpselq_u##bits(get(from_b, at_b, rest), get(from_a, at_a, rest), second), rest); \
            c += (lanes)*r->c; \
            from_a += (lanes)*r->a; \
            from_b += (lanes)*r->b; \
            to += (lanes); \
        } \
    } while (0)

static int32_t nncc_choose_lines(const nncc_where_row *r, int32_t elem, const uint8_t *c, const void *a, const void *b,
                                 void *y)
{
    const int32_t strides = r->c | r->a | r->b;

    if (strides != 1 && strides != 0) { /* strides are 0 or 1: no offset is too far */
        return 0;
    }
    if (elem == 1) {
        NNCC_CHOOSE_LINES(8, 16, uint8_t, vctp8q, vldrbq_gather_offset_z_u8, vldrbq_gather_offset_z_u8, vstrbq_p_u8);
    } else if (elem == 4) {
        NNCC_CHOOSE_LINES(32, 4, uint32_t, vctp32q, vldrbq_gather_offset_z_u32, vldrwq_gather_shifted_offset_z_u32,
                          vstrwq_p_u32);
    } else {
        return 0;
    }
    return 1;
}

#endif

/* One condition for the row: a copy of an operand, or one of its elements everywhere. 0: neither. */
static int32_t nncc_choose_one(const nncc_where_row *r, int32_t elem, const uint8_t *c, const void *a, const void *b,
                               void *y)
{
    const void *const x = *c != 0 ? a : b;
    const int32_t stride = *c != 0 ? r->a : r->b;

    if (stride == 1) {
        nncc_copy(y, x, r->n * elem);
    } else if (stride == 0 && elem == 1) {
        nncc_set(y, *(const uint8_t *)x, r->n);
    } else if (stride == 0 && elem == 2) {
        nncc_set16(y, *(const nncc_any16 *)x, r->n);
    } else {
        return 0;
    }
    return 1;
}

/* Bytes under conditions side by side; operands of one value are values. 0: strides are others. */
static int32_t nncc_choose_bytes(const nncc_where_row *r, const uint8_t *c, const uint8_t *a, const uint8_t *b,
                                 uint8_t *y)
{
    const uint8_t first = *a, second = *b;

    if (r->c != 1 || (r->a | r->b) != 1) {
        return 0;
    }
    if (r->a == 0) {
        for (int32_t i = 0; i < r->n; i++) {
            y[i] = c[i] != 0 ? first : b[i];
        }
    } else if (r->b == 0) {
        for (int32_t i = 0; i < r->n; i++) {
            y[i] = c[i] != 0 ? a[i] : second;
        }
    } else {
        for (int32_t i = 0; i < r->n; i++) {
            y[i] = c[i] != 0 ? a[i] : b[i];
        }
    }
    return 1;
}

static void nncc_choose(const nncc_where_row *r, int32_t elem, const uint8_t *c, const void *a, const void *b, void *y)
{
    if (r->c == 0 && nncc_choose_one(r, elem, c, a, b, y) != 0) {
        return;
    }
#if NNCC_MVE
    if (nncc_choose_lines(r, elem, c, a, b, y) != 0) {
        return;
    }
#endif
    switch (elem) {
    case 1:
        if (nncc_choose_bytes(r, c, (const uint8_t *)a, (const uint8_t *)b, (uint8_t *)y) == 0) {
            NNCC_CHOOSE(uint8_t);
        }
        break;
    case 2:
        NNCC_CHOOSE(nncc_any16);
        break;
    case 4:
        NNCC_CHOOSE(nncc_any32);
        break;
    default:
        NNCC_CHOOSE(nncc_any64);
        break;
    }
}

void nncc_where(const nncc_where_params *p, const uint8_t *c, const void *a, const void *b, void *y)
{
    const int32_t inner = p->rank - 1;
    int32_t index[NNCC_MAX_DIMS] = {0};
    uint8_t *to = (uint8_t *)y;
    int32_t ic = 0;
    int32_t ia = 0;
    int32_t ib = 0;
    int32_t d;
    nncc_where_row r;

    r.n = p->dims[inner];
    r.c = p->c_stride[inner];
    r.a = p->a_stride[inner];
    r.b = p->b_stride[inner];
    do {
        nncc_choose(&r, p->elem, c + ic, (const uint8_t *)a + ia * p->elem, (const uint8_t *)b + ib * p->elem, to);
        to += r.n * p->elem;
        for (d = inner - 1; d >= 0; d--) {
            ic += p->c_stride[d];
            ia += p->a_stride[d];
            ib += p->b_stride[d];
            index[d]++;
            if (index[d] < p->dims[d]) {
                break;
            }
            ic -= p->c_stride[d] * p->dims[d];
            ia -= p->a_stride[d] * p->dims[d];
            ib -= p->b_stride[d] * p->dims[d];
            index[d] = 0;
        }
    } while (d >= 0);
}

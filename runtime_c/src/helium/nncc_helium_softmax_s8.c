/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_softmax.h"

#if NNCC_HELIUM_MVE

#if !NNCC_HELIUM_ASM

#define NNCC_SOFTMAX_MOST(v) vmaxvq_s8((int8_t)top, v)
#define NNCC_SOFTMAX_MOST_REST(v) vmaxvq_p_s8((int8_t)top, v, rest)
#define NNCC_SOFTMAX_TOP(what, x) \
    do { \
        top = NNCC_SOFTMAX_MOST##what(NNCC_GET16S##what(x)); \
        x += 16; \
    } while (0)

#define NNCC_SOFTMAX_SUM(v) vaddvaq_u32(sum, vreinterpretq_u32_s32(v))
#define NNCC_SOFTMAX_SUM_REST(v) vaddvaq_p_u32(sum, vreinterpretq_u32_s32(v), rest)
#define NNCC_SOFTMAX_TERM(what, top) \
    do { \
        const uint32x4_t at = vreinterpretq_u32_s32(vaddq_n_s32(NNCC_GET4##what(row), top)); \
        const int32x4_t v = vldrwq_gather_shifted_offset_s32(table, at); \
\
        NNCC_PUTW##what(terms, v); \
        sum = NNCC_SOFTMAX_SUM##what(vrshrq_n_s32(v, NNCC_SOFTMAX_SUM_BITS)); \
        row += 4; \
        terms += 4; \
    } while (0)

#define NNCC_SOFTMAX_SHARE(what, y) \
    do { \
        const int32x4_t v = vrshlq_n_s32(vqrdmulhq_n_s32(NNCC_GETW##what(terms), scale), down); \
\
        NNCC_PUT4##what(y, vminq_s32(vaddq_n_s32(v, -128), most)); \
        terms += 4; \
        y += 4; \
    } while (0)

#endif

/* The terms of a row, and their sum. */
static int32_t nncc_softmax_terms(const int8_t *row, int32_t size, const int32_t *table, int32_t *terms)
{
#if NNCC_HELIUM_ASM
    NNCC_REG(const int8_t *, x, "r0", row);
    NNCC_REG(int32_t, n, "r1", size);
    NNCC_REG(const int32_t *, tab, "r3", table);
    NNCC_REG(int32_t *, to, "r5", terms);
    NNCC_REG(int32_t, sum, "r2", 0);

    __asm volatile("mov r6, %[x]\n\t"
                   "mvn r4, #127\n\t"
                   "dlstp.8 lr, %[n]\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[x]], #16\n\t"
                   "vmaxv.s8 r4, q0\n\t"
                   "letp lr, 1b\n\t"
                   "rsb r4, r4, #255\n\t"
                   "dlstp.32 lr, %[n]\n"
                   "2:\n\t"
                   "vldrb.s32 q0, [r6], #4\n\t"
                   "vadd.i32 q0, q0, r4\n\t"
                   "vldrw.u32 q1, [%[tab], q0, uxtw #2]\n\t"
                   "vstrw.32 q1, [%[to]], #16\n\t"
                   "vrshr.s32 q1, q1, #12\n\t"
                   "vaddva.u32 %[sum], q1\n\t"
                   "letp lr, 2b\n\t"
                   : [x] "+r"(x), [to] "+r"(to), [sum] "+r"(sum)
                   : [n] "r"(n), [tab] "r"(tab)
                   : "r4", "r6", "lr", "q0", "q1", "cc", "memory");
    return sum;
#else
    const int8_t *x = row;
    uint32_t sum = 0;
    int32_t n = size, top = -128;

#if defined(__clang__)
    NNCC_MVE_LOOP(n, 16, vctp8q, NNCC_SOFTMAX_TOP, x);
    top = 255 - top;
    n = size;
    NNCC_MVE_LOOP(n, 4, vctp32q, NNCC_SOFTMAX_TERM, top);
#else
    /* GCC computes again where pointers are behind a loop: the last vector of the first loop comes before it and may
     * meet others again, the second one's has pointers of its own. */
    if (n >= 16) {
        top = vmaxvq_s8(-128, vldrbq_s8(row + n - 16));
        for (int32_t k = (n - 1) >> 4; k > 0; k--) {
            NNCC_SOFTMAX_TOP(, x);
        }
    } else {
        const mve_pred16_t rest = vctp8q((uint32_t)n);

        NNCC_SOFTMAX_TOP(_REST, x);
    }
    top = 255 - top;
    x = row;
    {
        int32_t *const first = terms;

        for (int32_t k = n >> 2; k > 0; k--) {
            NNCC_SOFTMAX_TERM(, top);
        }
        if ((n & 3) != 0) {
            const mve_pred16_t rest = vctp32q((uint32_t)n & 3u);

            row = x + (n & ~3);
            terms = first + (n & ~3);
            NNCC_SOFTMAX_TERM(_REST, top);
        }
    }
#endif
    return (int32_t)sum;
#endif
}

/* y = terms * scale / 2^shift - 128 */
static void nncc_softmax_shares(const int32_t *terms, int32_t size, int32_t scale, int32_t shift, int8_t *y)
{
#if NNCC_HELIUM_ASM
    NNCC_REG(int8_t *, to, "r0", y);
    NNCC_REG(const int32_t *, x, "r1", terms);
    NNCC_REG(int32_t, by, "r2", scale);
    NNCC_REG(int32_t, down, "r3", -shift);
    NNCC_REG(int32_t, n, "r4", size);

    __asm volatile("mov r5, #127\n\t"
                   "vdup.32 q1, r5\n\t"
                   "mvn r5, #127\n\t"
                   "dlstp.32 lr, %[n]\n"
                   "1:\n\t"
                   "vldrw.32 q0, [%[x]], #16\n\t"
                   "vqrdmulh.s32 q0, q0, %[by]\n\t"
                   "vrshl.s32 q0, %[down]\n\t"
                   "vadd.i32 q0, q0, r5\n\t"
                   "vmin.s32 q0, q0, q1\n\t"
                   "vstrb.32 q0, [%[to]], #4\n\t"
                   "letp lr, 1b\n\t"
                   : [x] "+r"(x), [to] "+r"(to)
                   : [n] "r"(n), [by] "r"(by), [down] "r"(down)
                   : "r5", "lr", "q0", "q1", "cc", "memory");
#else
    const int32x4_t most = vdupq_n_s32(127);
    const int32_t down = -shift;
    int32_t n = size;

#if !defined(__clang__)
    if (n >= 4) { /* the last vector, over the one before it */
        const int32x4_t w = vrshlq_n_s32(vqrdmulhq_n_s32(vldrwq_s32(terms + n - 4), scale), down);

        vstrbq_s32(y + n - 4, vminq_s32(vaddq_n_s32(w, -128), most));
        for (int32_t k = (n - 1) >> 2; k > 0; k--) {
            NNCC_SOFTMAX_SHARE(, y);
        }
        return;
    }
#endif
    NNCC_MVE_LOOP(n, 4, vctp32q, NNCC_SOFTMAX_SHARE, y);
#endif
}

#endif

void nncc_helium_softmax_s8(const nncc_helium_softmax_params *p, const int8_t *x, const int32_t *table,
                            int32_t *scratch, int8_t *y)
{
#if NNCC_HELIUM_MVE
    for (int32_t r = 0; r < p->rows; r++) {
        const uint32_t sum = nncc_softmax_whole((uint32_t)nncc_softmax_terms(x, p->size, table, scratch));
        const int32_t room = nncc_leading_zeros(sum);

        nncc_softmax_shares(scratch, p->size, nncc_reciprocal(sum << room), NNCC_SOFTMAX_SUM_BITS + 23 - room, y);
        x += p->size;
        y += p->size;
    }
#else
    (void)scratch;
    nncc_softmax_plain(p, x, table, y);
#endif
}

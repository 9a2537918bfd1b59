/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium_fours.h: windows of at most two by two elements as four each, where a window has fewer with some of them
 * twice: neither a maximum nor a mean changes. An including file defines nncc_pool_four, in assembly.
 */
#include "nncc_helium_window.h"

#if NNCC_HELIUM_ASM

/* All channels of n windows from the one at x on; their other elements are `right` and `down` bytes away. */
static void nncc_pool_four(const nncc_helium_pool_params *p, const int8_t *x, int32_t right, int32_t down, int32_t n,
                           int8_t *y);

static inline int32_t nncc_pool_is_four(const nncc_helium_pool_params *p)
{
    return p->kernel_h <= 2 && p->kernel_w <= 2 ? 1 : 0;
}

static inline void nncc_pool_row_of_fours(const nncc_helium_pool_params *p, const int8_t *x, int32_t down, int8_t *y)
{
    for (int32_t o = 0, n; o < p->out_w; o += n) {
        const int32_t start = o * p->stride_w - p->pad_left, from = start < 0 ? 0 : start;
        const int32_t to = start + p->kernel_w < p->in_w ? start + p->kernel_w : p->in_w;

        n = 1;
        if (to - from == p->kernel_w) { /* and so have those up to the right side */
            n = (p->in_w - to) / p->stride_w + 1;
            n = n < p->out_w - o ? n : p->out_w - o;
        }
        nncc_pool_four(p, x + from * p->in_pitch, (to - from - 1) * p->in_pitch, down, n, y);
        y += n * p->out_pitch;
    }
}

static inline void nncc_pool_fours(const nncc_helium_pool_params *p, const int8_t *x, int8_t *y)
{
    const int32_t row = p->in_w * p->in_pitch;

    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t o = 0; o < p->out_h; o++) {
            const int32_t start = o * p->stride_h - p->pad_top, from = start < 0 ? 0 : start;
            const int32_t to = start + p->kernel_h < p->in_h ? start + p->kernel_h : p->in_h;

            nncc_pool_row_of_fours(p, x + from * row, (to - from - 1) * row, y);
            y += p->out_w * p->out_pitch;
        }
        x += p->in_h * row;
    }
}

/* lanes is how many channels a turn takes, load and put those of so many, mean what makes q0 of q0 to q3. */
/* clang-format off */
#define NNCC_POOL_FOUR(bits, lanes, load, mean, put) \
    do { \
        const int32_t moved = (p->channels + (lanes) - 1) & -(lanes); \
        NNCC_REG(const int8_t *, a, "r0", x); \
        NNCC_REG(const int8_t *, b, "r1", x + right); \
        NNCC_REG(const int8_t *, c, "r2", x + down); \
        NNCC_REG(const int8_t *, d, "r3", x + down + right); \
        NNCC_REG(int8_t *, to, "r4", y); \
        NNCC_REG(int32_t, left, "r5", n); \
        NNCC_REG(int32_t, channels, "r6", p->channels); \
        NNCC_REG(int32_t, next, "r8", p->stride_w * p->in_pitch - moved); \
        NNCC_REG(int32_t, after, "r9", p->out_pitch - moved); \
        NNCC_REG(int32_t, lo, "r10", p->act_min); \
        NNCC_REG(int32_t, hi, "r11", p->act_max); \
\
        __asm volatile("vdup." bits " q6, %[lo]\n\t" \
                       "vdup." bits " q7, %[hi]\n" \
                       "1:\n\t" \
                       "dlstp." bits " lr, %[channels]\n" \
                       "2:\n\t" \
                       load " q0, [%[a]], #" #lanes "\n\t" \
                       load " q1, [%[b]], #" #lanes "\n\t" \
                       load " q2, [%[c]], #" #lanes "\n\t" \
                       load " q3, [%[d]], #" #lanes "\n\t" \
                       mean \
                       "vmax.s" bits " q0, q0, q6\n\t" \
                       "vmin.s" bits " q0, q0, q7\n\t" \
                       put " q0, [%[y]], #" #lanes "\n\t" \
                       "letp lr, 2b\n\t" \
                       "add %[a], %[a], %[next]\n\t" \
                       "add %[b], %[b], %[next]\n\t" \
                       "add %[c], %[c], %[next]\n\t" \
                       "add %[d], %[d], %[next]\n\t" \
                       "add %[y], %[y], %[after]\n\t" \
                       "subs %[left], %[left], #1\n\t" \
                       "bne 1b\n\t" \
                       : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [y] "+r"(to), [left] "+r"(left) \
                       : [channels] "r"(channels), [next] "r"(next), [after] "r"(after), [lo] "r"(lo), [hi] "r"(hi) \
                       : "q0", "q1", "q2", "q3", "q6", "q7", "lr", "cc", "memory"); \
    } while (0)
/* clang-format on */

#endif

static inline void nncc_pool_windows(const nncc_helium_pool_params *p, const int8_t *x, int8_t *y)
{
#if NNCC_HELIUM_ASM
    if (nncc_pool_is_four(p) != 0) {
        nncc_pool_fours(p, x, y);
        return;
    }
#endif
    nncc_pool(p, x, y);
}

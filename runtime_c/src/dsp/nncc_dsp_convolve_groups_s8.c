/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_convolve_groups_s8: the windows of two output pixels are widened side by side, the channels of a group
 * behind each other, and one call multiplies all groups.
 */
#include "nncc_dsp_core.h"

/* A pixel of the output and the first element of its window, which may lie outside. */
typedef struct
{
    int32_t ox;
    int32_t row;
    int32_t col;
} nncc_dsp_window_place;

static void next(const nncc_dsp_convolve_params *p, nncc_dsp_window_place *v)
{
    v->ox++;
    v->col += p->stride_w;
    if (v->ox == p->out_w) {
        v->ox = 0;
        v->col = -p->pad_w;
        v->row += p->stride_h;
    }
}

static const int8_t *tap(const nncc_dsp_convolve_params *p, const int8_t *x, const int8_t *pad, int32_t row,
                         int32_t col)
{
    if (row < 0 || row >= p->in_h || col < 0 || col >= p->in_w) {
        return pad;
    }
    return x + (row * p->in_w + col) * p->in_pitch;
}

/* All channels of two pixels, `words` of four a group; the next group's words begin `skip` bytes behind. */
#if NNCC_DSP_ASM
static void widen(const int8_t *a, const int8_t *b, int32_t groups, int32_t words, int32_t skip, int32_t *to)
{
    for (; groups > 0; groups--) {
        int32_t n = words;

        __asm volatile("1:\n"
                       "ldr r4, [%[a]], #4\n ldr r5, [%[b]], #4\n sxtb16 r6, r4, ror #8\n sxtb16 r8, r5, ror #8\n"
                       "sxtb16 r4, r4\n sxtb16 r5, r5\n stm %[to]!, {r4, r5, r6, r8}\n"
                       "subs %[n], %[n], #1\n bne 1b\n"
                       : [a] "+r"(a), [b] "+r"(b), [to] "+r"(to), [n] "+r"(n)
                       :
                       : "r4", "r5", "r6", "r8", "memory", "cc");
        to += skip / 4;
    }
}
#else
NNCC_DSP_AS_WRITTEN NNCC_APART static void widen(const int8_t *a, const int8_t *b, int32_t groups, int32_t words,
                                                 int32_t skip, int32_t *to)
{
    int32_t left = words;

    NNCC_DSP_ROLLED
    for (int32_t n = groups * words; n > 0; n--) {
        const int32_t u = nncc_dsp_load4(a), v = nncc_dsp_load4(b);
        const int32_t w0 = nncc_dsp_even(u), w1 = nncc_dsp_even(v), w2 = nncc_dsp_odd(u), w3 = nncc_dsp_odd(v);

        a += 4;
        b += 4;
        to[0] = w0;
        to[1] = w1;
        to[2] = w2;
        to[3] = w3;
        to += 4;
        left--;
        if (left == 0) {
            left = words;
            to = (int32_t *)(void *)((int8_t *)to + skip);
        }
    }
}
#endif

void nncc_dsp_convolve_groups_s8(const nncc_dsp_convolve_params *p, nncc_dsp_matmul_fn *mat, const int8_t *x,
                                 const int32_t *w, int8_t *y, int32_t *scratch)
{
    const int32_t pixels = p->out_h * p->out_w, depth = p->in_c / p->groups, skip = 8 * p->pairs - 4 * depth;
    int8_t *const pad = (int8_t *)(scratch + 2 * p->pairs * p->groups);
    nncc_dsp_matmul_params m = {p->out_c >> 2, p->pairs, p->out_pitch, p->positive, p->low, p->cap, 4, NULL};

    if (p->border != 0) {
        memset(pad, p->pad, (size_t)p->in_c);
    }
    for (int32_t n = 0; n < p->batches; n++) {
        nncc_dsp_window_place a = {0, -p->pad_h, -p->pad_w};

        m.y_step = p->out_pitch;
        for (int32_t i = 0; i < pixels; i += 2) {
            nncc_dsp_window_place b = a;
            int32_t *to = scratch;

            if (i + 1 < pixels) {
                next(p, &b);
            } else {
                m.y_step = 0; /* the last odd pixel is computed twice */
            }
            for (int32_t ky = 0; ky < p->kernel_h; ky++) {
                for (int32_t kx = 0; kx < p->kernel_w; kx++) {
                    const int32_t dy = ky * p->dil_h, dx = kx * p->dil_w;

                    widen(tap(p, x, pad, a.row + dy, a.col + dx), tap(p, x, pad, b.row + dy, b.col + dx), p->groups,
                          depth / 4, skip, to);
                    to += depth;
                }
            }
            mat(&m, scratch, w, y);
            a = b;
            next(p, &a);
            y += 2 * p->out_pitch;
        }
        y -= (pixels & 1) * p->out_pitch;
        x += p->in_h * p->in_w * p->in_pitch;
    }
}

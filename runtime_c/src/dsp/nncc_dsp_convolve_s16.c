/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_convolve_s16: the windows of four output pixels side by side, or of three, multiplied by all output
 * channels.
 *
 * A window is a list of runs of inputs: a kernel row of all its pixels, or one tap. Runs are copied four at a time;
 * those that stick out are zeros, or, of several taps, copies beside zeros.
 */
#include "nncc_dsp_channels_s16.h"

/* The first tap of a window: its row and column in the image, which may be outside. */
typedef struct
{
    int32_t row, col;
} nncc_corner16;

/* Three pixels: C puts no three of them side by side, and layers of code that is to be small do not ask for them. */
#if NNCC_DSP_ASM && !defined(__OPTIMIZE_SIZE__)

#define NNCC_BY_THREE 1

/* n inputs of three pixels, as nncc_dsp_interleave_4rows_s16 has those of four. */
NNCC_DSP_NAKED static int32_t *nncc_three16(NNCC_DSP_ARG const int8_t *a, NNCC_DSP_ARG const int8_t *b,
                                            NNCC_DSP_ARG const int8_t *c, NNCC_DSP_ARG int32_t n,
                                            NNCC_DSP_ARG int32_t *x)
{
    /* clang-format off */
    __asm volatile(".syntax unified\n"
                   "push {r4-r8}\n"
                   "ldr r5, [sp, #20]\n"
                   "mov r4, r3\n"
                   NNCC_DSP_SIDE16_3
                   "mov r0, r5\n"
                   "pop {r4-r8}\n"
                   "bx lr\n");
    /* clang-format on */
}

#else
#define NNCC_BY_THREE 0
#endif

/* n inputs of pixels side by side: of three, or of four, of which `count` are wanted. */
static inline int32_t *nncc_side16(int32_t by, int32_t count, const int8_t *a, const int8_t *b, const int8_t *c,
                                   const int8_t *d, int32_t n, int32_t *to)
{
#if NNCC_BY_THREE
    if (by == 3) {
        return nncc_three16(a, b, c, n, to);
    }
#endif
    (void)by;
    return nncc_dsp_interleave_4rows_s16(a, b, nncc_dsp_wanted16(count, 2, c), nncc_dsp_wanted16(count, 3, d), n, to);
}

static int nncc_inside16(const nncc_dsp_convolve16_params *p, const nncc_corner16 *c)
{
    return c->row >= 0 && c->col >= 0 && c->row + (p->kernel_h - 1) * p->dil_h < p->in_h &&
           c->col + (p->kernel_w - 1) * p->dil_w < p->in_w;
}

/* The taps of a kernel row of a pixel, zeros where they stick out: where they lie, or copied to line. */
static const int8_t *nncc_taps16(const nncc_dsp_convolve16_params *p, const int8_t *row, int32_t col,
                                 const int8_t *zeros, int8_t *line)
{
    const int32_t before = col < 0 ? -col : 0, over = col + p->kernel_w - p->in_w, after = over > 0 ? over : 0;
    const int32_t live = p->kernel_w - before - after;

    if (live <= 0) {
        return zeros;
    }
    if (live < p->kernel_w) {
        const int32_t tap = 2 * p->depth;

        if (before > 0) {
            memset(line, 0, (size_t)(before * tap));
        }
        memcpy(line + before * tap, row + (col + before) * p->in_pitch, (size_t)(live * tap));
        if (after > 0) {
            memset(line + (before + live) * tap, 0, (size_t)(after * tap));
        }
        return line;
    }
    return row + col * p->in_pitch;
}

/* Windows of three or four pixels inside the image, of which `count` are wanted. */
static void nncc_gather16(const nncc_dsp_convolve16_params *p, const int8_t *x, const nncc_corner16 c[4], int32_t by,
                          int32_t count, int32_t *to)
{
    /* Taps that follow each other and are whole words are one run, too. */
    const int whole = p->merged || (p->dil_w == 1 && (p->depth & 1) == 0 && p->in_pitch == 2 * p->depth);
    const int32_t runs = whole ? 1 : p->kernel_w, length = whole ? p->kernel_w * p->depth : p->depth;
    const int32_t row = p->in_w * p->in_pitch, down = p->dil_h * row, right = p->dil_w * p->in_pitch;
    const int8_t *at[4] = {x, x, x, x};

    for (int32_t i = 0; i < by; i++) {
        at[i] = x + c[i].row * row + c[i].col * p->in_pitch;
    }
    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        for (int32_t r = 0; r < runs; r++) {
            const int32_t off = ky * down + r * right;

            to = nncc_side16(by, count, at[0] + off, at[1] + off, at[2] + off, at[3] + off, length, to);
        }
    }
}

/* The same of windows that stick out; room: a run of zeros, and, merged, room for one of each pixel. */
static void nncc_border16(const nncc_dsp_convolve16_params *p, const int8_t *x, const nncc_corner16 c[4], int32_t by,
                          int32_t count, int32_t *to, int8_t *room)
{
    const int32_t runs = p->merged ? 1 : p->kernel_w, length = p->merged ? p->kernel_w * p->depth : p->depth;

    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int8_t *rows[4];
        uint32_t width[4]; /* 0 above and below the image */

        for (int32_t i = 0; i < by; i++) {
            const int32_t row = c[i].row + ky * p->dil_h;

            width[i] = row >= 0 && row < p->in_h ? (uint32_t)p->in_w : 0;
            rows[i] = width[i] != 0 ? x + row * p->in_w * p->in_pitch : room;
        }
        for (int32_t r = 0; r < runs; r++) {
            const int8_t *at[4] = {room, room, room, room};

            for (int32_t i = 0; i < by; i++) {
                const int32_t col = c[i].col + r * p->dil_w;

                if (p->merged && width[i] != 0) {
                    at[i] = nncc_taps16(p, rows[i], col, room, room + 2 * (i + 1) * length);
                } else {
                    at[i] = (uint32_t)col < width[i] ? rows[i] + col * p->in_pitch : room;
                }
            }
            to = nncc_side16(by, count, at[0], at[1], at[2], at[3], length, to);
        }
    }
}

void nncc_dsp_convolve_s16(const nncc_dsp_convolve16_params *p, nncc_dsp_matmul16_fn *mat, nncc_dsp_matmul16_fn *threes,
                           const int8_t *x, const int32_t *w, int8_t *y, int32_t *scratch)
{
    const int32_t pixels = p->out_h * p->out_w, out_depth = p->out_c / p->groups;
    nncc_dsp_quads16_params m = {out_depth, p->pairs,  p->act_min, p->act_max, 1, 0, scratch,
                                 {0, 0, 0}, {0, 0, 0}, 4,          0,          0, 0};
    int8_t *const room = (int8_t *)(scratch + 4 * p->pairs);
    const int32_t by_three = NNCC_BY_THREE && threes != NULL ? 3 * (-pixels & 3) : 0; /* pixels */
    int32_t zeros = 2 * p->depth * (p->merged ? p->kernel_w : 1); /* bytes that are to be, at the first border */

    for (int32_t n = 0; n < p->batches; n++) {
        int32_t oy = 0, ox = 0;

        for (int32_t i = 0; i < pixels;) {
            const int32_t by = NNCC_BY_THREE && i < by_three ? 3 : 4, count = pixels - i < by ? pixels - i : by;
            nncc_dsp_matmul16_fn *const product = by == 3 ? threes : mat;
            nncc_corner16 c[4];
            int inside = 1;

            for (int32_t k = 0; k < by; k++) { /* what is missing is the last pixel again */
                c[k].row = oy * p->stride_h - p->pad_h;
                c[k].col = ox * p->stride_w - p->pad_w;
                inside = inside && nncc_inside16(p, &c[k]);
                if (k + 1 < count || (k + 1 == count && count == by)) {
                    ox++;
                    if (ox == p->out_w) {
                        ox = 0;
                        oy++;
                    }
                }
            }
            if (!inside && zeros > 0) {
                memset(room, 0, (size_t)zeros);
                zeros = 0;
            }
            m.pixels = count;
            nncc_dsp_places16(m.out, count, p->out_pitch);
            for (int32_t g = 0; g < p->groups; g++) {
                const int8_t *const from = x + 2 * g * p->depth;

                if (inside) {
                    nncc_gather16(p, from, c, by, count, scratch);
                } else {
                    nncc_border16(p, from, c, by, count, scratch, room);
                }
                product(&m, NULL, w + g * p->group_words, y + 2 * g * out_depth);
            }
            y += count * p->out_pitch;
            i += count;
        }
        x += p->in_h * p->in_w * p->in_pitch;
    }
}

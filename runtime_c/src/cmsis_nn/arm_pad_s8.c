/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis.h"
#include "nncc_short_runs.h"

/* Extents of the output in bytes: an element of each dimension. */
typedef struct
{
    int32_t c;
    int32_t w;
    int32_t h;
} nncc_padded;

/* Runs of this length and more go by themselves: it would take longer to fill what they cover. */
#define NNCC_PAD_RUN 64

/* Runs, and what lies between two of them filled at once. */
static void nncc_pad_runs(const nncc_padded *e, const int8_t *x, int8_t *y, int8_t value, const cmsis_nn_dims *size,
                          const cmsis_nn_dims *pre, const cmsis_nn_dims *post)
{
    const int32_t pixels = e->c == size->c ? 1 : size->w; /* rows without padded pixels are one run */
    const int32_t run = e->c == size->c ? size->w * e->c : size->c;
    int32_t due = pre->n * e->h; /* bytes of padding */
    int32_t n, h, w;

    for (n = 0; n < size->n; n++) {
        due += pre->h * e->w;
        for (h = 0; h < size->h; h++) {
            due += pre->w * e->c;
            for (w = 0; w < pixels; w++) {
                due += pre->c;
                if (due > 0) {
                    nncc_set(y, (uint8_t)value, due);
                    y += due;
                }
                nncc_copy(y, x, run);
                x += run;
                y += run;
                due = post->c;
            }
            due += post->w * e->c;
        }
        due += post->h * e->w;
    }
    nncc_set(y, (uint8_t)value, due + post->n * e->h);
}

/* Short runs: everything is filled, then they are copied. */
static void nncc_pad_pixels(const nncc_padded *e, const int8_t *x, int8_t *y, int8_t value, const cmsis_nn_dims *size,
                            const cmsis_nn_dims *pre, const cmsis_nn_dims *post)
{
    nncc_short_runs r;
    int32_t n, h;

    r.n = size->c;
    r.count = size->w;
    r.from_step = size->c;
    r.to_step = e->c;
    nncc_set(y, (uint8_t)value, (pre->n + size->n + post->n) * e->h);
    for (n = 0; n < size->n; n++) {
        for (h = 0; h < size->h; h++) {
            nncc_copy_runs(&r, y + (pre->n + n) * e->h + (pre->h + h) * e->w + pre->w * e->c + pre->c, x);
            x += size->w * size->c;
        }
    }
}

arm_cmsis_nn_status arm_pad_s8(const int8_t *input, int8_t *output, const int8_t pad_value,
                               const cmsis_nn_dims *input_size, const cmsis_nn_dims *pre_pad,
                               const cmsis_nn_dims *post_pad)
{
    nncc_padded e;

    e.c = pre_pad->c + input_size->c + post_pad->c;
    e.w = (pre_pad->w + input_size->w + post_pad->w) * e.c;
    e.h = (pre_pad->h + input_size->h + post_pad->h) * e.w;
    if (e.c == input_size->c || input_size->c >= NNCC_PAD_RUN) {
        nncc_pad_runs(&e, input, output, pad_value, input_size, pre_pad, post_pad);
    } else {
        nncc_pad_pixels(&e, input, output, pad_value, input_size, pre_pad, post_pad);
    }
    return ARM_CMSIS_NN_SUCCESS;
}

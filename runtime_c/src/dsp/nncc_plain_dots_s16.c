/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_plain_dots_s16: rows of int16 times one channel after the other, both read where they lie. */
#include "nncc_dsp_matmul_s16.h"

static inline int32_t product16(const int16_t *x, const int8_t *w, int32_t n, int32_t sum)
{
#if NNCC_THUMB1
    x += n;
    w += n;
    for (int32_t k = -n; k < 0; k++) { /* no register for the end */
        sum += x[k] * w[k];
    }
#else
    for (; n >= 4; n -= 4) {
        sum += x[0] * w[0];
        sum += x[1] * w[1];
        sum += x[2] * w[2];
        sum += x[3] * w[3];
        x += 4;
        w += 4;
    }
    if ((n & 2) != 0) {
        sum += x[0] * w[0];
        sum += x[1] * w[1];
        x += 2;
        w += 2;
    }
    if ((n & 1) != 0) {
        sum += *x * *w;
    }
#endif
    return sum;
}

/* All channels of a row. */
static inline void nncc_row_dots16(const nncc_plain_dots16_params *p, const int16_t *x, const int32_t *w, int8_t *y)
{
    const int32_t n = p->in_c, low = p->act_min, high = p->act_max;
    int32_t left = p->out_c;

    do {
        const int32_t sum = product16(x, (const int8_t *)(w + 4), n, w[0]);

        nncc_plain_store16(nncc_plain_down16(sum, w + 1), low, high, y);
        w += p->channel_words;
        y += 2;
        left--;
    } while (left > 0);
}

void nncc_plain_dots_s16(const nncc_plain_dots16_params *p, const int8_t *x, const int32_t *w, int8_t *y)
{
    int32_t lines = p->lines;

    do {
        const int8_t *row = x;

        for (int32_t r = p->rows; r > 0; r--) {
            nncc_row_dots16(p, (const int16_t *)(const void *)row, w, y);
            row += p->in_pitch;
            y += p->out_pitch;
        }
        x += p->line;
        lines--;
    } while (lines > 0);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_max_pool_sliding_s8: maxima of columns, then of four rows of them at a time. */
#include "nncc_dsp_sliding.h"

/* n bytes, the largest of count, step apart, each. */
static void max_apart(const int8_t *x, int32_t step, int32_t count, int32_t n, int8_t *y)
{
#if NNCC_SIMD32
    for (; n >= 8; n -= 8) {
        const int8_t *from = x;
        uint32_t a = nncc_load_word(from), b = nncc_load_word(from + 4);

        for (int32_t k = count; k > 1; k--) {
            from += step;
            a = nncc_max8(a, nncc_load_word(from));
            b = nncc_max8(b, nncc_load_word(from + 4));
        }
        nncc_store_word(y, a);
        nncc_store_word(y + 4, b);
        x += 8;
        y += 8;
    }
#endif
    if (nncc_words_fit(x, y, step) != 0) {
        for (; n >= 4; n -= 4) {
            const int8_t *from = x;
            uint32_t a = nncc_load_word_at(from);

            for (int32_t k = count; k > 1; k--) {
                from += step;
                a = nncc_max8(a, nncc_load_word_at(from));
            }
            nncc_store_word_at(y, a);
            x += 4;
            y += 4;
        }
    }
    for (; n > 0; n--) {
        const int8_t *from = x;
        int8_t max = *from;

        for (int32_t k = count; k > 1; k--) {
            from += step;
            max = *from > max ? *from : max;
        }
        *y++ = max;
        x++;
    }
}

static void max_columns(const int8_t *x, int32_t row, int32_t rows, int32_t n, void *to)
{
    max_apart(x, row, rows, n, (int8_t *)to);
}

static void max_across(const nncc_dsp_windows *w, const void *from, int8_t *y)
{
    const int8_t *x = (const int8_t *)from;

    for (int32_t k = w->count; k > 0; k--) {
        max_apart(x, w->step, w->cols, w->n, y);
        x += w->next;
        y += w->n;
    }
}

void nncc_dsp_max_pool_sliding_s8(const nncc_dsp_sliding_pool_params *p, const int8_t *x, int8_t *y, int32_t *scratch)
{
    nncc_dsp_slide(p, max_columns, max_across, 1, x, y, scratch);
}

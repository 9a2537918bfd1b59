/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_max_pool_fours_s8: windows of up to two by two at once, 3.5 instructions an output with SSUB8 and SEL. */
#include "nncc_dsp_fours.h"

static inline int8_t larger(int8_t a, int8_t b)
{
    return a > b ? a : b;
}

static void max_fours(const nncc_dsp_four_windows *w, const int8_t *x, int8_t *y)
{
    const int32_t right = w->right, down = w->down, both = right + down, step = w->step, channels = w->channels;
    const int32_t words = nncc_words_fit(x, y, right | down | step | channels) != 0 ? channels & ~3 : 0;

    for (int32_t c = 0; c < words; c += 4) {
        const int8_t *from = x + c;
        int8_t *to = y + c;

        for (int32_t n = w->count; n > 0; n--) {
            const uint32_t a = nncc_max8(nncc_load_word_at(from), nncc_load_word_at(from + right));
            const uint32_t b = nncc_max8(nncc_load_word_at(from + down), nncc_load_word_at(from + both));

            nncc_store_word_at(to, nncc_max8(a, b));
            from += step;
            to += channels;
        }
    }
    for (int32_t c = words; c < channels; c++) {
        const int8_t *from = x + c;
        int8_t *to = y + c;

        for (int32_t n = w->count; n > 0; n--) {
            *to = larger(larger(from[0], from[right]), larger(from[down], from[both]));
            from += step;
            to += channels;
        }
    }
}

void nncc_dsp_max_pool_fours_s8(const nncc_dsp_pool_params *p, const int8_t *x, int8_t *y)
{
    nncc_dsp_fours(p, max_fours, x, y);
}

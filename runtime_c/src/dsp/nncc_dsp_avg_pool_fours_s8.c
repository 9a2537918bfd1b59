/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_avg_pool_fours_s8: windows of up to two by two, the means of four channels at a time in two words. */
#include "nncc_bits.h"
#include "nncc_dsp_fours.h"

/* The mean of four bytes plus 128, from their sum plus 512, twice: ties go up from 0 on, and down below. */
static inline uint32_t quarters(uint32_t sums)
{
    return (sums + 0x10001u + (sums >> 9 & 0x10001u)) >> 2 & 0xff00ffu;
}

/* sum plus even bytes, and odd ones; without instructions for it bytes are 128 larger. */
#if NNCC_SIMD32
#define NNCC_FOUR_START 0x2000200u
#define NNCC_FOUR_LOAD(x) nncc_load_word_at(x)
#define NNCC_FOUR_EVEN nncc_add_even
#define NNCC_FOUR_ODD nncc_add_odd
#else
#define NNCC_FOUR_START 0u
#define NNCC_FOUR_LOAD(x) (nncc_load_word_at(x) ^ 0x80808080u)
#define NNCC_FOUR_EVEN(sum, v) ((sum) + ((v)&0xff00ffu))
#define NNCC_FOUR_ODD(sum, v) ((sum) + ((v) >> 8 & 0xff00ffu))
#endif

static void mean_fours(const nncc_dsp_four_windows *w, const int8_t *x, int8_t *y)
{
    const int32_t right = w->right, down = w->down, both = right + down, step = w->step, channels = w->channels;
    const int32_t words = nncc_words_fit(x, y, right | down | step | channels) != 0 ? channels & ~3 : 0;

    for (int32_t c = 0; c < words; c += 4) {
        const int8_t *from = x + c;
        int8_t *to = y + c;

        for (int32_t n = w->count; n > 0; n--) {
            uint32_t v = NNCC_FOUR_LOAD(from), even = NNCC_FOUR_EVEN(NNCC_FOUR_START, v);
            uint32_t odd = NNCC_FOUR_ODD(NNCC_FOUR_START, v);

            v = NNCC_FOUR_LOAD(from + right);
            even = NNCC_FOUR_EVEN(even, v);
            odd = NNCC_FOUR_ODD(odd, v);
            v = NNCC_FOUR_LOAD(from + down);
            even = NNCC_FOUR_EVEN(even, v);
            odd = NNCC_FOUR_ODD(odd, v);
            v = NNCC_FOUR_LOAD(from + both);
            even = NNCC_FOUR_EVEN(even, v);
            odd = NNCC_FOUR_ODD(odd, v);
            nncc_store_word_at(to, (quarters(even) | quarters(odd) << 8) ^ 0x80808080u);
            from += step;
            to += channels;
        }
    }
    for (int32_t c = words; c < channels; c++) {
        const int8_t *from = x + c;
        int8_t *to = y + c;

        for (int32_t n = w->count; n > 0; n--) {
            const uint32_t sum = (uint32_t)(from[0] + from[right] + from[down] + from[both] + 512);

            *to = nncc_dsp_byte((int32_t)quarters(sum) - 128);
            from += step;
            to += channels;
        }
    }
}

void nncc_dsp_avg_pool_fours_s8(const nncc_dsp_pool_params *p, const int8_t *x, int8_t *y)
{
    nncc_dsp_fours(p, mean_fours, x, y);
}

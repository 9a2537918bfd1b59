/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_preprocess.h"

/* The nearest integer to x, halves to even, plus zero, from low to high. */
static int32_t nncc_sound_round(const nncc_sound_params *p, float x)
{
    int32_t i, q;

    if (x > 131072.0f || x < -131072.0f) { /* beyond any value with any zero point */
        return x > 0.0f ? p->high : p->low;
    }
    i = (int32_t)x;
    float rest = x - (float)i;
    if (rest > 0.5f || (rest == 0.5f && (i & 1) != 0)) {
        i++;
    } else if (rest < -0.5f || (rest == -0.5f && (i & 1) != 0)) {
        i--;
    }
    q = i + p->zero;
    return q < p->low ? p->low : (q > p->high ? p->high : q);
}

void nncc_sound_s16(const nncc_sound_params *p, const int16_t *samples, int32_t at, uint16_t *out)
{
    for (int32_t f = 0; f < p->frames; f++) {
        int32_t from = at + f * p->hop;

        for (int32_t i = 0; i < p->window; i++) {
            const float x = (float)samples[from >= p->length ? from - p->length : from] * p->scale;

            *out++ = (uint16_t)nncc_sound_round(p, x / p->step);
            from++;
        }
    }
}

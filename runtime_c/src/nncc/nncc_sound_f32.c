/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_preprocess.h"

void nncc_sound_f32(const nncc_sound_params *p, const int16_t *samples, int32_t at, float *out)
{
    for (int32_t f = 0; f < p->frames; f++) {
        int32_t from = at + f * p->hop;

        for (int32_t i = 0; i < p->window; i++) {
            *out++ = (float)samples[from >= p->length ? from - p->length : from] * p->scale;
            from++;
        }
    }
}

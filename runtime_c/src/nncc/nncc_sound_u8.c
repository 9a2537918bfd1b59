/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_preprocess.h"

void nncc_sound_u8(const nncc_sound_params *p, const int16_t *samples, int32_t at, const int32_t *steps, uint8_t *out)
{
    for (int32_t f = 0; f < p->frames; f++) {
        int32_t from = at + f * p->hop;

        for (int32_t i = 0; i < p->window; i++) {
            const int32_t x = samples[from >= p->length ? from - p->length : from];
            int32_t value = 0; /* the last entry that is not above x: steps[0] is not */

            for (int32_t half = 128; half > 0; half >>= 1) {
                if (x >= steps[value + half]) {
                    value += half;
                }
            }
            *out++ = (uint8_t)(p->low + value);
            from++;
        }
    }
}

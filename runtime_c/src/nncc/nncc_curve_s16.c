/* nncc_curve_s16: interpolated functions of int16 values. */
#include "nncc_s16.h"

void nncc_curve_s16(const nncc_count_params *p, const int16_t *x, const int16_t *curve, int16_t *y)
{
    for (int32_t i = 0; i < p->count; i++) {
        const int32_t q = x[i];
        const int16_t *at = curve + 256 + (q >> 7);
        const int16_t slope = (int16_t)(at[1] - at[0]);
        const int16_t step = (int16_t)((slope * (q & 127) + 64) >> 7);

        y[i] = (int16_t)(at[0] + step);
    }
}

#include "nncc_element_int.h"
#include "nncc_s16.h"

void nncc_interpolated_lut_s16(const nncc_count_params *p, const int16_t *x, const int16_t *points, int16_t *y)
{
    for (int32_t i = 0; i < p->count; i++) {
        y[i] = (int16_t)nncc_el_interpolated_lut_s16(points, x[i]);
    }
}

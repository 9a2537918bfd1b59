#include "nncc_fp.h"

#include "nncc_element_f32.h"
#include "nncc_f32.h"

void nncc_clip_f32(const nncc_clip_f32_params *p, const float *x, float *y)
{
    const int32_t n = p->count;

    for (int32_t i = 0; i < n; i++) {
        y[i] = nncc_el_clip_f32(x[i], p->lo, p->hi);
    }
}

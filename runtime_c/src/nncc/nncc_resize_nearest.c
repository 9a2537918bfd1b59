#include "nncc_copy.h"
#include "nncc_move.h"

void nncc_resize_nearest(const nncc_resize_nearest_params *p, const void *x, const int32_t *index_h,
                         const int32_t *index_w, const void *outside, void *y)
{
    const uint8_t *from = (const uint8_t *)x;
    uint8_t *to = (uint8_t *)y;

    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                const int32_t iy = index_h[oy];
                const int32_t ix = index_w[ox];

                nncc_copy(to, iy < 0 || ix < 0 ? outside : from + (iy * p->in_w + ix) * p->x_pitch, p->pixel);
                to += p->y_pitch;
            }
        }
        from += p->in_h * p->in_w * p->x_pitch;
    }
}

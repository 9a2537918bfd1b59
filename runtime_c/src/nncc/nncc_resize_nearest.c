/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_resize_nearest: a row of the output that reads the row of the one above it is a copy of that. */
#include "nncc_copy.h"
#include "nncc_move.h"

#if NNCC_MVE_C
/* A row of pixels of up to a vector: their predicate is made once. */
static inline void nncc_nearest_row(const nncc_resize_nearest_params *p, const uint8_t *row, const int32_t *index_w,
                                    const uint8_t *outside, uint8_t *to)
{
    const mve_pred16_t rest = vctp8q((uint32_t)p->pixel);
    const int32_t x_pitch = p->x_pitch, y_pitch = p->y_pitch;

    for (int32_t n = p->out_w; n > 0; n--) {
        const int32_t ix = *index_w++;

        NNCC_PUT16_REST(to, NNCC_GET16_REST(ix < 0 ? outside : row + ix * x_pitch));
        to += y_pitch;
    }
}
#endif

void nncc_resize_nearest(const nncc_resize_nearest_params *p, const void *x, const int32_t *index_h,
                         const int32_t *index_w, const void *outside, void *y)
{
    const uint8_t *from = (const uint8_t *)x;
    uint8_t *to = (uint8_t *)y;
    const int32_t pixel = p->pixel;
    const int32_t bytes = p->out_w * p->y_pitch;

    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t oy = 0; oy < p->out_h; oy++) {
            const int32_t iy = index_h[oy];
            const uint8_t *const row = from + iy * p->in_w * p->x_pitch;

            if (oy > 0 && iy == index_h[oy - 1] && p->y_pitch == pixel) {
                nncc_copy(to, to - bytes, bytes);
                to += bytes;
                continue;
            }
#if NNCC_MVE_C
            if (pixel <= 16 && iy >= 0) {
                nncc_nearest_row(p, row, index_w, (const uint8_t *)outside, to);
                to += bytes;
                continue;
            }
#endif
            for (int32_t ox = 0; ox < p->out_w; ox++) {
                const int32_t ix = index_w[ox];

                nncc_copy(to, iy < 0 || ix < 0 ? outside : row + ix * p->x_pitch, pixel);
                to += p->y_pitch;
            }
        }
        from += p->in_h * p->in_w * p->x_pitch;
    }
}

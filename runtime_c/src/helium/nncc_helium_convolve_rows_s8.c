/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_core.h"

/* An image for one group: for a row, another one behind it may be all that the last vectors reach. */
static inline void nncc_rows_image(const nncc_helium_convolve_params *p, const nncc_helium_matmul_params *pairs,
                                   const int8_t *image, const int8_t *packed, int8_t *y, nncc_helium_matmul_fn *dot)
{
    const int32_t line = p->stride_h * p->in_w * p->in_pitch;
    int32_t at = -p->pad_top * p->in_w - p->pad_left;
    int32_t reach = at + (p->out_w - 1) * p->stride_w; /* the last pixel of a row */

    reach = (p->in_h * p->in_w - 1 - reach) * p->in_pitch + p->depth - NNCC_HELIUM_BYTES * p->mac.vectors;
    image += at * p->in_pitch;
    for (int32_t oy = p->out_h; oy > 0; oy--) {
        dot(reach >= 0 ? pairs : &p->mac, image, packed, y, p->out_w);
        image += line;
        reach -= line;
        y += p->out_w * p->mac.pitch;
    }
}

void nncc_helium_convolve_rows_s8(const nncc_helium_convolve_params *p, const int8_t *x, const int8_t *packed,
                                  int8_t *y, nncc_helium_matmul_fn *dot)
{
    nncc_helium_matmul_params pairs = p->mac;

    pairs.single = 0;
    for (int32_t g = 0; g < p->groups; g++) {
        for (int32_t n = 0; n < p->batch; n++) {
            nncc_rows_image(p, &pairs, x + n * p->in_h * p->in_w * p->in_pitch + g * p->depth, packed,
                            y + n * p->out_h * p->out_w * p->mac.pitch + g * p->group_step, dot);
        }
        packed += p->group_bytes;
    }
}

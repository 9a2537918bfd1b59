/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_f32.h"
#include "nncc_f32_rows.h"

void nncc_clip_f32(const nncc_clip_f32_params *p, const float *x, float *y)
{
    nncc_f32_clip_rows(x, p->lo, p->hi, y, p->count);
}

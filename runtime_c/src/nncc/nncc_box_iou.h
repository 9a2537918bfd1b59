/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_box_iou.h: how much boxes overlap. */
#include "nncc_fp.h"

/* How long two stretches have in common. */
static inline float nncc_box_overlap(float a0, float a1, float b0, float b1)
{
    const float from = a0 > b0 ? a0 : b0, to = a1 < b1 ? a1 : b1;

    return to > from ? to - from : 0.0f;
}

/*
 * The area that two boxes share, in proportion to what they cover together; 0 where one has no area. Four numbers each:
 * two of the first corner, two of the other.
 */
static inline float nncc_box_iou(const float *a, const float *b)
{
    const float one = (a[2] - a[0]) * (a[3] - a[1]), two = (b[2] - b[0]) * (b[3] - b[1]);

    if (!(one > 0.0f && two > 0.0f)) {
        return 0.0f;
    }
    float both = nncc_box_overlap(a[0], a[2], b[0], b[2]) * nncc_box_overlap(a[1], a[3], b[1], b[3]);
    return both / (one + two - both);
}

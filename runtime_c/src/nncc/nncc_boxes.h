/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_boxes.h: what kernels that read boxes share. */
#include "nncc_fp.h"

#include "nncc_postprocess.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a comes before b: a higher score, then a lower cell, then a lower label. */
static inline int32_t nncc_box_before(const nncc_box *a, const nncc_box *b)
{
    if (a->score > b->score || a->score < b->score) {
        return a->score > b->score ? 1 : 0;
    }
    if (a->cell != b->cell) {
        return a->cell < b->cell ? 1 : 0;
    }
    return a->label < b->label ? 1 : 0;
}

/* The corners of a box of numbers t in a cell; 0 where they are none: no number, or beyond 10^6. */
int32_t nncc_box_corners(const nncc_boxes_params *p, const nncc_box_map *m, int32_t row, int32_t col, int32_t anchor,
                         const float *t, nncc_box *box);

/* Adds a box to the best so far, a heap with the worst in front, of at most so many; returns how many there are. */
int32_t nncc_box_keep(nncc_box *list, int32_t count, int32_t most, const nncc_box *box);

/* Sorts such a heap, leaves out what overlaps, cuts boxes off at the input's sides; returns how many there are. */
int32_t nncc_box_suppress(const nncc_boxes_params *p, nncc_box *list, int32_t count);

#ifdef __cplusplus
}
#endif

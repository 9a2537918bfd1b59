/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_boxes.h"
#include "nncc_real.h"

/* Where a box begins and ends across (axis 0) or down (1): of its numbers t and size in column or row cell. */
static void nncc_box_side(const nncc_boxes_params *p, const nncc_box_map *m, int32_t axis, int32_t cell, int32_t place,
                          float t, float size, float *from, float *to)
{
    const float stride = m->stride[axis], unit = p->unit[axis], at = (float)cell;
    float half, of;

    switch (p->coding) {
    case NNCC_BOX_CORNERS:
        *from = t * unit;
        *to = size * unit;
        return;
    case NNCC_BOX_DISTANCES:
        *from = (at + 0.5f - t) * stride;
        *to = (at + 0.5f + size) * stride;
        return;
    case NNCC_BOX_CENTRE:
        t = t * unit;
        size = size * unit;
        break;
    case NNCC_BOX_ANCHORED:
        if (p->scores == NNCC_SCORE_SIGMOID) {
            t = nncc_real_sigmoid(t);
            size = nncc_real_sigmoid(size);
        }
        size = 2.0f * size;
        t = (2.0f * t - 0.5f + at) * stride;
        size = size * size * m->table[2 * place + axis];
        break;
    case NNCC_BOX_EXPONENTS:
        if (p->scores == NNCC_SCORE_SIGMOID) {
            t = nncc_real_sigmoid(t);
        }
        t = (t + at) * stride;
        size = nncc_real_exp(size) * m->table[2 * place + axis];
        break;
    case NNCC_BOX_GRID:
        t = (t + at) * stride;
        size = nncc_real_exp(size) * stride;
        break;
    case NNCC_BOX_OFFSETS:
        of = m->table[4 * place + 2 + axis];
        t = t * p->variance[axis] * of + m->table[4 * place + axis];
        size = nncc_real_exp(size * p->variance[2 + axis]) * of;
        break;
    default:
        t = (t + at) * stride;
        size = size * stride;
        break;
    }
    half = size * 0.5f;
    *from = t - half;
    *to = t + half;
}

/* Whether x is a number within 10^6. */
static int32_t nncc_box_near(float x)
{
    return (x >= -1e6f && x <= 1e6f) ? 1 : 0;
}

int32_t nncc_box_corners(const nncc_boxes_params *p, const nncc_box_map *m, int32_t row, int32_t col, int32_t anchor,
                         const float *t, nncc_box *box)
{
    const int32_t x = p->y_first != 0 ? 1 : 0, y = 1 - x;
    const int32_t place = p->coding == NNCC_BOX_OFFSETS ? (row * m->cols + col) * m->anchors + anchor : anchor;

    for (int32_t i = 0; i < 4; i++) {
        if (!(t[i] >= NNCC_REAL_LOWEST && t[i] <= -NNCC_REAL_LOWEST)) {
            return 0;
        }
    }
    nncc_box_side(p, m, 0, col, place, t[x], t[2 + x], &box->x0, &box->x1);
    nncc_box_side(p, m, 1, row, place, t[y], t[2 + y], &box->y0, &box->y1);
    return nncc_box_near(box->x0) & nncc_box_near(box->x1) & nncc_box_near(box->y0) & nncc_box_near(box->y1);
}

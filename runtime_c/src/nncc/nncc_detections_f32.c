/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_box_iou.h"
#include "nncc_exp_f64.h"
#include "nncc_f32.h"

/* Boxes that compete: list is a heap of those that are left, the best in front, kept the corners of those that stay. */
typedef struct
{
    const nncc_detections_params *p;
    const float *x, *anchors, *value;
    int32_t *list;
    float *kept;
    int32_t left, size;
} nncc_candidates;

static int32_t nncc_candidate_before(const nncc_candidates *d, int32_t a, int32_t b)
{
    const float v = d->value[a], w = d->value[b];

    return v > w || (!(v < w) && a < b) ? 1 : 0;
}

static void nncc_candidate_sift(const nncc_candidates *d, int32_t at)
{
    const int32_t i = d->list[at];

    for (;;) {
        int32_t next = 2 * at + 1;

        if (next + 1 < d->left && nncc_candidate_before(d, d->list[next + 1], d->list[next]) != 0) {
            next++;
        }
        if (next >= d->left || nncc_candidate_before(d, i, d->list[next]) != 0) {
            break;
        }
        d->list[at] = d->list[next];
        at = next;
    }
    d->list[at] = i;
}

static void nncc_candidates_begin(nncc_candidates *d)
{
    d->left = 0;
    d->size = 0;
    for (int32_t i = 0; i < d->p->boxes; i++) {
        if (d->value[i] >= d->p->score) {
            d->list[d->left] = i;
            d->left++;
        }
    }
    for (int32_t k = d->left / 2 - 1; k >= 0; k--) {
        nncc_candidate_sift(d, k);
    }
}

/* A box as two corners, y and x each; in double, as TensorFlow Lite has it. */
static void nncc_candidate_decode(const nncc_candidates *d, int32_t i, float *box)
{
    const float *t = d->x + i * d->p->coords, *anchor = d->anchors + 4 * i, *scale = d->p->scale;

    for (int32_t axis = 0; axis < 2; axis++) {
        const float *at = t + axis, *of = anchor + axis;
        const double stretch = nncc_exp_f64((double)at[2] / (double)scale[axis + 2]);
        const float half = (float)(0.5 * stretch * (double)of[2]);
        const float centre = (float)((double)at[0] / (double)scale[axis] * (double)of[2] + (double)of[0]);

        box[axis] = centre - half;
        box[axis + 2] = centre + half;
    }
}

/* The best box left that those that stay do not cover; it stays, as the last one. -1: there is none. */
static int32_t nncc_candidates_next(nncc_candidates *d)
{
    float *const box = d->kept + 4 * d->size;

    while (d->left > 0) {
        const int32_t i = d->list[0];
        int32_t k = 0;

        d->left--;
        if (d->left > 0) {
            d->list[0] = d->list[d->left];
            nncc_candidate_sift(d, 0);
        }
        nncc_candidate_decode(d, i, box);
        while (k < d->size && !(nncc_box_iou(d->kept + 4 * k, box) > d->p->iou)) {
            k++;
        }
        if (k == d->size) {
            d->size++;
            return i;
        }
    }
    return -1;
}

/* A row of the results. */
static void nncc_detection_store(float *boxes, float *classes, float *scores, const float *box, float label,
                                 float score)
{
    for (int32_t k = 0; k < 4; k++) {
        boxes[k] = box[k];
    }
    *classes = label;
    *scores = score;
}

/* The class with the highest score behind a class, -1 for the first one. */
static int32_t nncc_detection_label(const float *s, int32_t classes, int32_t last)
{
    int32_t best = -1;

    for (int32_t c = 0; c < classes; c++) {
        const int32_t behind = last < 0 || s[c] < s[last] || (!(s[c] > s[last]) && c > last) ? 1 : 0;

        if (behind != 0 && (best < 0 || s[c] > s[best])) {
            best = c;
        }
    }
    return best;
}

/* Boxes compete by their best scores; how many stay. */
static int32_t nncc_detections_fast(nncc_candidates *d, const float *s, float *value, float *boxes, float *classes,
                                    float *scores)
{
    const nncc_detections_params *p = d->p;

    for (int32_t i = 0; i < p->boxes; i++) {
        const float *of = s + i * p->columns;

        value[i] = of[0];
        for (int32_t c = 1; c < p->classes; c++) {
            if (of[c] > value[i]) {
                value[i] = of[c];
            }
        }
    }
    nncc_candidates_begin(d);
    while (d->size < p->most) {
        const int32_t i = nncc_candidates_next(d);
        int32_t row = (d->size - 1) * p->rows, label = -1;

        if (i < 0) {
            break;
        }
        const float *of = s + i * p->columns;
        for (int32_t k = 0; k < p->labels; k++) {
            label = nncc_detection_label(of, p->classes, label);
            if (label < 0) {
                break;
            }
            nncc_detection_store(boxes + 4 * row, classes + row, scores + row, d->kept + 4 * (d->size - 1),
                                 (float)label, of[label]);
            row++;
        }
    }
    return d->size;
}

/* Boxes of a class take their places among those of the classes before; how many there are then. */
static int32_t nncc_detections_class(nncc_candidates *d, int32_t label, int32_t size, float *boxes, float *classes,
                                     float *scores)
{
    const nncc_detections_params *p = d->p;

    nncc_candidates_begin(d);
    while (d->size < p->per_class) {
        const int32_t i = nncc_candidates_next(d);
        int32_t at = size;

        if (i < 0) {
            break;
        }
        if (size < p->most) {
            size++;
        } else if (d->value[i] > scores[size - 1]) {
            at--;
        } else {
            break; /* nor do the others of this class */
        }
        while (at > 0 && d->value[i] > scores[at - 1]) {
            nncc_detection_store(boxes + 4 * at, classes + at, scores + at, boxes + 4 * (at - 1), classes[at - 1],
                                 scores[at - 1]);
            at--;
        }
        nncc_detection_store(boxes + 4 * at, classes + at, scores + at, d->kept + 4 * (d->size - 1), (float)label,
                             d->value[i]);
    }
    return size;
}

void nncc_detections_f32(const nncc_detections_params *p, const float *x, const float *s, const float *anchors,
                         float *boxes, float *classes, float *scores, float *count, int32_t *list, float *value,
                         float *kept)
{
    nncc_candidates d = {p, x, anchors, value, list, kept, 0, 0};
    const int32_t rows = p->most * p->rows;
    int32_t size = 0;

    for (int32_t i = 0; i < rows; i++) {
        static const float none[4] = {0.0f, 0.0f, 0.0f, 0.0f};

        nncc_detection_store(boxes + 4 * i, classes + i, scores + i, none, 0.0f, 0.0f);
    }
    s += p->columns - p->classes;
    if (p->per_class == 0) {
        size = nncc_detections_fast(&d, s, value, boxes, classes, scores);
    } else {
        for (int32_t c = 0; c < p->classes; c++) {
            for (int32_t i = 0; i < p->boxes; i++) {
                value[i] = s[i * p->columns + c];
            }
            size = nncc_detections_class(&d, c, size, boxes, classes, scores);
        }
    }
    *count = (float)size;
}

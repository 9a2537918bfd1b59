/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_postprocess.h: what becomes of a model's outputs: boxes, classes, keywords. ir/postprocess of nncc defines every
 * number; these kernels give the same bits. They read outputs as they lie in the arena. A value is (q - zero) * scale,
 * of an output of floats itself. What thresholds rule out is compared as it is stored. values
 * are outputs; rings and sums are memory of the caller that runs leave to each other.
 */
#include "nncc.h"

/* A box in pixels of the input. */
typedef struct
{
    float x0, y0, x1, y1;
    float score;
    int32_t label; /* of its class, without a background */
    int32_t cell;  /* number of the prediction: by map, row, column, anchor */
} nncc_box;

/* A class and its score. */
typedef struct
{
    int32_t label;
    float score;
} nncc_class;

/* What the integers of an output stand for. */
typedef struct
{
    float scale;
    int32_t zero;
} nncc_steps;

/* Where values lie: element base + row * row + ... of an output; output -1: there are none. */
typedef struct
{
    int32_t output, base, row, col, anchor, channel;
} nncc_box_field;

/* What the numbers of a box are; t is one of them, s the sigmoid where the model has none. */
enum
{
    NNCC_BOX_CORNERS = 0,   /* x0, y0, x1, y1, times unit */
    NNCC_BOX_CENTRE = 1,    /* centre, width, height, times unit */
    NNCC_BOX_ANCHORED = 2,  /* (2 s(t) - 1/2 + cell) * stride, (2 s(t))^2 * anchor */
    NNCC_BOX_EXPONENTS = 3, /* (s(t) + cell) * stride, e^t * anchor */
    NNCC_BOX_GRID = 4,      /* (t + cell) * stride, e^t * stride */
    NNCC_BOX_DISTANCES = 5, /* left, top, right, bottom of the cell's middle, in strides */
    NNCC_BOX_OFFSETS = 6,   /* centre + t * variance * size, e^(t * variance) * size of a prior box */
    NNCC_BOX_POINTS = 7     /* (t + cell) * stride, size * stride, where a score is a peak */
};

/* What makes scores of values. */
enum
{
    NNCC_SCORE_NONE = 0,
    NNCC_SCORE_SIGMOID = 1,
    NNCC_SCORE_SOFTMAX = 2
};

/* A grid of predictions. */
typedef struct
{
    int32_t rows, cols, anchors;
    float stride[2]; /* pixels from cell to cell, across and down */
    nncc_box_field box, size, score, object, label;
    const float *table;   /* anchors: width, height; prior boxes: centre, size; in pixels */
    const int32_t *least; /* by threshold: lower values of a class are no candidates; outputs of integers */
    int32_t least_object;
    int32_t margin; /* a class is so much above the background */
} nncc_box_map;

/* How boxes are read. */
typedef struct
{
    int32_t coding, y_first, bins;
    float unit[2], variance[4];
    int32_t scores, classes, background, all_labels;
    int32_t thresholds; /* 1, or one for each label */
    const float *threshold;
    const float *least; /* as in a map, for outputs of floats */
    float least_object, margin;
    float iou;
    int32_t agnostic, candidates, most;
    float width, height;
    int32_t maps;
    const nncc_box_map *map;
    const nncc_steps *steps; /* of each output */
} nncc_boxes_params;

/*
 * Reads boxes of outputs, all of the type of the kernel's name, into box [candidates]. Returns how many there are, at
 * most p->most, the best first; the rest of box is working memory.
 */
/* KERNELS(boxes) */

/* How classes are read. */
typedef struct
{
    int32_t count, scores, top, thresholds;
    const float *threshold;
    nncc_steps steps;
} nncc_classes_params;

/* Writes the best classes to out [top] and returns how many there are. */
/* KERNELS(classes) */

/* How keywords are heard. */
typedef struct
{
    int32_t count, scores, window, quiet;
    const int32_t *least; /* sums over a window that each class needs; -1: it is no keyword */
    nncc_steps steps;
} nncc_keywords_params;

/* What was said last: scores [window * count] in 1/32768 lie beside it, as do their sums [count]. */
typedef struct
{
    int32_t at, runs, quiet;
} nncc_heard;

/* Takes the scores of one run into ring and sums; writes the keyword that was heard, or label -1. */
/* KERNELS(keywords) */

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_move.h: data movement. Kernels do not interpret elements: `elem` is the element size, 1, 2, 4 or 8 bytes, and
 * buffers are aligned to it. Strides and offsets count elements unless a name says bytes. What goes where is
 * said by the ONNX operators. x is the input, y the output; indices count elements of the axis, from its end where they
 * are negative.
 */
#include "nncc.h"

/*
 * Copy of a rank-dimensional box: y[y_offset + sum i_d*y_stride[d]] = x[x_offset + sum i_d*x_stride[d]] for all
 * 0 <= i_d < dims[d]. With dense strides on one side this is Transpose (x strides permuted), Slice (offset, strides
 * times the step, negative too), Expand and Tile (x stride 0), DepthToSpace and SpaceToDepth (six dimensions),
 * Concat and Pad (y strides of the larger tensor). Runs of the innermost dimension that are dense on both sides are
 * copied as blocks, so it should be the longest dense one; rank is at least 1.
 */
typedef struct
{
    int32_t elem;
    int32_t rank;
    int32_t x_offset, y_offset;
    int32_t dims[NNCC_MAX_DIMS];
    int32_t x_stride[NNCC_MAX_DIMS];
    int32_t y_stride[NNCC_MAX_DIMS];
} nncc_copy_nd_params;

/* KERNELS(nncc_copy_nd) */

/*
 * `rows` blocks of `block` bytes, x_pitch and y_pitch bytes apart: one part of a Concat (y_pitch = bytes of the whole
 * row, y = the first block) or of a Split (x_pitch, x likewise). Pitches equal to block: memcpy.
 */
typedef struct
{
    int32_t rows, block, x_pitch, y_pitch;
} nncc_copy_rows_params;

/* KERNELS(nncc_copy_rows) */

/*
 * Planes become channels: y[n][row][col][plane] = x[n][plane][row][col], `cols` elements of every plane together. y may
 * be x. scratch, aligned to 8 bytes: 2 * rows * planes + planes words, rounded up to a pair, and planes * cols
 * elements.
 */
typedef struct
{
    int32_t elem, batches, planes, rows, cols;
} nncc_turn_params;

/* KERNELS(nncc_turn) */

/* Writes the one element at `value` to y[0..count). */
typedef struct
{
    int32_t elem, count;
} nncc_fill_params;

/* KERNELS(nncc_fill) */

/* How Pad fills. Reflect does not repeat the border element; wrap continues at the other side. */
#define NNCC_PAD_CONSTANT 0
#define NNCC_PAD_EDGE 1
#define NNCC_PAD_REFLECT 2
#define NNCC_PAD_WRAP 3

/* Output index i along d is input index i - before[d]; before may be negative (crop). Reflect needs in_dims > 1. */
typedef struct
{
    int32_t elem;
    int32_t rank;
    int32_t mode;
    int32_t in_dims[NNCC_MAX_DIMS];
    int32_t out_dims[NNCC_MAX_DIMS];
    int32_t before[NNCC_MAX_DIMS];
} nncc_pad_params;

/* value: one element, read in constant mode only, else NULL. */
/* KERNELS(nncc_pad) */

/*
 * Nearest-neighbour resize: output pixel (oy,ox) is input pixel (index_h[oy], index_w[ox]); a negative index gives the
 * pixel at `outside` (tf_crop_and_resize; NULL otherwise). pixel: bytes of a pixel, all channels.
 */
typedef struct
{
    int32_t batch, in_h, in_w;
    int32_t out_h, out_w;
    int32_t pixel;
    int32_t x_pitch, y_pitch; /* bytes from a pixel to the next */
} nncc_resize_nearest_params;

/* x [batch,in_h,in_w] pixels, index_h [out_h], index_w [out_w], y [batch,out_h,out_w] pixels. */
/* KERNELS(nncc_resize_nearest) */

/*
 * Gather along one axis: x [outer,axis,block bytes], indices [count], y [outer,count,block bytes]. Negative indices
 * count from the end; one outside gives NNCC_ERR_INDEX, y then being incomplete. index_bytes: 4 (int32) or 8 (int64).
 */
typedef struct
{
    int32_t outer, axis, block, count;
    int32_t index_bytes;
} nncc_gather_params;

/* KERNELS(nncc_gather) */

/*
 * GatherElements, ScatterElements along `axis`: dims are those of the index tensor, x_stride the data's strides.
 * For every index position i: pos = i with pos[axis] = indices[i].
 */
typedef struct
{
    int32_t elem;
    int32_t rank;
    int32_t axis, axis_len;
    int32_t index_bytes;
    int32_t dims[NNCC_MAX_DIMS];
    int32_t x_stride[NNCC_MAX_DIMS];
} nncc_gather_elements_params;

/* y [dims] = x[pos]. */
/* KERNELS(nncc_gather_elements) */

/* y[pos] = updates [dims]; y already holds the data. Later updates win. */
/* KERNELS(nncc_scatter_elements) */

/*
 * GatherND, ScatterND: `batch` slabs of data [axis_len[0],..,axis_len[depth-1]] blocks of `block` bytes; every slab has
 * `count` index tuples of `depth` values.
 */
typedef struct
{
    int32_t batch, count, depth, block;
    int32_t index_bytes;
    int32_t axis_len[NNCC_MAX_DIMS];
} nncc_gather_nd_params;

/* y [batch,count,block bytes]. */
/* KERNELS(nncc_gather_nd) */

/* y[tuple] = updates [batch,count,block bytes]; y already holds the data. Later updates win. */
/* KERNELS(nncc_scatter_nd) */

/*
 * y [dims] = c != 0 ? a : b with three-way broadcast; c is a bool tensor (one byte an element).
 */
typedef struct
{
    int32_t elem;
    int32_t rank;
    int32_t dims[NNCC_MAX_DIMS];
    int32_t c_stride[NNCC_MAX_DIMS];
    int32_t a_stride[NNCC_MAX_DIMS];
    int32_t b_stride[NNCC_MAX_DIMS];
} nncc_where_params;

/* KERNELS(nncc_where) */

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * mla_kernels.h: the operations of the MLA's simulator that nncc_s8.h does not have. Those of int8 have the arithmetic
 * of CMSIS-NN and TensorFlow Lite: int32 sums that wrap, requantised by mult * 2^(shift - 31) with double rounding, the
 * zero point added, clamped. Offsets of inputs are minus their zero points. Shapes were checked before; every dimension
 * is at least 1. Parameters: x, or a and b, inputs; w weights, b their bias; y the output.
 */
#include "nncc_s8.h"

/*
 * Convolution. Tap (ky, kx) of output (oy, ox) reads position (oy*stride_h - pad_top + ky*dilation_h, and likewise in
 * the other direction) of the input spread by spread_h and spread_w: element i of the input lies at position i*spread,
 * the positions between hold the input's zero point. `transposed` says how to count the work, nothing else.
 */
typedef struct
{
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w, out_c;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left;
    int32_t spread_h, spread_w;
    int32_t transposed;
    int32_t groups;
    int32_t in_offset, out_offset;
    int32_t act_min, act_max;
} mla_conv2d_params;

/*
 * x [batch,in_h,in_w,in_c], w [out_c,kernel_h,kernel_w,in_c/groups], b [out_c] or NULL, mult and shift [out_c],
 * y [batch,out_h,out_w,out_c].
 */
/* KERNELS(mla_conv2d) */

/* Depthwise convolution: in_c*mult_c output channels. */
typedef struct
{
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w, mult_c;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left;
    int32_t in_offset, out_offset;
    int32_t act_min, act_max;
} mla_depthwise_params;

/* As above; w [kernel_h,kernel_w,in_c*mult_c], the rest [in_c*mult_c]. */
/* KERNELS(mla_depthwise) */

/*
 * batch0*batch1 products of [m,k] and [k,n]. The steps say how far apart neighbours lie in memory along batch0, batch1
 * and the two dimensions of the matrix; a step of 0 uses a matrix again. per_column: mult and shift have n elements,
 * else one.
 */
typedef struct
{
    int32_t batch0, batch1, m, k, n;
    int32_t a_step[4]; /* batch0, batch1, m, k */
    int32_t b_step[4]; /* batch0, batch1, k, n */
    int32_t y_step[4]; /* batch0, batch1, m, n */
    int32_t per_column;
    int32_t a_offset, b_offset, out_offset;
    int32_t act_min, act_max;
} mla_matmul_params;

/* bias [n] or NULL. */
/* KERNELS(mla_matmul) */

/*
 * Sum: both operands with their offsets are shifted left by left_shift, scaled by their multipliers, added, and scaled
 * to the output. In place where the operand is not broadcast.
 */
typedef struct
{
    nncc_bcast_params bcast;
    int32_t offset1, mult1, shift1;
    int32_t offset2, mult2, shift2;
    int32_t left_shift;
    int32_t out_offset, out_mult, out_shift;
    int32_t act_min, act_max;
} mla_add_params;

/* KERNELS(mla_add) */

/* Product, scaled to the output. In place where the operand is not broadcast. */
typedef struct
{
    nncc_bcast_params bcast;
    int32_t offset1, offset2;
    int32_t out_offset, mult, shift;
    int32_t act_min, act_max;
} mla_mul_params;

/* KERNELS(mla_mul) */

/*
 * ---- bfloat16: sums and products in double, rounded by way of float to the nearest, ties to even. act_min and act_max
 * bound the result before that.
 */

/* Convolution; positions as in mla_conv2d, those between the spread elements hold zero. */
typedef struct
{
    double act_min, act_max;
    mla_conv2d_params conv; /* without offsets and limits */
} mla_conv2d_bf16_params;

/* x, w, y as in mla_conv2d; b [out_c] or NULL. */
/* KERNELS(mla_conv2d_bf16) */

/* Maximum over windows; x [batch,in_h,in_w,in_c], y [batch,out_h,out_w,in_c]. A window without elements gives -inf. */
typedef struct
{
    double act_min, act_max;
    int32_t batch, in_h, in_w, in_c;
    int32_t out_h, out_w;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left;
} mla_pool2d_bf16_params;

/* KERNELS(mla_max_pool2d_bf16) */

/* Sum, difference or product. In place where the operand is not broadcast. */
#define MLA_BF16_ADD 0
#define MLA_BF16_SUB 1
#define MLA_BF16_MUL 2

typedef struct
{
    double act_min, act_max;
    int32_t op;
    nncc_bcast_params bcast;
} mla_binary_bf16_params;

/* KERNELS(mla_binary_bf16) */

/* Any function: table [65536] by the bits of the element. In place. */
/* KERNELS(mla_table_bf16) */

/* KERNELS(mla_bf16) */

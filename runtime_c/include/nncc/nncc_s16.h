/*
 * nncc_s16.h: int16 kernels for operators that CMSIS-NN lacks, and the changes between int8 and int16.
 *
 * Quantised int16 tensors have zero point 0. Unless a kernel says otherwise its result is, per element,
 *     clamp(round_half_away(f(dequantised inputs, in double) / out_scale) + out_zero)
 * and every element equals the Go reference in ir/qref bit for bit.
 */
#ifndef NNCC_S16_H
#define NNCC_S16_H

#include "nncc_s8.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A function that is a straight line on either side of an input value:
 *     y = clamp((q * mult + bias) >> shift), floor shift, with the constants pos_* for q >= split and neg_* below.
 * They are proven by nncc to give the defined result for all inputs (ir/qref BuildLines).
 */
typedef struct
{
    int64_t pos_mult, pos_bias, neg_mult, neg_bias;
    int32_t count, split;
    int32_t pos_shift, neg_shift;
    int32_t act_min, act_max;
} nncc_piecewise_linear_params;

/* x, y [count]: Relu, LeakyRelu, Clip, Abs, Neg, HardSigmoid and changes of scale. The first one in place. */
/* KERNELS(piecewise_linear) */

/*
 * Any function of one int16 value by straight lines between points [513], 128 inputs apart, as in TensorFlow
 * Lite: with i = 256 + (q >> 7), y = points[i] + (((points[i + 1] - points[i]) * (q & 127) + 64) >> 7). This is the
 * definition of such functions, not an approximation of another one. x, y [count]. In place.
 */
/* KERNELS(nncc_interpolated_lut_s16) */

/* As nncc_binary_s8. */
/* KERNELS(nncc_binary_s16) */

/* As nncc_reduce_sum_s8 with rescale 1; axis at most 8192. x [outer,axis,inner], y [outer,inner]. */
/* KERNELS(nncc_reduce_sum_s16) */

/*
 * Convolution with groups, with the results of CMSIS-NN's int16 kernels: exact 64-bit sums, a Q15 multiplier made of
 * mult[c] and shift[c], one rounding. Offsets are not used. x [batch,in_h,in_w,in_c],
 * w [out_c,kernel_h,kernel_w,in_c/groups], b [out_c] or NULL; mult, shift [out_c]; y [batch,out_h,out_w,out_c].
 */
/* KERNELS(nncc_conv2d_s16) */

#ifdef __cplusplus
}
#endif

#endif /* NNCC_S16_H */

/*
 * nncc_s8.h: int8 kernels for operators that CMSIS-NN lacks, and the borders between float and integer tensors.
 *
 * Unless a kernel says otherwise its result is, per element,
 *     clamp(round_half_away(f(dequantised inputs, in double) / out_scale) + out_zero)
 * and every element equals the Go reference in ir/qref bit for bit. Integer kernels reach that value through constants
 * that nncc has proven equal over all inputs; the others compute in double with + - * / only.
 * A result that is not a number gives the zero point, an infinite one saturates.
 */
#ifndef NNCC_S8_H
#define NNCC_S8_H

#include "nncc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- borders --------------------------------------------------------------------------------------------------- */

/* Tensor [outer,axis,inner] with one scale and zero point per element of axis; axis = 1: per tensor. */
typedef struct {
    int32_t outer, axis, inner;
} nncc_quantize_params;

/*
 * ONNX QuantizeLinear: y = saturate(round_half_even(x / scale) + zero), the division in float32.
 * x, y [outer,axis,inner], scale, zero [axis].
 */
void nncc_quantize_f32_s8(const nncc_quantize_params *p, const float *x, const float *scale, const int32_t *zero,
                          int8_t *y);
void nncc_quantize_f32_u8(const nncc_quantize_params *p, const float *x, const float *scale, const int32_t *zero,
                          uint8_t *y);
void nncc_quantize_f32_s16(const nncc_quantize_params *p, const float *x, const float *scale, const int32_t *zero,
                           int16_t *y);

/* ONNX DequantizeLinear: y = (x - zero) * scale in float32. */
void nncc_dequantize_s8_f32(const nncc_quantize_params *p, const int8_t *x, const float *scale, const int32_t *zero,
                            float *y);
void nncc_dequantize_u8_f32(const nncc_quantize_params *p, const uint8_t *x, const float *scale, const int32_t *zero,
                            float *y);
void nncc_dequantize_s16_f32(const nncc_quantize_params *p, const int16_t *x, const float *scale, const int32_t *zero,
                             float *y);
void nncc_dequantize_s32_f32(const nncc_quantize_params *p, const int32_t *x, const float *scale, const int32_t *zero,
                             float *y);

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* Number of elements. */
typedef struct {
    int32_t count;
} nncc_count_params;

/*
 * y[i] = table[x[i] as a byte]: any function of one 8-bit tensor, requantisation too. x, y are int8_t or uint8_t
 * [count], table has 256 entries in the order of the input's bit patterns (0..127, then for int8 -128..-1). In place.
 */
void nncc_table256(const nncc_count_params *p, const void *x, const void *table, void *y);

/* y = x ^ 0x80: int8 to uint8 and back with the zero point moved by 128, the real values unchanged. In place. */
void nncc_xor80(const nncc_count_params *p, const void *x, void *y);

#ifdef __cplusplus
}
#endif

#endif /* NNCC_S8_H */

/* nncc_norm_s8.h: statistics of int8 normalisation, in a fixed order of double operations (nncc_norm_s8.c). */
#ifndef NNCC_NORM_S8_H
#define NNCC_NORM_S8_H

#include <stdint.h>

/* Square root of v >= 0, correctly rounded, without the C library. */
double nncc_sqrt_f64(double v);

/*
 * The factor k of nncc_layer_norm_s8: in_scale / (sqrt(var + epsilon) * n), with var from the exact sums S = sum and
 * SS = square of n elements.
 */
double nncc_norm_factor(int32_t n, int32_t sum, int64_t square, double in_scale, double epsilon);

#endif /* NNCC_NORM_S8_H */

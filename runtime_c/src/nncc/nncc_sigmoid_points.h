/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_sigmoid_points.h: points of the logistic function that kernels of int16 interpolate. */
#include <stdint.h>

/* 65536 * sigmoid(i / 24), adjusted for the interpolation: those of arm_nn_activation_s16. */
extern const uint16_t nncc_sigmoid_points[256];

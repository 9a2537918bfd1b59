/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_dot4.h: the inner loop of the convolutions (mla_dot4.c). */
#include <stdint.h>

/* acc[j] += sum over i < n of (x[i] + offset) * w[j][at + i], for four rows of weights at once; nothing for n < 1. */
void mla_dot4(const int8_t *x, int32_t n, int32_t offset, const int8_t *const w[4], int32_t at, uint32_t acc[4]);

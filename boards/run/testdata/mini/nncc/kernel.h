/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNEL_H
#define KERNEL_H
#include <stdint.h>
void mini_kernel_scale(const int8_t *x, int8_t *y, uint32_t n);
int32_t mini_kernel_sum(const int8_t *x, uint32_t n);
void mini_kernel_mode(int8_t *arena);
#endif

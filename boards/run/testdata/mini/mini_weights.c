/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
extern const int8_t mini_weights[16];
const int8_t mini_weights[16] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16};

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * Integer limits used by the CMSIS-NN API.
 *
 * Part of nncc's portable implementation of the CMSIS-NN interface
 * (names and values as in CMSIS-NN revision 99f736a6).
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NN_Q15_MAX INT16_MAX
#define NN_Q15_MIN INT16_MIN
#define NN_Q7_MAX INT8_MAX
#define NN_Q7_MIN INT8_MIN

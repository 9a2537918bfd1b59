/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The kernel window of the depthwise convolution. */
#include "nncc_cmsis.h"

/* The kernel taps inside the input at one output position. */
typedef struct
{
    const int8_t *in; /* first tap, first channel */
    int32_t in_dx;    /* bytes from tap to tap */
    int32_t in_dy;    /* bytes from the end of a row of taps to the next */
    const int8_t *filter;
    int32_t filter_dx;
    int32_t filter_dy;
    int32_t rows;
    int32_t cols;
} nncc_window_taps;

/* acc[j] += the window's sum for four neighbouring channels from c on, each with
 * its own filter. A function of its own: the loop needs every register. */
void nncc_cmsis_window4(const nncc_window_taps *t, int32_t c, int32_t offset, uint32_t acc[4]);

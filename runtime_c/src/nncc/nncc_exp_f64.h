/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_exp_f64.h: e^x in basic operations of doubles, each rounded, in a stated order: the same bits on every core. */
#include "nncc_fp.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Within two units in the last place; 0 below -708. */
static inline double nncc_exp_f64(double x)
{
    static const double factor[13] = {1.0 / 479001600.0,
                                      1.0 / 39916800.0,
                                      1.0 / 3628800.0,
                                      1.0 / 362880.0,
                                      1.0 / 40320.0,
                                      1.0 / 5040.0,
                                      1.0 / 720.0,
                                      1.0 / 120.0,
                                      1.0 / 24.0,
                                      1.0 / 6.0,
                                      0.5,
                                      1.0,
                                      1.0};
    double n, r, y = 1.0 / 6227020800.0, power;

    if (!(x >= -708.0)) {
        return x < -708.0 ? 0.0 : x;
    }
    if (x > 710.0) {
        return (double)INFINITY;
    }
    int32_t k = (int32_t)(x * 1.44269504088896340736 + (x < 0.0 ? -0.5 : 0.5));
    n = (double)k;
    r = x - n * 0.6931471804855391; /* ln 2: 33 bits, and the rest */
    r -= n * 7.440617110012397e-11;
    for (int32_t i = 0; i < 13; i++) {
        y = y * r + factor[i];
    }
    uint64_t bits = (uint64_t)(uint32_t)(k + 1022) << 52;
    memcpy(&power, &bits, sizeof power);
    return y * power * 2.0;
}

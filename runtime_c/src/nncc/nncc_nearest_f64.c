/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

double nncc_nearest_f64(double v)
{
    const double below = floor(v);
    const double rest = v - below;
    double r = below;
    if (!(rest >= 0.0) || fabs(v) >= 4503599627370496.0) {
        return v; /* NaN, infinities, and numbers without a fraction */
    }
    if (rest > 0.5 || (rest == 0.5 && floor(below * 0.5) * 2.0 != below)) {
        r = below + 1.0;
    }
    return copysign(r, v);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

double nncc_reflect_f64(double v, double lo, double hi)
{
    const double span = hi - lo;
    if (v >= lo && v <= hi) {
        return v;
    }
    if (!(span > 0.0)) {
        return lo;
    }
    double d = fmod(fabs(v - lo), 2.0 * span);
    return lo + (d > span ? 2.0 * span - d : d);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

double nncc_sigmoid_f64(double v)
{
    if (v < 0.0) {
        const double e = exp(v);
        return e / (1.0 + e);
    }
    return 1.0 / (1.0 + exp(-v));
}

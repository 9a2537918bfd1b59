/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_loops.h"

double nncc_softplus_f64(double v)
{
    return nncc_max_f64(v, 0.0) + log1p(exp(-fabs(v)));
}

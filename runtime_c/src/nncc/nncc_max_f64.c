/* nncc_max_f64: the larger one; NaN if either is. */
#include "nncc_loops.h"

double nncc_max_f64(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return a + b;
    }
    if (a == b) {
        return signbit(a) ? b : a;
    }
    return a > b ? a : b;
}

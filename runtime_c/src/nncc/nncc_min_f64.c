/* nncc_min_f64: the smaller one; NaN if either is. */
#include "nncc_loops.h"

double nncc_min_f64(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return a + b;
    }
    if (a == b) {
        return signbit(a) ? a : b;
    }
    return a < b ? a : b;
}

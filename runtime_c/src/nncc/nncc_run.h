/* nncc_run.h: copying one strided run of elements, the inner loop of data movement (nncc_run.c). */
#ifndef NNCC_RUN_H
#define NNCC_RUN_H

#include "nncc.h"

/*
 * y[i*y_stride] = x[i*x_stride] for i < n, elements of `elem` bytes, strides in elements (any sign, 0 repeats x).
 * Dense runs are one memcpy.
 */
void nncc_run(const void *x, int32_t x_stride, void *y, int32_t y_stride, int32_t n, int32_t elem);

#endif /* NNCC_RUN_H */

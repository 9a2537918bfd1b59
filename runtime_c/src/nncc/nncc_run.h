/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_run.h: copying strided runs of elements, the inner loops of data movement (nncc_run.c). */
#include "nncc.h"

/*
 * y[i*y_stride] = x[i*x_stride] for i < n, elements of `elem` bytes, strides in elements (any sign, 0 repeats x).
 */
void nncc_run(const void *x, int32_t x_stride, void *y, int32_t y_stride, int32_t n, int32_t elem);

/* Runs that lie x_row and y_row elements apart, and planes of such runs. */
typedef struct
{
    int32_t n, x_stride, y_stride;
    int32_t rows, x_row, y_row; /* rows at least 1 */
    int32_t elem;
    int32_t planes, x_plane, y_plane; /* planes at least 1 */
} nncc_runs_params;

/* nncc_run for every row. */
void nncc_runs(const nncc_runs_params *p, const void *x, void *y);

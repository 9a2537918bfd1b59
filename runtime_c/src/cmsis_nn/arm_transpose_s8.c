/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_cmsis.h"
#include "nncc_short_runs.h"
#include "nncc_strided.h"

/* A dimension of the output: its extent, and bytes from one element to the next on both sides. */
typedef struct
{
    int32_t size;
    int32_t from;
    int32_t to;
} nncc_axis;

/*
 * The dimensions of the output, neighbours that are neighbours in the input, too, as one, in the last of a[4]; the
 * others have extent 1. false: no permutation.
 */
static int nncc_transpose_axes(const int32_t extent[4], const uint32_t *permutation, int32_t axes, nncc_axis a[4])
{
    int32_t stride[4];
    int32_t run = 1;
    int32_t at = 3;

    for (int32_t i = axes - 1; i >= 0; i--) {
        stride[i] = run;
        run *= extent[i];
    }
    a[3].size = 1;
    a[3].from = 1;
    a[3].to = 1;
    run = 1;
    for (int32_t i = axes - 1; i >= 0; i--) {
        const uint32_t from = axes == 1 ? 0u : permutation[i];

        if (from >= (uint32_t)axes) {
            return 0;
        }
        if (extent[from] == 1) {
            continue;
        }
        if (a[at].size > 1 && stride[from] == a[at].size * a[at].from) {
            a[at].size *= extent[from];
        } else {
            if (a[at].size > 1) {
                at--;
            }
            a[at].size = extent[from];
            a[at].from = stride[from];
            a[at].to = run;
        }
        run *= extent[from];
    }
    for (int32_t i = 0; i < at; i++) {
        a[i].size = 1;
        a[i].from = 0;
        a[i].to = 0;
    }
    return 1;
}

arm_cmsis_nn_status arm_transpose_s8(const int8_t *input_data, int8_t *const output_data,
                                     const cmsis_nn_dims *const input_dims, const cmsis_nn_dims *const output_dims,
                                     const cmsis_nn_transpose_params *const transpose_params)
{
    const int32_t extent[4] = {input_dims->n, input_dims->h, input_dims->w, input_dims->c};
    nncc_axis a[4];
    nncc_axis inner;
    nncc_short_runs runs;
    int32_t n;

    (void)output_dims;
    if (transpose_params->num_dims < 1 || transpose_params->num_dims > 4 ||
        nncc_transpose_axes(extent, transpose_params->permutations, transpose_params->num_dims, a) == 0) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    /* the innermost loop is that over neighbours of one side or the other, whichever is longer */
    for (int32_t i = 0; i < 3; i++) {
        if (a[i].from == 1 && a[i].size > a[3].size) {
            inner = a[i];
            a[i] = a[3];
            a[3] = inner;
        }
    }
    inner = a[3];
    runs.n = inner.size;
    runs.count = a[2].size;
    runs.from_step = a[2].from;
    runs.to_step = a[2].to;
    for (n = 0; n < a[0].size; n++) {
        for (int32_t h = 0; h < a[1].size; h++) {
            const uint8_t *from = (const uint8_t *)input_data + n * a[0].from + h * a[1].from;
            uint8_t *to = (uint8_t *)output_data + n * a[0].to + h * a[1].to;

            if (inner.from == 1 && inner.to == 1) {
                nncc_copy_runs(&runs, to, from);
                continue;
            }
            for (int32_t w = 0; w < a[2].size; w++) {
                if (inner.from != 1) {
                    nncc_together(to, from, inner.from, inner.size);
                } else {
                    nncc_apart(to, inner.to, from, inner.size);
                }
                from += a[2].from;
                to += a[2].to;
            }
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}

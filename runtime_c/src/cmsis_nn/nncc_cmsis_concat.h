/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The one loop behind the four concatenations. */
#include "nncc_cmsis.h"
#include "nncc_short_runs.h"

/* Copies "pieces" runs of "len" bytes, "stride" bytes apart in the output. */
static inline void nncc_copy_strided(const int8_t *in, int8_t *out, size_t pieces, size_t len, size_t stride)
{
    nncc_short_runs r;

    r.n = (int32_t)len;
    r.count = (int32_t)pieces;
    r.from_step = r.n;
    r.to_step = (int32_t)stride;
    nncc_copy_runs(&r, out, in);
}

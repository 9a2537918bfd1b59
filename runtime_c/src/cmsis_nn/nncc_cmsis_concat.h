/* The one loop behind the four concatenations. */
#ifndef NNCC_CMSIS_CONCAT_H
#define NNCC_CMSIS_CONCAT_H

#include "nncc_copy.h"
#include "nncc_cmsis.h"

/* Copies "pieces" runs of "len" bytes, "stride" bytes apart in the output. */
static inline void nncc_copy_strided(const int8_t *in, int8_t *out, size_t pieces, size_t len, size_t stride)
{
    size_t i;

    for (i = 0; i < pieces; i++) {
        nncc_copy(out, in, (int32_t)len);
        in += len;
        out += stride;
    }
}

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_binary.h: the functions of nncc_binary_s8 and nncc_binary_s16. */
#include "nncc_fp.h"

#include "nncc_s8.h"

/* f(u, v). NaN where IEEE gives NaN. */
static inline double nncc_binary_f64(int32_t op, double u, double v)
{
    switch (op) {
    case NNCC_BINARY_ADD:
        return u + v;
    case NNCC_BINARY_SUB:
        return u - v;
    case NNCC_BINARY_MUL:
        return u * v;
    case NNCC_BINARY_DIV:
        return u / v;
    case NNCC_BINARY_MIN:
        return u < v ? u : v;
    case NNCC_BINARY_MAX:
        return u > v ? u : v;
    default: /* NNCC_BINARY_PRELU */
        return u < 0.0 ? u * v : u;
    }
}

/* nncc_quantize_f32.h: the loops of quantisation and dequantisation. */
#ifndef NNCC_QUANTIZE_F32_H
#define NNCC_QUANTIZE_F32_H

#include "nncc_round.h"
#include "nncc_s8.h"

/* Body of a quantisation f(p, x, scale, zero, y) to integer type tout with range [lo, hi]. */
#define NNCC_QUANTIZE(tout, lo, hi)                                         \
    do {                                                                    \
        for (int32_t o = 0; o < p->outer; o++) {                            \
            for (int32_t c = 0; c < p->axis; c++) {                         \
                const float s = scale[c];                                   \
                const int32_t z = zero[c];                                  \
                                                                            \
                for (int32_t i = 0; i < p->inner; i++) {                    \
                    *y++ = (tout)nncc_round_even(*x++ / s, z, (lo), (hi));  \
                }                                                           \
            }                                                               \
        }                                                                   \
    } while (0)

/* Body of a dequantisation f(p, x, scale, zero, y). */
#define NNCC_DEQUANTIZE()                                   \
    do {                                                    \
        for (int32_t o = 0; o < p->outer; o++) {            \
            for (int32_t c = 0; c < p->axis; c++) {         \
                const float s = scale[c];                   \
                const int32_t z = zero[c];                  \
                                                            \
                for (int32_t i = 0; i < p->inner; i++) {    \
                    *y++ = (float)(*x++ - z) * s;           \
                }                                           \
            }                                               \
        }                                                   \
    } while (0)

#endif /* NNCC_QUANTIZE_F32_H */

/* nncc_quantize_f32.h: the loops of quantisation and dequantisation. */
#ifndef NNCC_QUANTIZE_F32_H
#define NNCC_QUANTIZE_F32_H

#include "nncc_round.h"
#include "nncc_s8.h"

/* Defines quantisation kernel fn to integer type tout with range [lo, hi]. */
#define NNCC_QUANTIZE(fn, tout, lo, hi)                                                             \
    void fn(const nncc_quantize_params *p, const float *x, const float *scale, const int32_t *zero, \
            tout *y)                                                                                \
    {                                                                                               \
        for (int32_t o = 0; o < p->outer; o++) {                                                    \
            for (int32_t c = 0; c < p->axis; c++) {                                                 \
                const float s = scale[c];                                                           \
                const int32_t z = zero[c];                                                          \
                                                                                                    \
                for (int32_t i = 0; i < p->inner; i++) {                                            \
                    *y++ = (tout)nncc_round_even(*x++ / s, z, (lo), (hi));                          \
                }                                                                                   \
            }                                                                                       \
        }                                                                                           \
    }

/* Defines dequantisation kernel fn from integer type tin. */
#define NNCC_DEQUANTIZE(fn, tin)                                                                  \
    void fn(const nncc_quantize_params *p, const tin *x, const float *scale, const int32_t *zero, \
            float *y)                                                                             \
    {                                                                                             \
        for (int32_t o = 0; o < p->outer; o++) {                                                  \
            for (int32_t c = 0; c < p->axis; c++) {                                               \
                const float s = scale[c];                                                         \
                const int32_t z = zero[c];                                                        \
                                                                                                  \
                for (int32_t i = 0; i < p->inner; i++) {                                          \
                    *y++ = (float)(*x++ - z) * s;                                                 \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
    }

#endif /* NNCC_QUANTIZE_F32_H */

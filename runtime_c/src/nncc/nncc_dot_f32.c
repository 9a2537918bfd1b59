/* nncc_dot_f32: dot products of one vector with one or four rows. */
#include "nncc_fp.h"

#include "nncc_dot_f32.h"

void nncc_dot_f32(const float *x, const float *w, int32_t w_stride, int32_t n, int32_t lanes, float *acc)
{
    float a0 = acc[0];

    if (lanes == 4) {
        const float *w1 = w + w_stride;
        const float *w2 = w1 + w_stride;
        const float *w3 = w2 + w_stride;
        float a1 = acc[1];
        float a2 = acc[2];
        float a3 = acc[3];

        for (int32_t i = 0; i < n; i++) {
            const float v = x[i];
            a0 += v * w[i];
            a1 += v * w1[i];
            a2 += v * w2[i];
            a3 += v * w3[i];
        }
        acc[1] = a1;
        acc[2] = a2;
        acc[3] = a3;
    } else {
        for (int32_t i = 0; i < n; i++) {
            a0 += x[i] * w[i];
        }
    }
    acc[0] = a0;
}

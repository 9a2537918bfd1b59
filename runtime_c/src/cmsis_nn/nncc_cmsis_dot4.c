/* The inner loop of convolutions and fully connected layers. */
#include "nncc_cmsis.h"

void nncc_cmsis_dot4(const int8_t *in, int32_t len, int32_t offset, const int8_t *const w[4], int32_t at,
                     uint32_t acc[4])
{
    const int8_t *w0 = w[0] + at;
    const int8_t *w1 = w[1] + at;
    const int8_t *w2 = w[2] + at;
    const int8_t *w3 = w[3] + at;
    uint32_t a0 = acc[0];
    uint32_t a1 = acc[1];
    uint32_t a2 = acc[2];
    uint32_t a3 = acc[3];

    for (; len > 0; len--) {
        const int32_t x = *in++ + offset;

        a0 += (uint32_t)(x * *w0++);
        a1 += (uint32_t)(x * *w1++);
        a2 += (uint32_t)(x * *w2++);
        a3 += (uint32_t)(x * *w3++);
    }
    acc[0] = a0;
    acc[1] = a1;
    acc[2] = a2;
    acc[3] = a3;
}

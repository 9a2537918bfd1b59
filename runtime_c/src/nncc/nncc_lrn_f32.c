#include "nncc_fp.h"

#include "nncc_f32.h"

void nncc_lrn_f32(const nncc_lrn_params *p, const float *x, float *y)
{
    const int32_t before = (p->size - 1) / 2;
    const int32_t after = p->size / 2;

    for (int32_t r = 0; r < p->rows; r++) {
        for (int32_t c = 0; c < p->channels; c++) {
            const int32_t first = c > before ? c - before : 0;
            const int32_t last = c + after < p->channels ? c + after : p->channels - 1;
            float sum = 0.0f;

            for (int32_t k = first; k <= last; k++) {
                sum += x[k] * x[k];
            }
            y[c] = x[c] / powf(p->bias + p->alpha / (float)p->size * sum, p->beta);
        }
        x += p->channels;
        y += p->channels;
    }
}

#include "nncc_fp.h"

#include "nncc_norm_s8.h"
#include "nncc_round.h"
#include "nncc_s8.h"

void nncc_group_norm_s8(const nncc_group_norm_s8_params *p, const int8_t *x, const double *scale, const double *bias,
                        int8_t *y)
{
    const int32_t width = p->channels / p->groups;
    const int32_t span = p->spatial * p->channels;
    const int32_t n = p->spatial * width;

    for (int32_t b = 0; b < p->batch; b++) {
        for (int32_t first = 0; first < p->channels; first += width) {
            int32_t sum = 0;
            int64_t square = 0;
            double k;

            for (int32_t s = first; s < span; s += p->channels) {
                for (int32_t c = s; c < s + width; c++) {
                    const int32_t d = x[c] - p->in_zero;

                    sum += d;
                    square += d * d;
                }
            }
            k = nncc_norm_factor(n, sum, square, p->in_scale, p->epsilon);
            for (int32_t s = first; s < span; s += p->channels) {
                for (int32_t c = 0; c < width; c++) {
                    double v = (double)(n * (x[s + c] - p->in_zero) - sum) * k;

                    v = v * scale[first + c];
                    v = v + bias[first + c];
                    y[s + c] = (int8_t)nncc_round_away(v / p->out_scale, p->out_zero, p->act_min, p->act_max);
                }
            }
        }
        x += span;
        y += span;
    }
}

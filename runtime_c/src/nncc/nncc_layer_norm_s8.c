#include "nncc_fp.h"

#include "nncc_norm_s8.h"
#include "nncc_round.h"
#include "nncc_s8.h"

void nncc_layer_norm_s8(const nncc_layer_norm_s8_params *p, const int8_t *x, const double *scale, const double *bias,
                        int8_t *y)
{
    for (int32_t r = 0; r < p->rows; r++) {
        int32_t sum = 0;
        int64_t square = 0;
        double k;

        for (int32_t i = 0; i < p->len; i++) {
            const int32_t d = x[i] - p->in_zero;

            sum += d;
            square += d * d;
        }
        k = nncc_norm_factor(p->len, sum, square, p->in_scale, p->epsilon);
        for (int32_t i = 0; i < p->len; i++) {
            double v = (double)(p->len * (x[i] - p->in_zero) - sum) * k;

            v = v * scale[i];
            if (bias != NULL) {
                v = v + bias[i];
            }
            y[i] = (int8_t)nncc_round_away(v / p->out_scale, p->out_zero, p->act_min, p->act_max);
        }
        x += p->len;
        y += p->len;
    }
}

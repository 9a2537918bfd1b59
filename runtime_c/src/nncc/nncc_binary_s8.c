/* nncc_binary_s8: quantised arithmetic by its definition, in double. */
#include "nncc_fp.h"

#include "nncc_bcast_s8.h"
#include "nncc_round.h"

/* f(u, v). NaN where IEEE gives NaN. */
static double nncc_binary_f64(int32_t op, double u, double v)
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

void nncc_binary_s8(const nncc_binary_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y)
{
    double s;

    NNCC_FOR_PAIRS(&p->bcast, int8_t, a, b,
                   s = nncc_binary_f64(p->op, (double)(u - p->a_zero) * p->a_scale, (double)(v - p->b_zero) * p->b_scale);
                   *y++ = (int8_t)nncc_round_away(s / p->out_scale, p->out_zero, p->act_min, p->act_max));
}

/* nncc_helium_depthwise.h: blocks of 8 channels and the rows that depthwise kernels bring into scratch. */
#ifndef NNCC_HELIUM_DEPTHWISE_H
#define NNCC_HELIUM_DEPTHWISE_H

#include "nncc_helium_widen.h"

/* Bytes of bias, multipliers and shifts of a record of 8 channels. */
#define NNCC_DW_HEAD 96

/* A block of up to 8 output channels from `first` on. */
typedef struct
{
    int32_t first;
    int32_t lanes;
    int32_t width;  /* vectors of a row in scratch */
    int32_t inside; /* those of them that lie in the image */
} nncc_dw_block;

/* Row iy of the image, which may be outside, between the columns of padding that are there already. */
static inline void nncc_dw_fill(const nncc_helium_depthwise_3x3_params *p, const nncc_dw_block *b, const int8_t *image,
                                int32_t iy, int16_t *to)
{
    to += NNCC_HELIUM_LANES * p->pad_left;
    if (iy < 0 || iy >= p->in_h) {
        nncc_widen_fill(to, p->in_zero, b->inside);
    } else if (p->multiplier == 1) {
        nncc_widen(to, image + iy * p->in_w * p->in_c + b->first, p->in_c, b->lanes, b->inside);
    } else {
        nncc_widen_repeat(to, image + iy * p->in_w * p->in_c, p->in_c, b->first, p->multiplier, b->lanes, b->inside);
    }
}

#endif /* NNCC_HELIUM_DEPTHWISE_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_dots.h: what kernels for few output channels share. Channels come in pairs, the last one of an odd number by
 * itself: four words each, the start of its sum and its scale {m, c, s}, then their weights.
 */
#include "nncc_dsp_core.h"

#define NNCC_DSP_DOTS_HEAD 4

/* A channel's requantisation. s > 0: as nncc_dsp_scale; else sums are shifted to the left by -s, and negative ones
 * are not corrected. */
typedef struct
{
    int32_t start, m, c, negative; /* negative: what is added to c where sums are below 0, as a mask */
    int32_t up, down;              /* shifts before and after the product */
    int32_t low, top;
    const uint8_t *table;
} nncc_dsp_dots_channel;

static inline nncc_dsp_dots_channel nncc_dsp_dots_head(const nncc_dsp_dots_params *p, const int32_t *w)
{
    const int32_t s = w[3];
    const nncc_dsp_dots_channel c = {w[0],          w[1],   w[2],   s > 0 ? -1 : 0, s > 0 ? 1 : 1 - s,
                                     s > 0 ? s : 0, p->low, p->top, p->table};

    return c;
}

static inline int32_t nncc_dsp_dots_scale(const nncc_dsp_dots_channel *h, int32_t sum)
{
    int32_t v = (int32_t)((uint32_t)sum << h->up);
    const int32_t c = h->c + ((v >> 31) & h->negative);

#if NNCC_DSP_ASM
    __asm("smmlar %0, %0, %1, %2" : "+r"(v) : "r"(h->m), "r"(c));
    return v >> h->down;
#elif defined(__thumb__) && !defined(__thumb2__)
    {
        const int32_t mcs[3] = {h->m, c - (v >> 31), 0};

        return nncc_plain_scale(v, mcs) >> h->down;
    }
#else
    v = (int32_t)(((int64_t)v * h->m + 0x80000000LL) >> 32);
    return (v + c) >> h->down;
#endif
}

/* Stores the output that a sum gives. */
static inline void nncc_dsp_dots_store(const nncc_dsp_dots_channel *h, int32_t sum, int8_t *y)
{
    int32_t v = nncc_dsp_dots_scale(h, sum);

    if ((uint32_t)v > (uint32_t)h->top) {
        v = v < 0 ? 0 : h->top;
    }
    *y = h->table != NULL ? (int8_t)h->table[v] : nncc_dsp_byte(v + h->low);
}

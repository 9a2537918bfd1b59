/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise_few_s8: windows of two or three taps. Outputs of a row go together whose taps are all inside of
 * the image, or the same ones outside: those read a row of padding.
 */
#include "nncc_dsp_core.h"

/* The taps of the window of output (oy, ox), and so many outputs that go together. */
static int32_t window(const nncc_dsp_depthwise_few_params *p, const int8_t *x, const int8_t *pad, int32_t oy,
                      int32_t ox, const int8_t **taps)
{
    int32_t count = p->out_w - ox < p->span ? p->out_w - ox : p->span, iy = oy * p->stride_h - p->pad_h;

    for (int32_t ky = 0; ky < p->kernel_h; ky++) {
        const int32_t in = iy >= 0 && iy < p->in_h;
        int32_t ix = ox * p->stride_w - p->pad_w;

        for (int32_t kx = 0; kx < p->kernel_w; kx++) {
            const int32_t columns = ix < 0 ? -ix : p->in_w - ix; /* until the tap comes in, or goes out */

            if (in && columns > 0) {
                const int32_t until = (columns + p->stride_w - 1) / p->stride_w;

                count = until < count ? until : count;
            }
            *taps++ = in && ix >= 0 && ix < p->in_w ? x + (iy * p->in_w + ix) * p->channels : pad;
            ix += p->dil_w;
        }
        iy += p->dil_h;
    }
    return count;
}

void nncc_dsp_depthwise_few_s8(const nncc_dsp_depthwise_few_params *p, nncc_dsp_depthwise_few_fn *fn, const int8_t *x,
                               const int32_t *w, int8_t *y, int8_t *scratch)
{
    const int32_t channels = p->channels, third = p->kernel_h * p->kernel_w - 1;

    memset(scratch, p->pad, (size_t)p->pad_bytes);
    for (int32_t n = 0; n < p->batches; n++) {
        int8_t *const image = y;

        for (int32_t oy = 0; oy < p->out_h; oy++) {
            int32_t count;

            for (int32_t ox = 0; ox < p->out_w; ox += count) {
                const int8_t *taps[3];
                nncc_dsp_depthwise_few f;

                count = window(p, x, scratch, oy, ox, taps);
                f.second = (int32_t)((intptr_t)taps[1] - (intptr_t)taps[0]);
                f.third = (int32_t)((intptr_t)taps[third] - (intptr_t)taps[0]);
                f.step = p->stride_w * channels;
                f.pixel = channels;
                f.w = w;
                for (int32_t c = 0; c < channels; c += 4) {
                    const int32_t first = nncc_dsp_group(c, channels);

                    f.x = taps[0] + first;
                    f.y = y + first;
                    f.end = f.y + count * channels;
                    fn(&f);
                    f.w += p->group_words;
                }
                y += count * channels;
            }
        }
        if (p->cap != 0) {
            nncc_dsp_clamp_s8((int32_t)(y - image), p->low, p->cap, image);
        }
        x += p->in_h * p->in_w * channels;
    }
}

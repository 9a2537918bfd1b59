/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_copy.h"
#include "nncc_move.h"
#include "nncc_run.h"

/* Input index of position i of an axis of n elements, or -1 for the constant. Pads longer than the axis repeat. */
static int32_t nncc_pad_source(int32_t i, int32_t n, int32_t mode)
{
    if (i >= 0 && i < n) {
        return i;
    }
    if (mode == NNCC_PAD_CONSTANT) {
        return -1;
    }
    if (mode == NNCC_PAD_EDGE) {
        return i < 0 ? 0 : n - 1;
    }
    if (mode == NNCC_PAD_REFLECT) {
        const int32_t period = n > 1 ? 2 * n - 2 : 1;

        i %= period;
        if (i < 0) {
            i += period;
        }
        return i < n ? i : period - i;
    }
    i %= n;
    return i < 0 ? i + n : i;
}

void nncc_pad(const nncc_pad_params *p, const void *x, const void *value, void *y)
{
    const int32_t inner = p->rank - 1;
    const int32_t n_out = p->out_dims[inner];
    const int32_t n_in = p->in_dims[inner];
    /* The part of an output row that is a plain copy: [first, last). */
    const int32_t first = p->before[inner] > 0 ? (p->before[inner] < n_out ? p->before[inner] : n_out) : 0;
    const int32_t end = p->before[inner] + n_in;
    const int32_t last = end < n_out ? (end > first ? end : first) : n_out;
    int32_t index[NNCC_MAX_DIMS] = {0};
    uint8_t *to = (uint8_t *)y;
    int32_t d;

    do {
        int32_t row = 0;

        /* Element offset of the source row, or -1 where it is constant. */
        for (int32_t k = 0; k < inner; k++) {
            const int32_t i = nncc_pad_source(index[k] - p->before[k], p->in_dims[k], p->mode);

            if (i < 0) {
                row = -1;
                break;
            }
            row = row * p->in_dims[k] + i;
        }
        if (row < 0) {
            nncc_run(value, 0, to, 1, n_out, p->elem);
        } else {
            const uint8_t *from = (const uint8_t *)x + row * n_in * p->elem;

            for (int32_t i = 0; i < n_out;) {
                if (i == first && first < last) {
                    nncc_run(from + (first - p->before[inner]) * p->elem, 1, to + first * p->elem, 1, last - first,
                             p->elem);
                    i = last;
                } else {
                    const int32_t s = nncc_pad_source(i - p->before[inner], n_in, p->mode);

                    nncc_copy(to + i * p->elem, s < 0 ? value : from + s * p->elem, p->elem);
                    i++;
                }
            }
        }
        to += n_out * p->elem;
        for (d = inner - 1; d >= 0; d--) {
            index[d]++;
            if (index[d] < p->out_dims[d]) {
                break;
            }
            index[d] = 0;
        }
    } while (d >= 0);
}

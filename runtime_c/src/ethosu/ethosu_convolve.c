/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * ethosu_convolve: sums of products. Weights come in the order in which the hardware uses them; so many places of the
 * result are computed at a time as there is room for sums, and the stream is expanded anew for each part.
 */
#include "ethosu_sim.h"

/* A part of a convolution: the channels of a core, the places, and what is left of the order of weights. */
typedef struct
{
    ethosu_device *d;
    ethosu_weights w;
    int32_t core, out, in, block, unit, depthwise, deep, first, places;
    int32_t from, depth, sub_y, sub_x, sub_h, sub_w; /* of the current block and part of the kernel */
} ethosu_conv;

static int32_t ethosu_least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* A weight in the kernel: its place, and the channel of the input that it is for. */
typedef struct
{
    int32_t y, x, c, weight;
} ethosu_tap;

static int32_t ethosu_narrow(const ethosu_map *m, const uint8_t *p)
{
    if (m->bytes == 1) {
        return m->is_signed != 0 ? (int32_t)(int8_t)p[0] : (int32_t)p[0];
    }
    return (int16_t)(uint16_t)(p[0] | ((uint32_t)p[1] << 8));
}

/* Adds a weight's products for n neighbours of a row, whose elements lie step bytes apart. */
static void ethosu_run_of(const ethosu_conv *v, int64_t *sums, const uint8_t *row, int64_t step, int32_t from,
                          int32_t n, int32_t weight)
{
    const ethosu_map *const m = &v->d->ifm;
    int32_t at = from;

    for (int32_t j = 0; j < n; j++) {
        const int32_t x = v->d->upscale == 0 ? at : ethosu_sample(at, v->d->see_w, m->w, v->d->upscale);

        if (x >= 0 && x < m->w) {
            sums[j * v->block] += (int64_t)((ethosu_narrow(m, row + x * step) - m->zero) * weight);
        }
        at += v->d->stride_w;
    }
}

/* Adds a weight's products for n neighbours of row oy from ox on. */
static void ethosu_row(const ethosu_conv *v, int64_t *sums, int32_t oy, int32_t ox, int32_t n, const ethosu_tap *t)
{
    ethosu_device *const d = v->d;
    const ethosu_map *const m = &d->ifm;
    const int64_t step = m->brick != 0 ? 16 * (int64_t)m->bytes : m->stride_x;
    const int32_t y = ethosu_sample(oy * d->stride_h - d->top + t->y * d->dilate_h, d->see_h, m->h, d->upscale);
    const int32_t from = ox * d->stride_w - d->left + t->x * d->dilate_w;

    if (y < 0) {
        return;
    }
    if (m->w <= m->tile_w0) {
        const uint8_t *const row =
            ethosu_bytes(d, m->region, ethosu_place(m, y, 0, t->c), (m->w - 1) * step + m->bytes);

        if (row != NULL) {
            ethosu_run_of(v, sums, row, step, from, n, t->weight);
        }
        return;
    }
    for (int32_t j = 0; j < n; j++) {
        const int32_t x = ethosu_sample(from + j * d->stride_w, d->see_w, m->w, d->upscale);

        if (x >= 0) {
            sums[j * v->block] += (int64_t)ethosu_load(d, m, y, x, t->c) * t->weight;
        }
    }
}

/* Adds a weight's products for every place of the part. */
static void ethosu_products(const ethosu_conv *v, int32_t o, const ethosu_tap *t)
{
    const int32_t w = v->d->ofm.w;
    int32_t y = v->first / w;
    int32_t x = v->first % w;
    int32_t p = 0;

    while (p < v->places) {
        const int32_t n = ethosu_least(w - x, v->places - p);

        ethosu_row(v, v->d->sums + p * v->block + o - v->from, y, x, n, t);
        p += n;
        x = 0;
        y++;
    }
}

/* The weights of a unit of channels for one place in the kernel. */
static void ethosu_unit(ethosu_conv *v, int32_t ou, int32_t tap, int32_t i)
{
    const int32_t y = tap / v->sub_w;
    const int32_t each = v->depthwise != 0 ? 1 : 8;
    ethosu_tap t = {v->sub_y + y, 0, 0, 0};

    for (int32_t oz = 0; oz < v->unit; oz++) {
        for (int32_t iz = 0; iz < each; iz++) {
            const int32_t weight = ethosu_weights_next(&v->w);
            const int32_t o = v->from + ou + oz;

            if (weight != 0 && o < v->out && i + iz < v->in && y < v->sub_h) {
                t.x = v->sub_x + tap % v->sub_w;
                t.c = v->depthwise != 0 ? o * v->d->active + v->core : i + iz;
                t.weight = weight;
                ethosu_products(v, o, &t);
            }
        }
    }
}

/* The weights of a part of the kernel, of up to 32 channels of the input. */
static void ethosu_subkernel(ethosu_conv *v, int32_t ib, int32_t block)
{
    const ethosu_device *const d = v->d;
    const int32_t unit = d->part != 0 && d->ifm.bytes == 2 ? 2 : 4;
    const int32_t outer = d->part != 0 ? v->depth : 1;
    const int32_t inner = d->part != 0 ? 1 : v->depth;
    int32_t taps = v->sub_h * v->sub_w;

    if (d->part != 0 || v->depthwise != 0) {
        taps = (taps + unit - 1) / unit * unit;
    }
    for (int32_t io = 0; io < outer; io += 8) {
        for (int32_t ou = 0; ou < block; ou += v->unit) {
            for (int32_t t = 0; t < taps; t++) {
                for (int32_t ii = 0; ii < inner; ii += 8) {
                    ethosu_unit(v, ou, t, ib + io + ii);
                }
            }
        }
    }
}

static void ethosu_block(ethosu_conv *v)
{
    const ethosu_device *const d = v->d;
    const int32_t block = ethosu_least(v->block, v->out - v->from);
    const int32_t high = d->split / d->dilate_h;
    const int32_t wide = d->split / d->dilate_w;

    for (int32_t ib = 0; ib < v->in; ib += v->deep) {
        v->depth = d->part != 0 ? ethosu_least(v->deep, v->in - ib) : v->deep;
        if (v->depthwise != 0) {
            v->depth = 8;
        }
        for (v->sub_y = 0; v->sub_y < d->kernel_h; v->sub_y += high) {
            for (v->sub_x = 0; v->sub_x < d->kernel_w; v->sub_x += wide) {
                v->sub_h = ethosu_least(high, d->kernel_h - v->sub_y);
                v->sub_w = ethosu_least(wide, d->kernel_w - v->sub_x);
                ethosu_subkernel(v, ib, block);
                if (v->w.failed != 0 || d->status != ETHOSU_OK) {
                    return;
                }
            }
        }
    }
}

/* Scales a block's sums; scales has 10 bytes for each channel of the core: bias, multiplier, shift. */
static void ethosu_results(ethosu_conv *v, const uint8_t *scales)
{
    ethosu_device *const d = v->d;
    const int32_t block = ethosu_least(v->block, v->out - v->from);

    for (int32_t o = 0; o < block; o++) {
        const uint8_t *const s = scales + 10 * (v->from + o);
        const uint64_t low = (uint64_t)s[0] | ((uint64_t)s[1] << 8) | ((uint64_t)s[2] << 16) | ((uint64_t)s[3] << 24);
        const int64_t bias = (int64_t)low + (int64_t)(int8_t)s[4] * 4294967296;
        uint32_t scale = (uint32_t)s[5] | ((uint32_t)s[6] << 8) | ((uint32_t)s[7] << 16) | ((uint32_t)s[8] << 24);
        uint32_t shift = s[9] & 63u;

        if (d->per_channel == 0) {
            scale = d->wide[0x24];
            shift = d->high[0x24];
        }
        for (int32_t p = 0; p < v->places; p++) {
            const int64_t sum = ethosu_scale(d->sums[p * v->block + o] + bias, scale, shift, d->rounding);

            ethosu_store(d, (v->first + p) / d->ofm.w, (v->first + p) % d->ofm.w, (v->from + o) * d->active + v->core,
                         ethosu_finish(d, sum));
        }
    }
}

static void ethosu_core(ethosu_conv *v)
{
    ethosu_device *const d = v->d;
    const uint32_t at = v->core == 0 ? 0x20u : 0x90u;
    const uint8_t *const scales =
        ethosu_bytes(d, (int32_t)ethosu_get(d, 0x129u), ethosu_address(d, at + 2u), 10 * (int64_t)v->out);
    const uint8_t *const weights =
        ethosu_bytes(d, (int32_t)ethosu_get(d, 0x128u), ethosu_address(d, at), (int64_t)d->wide[at + 1u]);
    const int32_t all = d->ofm.h * d->ofm.w;
    const int32_t most = ETHOSU_SUMS / v->block;

    if (scales == NULL || weights == NULL) {
        return;
    }
    for (v->first = 0; v->first < all && d->status == ETHOSU_OK; v->first += most) {
        v->places = ethosu_least(most, all - v->first);
        ethosu_weights_begin(&v->w, weights, d->wide[at + 1u]);
        for (v->from = 0; v->from < v->out; v->from += v->block) {
            for (int32_t i = 0; i < v->places * v->block; i++) {
                d->sums[i] = 0;
            }
            ethosu_block(v);
            if (v->w.failed != 0) {
                d->status = ETHOSU_ERR_WEIGHTS;
                return;
            }
            ethosu_results(v, scales);
        }
    }
}

void ethosu_convolve(ethosu_device *d, int32_t depthwise)
{
    ethosu_conv v;
    const int32_t block = (int32_t)ethosu_get(d, 0x117u) + 1;

    v.d = d;
    v.depthwise = depthwise;
    v.in = depthwise != 0 ? 1 : d->ifm.c;
    v.deep = d->part != 0 || d->ifm.bytes == 2 ? 16 : 32;
    v.unit = d->macs == 32u ? 4 : 8;
    for (v.core = 0; v.core < d->active && v.core < d->ofm.c; v.core++) {
        v.out = (d->ofm.c - v.core + d->active - 1) / d->active;
        v.block = ethosu_least((block - v.core + d->active - 1) / d->active, ETHOSU_SUMS);
        if (v.block < 1) {
            v.block = 1;
        }
        ethosu_core(&v);
    }
}

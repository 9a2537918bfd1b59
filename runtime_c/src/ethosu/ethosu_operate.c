/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* ethosu_operate: what the registers say about an operation, and its feature maps. */
#include "ethosu_sim.h"

/* The registers of a feature map: region, tiles, bases, zero point; those of precision have bits of their own. */
static void ethosu_map_at(const ethosu_device *d, ethosu_map *m, uint32_t narrow, uint32_t wide, uint32_t precision,
                          uint32_t size_bit)
{
    const uint32_t p = ethosu_get(d, precision);

    m->region = (int32_t)ethosu_get(d, narrow + 5u);
    m->tile_w0 = (int32_t)ethosu_get(d, narrow) + 1;
    m->tile_h0 = (int32_t)ethosu_get(d, narrow + 1u) + 1;
    m->tile_h1 = (int32_t)ethosu_get(d, narrow + 2u) + 1;
    for (int32_t i = 0; i < 4; i++) {
        m->base[i] = ethosu_address(d, wide + (uint32_t)i);
    }
    m->stride_x = ethosu_address(d, wide + 4u);
    m->stride_y = ethosu_address(d, wide + 5u);
    m->stride_c = ethosu_address(d, wide + 6u);
    m->is_signed = (int32_t)(p & 1u);
    m->bytes = (int32_t)(1u << ((p >> size_bit) & 3u));
    m->brick = (int32_t)((p >> 6) & 1u);
}

int64_t ethosu_place(const ethosu_map *m, int32_t y, int32_t x, int32_t c)
{
    int32_t t = 0;

    if (x >= m->tile_w0) {
        x -= m->tile_w0;
        t = 1;
        if (y >= m->tile_h1) {
            y -= m->tile_h1;
            t = 3;
        }
    } else if (y >= m->tile_h0) {
        y -= m->tile_h0;
        t = 2;
    }
    int64_t at = m->base[t] + (int64_t)y * m->stride_y;
    if (m->brick != 0) {
        return at + (int64_t)(c / 16) * m->stride_c + ((int64_t)x * 16 + c % 16) * m->bytes;
    }
    return at + (int64_t)x * m->stride_x + (int64_t)c * m->bytes;
}

int32_t ethosu_load(ethosu_device *d, const ethosu_map *m, int32_t y, int32_t x, int32_t c)
{
    const uint8_t *const p = ethosu_bytes(d, m->region, ethosu_place(m, y, x, c), m->bytes);
    int32_t v;

    if (p == NULL) {
        return 0;
    }
    if (m->bytes == 1) {
        v = m->is_signed != 0 ? (int32_t)(int8_t)p[0] : (int32_t)p[0];
    } else if (m->bytes == 2) {
        const uint16_t u = (uint16_t)(p[0] | ((uint32_t)p[1] << 8));

        v = m->is_signed != 0 ? (int32_t)(int16_t)u : (int32_t)u;
    } else {
        v = (int32_t)((uint32_t)p[0] | ((uint32_t)p[1] << 8) | ((uint32_t)p[2] << 16) | ((uint32_t)p[3] << 24));
    }
    return (int32_t)((uint32_t)v - (uint32_t)m->zero);
}

void ethosu_store(ethosu_device *d, int32_t y, int32_t x, int32_t c, int32_t v)
{
    const ethosu_map *const m = &d->ofm;
    const int64_t at = ethosu_place(m, y, x, c);

    if (ethosu_bytes(d, m->region, at, m->bytes) == NULL || d->region[m->region].write == NULL) {
        d->status = ETHOSU_ERR_ADDRESS;
        return;
    }
    for (int32_t i = 0; i < m->bytes; i++) {
        d->region[m->region].write[at + i] = (uint8_t)((uint32_t)v >> (8 * i));
    }
}

int32_t ethosu_sample(int32_t at, int32_t limit, int32_t size, int32_t upscale)
{
    if (at < 0 || at >= limit || (upscale == 2 && (at & 1) == 1)) {
        return -1;
    }
    if (upscale != 0) {
        at /= 2;
    }
    return at < size ? at : -1;
}

/* How far windows reach along both dimensions. */
static void ethosu_window(ethosu_device *d)
{
    const uint32_t s = ethosu_get(d, 0x122u);
    const int32_t h = (int32_t)ethosu_get(d, 0x121u);
    const int32_t w = (int32_t)ethosu_get(d, 0x120u);

    d->stride_w = (int32_t)(1u + ((s & 1u) | ((s >> 5) & 14u)));
    d->stride_h = (int32_t)(1u + (((s >> 1) & 1u) | ((s >> 8) & 14u)));
    d->dilate_w = (int32_t)(1u + ((s >> 3) & 1u));
    d->dilate_h = (int32_t)(1u + ((s >> 4) & 1u));
    d->part = (int32_t)((s >> 2) & 1u);
    d->split = (s & 32u) != 0u ? 4 : 8;
    d->kernel_h = h / d->dilate_h + 1;
    d->kernel_w = w / d->dilate_w + 1;
    d->top = (int32_t)ethosu_get(d, 0x100u);
    d->left = (int32_t)ethosu_get(d, 0x101u);
    d->see_h = (d->ofm.h - 1) * d->stride_h + h + 1 - d->top - (int32_t)ethosu_get(d, 0x103u);
    d->see_w = (d->ofm.w - 1) * d->stride_w + w + 1 - d->left - (int32_t)ethosu_get(d, 0x102u);
    d->ifm.h = d->upscale != 0 ? (d->see_h + 1) / 2 : d->see_h;
    d->ifm.w = d->upscale != 0 ? (d->see_w + 1) / 2 : d->see_w;
}

/* Limits of results, and what becomes of them. */
static void ethosu_activation(ethosu_device *d)
{
    const uint32_t act = ethosu_get(d, 0x125u);
    const uint32_t clip = act >> 12;

    d->low = ethosu_signed(d, 0x126u);
    d->high_limit = ethosu_signed(d, 0x127u);
    d->function = (int32_t)(act & 31u);
    if (d->function >= 16) {
        d->table = (d->function - 16) * 256;
        d->function = 16;
    }
    if (clip == 3u) {
        d->low = d->low > -128 ? d->low : -128;
        d->high_limit = d->high_limit < 127 ? d->high_limit : 127;
    } else if (clip == 2u) {
        d->low = d->low > 0 ? d->low : 0;
        d->high_limit = d->high_limit < 255 ? d->high_limit : 255;
    }
    if (d->function == 16 && d->table + 256 * (d->ofm.bytes == 2 ? 8 : d->ofm.bytes) > ETHOSU_LUT_BYTES) {
        d->status = ETHOSU_ERR_COMMAND;
    }
}

void ethosu_operate(ethosu_device *d, uint32_t code, uint32_t mode)
{
    const uint32_t precision = ethosu_get(d, 0x114u);

    ethosu_map_at(d, &d->ifm, 0x10Au, 0x00u, 0x105u, 2u);
    ethosu_map_at(d, &d->ofm, 0x11Au, 0x10u, 0x114u, 1u);
    d->ifm.zero = ethosu_signed(d, 0x109u);
    d->ofm.zero = ethosu_signed(d, 0x118u);
    d->ofm.h = (int32_t)ethosu_get(d, 0x112u) + 1;
    d->ofm.w = (int32_t)ethosu_get(d, 0x111u) + 1;
    d->ofm.c = (int32_t)ethosu_get(d, 0x113u) + 1;
    d->ifm.c = (int32_t)ethosu_get(d, 0x104u) + 1;
    d->upscale = (int32_t)ethosu_get(d, 0x107u);
    d->per_channel = (precision & 0x100u) == 0u ? 1 : 0;
    d->rounding = (int32_t)(precision >> 14);
    d->active = d->cores == 2u && ethosu_get(d, 0x123u) == 1u ? 2 : 1;
    ethosu_activation(d);
    if (code == (uint32_t)ETHOSU_ELEMENTWISE) {
        d->ifm.h = d->ofm.h;
        d->ifm.w = d->ofm.w;
        ethosu_map_at(d, &d->ifm2, 0x18Au, 0x80u, 0x185u, 2u);
        d->ifm2.zero = ethosu_signed(d, 0x189u);
        ethosu_elementwise(d, mode);
        return;
    }
    ethosu_window(d);
    if (code == (uint32_t)ETHOSU_POOL) {
        ethosu_pool(d, mode);
    } else {
        ethosu_convolve(d, code == (uint32_t)ETHOSU_DEPTHWISE ? 1 : 0);
    }
}

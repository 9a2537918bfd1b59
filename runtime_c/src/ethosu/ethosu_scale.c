/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* ethosu_scale: from sums to elements: scale, rounding, zero point, limits, activation. */
#include "ethosu_sim.h"
#include "nncc_sigmoid_points.h"

/* Modes of rounding; the first rounds at bit 31, then at the shift. */
enum
{
    ETHOSU_TWICE = 0,
    ETHOSU_TOWARDS_ZERO = 1
};

/* Functions of results. */
enum
{
    ETHOSU_TANH = 3,
    ETHOSU_SIGMOID = 4,
    ETHOSU_TABLE = 16
};

/* A number of 96 bits in two words, plus another one, to the right; at most what fits. */
static uint64_t ethosu_shifted(uint64_t high, uint64_t low, uint64_t plus, uint32_t by)
{
    low += plus;
    high += low < plus ? 1u : 0u;
    if ((high >> by) != 0u) {
        return (uint64_t)INT64_MAX;
    }
    uint64_t r = by == 0u ? low : ((low >> by) | (high << (64u - by)));
    return r > (uint64_t)INT64_MAX ? (uint64_t)INT64_MAX : r;
}

static int64_t ethosu_with_sign(int64_t sign, uint64_t m)
{
    return sign < 0 ? -(int64_t)m : (int64_t)m;
}

int64_t ethosu_scale(int64_t v, uint32_t scale, uint32_t shift, int32_t rounding)
{
    const uint64_t m = v < 0 ? (uint64_t)0 - (uint64_t)v : (uint64_t)v;
    const uint64_t l = (m & 0xFFFFFFFFu) * scale;
    const uint64_t h = (m >> 32) * scale + (l >> 32);
    const uint32_t first = rounding == ETHOSU_TWICE && shift > 31u ? 31u : shift;
    uint64_t half = first == 0u || rounding == ETHOSU_TOWARDS_ZERO ? 0u : (uint64_t)1 << (first - 1u);

    if (v < 0 && half != 0u) {
        half--; /* halves go up */
    }
    int64_t r = ethosu_with_sign(v, ethosu_shifted(h >> 32, (h << 32) | (l & 0xFFFFFFFFu), half, first));
    if (first != shift) { /* halves go away from zero */
        half = (uint64_t)1 << (shift - 32u);
        r = ethosu_with_sign(r, ((r < 0 ? (uint64_t)0 - (uint64_t)r : (uint64_t)r) + half) >> (shift - 31u));
    }
    return r;
}

static int64_t ethosu_clamp(int64_t v, int64_t low, int64_t high)
{
    if (v < low) {
        return low;
    }
    return v > high ? high : v;
}

/* tanh or sigmoid of x in units of 1/12288, between points. */
static int32_t ethosu_curve(int64_t v, int32_t function)
{
    const int64_t x = ethosu_clamp(v, INT32_MIN, INT32_MAX);
    const uint32_t m = (uint32_t)(x < 0 ? -x : x);
    const uint32_t bits = function == ETHOSU_TANH ? 8u : 9u;
    const uint32_t at = m >> bits;
    int64_t r;

    if (at < 255u) {
        const uint32_t low = nncc_sigmoid_points[at];

        r = (int64_t)((low << bits) + (m & ((1u << bits) - 1u)) * (nncc_sigmoid_points[at + 1u] - low));
    } else {
        r = function == ETHOSU_TANH ? 0xFFFF00 : 0x1FFFC00;
    }
    if (function == ETHOSU_TANH) {
        r -= 1 << 23;
        return (int32_t)(x < 0 ? (-r + 127) >> 8 : (r + 128) >> 8);
    }
    return (int32_t)(x < 0 ? ((1 << 25) - r + 511) >> 10 : (r + 512) >> 10);
}

static uint32_t ethosu_entry(const ethosu_device *d, int64_t i)
{
    const uint8_t *const p = d->lut + d->table + 4 * i;

    return (uint32_t)p[0] | ((uint32_t)p[1] << 8) | ((uint32_t)p[2] << 16) | ((uint32_t)p[3] << 24);
}

static int32_t ethosu_looked(const ethosu_device *d, int64_t v)
{
    const int64_t i = ethosu_clamp(d->ofm.is_signed != 0 ? v + 128 : v, 0, 255);

    if (d->ofm.bytes == 2) {
        const uint32_t e = ethosu_entry(d, ((v >> 7) + 256) & 511);
        const int64_t slope = (int16_t)(uint16_t)(e >> 16);

        return (int32_t)ethosu_clamp((int16_t)(uint16_t)e + ((slope * (v & 127) + 64) >> 7), INT16_MIN, INT16_MAX);
    }
    if (d->ofm.bytes == 4) {
        return (int32_t)ethosu_entry(d, i);
    }
    return d->lut[d->table + i]; /* the byte that is stored is what counts */
}

int32_t ethosu_finish(ethosu_device *d, int64_t v)
{
    if (d->ofm.bytes == 4 && d->function != ETHOSU_TABLE) {
        return (int32_t)ethosu_clamp(v, INT32_MIN, INT32_MAX);
    }
    if (d->function == ETHOSU_TANH || d->function == ETHOSU_SIGMOID) {
        v = ethosu_curve(v, d->function);
    }
    v = ethosu_clamp(v + d->ofm.zero, d->low, d->high_limit);
    return d->function == ETHOSU_TABLE ? ethosu_looked(d, v) : (int32_t)v;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* ethosu_weights: expands compressed weights one by one: slices of numbers in chunks of up to 12. */
#include <string.h>

#include "ethosu_sim.h"

enum
{
    ETHOSU_ZEROS_APART = 6,
    ETHOSU_END = 7,
    ETHOSU_PLAIN = 7
};

static int32_t ethosu_take(ethosu_weights *w, int32_t n)
{
    int32_t v = 0;

    for (int32_t i = 0; i < n; i++) {
        if ((w->pos >> 3) >= w->bytes) {
            w->failed = 1;
            return 0;
        }
        v |= (int32_t)((uint32_t)(w->data[w->pos >> 3] >> (w->pos & 7u)) & 1u) << i;
        w->pos++;
    }
    return v;
}

void ethosu_weights_begin(ethosu_weights *w, const uint8_t *data, uint32_t bytes)
{
    (void)memset(w, 0, sizeof(*w));
    w->data = data;
    w->bytes = bytes;
    w->first = 1;
}

static void ethosu_palette(ethosu_weights *w)
{
    w->direct = ethosu_take(w, 5);
    w->entries = ethosu_take(w, 5);
    w->entries += w->entries > 0 ? 1 : 0;
    w->width = ethosu_take(w, 3) + 2;
    for (int32_t i = 0; i < w->entries; i++) {
        w->palette[i] = ethosu_take(w, w->width);
    }
}

/* The width of numbers without a prefix. */
static int32_t ethosu_plain_bits(const ethosu_weights *w)
{
    int32_t n = 0;

    if (w->entries == 0) {
        return w->width;
    }
    while ((1 << n) < w->entries) {
        n++;
    }
    return n;
}

/* Begins the next slice. */
static void ethosu_slice(ethosu_weights *w)
{
    int32_t zero_div = ethosu_take(w, 3);

    while (zero_div == ETHOSU_END && w->failed == 0) {
        w->pos = (w->pos + 7u) & ~7u;
        w->first = 1;
        zero_div = ethosu_take(w, 3);
    }
    w->left = ethosu_take(w, 15) + 1;
    w->div = ethosu_take(w, 3);
    w->trunc = ethosu_take(w, 1);
    int32_t fresh = ethosu_take(w, 1);
    if ((w->first != 0 && fresh == 0) || zero_div == 4 || zero_div == 5 || w->div == 6) {
        w->failed = 1;
        return;
    }
    w->first = 0;
    w->zeros = zero_div != ETHOSU_ZEROS_APART ? 1 : 0;
    w->zero_div = zero_div;
    if (fresh != 0) {
        ethosu_palette(w);
    }
    w->plain = w->div == ETHOSU_PLAIN ? 1 : 0;
    w->div = w->plain != 0 ? ethosu_plain_bits(w) : w->div;
    w->symbols = w->plain != 0 && w->div > 5 ? 8 : 12;
    w->lead = w->zeros != 0 && fresh != 0 ? 1 : 0;
    w->count = w->left;
    w->zero_count = w->zeros != 0 ? w->left + w->lead : 0;
    w->seen = 0;
    w->zero_seen = 0;
    w->carry = 0;
    w->zero_carry = 0;
    w->ahead_count = 0;
    w->zero_ahead_count = 0;
    w->from = 0;
    w->to = 0;
    w->zero_from = 0;
    w->zero_to = 0;
}

/* The prefixes of a chunk of weights: one bit each, and a second one for those that have the first. */
static void ethosu_prefixes(ethosu_weights *w, int32_t low)
{
    int32_t more = 0;

    for (int32_t i = 0; i < w->symbols; i++) {
        more += (low >> i) & 1;
    }
    more = ethosu_take(w, more);
    for (int32_t i = 0; i < w->symbols; i++) {
        int32_t code = 0;

        if (((low >> i) & 1) != 0) {
            code = 1 + (more & 1);
            more >>= 1;
        }
        w->carry += code;
        if (code < 2 || w->trunc != 0) {
            w->ahead[w->ahead_count] = w->carry;
            w->ahead_count++;
            w->carry = 0;
            w->seen++;
        }
    }
}

static void ethosu_zero_prefixes(ethosu_weights *w, int32_t ones, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        if (((ones >> i) & 1) != 0) {
            w->zero_carry++;
        } else {
            w->zero_ahead[w->zero_ahead_count] = w->zero_carry;
            w->zero_ahead_count++;
            w->zero_carry = 0;
            w->zero_seen++;
        }
    }
}

/* The remainders of the chunk before. */
static void ethosu_remainders(ethosu_weights *w, const int32_t *q, int32_t n, const int32_t *zero_q, int32_t zero_n)
{
    for (int32_t i = 0; i < n && w->to < w->count; i++) {
        w->ring[w->to & 63] = (q[i] << w->div) + ethosu_take(w, w->div);
        w->to++;
    }
    for (int32_t i = 0; i < zero_n && w->zero_to < w->zero_count; i++) {
        w->zero_ring[w->zero_to & 63] = (zero_q[i] << w->zero_div) + ethosu_take(w, w->zero_div);
        w->zero_to++;
    }
}

static void ethosu_chunk(ethosu_weights *w)
{
    const int32_t balance = w->zeros != 0 ? w->seen - w->zero_seen : 0;
    const int32_t on = balance < 8 && w->seen < w->count ? 1 : 0;
    const int32_t zero_on = balance >= 0 && w->zeros != 0 && w->zero_seen < w->zero_count ? 1 : 0;
    const int32_t n = w->ahead_count;
    const int32_t zero_n = w->zero_ahead_count;
    const int32_t length = w->zero_div < 3 ? 12 : 8;
    int32_t q[16];
    int32_t zero_q[16];
    int32_t low = 0;

    (void)memcpy(q, w->ahead, sizeof(q));
    (void)memcpy(zero_q, w->zero_ahead, sizeof(zero_q));
    w->ahead_count = 0;
    w->zero_ahead_count = 0;
    if (on != 0 && w->plain == 0) {
        low = ethosu_take(w, 12);
    }
    if (zero_on != 0) {
        ethosu_zero_prefixes(w, ethosu_take(w, length), length);
    }
    if (on != 0) {
        ethosu_prefixes(w, low);
    }
    ethosu_remainders(w, q, n, zero_q, zero_n);
    if (on == 0 && zero_on == 0 && n == 0 && zero_n == 0) {
        w->failed = 1; /* nothing is left of the slice, and more was wanted */
    }
}

/* Finishes a slice: what is coded ahead of its end is read. */
static void ethosu_drain(ethosu_weights *w)
{
    while (w->failed == 0 &&
           (w->seen < w->count || w->zero_seen < w->zero_count || w->ahead_count > 0 || w->zero_ahead_count > 0)) {
        ethosu_chunk(w);
    }
}

/* Decodes until there is a run of zeros, and with it a weight where one is wanted; 0 where there is none. */
static int32_t ethosu_ready(ethosu_weights *w, int32_t weight)
{
    while (w->failed == 0 && ((weight != 0 && w->to == w->from) || (w->zeros != 0 && w->zero_to == w->zero_from))) {
        ethosu_chunk(w);
    }
    return w->failed == 0 ? 1 : 0;
}

int32_t ethosu_weights_next(ethosu_weights *w)
{
    while (w->run == 0 && w->failed == 0 && (w->lead != 0 || w->left == 0)) {
        if (w->lead == 0) {
            ethosu_drain(w);
            ethosu_slice(w);
        } else if (ethosu_ready(w, 0) != 0) {
            w->lead = 0;
            w->run = w->zero_ring[w->zero_from & 63];
            w->zero_from++;
        } else {
            /* it failed */
        }
    }
    if (w->run > 0) {
        w->run--;
        return 0;
    }
    if (ethosu_ready(w, 1) == 0) {
        return 0;
    }
    int32_t v = w->ring[w->from & 63];
    w->from++;
    w->left--;
    v = v < w->entries ? w->palette[v] : v - w->entries + w->direct;
    if (w->zeros != 0) {
        w->run = w->zero_ring[w->zero_from & 63];
        w->zero_from++;
    }
    return (v & 1) != 0 ? -(v >> 1) : v >> 1;
}

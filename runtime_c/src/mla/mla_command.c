/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_command: parameters and operands of commands, checked. */
#include "mla_command.h"

#include <string.h>

void mla_want(mla_command *c, int32_t ok)
{
    if (ok == 0 && c->status == MLA_OK) {
        c->status = MLA_ERR_COMMAND;
    }
}

/* The next parameter, which lies in [lo, hi]; otherwise the command fails, and lo is used. */
static int32_t mla_in(mla_command *c, int32_t lo, int32_t hi)
{
    const int32_t v = mla_i32(c->next);

    c->next += 4;
    if (v < lo || v > hi) {
        mla_want(c, 0);
        return lo;
    }
    return v;
}

/* The parameter of a letter that stands for a range. */
static int32_t mla_ranged(mla_command *c, char letter)
{
    static const struct
    {
        char letter;
        int32_t lo, hi;
    } ranges[] = {
        {'n', 1, MLA_MAX_DIM},
        {'p', 0, MLA_MAX_DIM},
        {'q', -MLA_MAX_DIM, MLA_MAX_DIM},
        {'c', 1, MLA_MAX_BYTES},
        {'b', 0, MLA_MAX_BYTES},
        {'r', 0, MLA_MAX_REACH},
        {'t', 0, MLA_MAX_STEP},
        {'a', 1, MLA_MAX_AREA},
        {'f', 0, 1},
        {'z', -128, 127},
        {'o', -256, 256},
        {'s', -62, 31},
        {'h', 0, 31},
        {'u', 0, INT32_MAX},
        {'k', 1, MLA_DIMS},
    };

    for (uint32_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (ranges[i].letter == letter) {
            return mla_in(c, ranges[i].lo, ranges[i].hi);
        }
    }
    return mla_in(c, INT32_MIN, INT32_MAX);
}

void mla_params(mla_command *c, const char *letters, void *p)
{
    uint8_t *to = (uint8_t *)p;

    for (; *letters != 0; letters++) {
        int32_t v[MLA_DIMS];
        uint32_t words = 1;

        if (*letters == 'd') {
            const uint64_t bits = mla_u64(c->next);

            memcpy(to, &bits, sizeof bits);
            c->next += 8;
            to += 8;
            continue;
        }
        if (*letters == '_') {
            to += 8;
            continue;
        }
        if (*letters == 'l') {
            words = MLA_DIMS;
        } else if (*letters == 'x') {
            words = 2;
        }
        v[0] = mla_ranged(c, *letters == 'x' ? 'z' : *letters);
        for (uint32_t i = 1; i < words; i++) {
            v[i] = *letters == 'x' ? mla_in(c, v[0], 127) : mla_ranged(c, 'l');
        }
        if (*letters == 'e' && v[0] != 1 && v[0] != 2 && v[0] != 4 && v[0] != 8) {
            mla_want(c, 0);
            v[0] = 1;
        }
        memcpy(to, v, words * sizeof v[0]);
        to += words * sizeof v[0];
    }
}

uint64_t mla_product(uint64_t a, uint64_t b)
{
    if (b != 0 && a > (uint64_t)INT64_MAX / b) {
        return (uint64_t)INT64_MAX;
    }
    return a * b;
}

mla_space mla_sizes(mla_command *c, int32_t rank, int32_t *dims)
{
    mla_space s = {rank, dims, 1};

    for (int32_t d = 0; d < rank; d++) {
        if (dims[d] < 1 || dims[d] > MLA_MAX_DIM) {
            mla_want(c, 0);
            dims[d] = 1;
        }
        s.count = mla_product(s.count, (uint64_t)dims[d]);
    }
    return s;
}

void mla_window_ok(mla_command *c, int32_t out, int32_t stride, int32_t pad, int32_t kernel, int32_t dilation)
{
    const uint64_t reach = mla_product((uint64_t)(out - 1), (uint64_t)stride) +
                           mla_product((uint64_t)(kernel - 1), (uint64_t)dilation) + (uint64_t)(pad < 0 ? -pad : pad);

    mla_want(c, reach <= MLA_MAX_REACH);
}

mla_tensor mla_tensor_at(const mla_image *image, uint32_t i)
{
    const uint8_t *e = image->tensors + (size_t)i * MLA_TENSOR_BYTES;
    mla_tensor t;

    t.type = e[44];
    t.role = e[45];
    t.offset = mla_u32(e + 56);
    t.bytes = mla_u32(e + 60);
    return t;
}

int32_t mla_has(const mla_command *c, uint32_t i)
{
    return mla_u32(c->operands + 8u * i) != MLA_NONE;
}

/*
 * Claims elements lo to hi of operand i, both included. Gives the byte offset of its first element in memory or
 * weights. Tensor numbers and offsets were checked when the command was decoded.
 */
static int32_t mla_claim(mla_command *c, uint32_t i, int64_t lo, int64_t hi, uint32_t size, uint32_t *at,
                         int32_t *constant)
{
    const int32_t write = i + 1u == c->operation->operands;
    const uint32_t align = size < 8u ? size : 8u;

    if (mla_has(c, i) == 0) {
        mla_want(c, ((c->operation->optional >> i) & 1) != 0);
        return 0;
    }
    mla_tensor t = mla_tensor_at(c->image, mla_u32(c->operands + 8u * i));
    uint32_t off = mla_u32(c->operands + 8u * i + 4u);
    *at = t.offset + off;
    *constant = t.role == MLA_CONST;
    if (lo < 0 || hi >= (int64_t)((t.bytes - off) / size) || *at % align != 0u) {
        mla_want(c, 0);
        return 0;
    }
    if (*constant == 0) {
        mla_access *a = &c->access[c->access_count++];

        a->lo = *at + (uint32_t)lo * size;
        a->hi = *at + (uint32_t)(hi + 1) * size;
        a->write = write;
    }
    return c->status == MLA_OK;
}

static const void *mla_read_range(mla_command *c, uint32_t i, int64_t lo, int64_t hi, uint32_t size)
{
    uint32_t at;
    int32_t constant;

    if (mla_claim(c, i, lo, hi, size, &at, &constant) == 0) {
        return NULL;
    }
    return (constant != 0 ? c->image->weights : c->image->memory) + at;
}

static void *mla_write_range(mla_command *c, int64_t lo, int64_t hi, uint32_t size)
{
    uint32_t at;
    int32_t constant;

    if (mla_claim(c, c->operation->operands - 1u, lo, hi, size, &at, &constant) == 0) {
        return NULL;
    }
    return c->image->memory + at;
}

/* A number of elements as a last index that fits. */
static int64_t mla_last(mla_command *c, uint64_t n)
{
    if (n == 0u || n > MLA_MAX_BYTES) {
        mla_want(c, 0);
        return -1;
    }
    return (int64_t)n - 1;
}

const void *mla_read(mla_command *c, uint32_t i, uint64_t n, uint32_t size)
{
    const int64_t last = mla_last(c, n);

    return last < 0 ? NULL : mla_read_range(c, i, 0, last, size);
}

void *mla_write(mla_command *c, uint64_t n, uint32_t size)
{
    const int64_t last = mla_last(c, n);

    return last < 0 ? NULL : mla_write_range(c, 0, last, size);
}

/* The smallest and the largest element that the steps reach; 0 and a failure where they are too far away. */
static int32_t mla_reach(mla_command *c, const mla_space *s, const int32_t *step, int32_t base, int64_t *lo,
                         int64_t *hi)
{
    *lo = base;
    *hi = base;
    for (int32_t d = 0; d < s->rank; d++) {
        const int64_t v = step[d];

        if ((v < 0 ? -v : v) > MLA_MAX_STEP / s->dims[d]) {
            mla_want(c, 0);
            return 0;
        }
        *(v > 0 ? hi : lo) += v * (s->dims[d] - 1);
    }
    if (*lo < 0 || *hi >= MLA_MAX_BYTES) {
        mla_want(c, 0);
        return 0;
    }
    return 1;
}

const void *mla_read_steps(mla_command *c, uint32_t i, const mla_space *s, const int32_t *step, int32_t base,
                           uint32_t size)
{
    int64_t lo;
    int64_t hi;

    return mla_reach(c, s, step, base, &lo, &hi) == 0 ? NULL : mla_read_range(c, i, lo, hi, size);
}

void *mla_write_steps(mla_command *c, const mla_space *s, const int32_t *step, int32_t base, uint32_t size)
{
    int64_t lo;
    int64_t hi;

    return mla_reach(c, s, step, base, &lo, &hi) == 0 ? NULL : mla_write_range(c, lo, hi, size);
}

const int32_t *mla_words(mla_command *c, uint32_t i, uint64_t n, int32_t lo, int32_t hi)
{
    const int32_t *v = (const int32_t *)mla_read(c, i, n, 4);

    for (uint64_t k = 0; v != NULL && k < n; k++) {
        if (v[k] < lo || v[k] > hi) {
            mla_want(c, 0);
            return NULL;
        }
    }
    return v;
}

int32_t mla_ready(mla_command *c)
{
    /* The result lies on an operand only exactly, and only where an element is read before it is written. */
    for (uint32_t i = 0; i < c->access_count; i++) {
        const mla_access *w = &c->access[i];

        for (uint32_t k = 0; w->write != 0 && k < c->access_count; k++) {
            const mla_access *a = &c->access[k];

            if (k != i && w->lo < a->hi && a->lo < w->hi) {
                mla_want(c, c->operation->in_place != 0 && w->lo == a->lo && w->hi == a->hi);
            }
        }
    }
    return c->status == MLA_OK && c->run != 0;
}

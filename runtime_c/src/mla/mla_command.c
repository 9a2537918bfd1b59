/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_command: parameters and operands of commands, checked. */
#include "mla_command.h"

#include <string.h>

int32_t mla_any(mla_command *c)
{
    const int32_t v = mla_i32(c->next);

    c->next += 4;
    return v;
}

void mla_want(mla_command *c, int32_t ok)
{
    if (ok == 0 && c->status == MLA_OK) {
        c->status = MLA_ERR_COMMAND;
    }
}

int32_t mla_in(mla_command *c, int32_t lo, int32_t hi)
{
    const int32_t v = mla_any(c);

    if (v < lo || v > hi) {
        mla_want(c, 0);
        return lo;
    }
    return v;
}

int32_t mla_dim(mla_command *c)
{
    return mla_in(c, 1, MLA_MAX_DIM);
}

void mla_dims(mla_command *c, int32_t *const *sizes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        *sizes[i] = mla_dim(c);
    }
}

int32_t mla_byte(mla_command *c)
{
    return mla_in(c, -128, 127);
}

int32_t mla_offset(mla_command *c)
{
    return mla_in(c, -256, 256);
}

int32_t mla_shift(mla_command *c)
{
    return mla_in(c, -62, 31);
}

void mla_clamp(mla_command *c, int32_t *lo, int32_t *hi)
{
    *lo = mla_in(c, -128, 127);
    *hi = mla_in(c, *lo, 127);
}

double mla_f64(mla_command *c)
{
    const uint64_t bits = mla_u64(c->next);
    double v;

    memcpy(&v, &bits, sizeof v);
    c->next += 8;
    return v;
}

void mla_list(mla_command *c, int32_t *v)
{
    for (int32_t i = 0; i < MLA_DIMS; i++) {
        v[i] = mla_any(c);
    }
}

int32_t mla_elem(mla_command *c)
{
    const int32_t v = mla_any(c);

    if (v != 1 && v != 2 && v != 4 && v != 8) {
        mla_want(c, 0);
        return 1;
    }
    return v;
}

uint64_t mla_product(uint64_t a, uint64_t b)
{
    if (b != 0 && a > (uint64_t)INT64_MAX / b) {
        return (uint64_t)INT64_MAX;
    }
    return a * b;
}

void mla_sizes(mla_command *c, int32_t rank, mla_space *s)
{
    s->rank = rank;
    mla_list(c, s->dims);
    s->count = 1;
    for (int32_t d = 0; d < rank; d++) {
        if (s->dims[d] < 1 || s->dims[d] > MLA_MAX_DIM) {
            mla_want(c, 0);
            s->dims[d] = 1;
        }
        s->count = mla_product(s->count, (uint64_t)s->dims[d]);
    }
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
    mla_tensor t;
    uint32_t off;

    if (mla_has(c, i) == 0) {
        mla_want(c, ((c->operation->optional >> i) & 1) != 0);
        return 0;
    }
    t = mla_tensor_at(c->image, mla_u32(c->operands + 8u * i));
    off = mla_u32(c->operands + 8u * i + 4u);
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

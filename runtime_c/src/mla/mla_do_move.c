/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_do_move: data movement. */
#include "mla_command.h"
#include "nncc_move.h"

static void mla_copy(int32_t *to, const int32_t *from)
{
    for (int32_t d = 0; d < MLA_DIMS; d++) {
        to[d] = from[d];
    }
}

void mla_do_copy_nd(mla_command *c)
{
    nncc_copy_nd_params p;
    mla_space s;
    const void *x;
    void *y;

    p.elem = mla_elem(c);
    p.rank = mla_in(c, 1, MLA_DIMS);
    p.x_offset = mla_in(c, 0, MLA_MAX_REACH);
    p.y_offset = mla_in(c, 0, MLA_MAX_REACH);
    mla_sizes(c, p.rank, &s);
    mla_copy(p.dims, s.dims);
    mla_list(c, p.x_stride);
    mla_list(c, p.y_stride);
    x = mla_read_steps(c, 0, &s, p.x_stride, p.x_offset, (uint32_t)p.elem);
    y = mla_write_steps(c, &s, p.y_stride, p.y_offset, (uint32_t)p.elem);
    c->cost = s.count;
    if (mla_ready(c) != 0) {
        nncc_copy_nd(&p, x, y);
    }
}

void mla_do_copy_rows(mla_command *c)
{
    nncc_copy_rows_params p;
    const void *x;
    void *y;

    p.rows = mla_dim(c);
    p.block = mla_in(c, 1, MLA_MAX_BYTES);
    p.x_pitch = mla_in(c, 0, MLA_MAX_BYTES);
    p.y_pitch = mla_in(c, 0, MLA_MAX_BYTES);
    mla_want(c, p.y_pitch >= p.block || p.rows == 1);
    x = mla_read(c, 0, mla_product((uint64_t)(p.rows - 1), (uint64_t)p.x_pitch) + (uint64_t)p.block, 1);
    y = mla_write(c, mla_product((uint64_t)(p.rows - 1), (uint64_t)p.y_pitch) + (uint64_t)p.block, 1);
    c->cost = mla_product((uint64_t)p.rows, (uint64_t)p.block);
    if (mla_ready(c) != 0) {
        nncc_copy_rows(&p, x, y);
    }
}

void mla_do_fill(mla_command *c)
{
    nncc_fill_params p;
    const void *value;
    void *y;

    p.elem = mla_elem(c);
    p.count = mla_in(c, 1, MLA_MAX_BYTES);
    value = mla_read(c, 0, 1, (uint32_t)p.elem);
    y = mla_write(c, (uint64_t)p.count, (uint32_t)p.elem);
    c->cost = (uint64_t)p.count;
    if (mla_ready(c) != 0) {
        nncc_fill(&p, value, y);
    }
}

void mla_do_pad(mla_command *c)
{
    nncc_pad_params p;
    mla_space in;
    mla_space out;
    const void *x;
    const void *value = NULL;
    void *y;

    p.elem = mla_elem(c);
    p.rank = mla_in(c, 1, MLA_DIMS);
    p.mode = mla_in(c, NNCC_PAD_CONSTANT, NNCC_PAD_WRAP);
    mla_sizes(c, p.rank, &in);
    mla_sizes(c, p.rank, &out);
    mla_copy(p.in_dims, in.dims);
    mla_copy(p.out_dims, out.dims);
    mla_list(c, p.before);
    for (int32_t d = 0; d < p.rank; d++) {
        mla_want(c, p.before[d] >= -MLA_MAX_DIM && p.before[d] <= MLA_MAX_DIM);
    }
    x = mla_read(c, 0, in.count, (uint32_t)p.elem);
    mla_want(c, p.mode != NNCC_PAD_CONSTANT || mla_has(c, 1) != 0);
    if (mla_has(c, 1) != 0) {
        value = mla_read(c, 1, 1, (uint32_t)p.elem);
    }
    y = mla_write(c, out.count, (uint32_t)p.elem);
    c->cost = out.count;
    if (mla_ready(c) != 0) {
        nncc_pad(&p, x, value, y);
    }
}

void mla_do_resize_nearest(mla_command *c)
{
    nncc_resize_nearest_params p;
    int32_t low = 0;
    const void *x;
    const int32_t *index_h;
    const int32_t *index_w;
    const void *outside = NULL;
    void *y;
    uint64_t out;

    p.batch = mla_dim(c);
    p.in_h = mla_dim(c);
    p.in_w = mla_dim(c);
    p.out_h = mla_dim(c);
    p.out_w = mla_dim(c);
    p.pixel = mla_dim(c);
    p.x_pitch = p.pixel;
    p.y_pitch = p.pixel;
    if (mla_has(c, 3) != 0) {
        low = -1;
        outside = mla_read(c, 3, (uint64_t)p.pixel, 1);
    }
    x = mla_read(c, 0, mla_product4(p.batch, p.in_h, p.in_w, p.pixel), 1);
    index_h = mla_words(c, 1, (uint64_t)p.out_h, low, p.in_h - 1);
    index_w = mla_words(c, 2, (uint64_t)p.out_w, low, p.in_w - 1);
    out = mla_product4(p.batch, p.out_h, p.out_w, p.pixel);
    y = mla_write(c, out, 1);
    c->cost = out;
    if (mla_ready(c) != 0) {
        nncc_resize_nearest(&p, x, index_h, index_w, outside, y);
    }
}

void mla_do_gather(mla_command *c)
{
    nncc_gather_params p;
    const void *x;
    const void *indices;
    void *y;
    uint64_t n;

    p.outer = mla_dim(c);
    p.axis = mla_dim(c);
    p.block = mla_in(c, 1, MLA_MAX_BYTES);
    p.count = mla_dim(c);
    p.index_bytes = mla_any(c);
    if (p.index_bytes != 4 && p.index_bytes != 8) {
        mla_want(c, 0);
        return;
    }
    x = mla_read(c, 0, mla_product3(p.outer, p.axis, p.block), 1);
    indices = mla_read(c, 1, (uint64_t)p.count, (uint32_t)p.index_bytes);
    n = mla_product3(p.outer, p.count, p.block);
    y = mla_write(c, n, 1);
    c->cost = n;
    if (mla_ready(c) != 0 && nncc_gather(&p, x, indices, y) != NNCC_OK) {
        c->status = MLA_ERR_RUN;
    }
}

void mla_do_where(mla_command *c)
{
    nncc_where_params p;
    mla_space s;
    const uint8_t *cond;
    const void *a;
    const void *b;
    void *y;

    p.elem = mla_elem(c);
    p.rank = mla_in(c, 1, MLA_DIMS);
    mla_sizes(c, p.rank, &s);
    mla_copy(p.dims, s.dims);
    mla_list(c, p.c_stride);
    mla_list(c, p.a_stride);
    mla_list(c, p.b_stride);
    cond = (const uint8_t *)mla_read_steps(c, 0, &s, p.c_stride, 0, 1);
    a = mla_read_steps(c, 1, &s, p.a_stride, 0, (uint32_t)p.elem);
    b = mla_read_steps(c, 2, &s, p.b_stride, 0, (uint32_t)p.elem);
    y = mla_write(c, s.count, (uint32_t)p.elem);
    c->cost = s.count;
    if (mla_ready(c) != 0) {
        nncc_where(&p, cond, a, b, y);
    }
}

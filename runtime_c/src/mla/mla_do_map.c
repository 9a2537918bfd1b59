/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_do_map: element-wise operations. */
#include "mla_command.h"
#include "mla_kernels.h"
#include "nncc_s8.h"

/* The iteration space of operands 0 and 1, and the result, elements of size bytes. */
typedef struct
{
    nncc_bcast_params bcast;
    const void *a, *b;
    void *y;
} mla_pair;

static void mla_read_pair(mla_command *c, mla_pair *p, uint32_t size)
{
    mla_space s;

    mla_sizes(c, mla_in(c, 1, MLA_DIMS), &s);
    p->bcast.rank = s.rank;
    for (int32_t d = 0; d < MLA_DIMS; d++) {
        p->bcast.dims[d] = s.dims[d];
    }
    mla_list(c, p->bcast.a_stride);
    mla_list(c, p->bcast.b_stride);
    p->a = mla_read_steps(c, 0, &s, p->bcast.a_stride, 0, size);
    p->b = mla_read_steps(c, 1, &s, p->bcast.b_stride, 0, size);
    p->y = mla_write(c, s.count, size);
    c->cost = s.count;
}

void mla_do_add(mla_command *c)
{
    mla_add_params p;
    mla_pair t;

    mla_read_pair(c, &t, 1);
    p.bcast = t.bcast;
    p.offset1 = mla_offset(c);
    p.mult1 = mla_any(c);
    p.shift1 = mla_shift(c);
    p.offset2 = mla_offset(c);
    p.mult2 = mla_any(c);
    p.shift2 = mla_shift(c);
    p.left_shift = mla_in(c, 0, 22);
    p.out_offset = mla_byte(c);
    p.out_mult = mla_any(c);
    p.out_shift = mla_shift(c);
    mla_clamp(c, &p.act_min, &p.act_max);
    if (mla_ready(c) != 0) {
        mla_add(&p, (const int8_t *)t.a, (const int8_t *)t.b, (int8_t *)t.y);
    }
}

void mla_do_mul(mla_command *c)
{
    mla_mul_params p;
    mla_pair t;

    mla_read_pair(c, &t, 1);
    p.bcast = t.bcast;
    p.offset1 = mla_offset(c);
    p.offset2 = mla_offset(c);
    p.out_offset = mla_byte(c);
    p.mult = mla_any(c);
    p.shift = mla_shift(c);
    mla_clamp(c, &p.act_min, &p.act_max);
    if (mla_ready(c) != 0) {
        mla_mul(&p, (const int8_t *)t.a, (const int8_t *)t.b, (int8_t *)t.y);
    }
}

void mla_do_binary_bf16(mla_command *c)
{
    mla_binary_bf16_params p;
    mla_pair t;

    p.act_min = mla_f64(c);
    p.act_max = mla_f64(c);
    p.op = mla_in(c, MLA_BF16_ADD, MLA_BF16_MUL);
    mla_read_pair(c, &t, 2);
    p.bcast = t.bcast;
    if (mla_ready(c) != 0) {
        mla_binary_bf16(&p, (const uint16_t *)t.a, (const uint16_t *)t.b, (uint16_t *)t.y);
    }
}

void mla_do_table256(mla_command *c)
{
    nncc_count_params p;
    const void *x;
    const void *table;
    void *y;

    p.count = mla_in(c, 1, MLA_MAX_BYTES);
    x = mla_read(c, 0, (uint64_t)p.count, 1);
    table = mla_read(c, 1, 256, 1);
    y = mla_write(c, (uint64_t)p.count, 1);
    c->cost = (uint64_t)p.count;
    if (mla_ready(c) != 0) {
        nncc_lut_s8(&p, x, table, y);
    }
}

void mla_do_table2(mla_command *c)
{
    mla_pair t;
    const uint8_t *row_of;
    const uint8_t *rows;
    uint32_t most = 0;

    mla_read_pair(c, &t, 1);
    row_of = (const uint8_t *)mla_read(c, 2, 256, 1);
    for (int32_t i = 0; row_of != NULL && i < 256; i++) {
        most = row_of[i] > most ? row_of[i] : most;
    }
    rows = (const uint8_t *)mla_read(c, 3, (most + 1u) * 256u, 1);
    if (mla_ready(c) != 0) {
        nncc_lut2_s8(&t.bcast, (const uint8_t *)t.a, (const uint8_t *)t.b, row_of, rows, (uint8_t *)t.y);
    }
}

void mla_do_xor80(mla_command *c)
{
    nncc_count_params p;
    const void *x;
    void *y;

    p.count = mla_in(c, 1, MLA_MAX_BYTES);
    x = mla_read(c, 0, (uint64_t)p.count, 1);
    y = mla_write(c, (uint64_t)p.count, 1);
    c->cost = (uint64_t)p.count;
    if (mla_ready(c) != 0) {
        nncc_convert_s8_u8(&p, x, y);
    }
}

/* n linear functions in operand i: |bias| at most 2^62, shift 0 to 62. */
static const nncc_affine_s8 *mla_affine(mla_command *c, uint32_t i, uint64_t n)
{
    const int64_t most = (int64_t)1 << 62;
    const nncc_affine_s8 *f = (const nncc_affine_s8 *)mla_read(c, i, n, 16);

    for (uint64_t k = 0; f != NULL && k < n; k++) {
        if (f[k].bias > most || f[k].bias < -most || f[k].shift < 0 || f[k].shift > 62) {
            mla_want(c, 0);
            return NULL;
        }
    }
    return f;
}

void mla_do_scale_shift(mla_command *c)
{
    nncc_rows_params p;
    const int8_t *x;
    const nncc_affine_s8 *f;
    int8_t *y;
    uint64_t n;

    p.rows = mla_dim(c);
    p.channels = mla_dim(c);
    mla_clamp(c, &p.act_min, &p.act_max);
    n = mla_product((uint64_t)p.rows, (uint64_t)p.channels);
    x = (const int8_t *)mla_read(c, 0, n, 1);
    f = mla_affine(c, 1, (uint64_t)p.channels);
    y = (int8_t *)mla_write(c, n, 1);
    c->cost = n;
    if (mla_ready(c) != 0) {
        nncc_scale_shift_s8(&p, x, f, y);
    }
}

void mla_do_prelu(mla_command *c)
{
    nncc_prelu_s8_params p;
    const int8_t *x;
    const nncc_affine_s8 *positive;
    const nncc_affine_s8 *negative;
    int8_t *y;
    uint64_t n;

    p.rows = mla_dim(c);
    p.channels = mla_dim(c);
    p.in_zero = mla_byte(c);
    mla_clamp(c, &p.act_min, &p.act_max);
    n = mla_product((uint64_t)p.rows, (uint64_t)p.channels);
    x = (const int8_t *)mla_read(c, 0, n, 1);
    positive = mla_affine(c, 1, 1);
    negative = mla_affine(c, 2, (uint64_t)p.channels);
    y = (int8_t *)mla_write(c, n, 1);
    c->cost = n;
    if (mla_ready(c) != 0) {
        nncc_prelu_s8(&p, x, positive, negative, y);
    }
}

void mla_do_sum(mla_command *c)
{
    nncc_sum_s8_params p;
    mla_pair t;
    const int32_t most = ((int32_t)1 << 30) - 1;
    const int32_t *table_a;
    const int32_t *table_b;

    mla_read_pair(c, &t, 1);
    p.bcast = t.bcast;
    p.shift = mla_in(c, 0, 31);
    mla_clamp(c, &p.act_min, &p.act_max);
    table_a = mla_words(c, 2, 256, -most, most);
    table_b = mla_words(c, 3, 256, -most, most);
    if (mla_ready(c) != 0) {
        nncc_sum_s8(&p, (const int8_t *)t.a, (const int8_t *)t.b, table_a, table_b, (int8_t *)t.y);
    }
}

void mla_do_div(mla_command *c)
{
    nncc_div_s8_params p;
    mla_pair t;
    const uint32_t *r;

    mla_read_pair(c, &t, 1);
    p.bcast = t.bcast;
    p.a_zero = mla_byte(c);
    p.out_zero = mla_byte(c);
    mla_clamp(c, &p.act_min, &p.act_max);
    r = (const uint32_t *)mla_read(c, 2, 256, 4);
    for (int32_t i = 0; r != NULL && i < 256; i++) {
        const uint32_t shift = r[i] & 63u;

        mla_want(c, shift >= 1u && shift <= 31u && ((r[i] & 0x7fffffffu) >> 6) < (1u << 24));
    }
    if (mla_ready(c) != 0) {
        nncc_div_s8(&p, (const int8_t *)t.a, (const int8_t *)t.b, r, (int8_t *)t.y);
    }
}

void mla_do_binary(mla_command *c)
{
    nncc_binary_s8_params p;
    mla_pair t;

    p.a_scale = mla_f64(c);
    p.b_scale = mla_f64(c);
    p.out_scale = mla_f64(c);
    p.a_zero = mla_byte(c);
    p.b_zero = mla_byte(c);
    p.out_zero = mla_byte(c);
    mla_clamp(c, &p.act_min, &p.act_max);
    p.op = mla_in(c, NNCC_BINARY_ADD, NNCC_BINARY_PRELU);
    mla_read_pair(c, &t, 1);
    p.bcast = t.bcast;
    if (mla_ready(c) != 0) {
        nncc_binary_s8(&p, (const int8_t *)t.a, (const int8_t *)t.b, (int8_t *)t.y);
    }
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_do_map: element-wise operations, and conversions between number formats. */
#include "mla_command.h"
#include "mla_kernels.h"
#include "nncc_s8.h"

/* Operands 0 and 1 over an iteration space, and the result, elements of size bytes. */
typedef struct
{
    const void *a, *b;
    void *y;
} mla_pair;

static mla_pair mla_read_pair(mla_command *c, nncc_bcast_params *p, uint32_t size)
{
    mla_params(c, "klll", p);

    const mla_space s = mla_sizes(c, p->rank, p->dims);
    mla_pair t;

    t.a = mla_read_steps(c, 0, &s, p->a_stride, 0, size);
    t.b = mla_read_steps(c, 1, &s, p->b_stride, 0, size);
    t.y = mla_write(c, s.count, size);
    c->cost = s.count;
    return t;
}

void mla_do_add(mla_command *c)
{
    mla_add_params p;
    const mla_pair t = mla_read_pair(c, &p.bcast, 1);

    mla_params(c, "oisoisizisx", &p.offset1);
    mla_bound(c, p.left_shift, 0, 22);
    if (mla_ready(c) != 0) {
        mla_add(&p, (const int8_t *)t.a, (const int8_t *)t.b, (int8_t *)t.y);
    }
}

void mla_do_mul(mla_command *c)
{
    mla_mul_params p;
    const mla_pair t = mla_read_pair(c, &p.bcast, 1);

    mla_params(c, "oozisx", &p.offset1);
    if (mla_ready(c) != 0) {
        mla_mul(&p, (const int8_t *)t.a, (const int8_t *)t.b, (int8_t *)t.y);
    }
}

void mla_do_binary(mla_command *c)
{
    nncc_binary_s8_params p;

    mla_params(c, "dddzzzxi", &p);
    mla_bound(c, p.op, NNCC_BINARY_ADD, NNCC_BINARY_PRELU);

    const mla_pair t = mla_read_pair(c, &p.bcast, 1);

    if (mla_ready(c) != 0) {
        nncc_binary_s8(&p, (const int8_t *)t.a, (const int8_t *)t.b, (int8_t *)t.y);
    }
}

void mla_do_binary_bf16(mla_command *c)
{
    mla_binary_bf16_params p;

    mla_params(c, "ddi", &p);
    mla_bound(c, p.op, MLA_BF16_ADD, MLA_BF16_MUL);

    const mla_pair t = mla_read_pair(c, &p.bcast, 2);

    if (mla_ready(c) != 0) {
        mla_binary_bf16(&p, (const uint16_t *)t.a, (const uint16_t *)t.b, (uint16_t *)t.y);
    }
}

void mla_do_sum(mla_command *c)
{
    const int32_t most = ((int32_t)1 << 30) - 1;
    nncc_sum_s8_params p;
    const mla_pair t = mla_read_pair(c, &p.bcast, 1);
    const int32_t *table_a = mla_words(c, 2, 256, -most, most), *table_b = mla_words(c, 3, 256, -most, most);

    mla_params(c, "hx", &p.shift);
    if (mla_ready(c) != 0) {
        nncc_sum_s8(&p, (const int8_t *)t.a, (const int8_t *)t.b, table_a, table_b, (int8_t *)t.y);
    }
}

void mla_do_div(mla_command *c)
{
    nncc_div_s8_params p;
    const mla_pair t = mla_read_pair(c, &p.bcast, 1);
    const uint32_t *r = (const uint32_t *)mla_read(c, 2, 256, 4);

    mla_params(c, "zzx", &p.a_zero);
    for (int32_t i = 0; r != NULL && i < 256; i++) {
        const uint32_t shift = r[i] & 63u;

        mla_want(c, shift >= 1u && shift <= 31u && ((r[i] & 0x7fffffffu) >> 6) < (1u << 24));
    }
    if (mla_ready(c) != 0) {
        nncc_div_s8(&p, (const int8_t *)t.a, (const int8_t *)t.b, r, (int8_t *)t.y);
    }
}

void mla_do_table2(mla_command *c)
{
    nncc_bcast_params p;
    const mla_pair t = mla_read_pair(c, &p, 1);
    const uint8_t *row_of = (const uint8_t *)mla_read(c, 2, 256, 1);
    uint32_t most = 0;

    for (int32_t i = 0; row_of != NULL && i < 256; i++) {
        most = row_of[i] > most ? row_of[i] : most;
    }

    const uint8_t *rows = (const uint8_t *)mla_read(c, 3, (most + 1u) * 256u, 1);

    if (mla_ready(c) != 0) {
        nncc_lut2_s8(&p, (const uint8_t *)t.a, (const uint8_t *)t.b, row_of, rows, (uint8_t *)t.y);
    }
}

/* A count of elements of operand 0 and of the result, of given sizes. */
static nncc_count_params mla_count(mla_command *c, uint32_t in, uint32_t out, const void **x, void **y)
{
    nncc_count_params p;

    mla_params(c, "c", &p);
    *x = mla_read(c, 0, (uint64_t)p.count, in);
    *y = mla_write(c, (uint64_t)p.count, out);
    c->cost = (uint64_t)p.count;
    return p;
}

void mla_do_table256(mla_command *c)
{
    const void *x;
    void *y;
    const nncc_count_params p = mla_count(c, 1, 1, &x, &y);
    const void *table = mla_read(c, 1, 256, 1);

    if (mla_ready(c) != 0) {
        nncc_lut_s8(&p, x, table, y);
    }
}

void mla_do_xor80(mla_command *c)
{
    const void *x;
    void *y;
    const nncc_count_params p = mla_count(c, 1, 1, &x, &y);

    if (mla_ready(c) != 0) {
        nncc_convert_s8_u8(&p, x, y);
    }
}

void mla_do_table_bf16(mla_command *c)
{
    const void *x;
    void *y;
    const nncc_count_params p = mla_count(c, 2, 2, &x, &y);
    const uint16_t *table = (const uint16_t *)mla_read(c, 1, 65536, 2);

    if (mla_ready(c) != 0) {
        mla_table_bf16(&p, (const uint16_t *)x, table, (uint16_t *)y);
    }
}

void mla_do_to_bf16(mla_command *c)
{
    const void *x;
    void *y;
    const nncc_count_params p = mla_count(c, 4, 2, &x, &y);

    if (mla_ready(c) != 0) {
        mla_f32_to_bf16(&p, (const float *)x, (uint16_t *)y);
    }
}

void mla_do_from_bf16(mla_command *c)
{
    const void *x;
    void *y;
    const nncc_count_params p = mla_count(c, 2, 4, &x, &y);

    if (mla_ready(c) != 0) {
        mla_bf16_to_f32(&p, (const uint16_t *)x, (float *)y);
    }
}

/* Shape, scales and zero points of conversions. */
typedef struct
{
    nncc_quantize_params shape;
    const void *x;
    const float *scale;
    const int32_t *zero;
    void *y;
} mla_border;

static mla_border mla_read_border(mla_command *c, uint32_t in, uint32_t out)
{
    mla_border b;

    mla_params(c, "nnn", &b.shape);
    c->cost = mla_product3(b.shape.outer, b.shape.axis, b.shape.inner);
    b.x = mla_read(c, 0, c->cost, in);
    b.scale = (const float *)mla_read(c, 1, (uint64_t)b.shape.axis, 4);
    b.zero = mla_words(c, 2, (uint64_t)b.shape.axis, -128, 127);
    b.y = mla_write(c, c->cost, out);
    return b;
}

void mla_do_quantize(mla_command *c)
{
    const mla_border b = mla_read_border(c, 4, 1);

    if (mla_ready(c) != 0) {
        nncc_quantize_f32_s8(&b.shape, (const float *)b.x, b.scale, b.zero, (int8_t *)b.y);
    }
}

void mla_do_dequantize(mla_command *c)
{
    const mla_border b = mla_read_border(c, 1, 4);

    if (mla_ready(c) != 0) {
        nncc_dequantize_s8_f32(&b.shape, (const int8_t *)b.x, b.scale, b.zero, (float *)b.y);
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

    mla_params(c, "nnx", &p);
    c->cost = mla_product((uint64_t)p.rows, (uint64_t)p.channels);

    const int8_t *x = (const int8_t *)mla_read(c, 0, c->cost, 1);
    const nncc_affine_s8 *f = mla_affine(c, 1, (uint64_t)p.channels);
    int8_t *y = (int8_t *)mla_write(c, c->cost, 1);

    if (mla_ready(c) != 0) {
        nncc_scale_shift_s8(&p, x, f, y);
    }
}

void mla_do_prelu(mla_command *c)
{
    nncc_prelu_s8_params p;

    mla_params(c, "nnzx", &p);
    c->cost = mla_product((uint64_t)p.rows, (uint64_t)p.channels);

    const int8_t *x = (const int8_t *)mla_read(c, 0, c->cost, 1);
    const nncc_affine_s8 *positive = mla_affine(c, 1, 1), *negative = mla_affine(c, 2, (uint64_t)p.channels);
    int8_t *y = (int8_t *)mla_write(c, c->cost, 1);

    if (mla_ready(c) != 0) {
        nncc_prelu_s8(&p, x, positive, negative, y);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs CMSIS-NN calls that come in a binary stream, for the differential tests:
 * linked with nncc's portable kernels or with a real CMSIS-NN library.
 *
 * Request: op, number of integers, integers, number of blobs, then per blob its
 * length in bytes and the bytes (all integers int32, native order). Reply:
 * status, number of blobs, blobs. All buffers are allocated at their exact
 * size, so that a sanitizer sees every access outside them.
 */
#include "arm_nnfunctions.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_INTS 64
#define MAX_BLOBS 24

static FILE *in_file;
static FILE *out_file;
static int32_t arg[MAX_INTS];
static int8_t *blob[MAX_BLOBS];
static int32_t blob_len[MAX_BLOBS];
static int32_t blobs;

static void fail(const char *what)
{
    fprintf(stderr, "driver: %s\n", what);
    exit(2);
}

static int read_i32(int32_t *v)
{
    return fread(v, sizeof(*v), 1, in_file) == 1;
}

static void write_i32(int32_t v)
{
    if (fwrite(&v, sizeof(v), 1, out_file) != 1)
    {
        fail("cannot write");
    }
}

static void *alloc(int32_t size)
{
    void *p = malloc(size > 0 ? (size_t)size : 1u);

    if (p == NULL)
    {
        fail("out of memory");
    }
    memset(p, 0x5A, size > 0 ? (size_t)size : 1u);
    return p;
}

static cmsis_nn_context scratch(int32_t size)
{
    cmsis_nn_context ctx;

    ctx.buf = size > 0 ? alloc(size) : NULL;
    ctx.size = size;
    return ctx;
}

static void reply(int32_t status, const void *data, int32_t len)
{
    write_i32(status);
    write_i32(len);
    if (len > 0 && fwrite(data, 1, (size_t)len, out_file) != (size_t)len)
    {
        fail("cannot write");
    }
}

/* A blob as int32 array; an empty one is NULL. */
static int32_t *i32s(int i)
{
    return blob_len[i] > 0 ? (int32_t *)(void *)blob[i] : NULL;
}

static cmsis_nn_dims dims(const int32_t *a)
{
    cmsis_nn_dims d;

    d.n = a[0];
    d.h = a[1];
    d.w = a[2];
    d.c = a[3];
    return d;
}

static int32_t size_of(const cmsis_nn_dims *d)
{
    return d->n * d->h * d->w * d->c;
}

static cmsis_nn_tile tile(const int32_t *a)
{
    cmsis_nn_tile t;

    t.h = a[0];
    t.w = a[1];
    return t;
}

static cmsis_nn_activation activation(const int32_t *a)
{
    cmsis_nn_activation t;

    t.min = a[0];
    t.max = a[1];
    return t;
}

/* ints: in 4, filter 4, out 4, stride 2, pad 2, dilation 2, offsets 2, act 2, variant
 * blobs: input, filter, bias, multiplier, shift */
static void run_conv(void)
{
    const cmsis_nn_dims in = dims(arg), f = dims(arg + 4), o = dims(arg + 8);
    const cmsis_nn_dims b = {1, 1, 1, o.c};
    cmsis_nn_conv_params p;
    cmsis_nn_per_channel_quant_params q;
    int8_t *out = alloc(size_of(&o));
    cmsis_nn_context ctx;
    arm_cmsis_nn_status s;

    p.stride = tile(arg + 12);
    p.padding = tile(arg + 14);
    p.dilation = tile(arg + 16);
    p.input_offset = arg[18];
    p.output_offset = arg[19];
    p.activation = activation(arg + 20);
    q.multiplier = i32s(3);
    q.shift = i32s(4);
    switch (arg[22])
    {
    case 0:
        ctx = scratch(arm_convolve_wrapper_s8_get_buffer_size(&p, &in, &f, &o));
        s = arm_convolve_wrapper_s8(&ctx, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);
        break;
    case 1:
        ctx = scratch(arm_convolve_s8_get_buffer_size(&in, &f));
        s = arm_convolve_s8(&ctx, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), NULL, &o, out);
        break;
    case 2:
        ctx = scratch(0);
        s = arm_convolve_1x1_s8(&ctx, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);
        break;
    case 3:
        ctx = scratch(arm_convolve_1x1_s8_fast_get_buffer_size(&in));
        s = arm_convolve_1x1_s8_fast(&ctx, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);
        break;
    default:
        ctx = scratch(arm_convolve_1_x_n_s8_get_buffer_size(&p, &in, &f, &o));
        s = arm_convolve_1_x_n_s8(&ctx, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);
        break;
    }
    reply(s, out, size_of(&o));
    free(out);
    free(ctx.buf);
}

/* as run_conv, ints[22] = channel multiplier, [23] = variant */
static void run_depthwise(void)
{
    const cmsis_nn_dims in = dims(arg), f = dims(arg + 4), o = dims(arg + 8);
    const cmsis_nn_dims b = {1, 1, 1, o.c};
    cmsis_nn_dw_conv_params p;
    cmsis_nn_per_channel_quant_params q;
    int8_t *out = alloc(size_of(&o));
    cmsis_nn_context ctx;
    arm_cmsis_nn_status s;

    p.stride = tile(arg + 12);
    p.padding = tile(arg + 14);
    p.dilation = tile(arg + 16);
    p.input_offset = arg[18];
    p.output_offset = arg[19];
    p.activation = activation(arg + 20);
    p.ch_mult = arg[22];
    q.multiplier = i32s(3);
    q.shift = i32s(4);
    if (arg[23] == 0)
    {
        ctx = scratch(arm_depthwise_conv_wrapper_s8_get_buffer_size(&p, &in, &f, &o));
        s = arm_depthwise_conv_wrapper_s8(&ctx, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);
    }
    else
    {
        ctx = scratch(0);
        s = arm_depthwise_conv_s8(&ctx, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);
    }
    reply(s, out, size_of(&o));
    free(out);
    free(ctx.buf);
}

/* ints as run_conv without dilation's use */
static void run_transpose_conv(void)
{
    const cmsis_nn_dims in = dims(arg), f = dims(arg + 4), o = dims(arg + 8);
    const cmsis_nn_dims b = {1, 1, 1, o.c};
    cmsis_nn_transpose_conv_params p;
    cmsis_nn_per_channel_quant_params q;
    int8_t *out = alloc(size_of(&o));
    cmsis_nn_context ctx, rev;
    int32_t size, row;
    arm_cmsis_nn_status s;

    p.stride = tile(arg + 12);
    p.padding = tile(arg + 14);
    p.dilation = tile(arg + 16);
    p.padding_offsets.h = 0;
    p.padding_offsets.w = 0;
    p.input_offset = arg[18];
    p.output_offset = arg[19];
    p.activation = activation(arg + 20);
    q.multiplier = i32s(3);
    q.shift = i32s(4);
    size = arm_transpose_conv_s8_get_buffer_size(&p, &in, &f, &o);
    /* the library's formula is too small for wide strides: what the kernel uses */
    row = f.w > p.stride.w ? f.w : p.stride.w;
    row = ((in.w - 1) * p.stride.w + row) * o.c * (f.h > p.stride.h ? f.h : p.stride.h) * 4;
    ctx = scratch(size > row ? size : row);
    rev = scratch(arm_transpose_conv_s8_get_reverse_conv_buffer_size(&p, &in, &f));
    if (arg[22] == 0)
    {
        s = arm_transpose_conv_wrapper_s8(&ctx, &rev, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);
    }
    else
    {
        s = arm_transpose_conv_s8(&ctx, &rev, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);
    }
    reply(s, out, size_of(&o));
    free(out);
    free(ctx.buf);
    free(rev.buf);
}

/* ints: rows, depth, cols, offsets 3, act 2, per channel, variant
 * blobs: input, filter, bias, multiplier, shift */
static void run_fc(void)
{
    const cmsis_nn_dims in = {arg[0], 1, 1, arg[1]}, f = {arg[1], 1, 1, arg[2]};
    const cmsis_nn_dims b = {1, 1, 1, arg[2]}, o = {arg[0], 1, 1, arg[2]};
    cmsis_nn_fc_params p;
    int8_t *out = alloc(size_of(&o));
    cmsis_nn_context ctx = scratch(arm_fully_connected_s8_get_buffer_size(&f));
    arm_cmsis_nn_status s;

    p.input_offset = arg[3];
    p.filter_offset = arg[4];
    p.output_offset = arg[5];
    p.activation = activation(arg + 6);
    if (ctx.buf != NULL)
    {
        (void)arm_vector_sum_s8(ctx.buf, arg[1], arg[2], blob[1], arg[3], arg[4], i32s(2));
    }
    if (arg[9] == 0)
    {
        cmsis_nn_quant_params q;

        q.multiplier = i32s(3);
        q.shift = i32s(4);
        q.is_per_channel = arg[8];
        s = arm_fully_connected_wrapper_s8(&ctx, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);
    }
    else if (arg[8] != 0)
    {
        cmsis_nn_per_channel_quant_params q;

        q.multiplier = i32s(3);
        q.shift = i32s(4);
        s = arm_fully_connected_per_channel_s8(&ctx, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);
    }
    else
    {
        cmsis_nn_per_tensor_quant_params q;

        q.multiplier = i32s(3)[0];
        q.shift = i32s(4)[0];
        s = arm_fully_connected_s8(&ctx, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);
    }
    reply(s, out, size_of(&o));
    free(out);
    free(ctx.buf);
}

/* ints: left 4, right 4, out 4, offsets 3, act 2, multiplier, shift; blobs: left, right */
static void run_batch_matmul(void)
{
    const cmsis_nn_dims l = dims(arg), r = dims(arg + 4), o = dims(arg + 8);
    const cmsis_nn_bmm_params p = {0, 0, {arg[12], arg[13], arg[14], {arg[15], arg[16]}}};
    const cmsis_nn_per_tensor_quant_params q = {arg[17], arg[18]};
    int8_t *out = alloc(size_of(&o));
    cmsis_nn_context ctx = scratch(r.w * 4);
    const arm_cmsis_nn_status s = arm_batch_matmul_s8(&ctx, &p, &q, &l, blob[0], &r, blob[1], &o, out);

    reply(s, out, size_of(&o));
    free(out);
    free(ctx.buf);
}

/* ints: offset, mult, shift twice, left shift, out offset, mult, shift, act 2; blobs: a, b */
static void run_add(void)
{
    int8_t *out = alloc(blob_len[0]);
    const arm_cmsis_nn_status s = arm_elementwise_add_s8(
        blob[0], blob[1], arg[0], arg[1], arg[2], arg[3], arg[4], arg[5], arg[6], out, arg[7], arg[8], arg[9], arg[10],
        arg[11], blob_len[0]);

    reply(s, out, blob_len[0]);
    free(out);
}

/* ints: offsets 2, out offset, mult, shift, act 2; blobs: a, b */
static void run_mul(void)
{
    int8_t *out = alloc(blob_len[0]);
    const arm_cmsis_nn_status s = arm_elementwise_mul_s8(blob[0], blob[1], arg[0], arg[1], out, arg[2], arg[3], arg[4],
                                                         arg[5], arg[6], blob_len[0]);

    reply(s, out, blob_len[0]);
    free(out);
}

/* ints: a 4, b 4, out 4, maximum; blobs: a, b */
static void run_min_max(void)
{
    const cmsis_nn_dims a = dims(arg), b = dims(arg + 4), o = dims(arg + 8);
    cmsis_nn_context ctx = scratch(0);
    int8_t *out = alloc(size_of(&o));
    const arm_cmsis_nn_status s = arg[12] != 0 ? arm_maximum_s8(&ctx, blob[0], &a, blob[1], &b, out, &o)
                                               : arm_minimum_s8(&ctx, blob[0], &a, blob[1], &b, out, &o);

    reply(s, out, size_of(&o));
    free(out);
}

/* ints: in 4, out 4, kernel 2, stride 2, pad 2, act 2, maximum; blobs: input */
static void run_pool(void)
{
    const cmsis_nn_dims in = dims(arg), o = dims(arg + 4), f = {1, arg[8], arg[9], 1};
    cmsis_nn_pool_params p;
    cmsis_nn_context ctx = scratch(arm_avgpool_s8_get_buffer_size(o.w, in.c));
    int8_t *out = alloc(size_of(&o));
    arm_cmsis_nn_status s;

    p.stride = tile(arg + 10);
    p.padding = tile(arg + 12);
    p.activation = activation(arg + 14);
    s = arg[16] != 0 ? arm_max_pool_s8(&ctx, &p, &in, blob[0], &f, &o, out)
                     : arm_avgpool_s8(&ctx, &p, &in, blob[0], &f, &o, out);
    reply(s, out, size_of(&o));
    free(out);
    free(ctx.buf);
}

/* ints: rows, size, mult, shift, diff_min, 16 bit; blobs: input */
static void run_softmax(void)
{
    const int32_t len = blob_len[0] * (arg[5] != 0 ? 2 : 1);
    void *out = alloc(len);

    if (arg[5] != 0)
    {
        arm_softmax_s8_s16(blob[0], arg[0], arg[1], arg[2], arg[3], arg[4], out);
    }
    else
    {
        arm_softmax_s8(blob[0], arg[0], arg[1], arg[2], arg[3], arg[4], out);
    }
    reply(0, out, len);
    free(out);
}

/* ints: axis (0 = x innermost .. 3 = w), out 4 (w, z, y, x), then 4 per input; blobs: inputs */
static void run_concat(void)
{
    const cmsis_nn_dims o = dims(arg + 1);
    int8_t *out = alloc(size_of(&o));
    uint32_t at = 0;
    int32_t i;

    for (i = 0; i < blobs; i++)
    {
        const int32_t *d = arg + 5 + 4 * i;
        const uint16_t w = (uint16_t)d[0], z = (uint16_t)d[1], y = (uint16_t)d[2], x = (uint16_t)d[3];

        switch (arg[0])
        {
        case 0:
            arm_concatenation_s8_x(blob[i], x, y, z, w, out, (uint16_t)o.c, at);
            at += x;
            break;
        case 1:
            arm_concatenation_s8_y(blob[i], x, y, z, w, out, (uint16_t)o.w, at);
            at += y;
            break;
        case 2:
            arm_concatenation_s8_z(blob[i], x, y, z, w, out, (uint16_t)o.h, at);
            at += z;
            break;
        default:
            arm_concatenation_s8_w(blob[i], x, y, z, w, out, at);
            at += w;
            break;
        }
    }
    reply(0, out, size_of(&o));
    free(out);
}

/* ints: in 4, before 4, after 4, value; blobs: input */
static void run_pad(void)
{
    const cmsis_nn_dims in = dims(arg), b = dims(arg + 4), a = dims(arg + 8);
    const cmsis_nn_dims o = {in.n + b.n + a.n, in.h + b.h + a.h, in.w + b.w + a.w, in.c + b.c + a.c};
    int8_t *out = alloc(size_of(&o));
    const arm_cmsis_nn_status s = arm_pad_s8(blob[0], out, (int8_t)arg[12], &in, &b, &a);

    reply(s, out, size_of(&o));
    free(out);
}

/* ints: in 4, out 4, axes, permutation 4; blobs: input */
static void run_transpose(void)
{
    const cmsis_nn_dims in = dims(arg), o = dims(arg + 4);
    uint32_t perm[4];
    cmsis_nn_transpose_params p = {arg[8], perm};
    int8_t *out = alloc(blob_len[0]);
    arm_cmsis_nn_status s;
    int i;

    for (i = 0; i < 4; i++)
    {
        perm[i] = (uint32_t)arg[9 + i];
    }
    s = arm_transpose_s8(blob[0], out, &in, &o, &p);
    reply(s, out, blob_len[0]);
    free(out);
}

/* ints: left shift, tanh; blobs: int16 values */
static void run_activation(void)
{
    int16_t *out = alloc(blob_len[0]);
    const arm_cmsis_nn_status s = arm_nn_activation_s16((const int16_t *)(void *)blob[0], out, blob_len[0] / 2, arg[0],
                                                        arg[1] != 0 ? ARM_TANH : ARM_SIGMOID);

    reply(s, out, blob_len[0]);
    free(out);
}

static cmsis_nn_lstm_gate lstm_gate(const int32_t *a, int first)
{
    cmsis_nn_lstm_gate g;

    g.input_multiplier = a[0];
    g.input_shift = a[1];
    g.hidden_multiplier = a[2];
    g.hidden_shift = a[3];
    g.activation_type = a[4] != 0 ? ARM_TANH : ARM_SIGMOID;
    g.input_weights = blob[first];
    g.input_effective_bias = blob[first + 1];
    g.hidden_weights = blob[first + 2];
    g.hidden_effective_bias = blob[first + 3];
    g.bias = NULL;
    return g;
}

/* ints: time major, batch, time, input, hidden, forget 2, input 2, clip, power, output 3, then 5 per gate
 * blobs: data, cell state, hidden state (may be empty), then 4 per gate; the reply
 * is output, cell state and hidden state one after the other */
static void run_lstm(void)
{
    cmsis_nn_lstm_params p;
    cmsis_nn_lstm_context c;
    const int32_t states = arg[1] * arg[4];
    const int32_t outs = states * arg[2];
    const int32_t total = outs + states * 2 + blob_len[2];
    int8_t *out = alloc(outs);
    int8_t *all = alloc(total);
    arm_cmsis_nn_status s;

    p.time_major = arg[0];
    p.batch_size = arg[1];
    p.time_steps = arg[2];
    p.input_size = arg[3];
    p.hidden_size = arg[4];
    p.input_offset = 0;
    p.forget_to_cell_multiplier = arg[5];
    p.forget_to_cell_shift = arg[6];
    p.input_to_cell_multiplier = arg[7];
    p.input_to_cell_shift = arg[8];
    p.cell_clip = arg[9];
    p.cell_scale_power = arg[10];
    p.output_multiplier = arg[11];
    p.output_shift = arg[12];
    p.output_offset = arg[13];
    p.forget_gate = lstm_gate(arg + 14, 3);
    p.input_gate = lstm_gate(arg + 19, 7);
    p.cell_gate = lstm_gate(arg + 24, 11);
    p.output_gate = lstm_gate(arg + 29, 15);
    c.temp1 = alloc(states * 2);
    c.temp2 = alloc(states * 2);
    c.cell_state = blob[1];
    c.hidden_state = blob_len[2] > 0 ? blob[2] : NULL;
    s = arm_lstm_unidirectional_s8(blob[0], out, &p, &c);
    memcpy(all, out, (size_t)outs);
    memcpy(all + outs, blob[1], (size_t)states * 2u);
    memcpy(all + outs + states * 2, blob[2], (size_t)blob_len[2]);
    reply(s, all, total);
    free(out);
    free(all);
    free(c.temp1);
    free(c.temp2);
}

/* ints: six; blobs: data */
static void run_relu(void)
{
    if (arg[0] != 0)
    {
        arm_relu6_s8(blob[0], (uint16_t)blob_len[0]);
    }
    else
    {
        arm_relu_q7(blob[0], (uint16_t)blob_len[0]);
    }
    reply(0, blob[0], blob_len[0]);
}

/* ints: rows, depth, offsets 2; blobs: matrix, bias */
static void run_vector_sum(void)
{
    int32_t *out = alloc(arg[0] * 4);
    const arm_cmsis_nn_status s = arm_vector_sum_s8(out, arg[1], arg[0], blob[0], arg[2], arg[3], i32s(1));

    reply(s, out, arg[0] * 4);
    free(out);
}

#include "cmsis_driver_16_4.h"

int main(int argc, char **argv)
{
    static void (*const ops[])(void) = {run_conv,   run_depthwise, run_transpose_conv, run_fc,         run_batch_matmul,
                                        run_add,    run_mul,       run_min_max,        run_pool,       run_softmax,
                                        run_concat, run_pad,       run_transpose,      run_activation, run_lstm,
                                        run_relu,   run_vector_sum, run_conv_s16,      run_depthwise_s16,
                                        run_fc_s16, run_batch_matmul_s16, run_add_s16, run_mul_s16,
                                        run_pool_s16, run_softmax_s16, run_conv_s4,    run_depthwise_s4, run_fc_s4};
    int32_t op, n, i;

    in_file = argc > 2 ? fopen(argv[1], "rb") : stdin;
    out_file = argc > 2 ? fopen(argv[2], "wb") : stdout;
    if (in_file == NULL || out_file == NULL)
    {
        fail("cannot open the files");
    }
    while (read_i32(&op))
    {
        if (op < 0 || op >= (int32_t)(sizeof(ops) / sizeof(ops[0])) || !read_i32(&n) || n < 0 || n > MAX_INTS)
        {
            fail("bad request");
        }
        for (i = 0; i < n; i++)
        {
            if (!read_i32(&arg[i]))
            {
                fail("short request");
            }
        }
        if (!read_i32(&blobs) || blobs < 0 || blobs > MAX_BLOBS)
        {
            fail("bad request");
        }
        for (i = 0; i < blobs; i++)
        {
            if (!read_i32(&blob_len[i]) || blob_len[i] < 0)
            {
                fail("bad blob");
            }
            blob[i] = alloc(blob_len[i]);
            if (fread(blob[i], 1, (size_t)blob_len[i], in_file) != (size_t)blob_len[i])
            {
                fail("short blob");
            }
        }
        ops[op]();
        for (i = 0; i < blobs; i++)
        {
            free(blob[i]);
        }
    }
    return fclose(out_file) == 0 ? 0 : 2;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The part of cmsis_driver.c that calls the int16 and int4 kernels. */

/* A blob as int64 array; an empty one is NULL. Blobs come from malloc. */
static int64_t *i64s(int i)
{
    return blob_len[i] > 0 ? (int64_t *)(void *)blob[i] : NULL;
}

static int16_t *s16s(int i)
{
    return (int16_t *)(void *)blob[i];
}

static cmsis_nn_conv_params conv_params(void)
{
    cmsis_nn_conv_params p;

    p.stride = tile(arg + 12);
    p.padding = tile(arg + 14);
    p.dilation = tile(arg + 16);
    p.input_offset = arg[18];
    p.output_offset = arg[19];
    p.activation = activation(arg + 20);
    return p;
}

static cmsis_nn_dw_conv_params dw_params(void)
{
    cmsis_nn_dw_conv_params p;

    p.stride = tile(arg + 12);
    p.padding = tile(arg + 14);
    p.dilation = tile(arg + 16);
    p.input_offset = arg[18];
    p.output_offset = arg[19];
    p.activation = activation(arg + 20);
    p.ch_mult = arg[22];
    return p;
}

/* as run_conv, ints[22] = 1: arm_convolve_s16, [23] = bias is int32 */
static void run_conv_s16(void)
{
    const cmsis_nn_dims in = dims(arg), f = dims(arg + 4), o = dims(arg + 8), b = {1, 1, 1, o.c};
    const cmsis_nn_conv_params p = conv_params();
    const cmsis_nn_per_channel_quant_params q = {i32s(3), i32s(4)};
    const cmsis_nn_bias_data bias = {blob_len[2] > 0 ? blob[2] : NULL, arg[23] != 0};
    int16_t *out = alloc(size_of(&o) * 2);
    cmsis_nn_context ctx = scratch(arm_convolve_wrapper_s16_get_buffer_size(&p, &in, &f, &o));
    const arm_cmsis_nn_status s =
        arg[22] != 0 ? arm_convolve_s16(&ctx, &p, &q, &in, s16s(0), &f, blob[1], &b, &bias, &o, out)
                     : arm_convolve_wrapper_s16(&ctx, &p, &q, &in, s16s(0), &f, blob[1], &b, &bias, &o, out);

    reply(s, out, size_of(&o) * 2);
    free(out);
    free(ctx.buf);
}

/* as run_depthwise, ints[23] = 1: arm_depthwise_conv_s16 */
static void run_depthwise_s16(void)
{
    const cmsis_nn_dims in = dims(arg), f = dims(arg + 4), o = dims(arg + 8), b = {1, 1, 1, o.c};
    const cmsis_nn_dw_conv_params p = dw_params();
    const cmsis_nn_per_channel_quant_params q = {i32s(3), i32s(4)};
    int16_t *out = alloc(size_of(&o) * 2);
    cmsis_nn_context ctx = scratch(arm_depthwise_conv_wrapper_s16_get_buffer_size(&p, &in, &f, &o));
    const arm_cmsis_nn_status s =
        arg[23] != 0 ? arm_depthwise_conv_s16(&ctx, &p, &q, &in, s16s(0), &f, blob[1], &b, i64s(2), &o, out)
                     : arm_depthwise_conv_wrapper_s16(&ctx, &p, &q, &in, s16s(0), &f, blob[1], &b, i64s(2), &o, out);

    reply(s, out, size_of(&o) * 2);
    free(out);
    free(ctx.buf);
}

/* ints: rows, depth, cols, act 2; blobs: input, filter, bias, multiplier, shift */
static void run_fc_s16(void)
{
    const cmsis_nn_dims in = {arg[0], 1, 1, arg[1]}, f = {arg[1], 1, 1, arg[2]};
    const cmsis_nn_dims b = {1, 1, 1, arg[2]}, o = {arg[0], 1, 1, arg[2]};
    const cmsis_nn_per_tensor_quant_params q = {i32s(3)[0], i32s(4)[0]};
    cmsis_nn_fc_params p;
    int16_t *out = alloc(size_of(&o) * 2);
    cmsis_nn_context ctx = scratch(0);
    arm_cmsis_nn_status s;

    p.input_offset = 0;
    p.filter_offset = 0;
    p.output_offset = 0;
    p.activation = activation(arg + 3);
    s = arm_fully_connected_s16(&ctx, &p, &q, &in, s16s(0), &f, blob[1], &b, i64s(2), &o, out);
    reply(s, out, size_of(&o) * 2);
    free(out);
}

/* ints: left 4, right 4, out 4, act 2, multiplier, shift; blobs: left, right */
static void run_batch_matmul_s16(void)
{
    const cmsis_nn_dims l = dims(arg), r = dims(arg + 4), o = dims(arg + 8);
    const cmsis_nn_bmm_params p = {0, 0, {0, 0, 0, {arg[12], arg[13]}}};
    const cmsis_nn_per_tensor_quant_params q = {arg[14], arg[15]};
    int16_t *out = alloc(size_of(&o) * 2);
    cmsis_nn_context ctx = scratch(0);
    const arm_cmsis_nn_status s = arm_batch_matmul_s16(&ctx, &p, &q, &l, s16s(0), &r, s16s(1), &o, out);

    reply(s, out, size_of(&o) * 2);
    free(out);
}

/* ints: mult, shift twice, left shift, mult, shift, act 2; blobs: a, b */
static void run_add_s16(void)
{
    int16_t *out = alloc(blob_len[0]);
    const arm_cmsis_nn_status s = arm_elementwise_add_s16(s16s(0), s16s(1), 0, arg[0], arg[1], 0, arg[2], arg[3], arg[4],
                                                          out, 0, arg[5], arg[6], arg[7], arg[8], blob_len[0] / 2);

    reply(s, out, blob_len[0]);
    free(out);
}

/* ints: mult, shift, act 2; blobs: a, b */
static void run_mul_s16(void)
{
    int16_t *out = alloc(blob_len[0]);
    const arm_cmsis_nn_status s =
        arm_elementwise_mul_s16(s16s(0), s16s(1), 0, 0, out, 0, arg[0], arg[1], arg[2], arg[3], blob_len[0] / 2);

    reply(s, out, blob_len[0]);
    free(out);
}

/* as run_pool */
static void run_pool_s16(void)
{
    const cmsis_nn_dims in = dims(arg), o = dims(arg + 4), f = {1, arg[8], arg[9], 1};
    cmsis_nn_pool_params p;
    cmsis_nn_context ctx = scratch(arm_avgpool_s16_get_buffer_size(o.w, in.c));
    int16_t *out = alloc(size_of(&o) * 2);
    arm_cmsis_nn_status s;

    p.stride = tile(arg + 10);
    p.padding = tile(arg + 12);
    p.activation = activation(arg + 14);
    s = arg[16] != 0 ? arm_max_pool_s16(&ctx, &p, &in, s16s(0), &f, &o, out)
                     : arm_avgpool_s16(&ctx, &p, &in, s16s(0), &f, &o, out);
    reply(s, out, size_of(&o) * 2);
    free(out);
    free(ctx.buf);
}

/* ints: rows, size, mult, shift; blobs: input, two tables */
static void run_softmax_s16(void)
{
    const cmsis_nn_softmax_lut_s16 lut = {s16s(1), s16s(2)};
    int16_t *out = alloc(blob_len[0]);
    const arm_cmsis_nn_status s = arm_softmax_s16(s16s(0), arg[0], arg[1], arg[2], arg[3], &lut, out);

    reply(s, out, blob_len[0]);
    free(out);
}

/* as run_conv, ints[22] = 1: arm_convolve_s4 */
static void run_conv_s4(void)
{
    const cmsis_nn_dims in = dims(arg), f = dims(arg + 4), o = dims(arg + 8), b = {1, 1, 1, o.c};
    const cmsis_nn_conv_params p = conv_params();
    const cmsis_nn_per_channel_quant_params q = {i32s(3), i32s(4)};
    int8_t *out = alloc(size_of(&o));
    cmsis_nn_context ctx;
    arm_cmsis_nn_status s;

    if (arg[22] != 0)
    {
        /* the library has no size function for MVE: four rounded columns */
        const int32_t size = arm_convolve_s4_get_buffer_size(&in, &f);

        ctx = scratch(size > 0 ? size + 64 : 0);
        s = arm_convolve_s4(&ctx, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);
    }
    else
    {
        ctx = scratch(arm_convolve_wrapper_s4_get_buffer_size(&p, &in, &f, &o));
        s = arm_convolve_wrapper_s4(&ctx, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);
    }
    reply(s, out, size_of(&o));
    free(out);
    free(ctx.buf);
}

/* as run_depthwise */
static void run_depthwise_s4(void)
{
    const cmsis_nn_dims in = dims(arg), f = dims(arg + 4), o = dims(arg + 8), b = {1, 1, 1, o.c};
    const cmsis_nn_dw_conv_params p = dw_params();
    const cmsis_nn_per_channel_quant_params q = {i32s(3), i32s(4)};
    int8_t *out = alloc(size_of(&o));
    cmsis_nn_context ctx = scratch(arm_depthwise_conv_wrapper_s4_get_buffer_size(&p, &in, &f, &o));
    const arm_cmsis_nn_status s =
        arm_depthwise_conv_wrapper_s4(&ctx, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);

    reply(s, out, size_of(&o));
    free(out);
    free(ctx.buf);
}

/* ints: rows, depth, cols, offsets 2, act 2; blobs: input, filter, bias, multiplier, shift */
static void run_fc_s4(void)
{
    const cmsis_nn_dims in = {arg[0], 1, 1, arg[1]}, f = {arg[1], 1, 1, arg[2]};
    const cmsis_nn_dims b = {1, 1, 1, arg[2]}, o = {arg[0], 1, 1, arg[2]};
    const cmsis_nn_per_tensor_quant_params q = {i32s(3)[0], i32s(4)[0]};
    cmsis_nn_fc_params p;
    int8_t *out = alloc(size_of(&o));
    cmsis_nn_context ctx = scratch(0);
    arm_cmsis_nn_status s;

    p.input_offset = arg[3];
    p.filter_offset = 0;
    p.output_offset = arg[4];
    p.activation = activation(arg + 5);
    s = arm_fully_connected_s4(&ctx, &p, &q, &in, blob[0], &f, blob[1], &b, i32s(2), &o, out);
    reply(s, out, size_of(&o));
    free(out);
}

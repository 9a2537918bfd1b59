/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the wrappers of an installed CMSIS-NN, whose inner functions the linker replaces by stand-ins (--wrap), and
 * tells which one was reached and what the size function says. */
#include "choice.h"

#include "arm_nnfunctions.h"

#include <string.h>

/* In the order of the test's list. */
enum { NONE, C8_FAST, C8_1X1, C8_1XN, C8, C4_FAST, C4_1X1, C4_1XN, C4_EVEN, C4, C16, D8_3X3, D8_OPT, D8, D4_OPT, D4, D16_FAST, D16, T8, F8_PER, F8 };

static int reached; /* the last stand-in */

#define STAND_IN(name, id)          \
    int __wrap_##name(void);        \
    int __wrap_##name(void)         \
    {                               \
        reached = id;               \
        return ARM_CMSIS_NN_SUCCESS; \
    }
STAND_IN(arm_convolve_1x1_s8_fast, C8_FAST)
STAND_IN(arm_convolve_1x1_s8, C8_1X1)
STAND_IN(arm_nn_mat_mult_nt_t_s8, C8_1XN) /* the first thing that the 1xN kernel calls */
STAND_IN(arm_convolve_s8, C8)
STAND_IN(arm_convolve_1x1_s4_fast, C4_FAST)
STAND_IN(arm_convolve_1x1_s4, C4_1X1)
STAND_IN(arm_nn_mat_mult_nt_t_s4, C4_1XN)
STAND_IN(arm_nn_mat_mul_core_1x_s4, C4_1XN)
STAND_IN(arm_convolve_even_s4, C4_EVEN)
STAND_IN(arm_convolve_s4, C4)
STAND_IN(arm_convolve_s16, C16)
STAND_IN(arm_depthwise_conv_3x3_s8, D8_3X3)
STAND_IN(arm_depthwise_conv_s8_opt, D8_OPT)
STAND_IN(arm_depthwise_conv_s8, D8)
STAND_IN(arm_depthwise_conv_s4_opt, D4_OPT)
STAND_IN(arm_depthwise_conv_s4, D4)
STAND_IN(arm_depthwise_conv_fast_s16, D16_FAST)
STAND_IN(arm_depthwise_conv_s16, D16)
STAND_IN(arm_transpose_conv_s8, T8)
STAND_IN(arm_fully_connected_per_channel_s8, F8_PER)
STAND_IN(arm_fully_connected_s8, F8)
STAND_IN(arm_transpose_s8, NONE) /* of a depthwise filter, before it is used as an ordinary one */

enum { ASK = 21, ANSWER = 2, QUESTIONS = CHOICE_QUESTIONS };

static int8_t *at(const void *arena, int32_t offset) { return (int8_t *)(uintptr_t)arena + offset; }
int8_t *choice_x(void *arena) { return at(arena, 0); }
const int8_t *choice_y(const void *arena) { return at(arena, 4 * ASK * QUESTIONS); }

static cmsis_nn_dims dims(const int32_t *v)
{
    cmsis_nn_dims d;
    d.n = v[0];
    d.h = v[1];
    d.w = v[2];
    d.c = v[3];
    return d;
}

static void ask(const int32_t *v, int32_t *answer, int8_t *data)
{
    static int32_t scale[1024];
    cmsis_nn_dims i = dims(v + 1), f = dims(v + 5), o = dims(v + 9), b = {0, 0, 0, 0};
    cmsis_nn_conv_params c;
    cmsis_nn_dw_conv_params d;
    cmsis_nn_transpose_conv_params t;
    cmsis_nn_fc_params fc;
    const cmsis_nn_per_channel_quant_params q = {scale, scale};
    const cmsis_nn_quant_params fq = {scale, scale, v[20]};
    const cmsis_nn_context x = {data, CHOICE_DATA};
    const cmsis_nn_bias_data wide = {scale, true};
    int status;
    memset(&c, 0, sizeof c);
    memset(&d, 0, sizeof d);
    memset(&t, 0, sizeof t);
    memset(&fc, 0, sizeof fc);
    c.stride.h = v[13];
    c.stride.w = v[14];
    c.padding.h = v[15];
    c.padding.w = v[16];
    c.dilation.h = v[17];
    c.dilation.w = v[18];
    d.stride = t.stride = c.stride;
    d.padding = t.padding = c.padding;
    d.dilation = t.dilation = c.dilation;
    d.ch_mult = v[19];
    reached = NONE;
    switch (v[0])
    {
    case 0:
        status = arm_convolve_wrapper_s8(&x, &c, &q, &i, data + CHOICE_DATA / 2, &f, data, &b, scale, &o, data);
        answer[1] = arm_convolve_wrapper_s8_get_buffer_size(&c, &i, &f, &o);
        break;
    case 1:
        status = arm_convolve_wrapper_s4(&x, &c, &q, &i, data + CHOICE_DATA / 2, &f, data, &b, scale, &o, data);
        answer[1] = arm_convolve_wrapper_s4_get_buffer_size(&c, &i, &f, &o);
        break;
    case 2:
        status = arm_convolve_wrapper_s16(&x, &c, &q, &i, (int16_t *)(void *)data, &f, data, &b, &wide, &o, (int16_t *)(void *)data);
        answer[1] = arm_convolve_wrapper_s16_get_buffer_size(&c, &i, &f, &o);
        break;
    case 3:
        status = arm_depthwise_conv_wrapper_s8(&x, &d, &q, &i, data + CHOICE_DATA / 2, &f, data, &b, scale, &o, data);
        answer[1] = arm_depthwise_conv_wrapper_s8_get_buffer_size(&d, &i, &f, &o);
        break;
    case 4:
        status = arm_depthwise_conv_wrapper_s4(&x, &d, &q, &i, data + CHOICE_DATA / 2, &f, data, &b, scale, &o, data);
        answer[1] = arm_depthwise_conv_wrapper_s4_get_buffer_size(&d, &i, &f, &o);
        break;
    case 5:
        status = arm_depthwise_conv_wrapper_s16(&x, &d, &q, &i, (int16_t *)(void *)data, &f, data, &b, (int64_t *)(void *)data, &o, (int16_t *)(void *)data);
        answer[1] = arm_depthwise_conv_wrapper_s16_get_buffer_size(&d, &i, &f, &o);
        break;
    case 6:
        status = arm_transpose_conv_wrapper_s8(&x, &x, &t, &q, &i, data, &f, data + CHOICE_DATA / 2, &b, scale, &o, data);
        answer[1] = arm_transpose_conv_s8_get_buffer_size(&t, &i, &f, &o);
        break;
    default:
        status = arm_fully_connected_wrapper_s8(&x, &fc, &fq, &i, data, &f, data, &b, scale, &o, data);
        answer[1] = arm_fully_connected_s8_get_buffer_size(&f);
        break;
    }
    answer[0] = status == ARM_CMSIS_NN_SUCCESS ? reached : -1;
}

int32_t choice_run(void *arena)
{
    const int32_t *v = (const int32_t *)(void *)at(arena, 0);
    int32_t *answer = (int32_t *)(void *)at(arena, 4 * ASK * QUESTIONS);
    int8_t *data = at(arena, 4 * (ASK + ANSWER) * QUESTIONS);
    int32_t k;
    for (k = 0; k < QUESTIONS; k++)
    {
        ask(v + ASK * k, answer + ANSWER * k, data);
    }
    return 0;
}

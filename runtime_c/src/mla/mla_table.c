/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_table: what the operations look like, by opcode. */
#include "mla_command.h"

/* Operands, parameter words, which operands are constant, which may be absent, whether in place, the function. */
static const mla_operation mla_operations[] = {
    {6, 23, 0x1e, 0x04, 0, mla_do_conv2d},        /* CONV2D */
    {6, 19, 0x1e, 0x04, 0, mla_do_depthwise},     /* DEPTHWISE */
    {6, 23, 0x1c, 0x04, 0, mla_do_matmul},        /* MATMUL */
    {3, 37, 0x00, 0x00, 1, mla_do_add},           /* ADD */
    {3, 32, 0x00, 0x00, 1, mla_do_mul},           /* MUL */
    {2, 26, 0x00, 0x00, 0, mla_do_avg_pool},      /* AVG_POOL */
    {2, 26, 0x00, 0x00, 0, mla_do_max_pool},      /* MAX_POOL */
    {2, 6, 0x00, 0x00, 1, mla_do_softmax},        /* SOFTMAX */
    {3, 9, 0x02, 0x00, 1, mla_do_layer_norm},     /* LAYER_NORM */
    {3, 9, 0x02, 0x00, 1, mla_do_group_norm},     /* GROUP_NORM */
    {3, 1, 0x02, 0x00, 1, mla_do_table256},       /* TABLE256 */
    {5, 25, 0x0c, 0x00, 1, mla_do_table2},        /* TABLE2 */
    {2, 1, 0x00, 0x00, 1, mla_do_xor80},          /* XOR80 */
    {3, 4, 0x02, 0x00, 1, mla_do_scale_shift},    /* SCALE_SHIFT */
    {4, 5, 0x06, 0x00, 1, mla_do_prelu},          /* PRELU */
    {5, 28, 0x0c, 0x00, 1, mla_do_sum},           /* SUM */
    {4, 29, 0x04, 0x00, 1, mla_do_div},           /* DIV */
    {3, 37, 0x00, 0x00, 1, mla_do_binary},        /* BINARY */
    {2, 28, 0x00, 0x00, 0, mla_do_copy_nd},       /* COPY_ND */
    {2, 4, 0x00, 0x00, 0, mla_do_copy_rows},      /* COPY_ROWS */
    {2, 2, 0x00, 0x00, 0, mla_do_fill},           /* FILL */
    {3, 27, 0x00, 0x02, 0, mla_do_pad},           /* PAD */
    {5, 6, 0x0e, 0x08, 0, mla_do_resize_nearest}, /* RESIZE_NEAREST */
    {6, 17, 0x1e, 0x00, 0, mla_do_resize},        /* RESIZE */
    {3, 5, 0x00, 0x00, 0, mla_do_gather},         /* GATHER */
    {2, 13, 0x00, 0x00, 0, mla_do_reduce_sum},    /* REDUCE_SUM */
    {2, 3, 0x00, 0x00, 0, mla_do_reduce_max},     /* REDUCE_MAX */
    {2, 3, 0x00, 0x00, 0, mla_do_reduce_min},     /* REDUCE_MIN */
    {2, 4, 0x00, 0x00, 0, mla_do_arg_max},        /* ARG_MAX */
    {2, 4, 0x00, 0x00, 0, mla_do_arg_min},        /* ARG_MIN */
    {4, 34, 0x00, 0x00, 0, mla_do_where},         /* WHERE */
    {4, 23, 0x06, 0x04, 0, mla_do_conv2d_bf16},   /* CONV2D_BF16 */
    {2, 18, 0x00, 0x00, 0, mla_do_max_pool_bf16}, /* MAX_POOL_BF16 */
    {3, 30, 0x00, 0x00, 1, mla_do_binary_bf16},   /* BINARY_BF16 */
    {3, 1, 0x02, 0x00, 1, mla_do_table_bf16},     /* TABLE_BF16 */
    {2, 1, 0x00, 0x00, 0, mla_do_to_bf16},        /* TO_BF16 */
    {2, 1, 0x00, 0x00, 0, mla_do_from_bf16},      /* FROM_BF16 */
    {4, 3, 0x06, 0x00, 0, mla_do_quantize},       /* QUANTIZE */
    {4, 3, 0x06, 0x00, 0, mla_do_dequantize},     /* DEQUANTIZE */
};

const mla_operation *mla_operation_of(uint32_t opcode)
{
    const uint32_t n = (uint32_t)(sizeof mla_operations / sizeof mla_operations[0]);

    return opcode < 1u || opcode > n ? NULL : &mla_operations[opcode - 1u];
}

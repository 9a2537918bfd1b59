/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * mla_format.h: segment files (.lm), as nncc writes them and drivers read them. lower/accel/mla/lm/README.md describes
 * the same format with its reasons.
 *
 * All numbers are little-endian; u16, u32, u64 are unsigned, i32 signed, f32 and f64 IEEE 754. A file lies at a
 * multiple of 16 bytes in memory. Sections begin at multiples of 16, follow each other in the order of the section
 * table without gaps but zero bytes, and the file ends with the last one, padded to a multiple of 16. Bytes that are
 * not mentioned are zero.
 *
 *     header   0 "NMLA"              4 u16 major, u16 minor     8 u32 bytes of the header (128)
 *             12 u32 CRC of the header, with these four bytes zero
 *             16 u32 bytes of the file                          20 u32 bytes of working memory
 *             24 u32 tensors         28 u32 commands            32 u32 inputs        36 u32 outputs
 *             40 four sections (tensors, commands, weights, names): u32 offset, u32 bytes, u32 CRC each
 *             88 u64 MACs            96 u64 steps (the cost of all commands)
 *            104 u32 name of the segment
 *     tensor   0 u32 dims[8], in memory order, outermost first, 0 behind the rank
 *             32 u8 order[8]: the logical dimension at each position
 *             40 u32 name            44 u8 type, u8 role, u8 rank
 *             48 f32 scale (0: none) 52 i32 zero point
 *             56 u32 offset, in the working memory or, of constants, in the weights
 *             60 u32 bytes
 *     command  0 u16 operation        2 u8 operands             4 u16 parameters     8 u32 name of its node
 *             12 operands: u32 tensor (MLA_NONE: absent), u32 offset in bytes
 *                then parameters: i32 each, an f64 as two with the low word first, lists as MLA_DIMS
 *     names    strings that end with a zero byte, referred to by offset; the first one is empty
 *
 * CRCs are CRC-32 as in zlib. Inputs and outputs are exchanged in the order of the tensor table.
 */
#define MLA_MAJOR 2
#define MLA_MINOR 1

#define MLA_HEADER_BYTES 128
#define MLA_TENSOR_BYTES 64
#define MLA_COMMAND_BYTES 12 /* before operands and parameters */
#define MLA_DIMS 8
#define MLA_NONE 0xffffffffu

/* Limits: every product of two sizes fits 64 bits, every position fits 32. */
#define MLA_MAX_BYTES 536870912      /* of a tensor, the memory, a file */
#define MLA_MAX_COUNT 1048576        /* of tensors, of commands */
#define MLA_MAX_DIM 16777216         /* of sizes, pads and counts in parameters */
#define MLA_MAX_REACH 536870912      /* of positions in a feature map */
#define MLA_MAX_STEP 1073741824      /* of a step times its dimension, in elements */
#define MLA_MAX_AREA 4194304         /* of elements that are summed in 32 bits */
#define MLA_MAX_WORK 281474976710656 /* steps of a segment */

/* Element types. MLA_AFFINE: i64 bias, i32 multiplier, i32 shift. */
#define MLA_I8 1
#define MLA_U8 2
#define MLA_I16 3
#define MLA_I32 4
#define MLA_U32 5
#define MLA_I64 6
#define MLA_F64 7
#define MLA_AFFINE 8
#define MLA_BF16 9
#define MLA_F32 10

/* Roles. */
#define MLA_INPUT 1
#define MLA_OUTPUT 2
#define MLA_TEMP 3
#define MLA_CONST 4

/*
 * Operations: operands ("!" constant, "?" may be absent, ">" written, always the last), below them the parameters (":d"
 * f64,
 * ":8" list). What they compute is what the kernels of the same name in nncc_s8.h and nncc_move.h state; CONV2D,
 * MATMUL, ADD and MUL are stated in mla_kernels.h.
 *
 * CONV2D: x w! bias!? mult! shift! >y
 *     batch in_h in_w in_c out_h out_w out_c kernel_h kernel_w stride_h stride_w dilation_h dilation_w pad_top
 *     pad_left spread_h spread_w transposed groups in_offset out_offset act_min act_max
 * DEPTHWISE: x w! bias!? mult! shift! >y
 *     batch in_h in_w in_c out_h out_w mult_c kernel_h kernel_w stride_h stride_w dilation_h dilation_w pad_top
 *     pad_left in_offset out_offset act_min act_max
 * MATMUL: a b bias!? mult! shift! >y
 *     batch0 batch1 m k n a_batch0 a_batch1 a_m a_k b_batch0 b_batch1 b_k b_n y_batch0 y_batch1 y_m y_n per_column
 *     a_offset b_offset out_offset act_min act_max
 * ADD: a b >y
 *     rank dims:8 a_stride:8 b_stride:8 offset1 mult1 shift1 offset2 mult2 shift2 left_shift out_offset out_mult
 *     out_shift act_min act_max
 * MUL: a b >y
 *     rank dims:8 a_stride:8 b_stride:8 offset1 offset2 out_offset mult shift act_min act_max
 * AVG_POOL: x >y
 *     in_scale:d out_scale:d batch in_h in_w in_c out_h out_w kernel_h kernel_w stride_h stride_w dilation_h
 *     dilation_w pad_top pad_left pad_bottom pad_right count_include_pad center out_zero rescale act_min act_max
 * MAX_POOL: x >y
 *     in_scale:d out_scale:d batch in_h in_w in_c out_h out_w kernel_h kernel_w stride_h stride_w dilation_h
 *     dilation_w pad_top pad_left pad_bottom pad_right count_include_pad center out_zero rescale act_min act_max
 * SOFTMAX: x >y
 *     outer axis inner mult shift diff_min
 * LAYER_NORM: x terms! >y
 *     eps eps_shift up root shift rows len center zero
 * GROUP_NORM: x terms! >y
 *     eps eps_shift up root shift batch spatial channels groups
 * TABLE256: x table! >y
 *     count
 * TABLE2: a b row_of! rows! >y
 *     rank dims:8 a_stride:8 b_stride:8
 * XOR80: x >y
 *     count
 * SCALE_SHIFT: x affine! >y
 *     rows channels act_min act_max
 * PRELU: x positive! negative! >y
 *     rows channels in_zero act_min act_max
 * SUM: a b table_a! table_b! >y
 *     rank dims:8 a_stride:8 b_stride:8 shift act_min act_max
 * DIV: a b reciprocal! >y
 *     rank dims:8 a_stride:8 b_stride:8 a_zero out_zero act_min act_max
 * BINARY: a b >y
 *     a_scale:d b_scale:d out_scale:d a_zero b_zero out_zero act_min act_max op rank dims:8 a_stride:8 b_stride:8
 * COPY_ND: x >y
 *     elem rank x_offset y_offset dims:8 x_stride:8 y_stride:8
 * COPY_ROWS: x >y
 *     rows block x_pitch y_pitch
 * FILL: value >y
 *     elem count
 * PAD: x value? >y
 *     elem rank mode in_dims:8 out_dims:8 before:8
 * RESIZE_NEAREST: x index_h! index_w! outside!? >y
 *     batch in_h in_w out_h out_w pixel
 * RESIZE: x index_h! weight_h! index_w! weight_w! >y
 *     in_scale:d out_scale:d batch in_h in_w channels out_h out_w taps_h taps_w den in_zero out_zero rescale outside
 * GATHER: x indices >y
 *     outer axis block count index_bytes
 * REDUCE_SUM: x >y
 *     in_scale:d out_scale:d outer axis inner divisor in_zero out_zero rescale act_min act_max
 * REDUCE_MAX: x >y
 *     outer axis inner
 * REDUCE_MIN: x >y
 *     outer axis inner
 * ARG_MAX: x >y
 *     outer axis inner select_last
 * ARG_MIN: x >y
 *     outer axis inner select_last
 * WHERE: c a b >y
 *     elem rank dims:8 c_stride:8 a_stride:8 b_stride:8
 * CONV2D_BF16: x w! bias!? >y
 *     act_min:d act_max:d batch in_h in_w in_c out_h out_w out_c kernel_h kernel_w stride_h stride_w dilation_h
 *     dilation_w pad_top pad_left spread_h spread_w transposed groups
 * MAX_POOL_BF16: x >y
 *     act_min:d act_max:d batch in_h in_w in_c out_h out_w kernel_h kernel_w stride_h stride_w dilation_h dilation_w
 *     pad_top pad_left
 * BINARY_BF16: a b >y
 *     act_min:d act_max:d op rank dims:8 a_stride:8 b_stride:8
 * TABLE_BF16: x table! >y
 *     count
 * TO_BF16: x >y
 *     count
 * FROM_BF16: x >y
 *     count
 * QUANTIZE: x scale! zero! >y
 *     outer axis inner
 * DEQUANTIZE: x scale! zero! >y
 *     outer axis inner
 */
#define MLA_OP_CONV2D 1
#define MLA_OP_DEPTHWISE 2
#define MLA_OP_MATMUL 3
#define MLA_OP_ADD 4
#define MLA_OP_MUL 5
#define MLA_OP_AVG_POOL 6
#define MLA_OP_MAX_POOL 7
#define MLA_OP_SOFTMAX 8
#define MLA_OP_LAYER_NORM 9
#define MLA_OP_GROUP_NORM 10
#define MLA_OP_TABLE256 11
#define MLA_OP_TABLE2 12
#define MLA_OP_XOR80 13
#define MLA_OP_SCALE_SHIFT 14
#define MLA_OP_PRELU 15
#define MLA_OP_SUM 16
#define MLA_OP_DIV 17
#define MLA_OP_BINARY 18
#define MLA_OP_COPY_ND 19
#define MLA_OP_COPY_ROWS 20
#define MLA_OP_FILL 21
#define MLA_OP_PAD 22
#define MLA_OP_RESIZE_NEAREST 23
#define MLA_OP_RESIZE 24
#define MLA_OP_GATHER 25
#define MLA_OP_REDUCE_SUM 26
#define MLA_OP_REDUCE_MAX 27
#define MLA_OP_REDUCE_MIN 28
#define MLA_OP_ARG_MAX 29
#define MLA_OP_ARG_MIN 30
#define MLA_OP_WHERE 31
#define MLA_OP_CONV2D_BF16 32
#define MLA_OP_MAX_POOL_BF16 33
#define MLA_OP_BINARY_BF16 34
#define MLA_OP_TABLE_BF16 35
#define MLA_OP_TO_BF16 36
#define MLA_OP_FROM_BF16 37
#define MLA_OP_QUANTIZE 38
#define MLA_OP_DEQUANTIZE 39

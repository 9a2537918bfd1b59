/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc.h: what every nncc kernel and every emitted model shares.
 *
 * Names are nncc_<isa>_<operator>_<variant>_<type>, as in CMSIS-NN. isa: helium, dsp (the DSP extension), plain
 * (neither of them, beside a dsp kernel), or nothing (portable C). type: that of the data, f32, f16, f64, s8, u8, s16,
 * s32, s64, bool, or nothing where any will do; both types of a conversion. The headers of helium and dsp explain their
 * variants; those of portable kernels are: packed, weights in the order in which they are read; wzp, weights with a
 * zero point; lut, by a table of results; lut2, by a table for each value of a second operand; rows, lines that lie
 * apart in memory; lines, a straight line for each channel; pair, a function of two rows; wide, with more bits where
 * the short form is not exact.
 *
 * Conventions of all nncc_* kernels:
 *  - first argument: a pointer to a constant parameter struct, then inputs, constants, outputs, scratch;
 *  - spatial tensors are NHWC, convolution weights [O,KH,KW,I/groups], depthwise weights [1,KH,KW,C*mult],
 *    fully connected weights [out,in]; every tensor is dense unless a stride is given;
 *  - shapes were validated when the model was compiled: kernels check nothing, and every dimension is at least 1;
 *  - kernels keep no state and touch nothing but their arguments, so they are re-entrant;
 *  - an output may be the same buffer as an input only where the kernel says "in place".
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Result of a model's run function, and of the few kernels that can fail at run time. */
typedef enum
{
    NNCC_OK = 0,         /* done */
    NNCC_ERR_NULL = 1,   /* a required pointer is NULL */
    NNCC_ERR_ALIGN = 2,  /* the arena is not aligned to <NAME>_ARENA_ALIGN */
    NNCC_ERR_KERNEL = 3, /* a library kernel refused its arguments */
    NNCC_ERR_INDEX = 4,  /* an index tensor (Gather, Scatter) points outside its data */
    NNCC_ERR_DIVIDE = 5, /* an integer was divided by zero */
    /* Of models whose constants are bound at run time. */
    NNCC_ERR_UNBOUND = 6,         /* no weights file is bound */
    NNCC_ERR_WEIGHTS_SHORT = 7,   /* fewer bytes than the weights file has */
    NNCC_ERR_WEIGHTS_MAGIC = 8,   /* no weights file */
    NNCC_ERR_WEIGHTS_VERSION = 9, /* a weights file of another form */
    NNCC_ERR_WEIGHTS_LAYOUT = 10, /* a weights file for other code */
    NNCC_ERR_WEIGHTS_CRC = 11,    /* a damaged weights file */
    /* Of models that read constants from fast memory. */
    NNCC_ERR_UNSTAGED = 12 /* <name>_stage did not copy them there */
} nncc_status;

/* Largest tensor rank of kernels that take explicit dimension lists. */
#define NNCC_MAX_DIMS 8

/* Marks a parameter as deliberately unused. */
#define NNCC_UNUSED(x) ((void)(x))

/*
 * Iteration space of an element-wise operator with two inputs. dims are the output's, outermost first, already
 * coalesced by nncc as far as possible (same shape: rank 1, strides 1 and 1; scalar: stride 0); strides count elements,
 * 0 repeats. Unused entries are 0. rank is at least 1.
 */
typedef struct
{
    int32_t rank;
    int32_t dims[NNCC_MAX_DIMS];
    int32_t a_stride[NNCC_MAX_DIMS];
    int32_t b_stride[NNCC_MAX_DIMS];
} nncc_bcast_params;

#ifdef __cplusplus
}
#endif

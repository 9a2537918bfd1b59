/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * mla_command.h: a command of a segment file on its way through the simulator.
 *
 * Every operation is one function, mla_do_*: it reads its parameters in the file's order, claims what it will read and
 * write of its operands, and, when everything is in order and the command is to run, calls its kernel. The same
 * function serves for checking a file and for running it, so what runs was checked by the very code that runs it.
 */
#include <stddef.h>
#include <stdint.h>

#include "mla_driver.h"
#include "mla_format.h"

/* A file whose header is in order. */
typedef struct
{
    const uint8_t *tensors; /* tables of the file */
    uint32_t tensor_count;
    const uint8_t *commands;
    uint32_t command_bytes;
    uint32_t command_count;
    const uint8_t *weights;
    uint32_t weight_bytes;
    uint32_t name_bytes;
    uint32_t input_count;
    uint32_t output_count;
    uint32_t memory_bytes; /* that the segment needs */
    uint64_t macs;
    uint64_t work;
    uint8_t *memory; /* the device's; at least memory_bytes */
} mla_image;

/* An entry of the tensor table. */
typedef struct
{
    uint32_t role;
    uint32_t type;
    uint32_t offset;
    uint32_t bytes;
} mla_tensor;

/* Bytes of the working memory that a command reads or writes. */
typedef struct
{
    uint32_t lo, hi;
    int32_t write;
} mla_access;

#define MLA_MAX_OPERANDS 6

/* What an operation looks like. */
typedef struct mla_operation mla_operation;

/* A command. Checks record the first failure and go on with harmless values. */
typedef struct
{
    const mla_image *image;
    const mla_operation *operation;
    const uint8_t *operands;
    const uint8_t *next; /* parameter */
    int32_t run;         /* execute when everything is in order */
    mla_status status;
    uint32_t access_count;
    mla_access access[MLA_MAX_OPERANDS];
    uint64_t cost; /* elementary steps */
    uint64_t macs;
} mla_command;

/* Checks a command and, when it runs, executes it. */
typedef void mla_perform_fn(mla_command *c);

struct mla_operation
{
    uint8_t operands;
    uint8_t words;
    uint8_t constant; /* bit i: operand i is in the weights */
    uint8_t optional; /* bit i: operand i may be absent */
    uint8_t in_place; /* the result may lie exactly on an operand */
    mla_perform_fn *perform;
};

/* Iteration space of a strided operation. */
typedef struct
{
    int32_t rank;
    const int32_t *dims;
    uint64_t count;
} mla_space;

/* ---- reading --------------------------------------------------------------------------------- */

static inline uint32_t mla_u16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t mla_u32(const uint8_t *p)
{
    return mla_u16(p) | mla_u16(p + 2) << 16;
}

static inline uint64_t mla_u64(const uint8_t *p)
{
    return (uint64_t)mla_u32(p) | (uint64_t)mla_u32(p + 4) << 32;
}

static inline int32_t mla_i32(const uint8_t *p)
{
    return (int32_t)mla_u32(p);
}

/* Entry i of the tensor table. */
mla_tensor mla_tensor_at(const mla_image *image, uint32_t i);

/* ---- parameters ------------------------------------------------------------------------------ */

/*
 * Reads the next parameters into the struct at p, whose members follow each other: a letter each. A parameter that is
 * outside of what its letter stands for fails the command, and the least value is used.
 *
 *     n 1..MLA_MAX_DIM (a size)   p 0..MLA_MAX_DIM (padding)   q as p, negative too     c 1..MLA_MAX_BYTES (a count)
 *     b 0..MLA_MAX_BYTES          r 0..MLA_MAX_REACH           t 0..MLA_MAX_STEP        a 1..MLA_MAX_AREA
 *     f 0..1                      z int8                       o minus a zero point     s exponent of a requantisation
 *     h 0..31                     u 0..INT32_MAX               k a rank                 e the size of an element
 *     i any number                l a list of MLA_DIMS         x act_min, act_max       d a double
 *     _ 8 bytes of the struct that the file does not have
 */
void mla_params(mla_command *c, const char *letters, void *p);

/* The iteration space of sizes that were read; those that are none become 1. */
mla_space mla_sizes(mla_command *c, int32_t rank, int32_t *dims);

/* ---- conditions and operands ----------------------------------------------------------------- */

/* The command fails where ok is 0. */
void mla_want(mla_command *c, int32_t ok);

/* The command fails where v is not in [lo, hi]. */
static inline void mla_bound(mla_command *c, int32_t v, int32_t lo, int32_t hi)
{
    mla_want(c, v >= lo && v <= hi);
}

/* Product that stays at its largest value instead of wrapping. */
uint64_t mla_product(uint64_t a, uint64_t b);

static inline uint64_t mla_product3(int32_t a, int32_t b, int32_t c)
{
    return mla_product(mla_product((uint64_t)a, (uint64_t)b), (uint64_t)c);
}

static inline uint64_t mla_product4(int32_t a, int32_t b, int32_t c, int32_t d)
{
    return mla_product(mla_product3(a, b, c), (uint64_t)d);
}

/* The positions out*stride - pad + tap*dilation of a window stay within MLA_MAX_REACH. */
void mla_window_ok(mla_command *c, int32_t out, int32_t stride, int32_t pad, int32_t kernel, int32_t dilation);

/* Both axes of a window. */
#define MLA_WINDOW_OK(c, p) \
    do { \
        mla_window_ok(c, (p).out_h, (p).stride_h, (p).pad_top, (p).kernel_h, (p).dilation_h); \
        mla_window_ok(c, (p).out_w, (p).stride_w, (p).pad_left, (p).kernel_w, (p).dilation_w); \
    } while (0)

/* Whether operand i is there. */
int32_t mla_has(const mla_command *c, uint32_t i);

/*
 * Operand i, of which elements 0 to n-1 of size bytes are read; NULL where it is absent, as it may be, or the command
 * has failed. n > 0; size 16 is aligned to 8.
 */
const void *mla_read(mla_command *c, uint32_t i, uint64_t n, uint32_t size);

/* The last operand, of which n elements are written. */
void *mla_write(mla_command *c, uint64_t n, uint32_t size);

/* As mla_read and mla_write, for what the steps reach from element base on. */
const void *mla_read_steps(mla_command *c, uint32_t i, const mla_space *s, const int32_t *step, int32_t base,
                           uint32_t size);
void *mla_write_steps(mla_command *c, const mla_space *s, const int32_t *step, int32_t base, uint32_t size);

/* n int32 elements of operand i, all within [lo, hi]. */
const int32_t *mla_words(mla_command *c, uint32_t i, uint64_t n, int32_t lo, int32_t hi);

/* Everything is in order and the command is to run: the last step before the kernel. */
int32_t mla_ready(mla_command *c);

/* ---- operations ------------------------------------------------------------------------------ */

/* The operation of an opcode, or NULL. */
const mla_operation *mla_operation_of(uint32_t opcode);

mla_perform_fn mla_do_conv2d, mla_do_depthwise, mla_do_matmul, mla_do_add, mla_do_mul, mla_do_avg_pool, mla_do_max_pool,
    mla_do_softmax, mla_do_layer_norm, mla_do_group_norm, mla_do_table256, mla_do_table2, mla_do_xor80,
    mla_do_scale_shift, mla_do_prelu, mla_do_sum, mla_do_div, mla_do_binary, mla_do_copy_nd, mla_do_copy_rows,
    mla_do_fill, mla_do_pad, mla_do_resize_nearest, mla_do_resize, mla_do_gather, mla_do_reduce_sum, mla_do_reduce_max,
    mla_do_reduce_min, mla_do_arg_max, mla_do_arg_min, mla_do_where, mla_do_conv2d_bf16, mla_do_max_pool_bf16,
    mla_do_binary_bf16, mla_do_table_bf16, mla_do_to_bf16, mla_do_from_bf16, mla_do_quantize, mla_do_dequantize;

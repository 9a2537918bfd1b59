/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * mla_command.h: a command of a segment file on its way through the simulator.
 *
 * Every operation is one function, mla_do_*: it reads its parameters in the file's order, claims what it will read and
 * write of its operands, and, when everything is in order and the command is to run, calls its kernel. The same
 * function serves for checking a file and for running it, so what runs was checked by the very code that runs it.
 */
#ifndef MLA_COMMAND_H
#define MLA_COMMAND_H

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
    int32_t dims[MLA_DIMS];
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

/* The next parameter, whatever it is. */
int32_t mla_any(mla_command *c);

/* The next parameter, which lies in [lo, hi]; otherwise the command fails, and lo is used. */
int32_t mla_in(mla_command *c, int32_t lo, int32_t hi);

/* A size: 1 to MLA_MAX_DIM. */
int32_t mla_dim(mla_command *c);

/* The next n words, each as mla_dim, to the given addresses. */
void mla_dims(mla_command *c, int32_t *const *sizes, uint32_t n);

#define MLA_COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* Where the sizes of a convolution go, in their order in the file; channels is the address of the seventh. */
#define MLA_WINDOW_SIZES(p, channels) \
    { \
        &(p).batch, &(p).in_h, &(p).in_w, &(p).in_c, &(p).out_h, &(p).out_w, (channels), &(p).kernel_h, &(p).kernel_w, \
            &(p).stride_h, &(p).stride_w, &(p).dilation_h, &(p).dilation_w \
    }

/* A zero point or another int8 number. */
int32_t mla_byte(mla_command *c);

/* Minus a zero point. */
int32_t mla_offset(mla_command *c);

/* The exponent of a requantisation. */
int32_t mla_shift(mla_command *c);

/* act_min and act_max. */
void mla_clamp(mla_command *c, int32_t *lo, int32_t *hi);

/* A number of type f64, the low word first; any value is harmless. */
double mla_f64(mla_command *c);

/* A list of MLA_DIMS numbers. */
void mla_list(mla_command *c, int32_t *v);

/* The size of an element in data movement: 1, 2, 4 or 8. */
int32_t mla_elem(mla_command *c);

/* A list of sizes for a rank that was read before. */
void mla_sizes(mla_command *c, int32_t rank, mla_space *s);

/* ---- conditions and operands ----------------------------------------------------------------- */

/* The command fails where ok is 0. */
void mla_want(mla_command *c, int32_t ok);

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

/* Whether operand i is there. */
int32_t mla_has(const mla_command *c, uint32_t i);

/*
 * Operand i, of which elements 0 to n-1 of size bytes are read; NULL where it is absent or the command has failed.
 * n > 0; size 16 is aligned to 8.
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

void mla_do_conv2d(mla_command *c);
void mla_do_depthwise(mla_command *c);
void mla_do_matmul(mla_command *c);
void mla_do_add(mla_command *c);
void mla_do_mul(mla_command *c);
void mla_do_avg_pool(mla_command *c);
void mla_do_max_pool(mla_command *c);
void mla_do_softmax(mla_command *c);
void mla_do_layer_norm(mla_command *c);
void mla_do_group_norm(mla_command *c);
void mla_do_table256(mla_command *c);
void mla_do_table2(mla_command *c);
void mla_do_xor80(mla_command *c);
void mla_do_scale_shift(mla_command *c);
void mla_do_prelu(mla_command *c);
void mla_do_sum(mla_command *c);
void mla_do_div(mla_command *c);
void mla_do_binary(mla_command *c);
void mla_do_copy_nd(mla_command *c);
void mla_do_copy_rows(mla_command *c);
void mla_do_fill(mla_command *c);
void mla_do_pad(mla_command *c);
void mla_do_resize_nearest(mla_command *c);
void mla_do_resize(mla_command *c);
void mla_do_gather(mla_command *c);
void mla_do_reduce_sum(mla_command *c);
void mla_do_reduce_max(mla_command *c);
void mla_do_reduce_min(mla_command *c);
void mla_do_arg_max(mla_command *c);
void mla_do_arg_min(mla_command *c);
void mla_do_where(mla_command *c);
void mla_do_conv2d_bf16(mla_command *c);
void mla_do_max_pool_bf16(mla_command *c);
void mla_do_binary_bf16(mla_command *c);
void mla_do_table_bf16(mla_command *c);
void mla_do_to_bf16(mla_command *c);
void mla_do_from_bf16(mla_command *c);
void mla_do_quantize(mla_command *c);
void mla_do_dequantize(mla_command *c);

#endif /* MLA_COMMAND_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* cru_driver: a functional simulator of the CRU behind its driver interface. */
#include "cru_driver.h"
#include "nncc_requant.h"

#include <string.h>

#define CRU_MAGIC 0x31555243u /* CRU1 */
#define CRU_CONV 1
#define CRU_RELU 2

typedef struct {
    uint32_t magic, bytes, memory, in_count, out_count, command_count;
} cru_header;

typedef struct {
    uint32_t offset, bytes;
} cru_transfer;

/* Offsets of in and out count in the memory, those of constants in the program. */
typedef struct {
    int32_t op, in, out;
    int32_t in_c, in_h, in_w, out_c, out_h, out_w;
    int32_t kernel_h, kernel_w, stride_h, stride_w;
    int32_t pad_top, pad_left, in_offset, out_offset;
    int32_t act_min, act_max;
    int32_t weights, bias, multiplier, shift;
} cru_command;

/* The sum of one output element: x [in_c,in_h,in_w], w [in_c,kernel_h,kernel_w]. */
static uint32_t cru_sum(const cru_command *c, const int8_t *x, const int8_t *w, int32_t oy, int32_t ox)
{
    uint32_t sum = 0;

    for (int32_t i = 0; i < c->in_c; i++) {
        for (int32_t ky = 0; ky < c->kernel_h; ky++) {
            const int32_t y = oy * c->stride_h + ky - c->pad_top;

            for (int32_t kx = 0; kx < c->kernel_w; kx++) {
                const int32_t at = ox * c->stride_w + kx - c->pad_left;

                if (y >= 0 && y < c->in_h && at >= 0 && at < c->in_w) {
                    const int32_t v = x[(i * c->in_h + y) * c->in_w + at] + c->in_offset;

                    sum += (uint32_t)(v * w[(i * c->kernel_h + ky) * c->kernel_w + kx]);
                }
            }
        }
    }
    return sum;
}

static void cru_conv(const cru_command *c, const uint8_t *program, const int8_t *x, int8_t *out)
{
    const int8_t *weights = (const int8_t *)(program + c->weights);
    const int32_t *bias = (const int32_t *)(const void *)(program + c->bias);
    const int32_t *multiplier = (const int32_t *)(const void *)(program + c->multiplier);
    const int32_t *shift = (const int32_t *)(const void *)(program + c->shift);

    for (int32_t o = 0; o < c->out_c; o++) {
        const int8_t *w = weights + o * c->in_c * c->kernel_h * c->kernel_w;

        for (int32_t oy = 0; oy < c->out_h; oy++) {
            for (int32_t ox = 0; ox < c->out_w; ox++) {
                const uint32_t sum = (uint32_t)bias[o] + cru_sum(c, x, w, oy, ox);

                *out++ = nncc_rq_s8(sum, multiplier[o], shift[o], c->out_offset, c->act_min, c->act_max);
            }
        }
    }
}

cru_status cru_run(const void *program, size_t program_bytes, uint8_t *memory, size_t memory_bytes, const cru_input *in,
                   uint32_t in_count, const cru_output *out, uint32_t out_count)
{
    const uint8_t *base = (const uint8_t *)program;
    const cru_header *h = (const cru_header *)program;
    const cru_transfer *t = (const cru_transfer *)(const void *)(h + 1);
    const cru_command *c = (const cru_command *)(const void *)(t + in_count + out_count);

    if (program_bytes < sizeof *h || h->magic != CRU_MAGIC || h->bytes != program_bytes) {
        return CRU_ERR_PROGRAM;
    }
    if (h->memory > memory_bytes) {
        return CRU_ERR_MEMORY;
    }
    if (h->in_count != in_count || h->out_count != out_count) {
        return CRU_ERR_IO;
    }
    for (uint32_t i = 0; i < in_count; i++, t++) {
        memcpy(memory + t->offset, in[i].data, t->bytes);
    }
    for (uint32_t k = 0; k < h->command_count; k++, c++) {
        const uint8_t *x = memory + c->in;

        if (c->op == CRU_CONV) {
            cru_conv(c, base, (const int8_t *)x, (int8_t *)(memory + c->out));
        } else if (c->op == CRU_RELU) {
            for (int32_t i = 0; i < c->in_c; i++) { /* any function of one value, by its bit pattern */
                memory[c->out + i] = base[c->weights + x[i]];
            }
        } else {
            return CRU_ERR_PROGRAM;
        }
    }
    for (uint32_t i = 0; i < out_count; i++, t++) {
        memcpy(out[i].data, memory + t->offset, t->bytes);
    }
    return CRU_OK;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* ethosu_sim.h: the parts of a device that executes command streams. */
#include "ethosu_driver.h"

/* Registers by the number of the command that sets them: those of one word, then those of two. */
enum
{
    ETHOSU_NARROW = 0x100,
    ETHOSU_NARROW_REGS = 0x90,
    ETHOSU_WIDE_REGS = 0xA0,
    ETHOSU_LUT_BYTES = 2048,
    ETHOSU_SUMS = 8192,
    ETHOSU_REGIONS = 8,
    ETHOSU_SHRAM = 0x103
};

/* Kinds of operations. */
enum
{
    ETHOSU_CONV = 2,
    ETHOSU_DEPTHWISE = 3,
    ETHOSU_POOL = 5,
    ETHOSU_ELEMENTWISE = 6
};

/* What pooling computes. */
enum
{
    ETHOSU_MAX = 0,
    ETHOSU_AVERAGE = 1,
    ETHOSU_REDUCE_SUM = 2
};

/* A feature map: where its elements lie, and of which type they are. */
typedef struct
{
    int64_t base[4], stride_x, stride_y, stride_c;
    int32_t region, tile_h0, tile_h1, tile_w0, h, w, c, bytes, zero;
    int32_t is_signed, brick;
} ethosu_map;

/* The device: regions, registers, what the current operation is, and room for its sums. */
typedef struct
{
    ethosu_region region[ETHOSU_REGIONS];
    ethosu_status status;
    uint32_t macs, cores, lut_at;
    uint16_t narrow[ETHOSU_NARROW_REGS];
    uint32_t wide[ETHOSU_WIDE_REGS];
    uint16_t high[ETHOSU_WIDE_REGS];
    uint8_t lut[ETHOSU_LUT_BYTES];

    ethosu_map ifm, ifm2, ofm;
    int32_t kernel_h, kernel_w, stride_h, stride_w, dilate_h, dilate_w, top, left, see_h, see_w;
    int32_t part, split, upscale, active; /* active cores */
    int32_t per_channel, rounding, low, high_limit, function, table;
    int64_t sums[ETHOSU_SUMS];
} ethosu_device;

/* A stream of compressed weights being expanded: a slice, and what is decoded ahead. */
typedef struct
{
    const uint8_t *data;
    uint32_t bytes, pos;
    int32_t failed, first, zeros, lead, left, direct, width, entries, div, zero_div, trunc, plain, symbols;
    int32_t palette[32];
    int32_t seen, zero_seen, count, zero_count, carry, zero_carry;
    int32_t ahead[16], ahead_count, zero_ahead[16], zero_ahead_count;
    int32_t ring[64], zero_ring[64], from, to, zero_from, zero_to, run;
} ethosu_weights;

/* Reads registers: of one word without and with a sign, addresses, and the address of a run of bytes. */
uint32_t ethosu_get(const ethosu_device *d, uint32_t code);
int32_t ethosu_signed(const ethosu_device *d, uint32_t code);
int64_t ethosu_address(const ethosu_device *d, uint32_t code);
const uint8_t *ethosu_bytes(ethosu_device *d, int32_t region, int64_t at, int64_t bytes);

/* Executes the words of a stream. */
void ethosu_execute(ethosu_device *d, const uint8_t *words, uint32_t count);

/* Reads the registers of an operation, and does it. */
void ethosu_operate(ethosu_device *d, uint32_t code, uint32_t mode);

/* Where an element of a feature map lies in its region. */
int64_t ethosu_place(const ethosu_map *m, int32_t y, int32_t x, int32_t c);

/* An element of a feature map without its zero point; stores one. */
int32_t ethosu_load(ethosu_device *d, const ethosu_map *m, int32_t y, int32_t x, int32_t c);
void ethosu_store(ethosu_device *d, int32_t y, int32_t x, int32_t c, int32_t v);

/* The index in the input of a place that a window sees, of up to limit; -1: it is padding. */
int32_t ethosu_sample(int32_t at, int32_t limit, int32_t size, int32_t upscale);

/* v * scale / 2^shift, rounded; v with zero point, limits and activation. */
int64_t ethosu_scale(int64_t v, uint32_t scale, uint32_t shift, int32_t rounding);
int32_t ethosu_finish(ethosu_device *d, int64_t v);

/* The operations. */
void ethosu_convolve(ethosu_device *d, int32_t depthwise);
void ethosu_pool(ethosu_device *d, uint32_t mode);
void ethosu_elementwise(ethosu_device *d, uint32_t mode);

/* Begins a stream of weights; gives the next of them. */
void ethosu_weights_begin(ethosu_weights *w, const uint8_t *data, uint32_t bytes);
int32_t ethosu_weights_next(ethosu_weights *w);

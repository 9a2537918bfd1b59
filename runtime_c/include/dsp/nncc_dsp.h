/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp.h: int8 kernels for cores with the DSP extension (Cortex-M4, M7, M33) and, as nncc_plain_*, inner functions
 * for cores without, results bit for bit those of CMSIS-NN.
 *
 * nncc prepares the weights when it compiles the model: the input offset is folded into the bias, weights are packed
 * for SMLAD, and every channel has three numbers {m, c, s} that scale twice its accumulator v by
 *     (((2 * v * m + 2^31) >> 32) + c - (v < 0)) >> s
 * which is the double rounding of TensorFlow Lite for multiplier m and a shift to the right by s, with output offset
 * and rounding in c (nncc proves it for the reachable v).
 *
 * Each kernel has a body in assembly, chosen by __ARM_FEATURE_DSP with GCC, Clang or Arm Compiler 6, and a portable one
 * with the same results. Words are read at any address: int8 tensors need no alignment, but packed weights and scratch
 * are aligned to 4 bytes.
 *
 * Names are nncc_dsp_<operator>_<variant>_<type>, and nncc_plain_* for cores without the DSP extension. Variants: 1row,
 * 2rows, so many rows (pixels) at a time; w16, wide weights, a 16-bit half of a word each (else narrow, two channels'
 * in a half); w4, weights of 4 bits, four channels' in a half; lut, followed by a function of one value from a table of
 * 256; add, followed by the sum with another tensor; pixel, one output pixel; relu, for layers of which no negative sum
 * survives the clamp; stride1, stride2; even, odd: see nncc_dsp_depthwise_3x3_row_fn; pairs, two rows of inputs in a
 * word; times, several outputs an input channel; groups, several groups of channels; octets, eight channels at a time.
 *
 * Parameters: x input (a, b, c, d: rows of it), w packed weights, y output, t and other what is added (t_result,
 * t_other: tables of both scales), n a number of bytes, scratch memory that is nobody's; widen, mat and fn are kernels
 * that the compiler chose, f what they work on.
 *
 * Tensors are NHWC and dense; the general conventions of nncc.h hold.
 */
#include "nncc.h"
#include "nncc_dsp_depthwise.h"

/* ---- matrix products: convolutions and fully connected layers -------------------------------- */

/*
 * Four output channels are a group, two inputs a pair. Packed weights hold, per group, 4 start values, the weights of
 * every pair, and {m, c, s} of each channel. Narrow weights are 2 words a pair: the word of channels 0 and 1 (2 and 3)
 * holds 256 * w1 + w0 for both inputs, so that one SMLAD adds x * (256 * w1 + w0) and another one, after SXTB16, x *
 * w0; the start values are b0 and 256 * b1 + b0. Wide weights are 4 words a pair, a channel each, weights and start
 * values doubled. Weights of 4 bits are a word a pair, 4096 * w3 + 256 * (w2 + 8) + 16 * (w1 + 8) + w0 + 8 for each
 * input, and the start values b0, 16 * b1 + b0, 256 * b2 + 16 * b1 + b0 and 4096 * b3 more: masks leave the channels
 * below. Where the channels are no multiple of 4, the first two groups overlap.
 *
 * octets: groups of eight channels, narrow weights: 8 start values, 4 words a pair, 8 times {m, c, s}; where the
 * channels, at least 8, are no multiple of 8, the first two groups overlap.
 *
 * relu: narrow weights for act_min = zero = -128, whose words are of channels 0 and 2 and of 1 and 3 (the larger one
 * times 256), start values in this order, of inputs that nncc_dsp_widen_2rows_* made 2^k times as large. Behind them
 * {m, c} of channels 0, 2, 1, 3: an output counts from -128 and is (((2^k * v + b) * m >> 32) + c) >> 8 of channels 0
 * and 1, (((256 * 2^k * v + b) * m >> 32) + c) >> 16 of channels 2 and 3, with b in the start value. nncc chooses b, m
 * and c so that all results are those of the definition.
 */
typedef struct
{
    int32_t groups;   /* of four output channels */
    int32_t pairs;    /* of inputs of a channel, at least 1 */
    int32_t y_step;   /* bytes from the outputs of a pixel to those of the next one */
    int32_t positive; /* clamp is [-128, 127] and the zero point -128: no sign correction */
    uint32_t low;     /* lower bound of the clamp, in each byte */
    uint32_t cap;     /* 255 - (upper - lower bound), in each byte */
    int32_t lanes;    /* channels that are wanted of a single group: kernels may leave the others as they are */
    /* 256 results for outputs that count from the lower bound: kernels called lut; clamp and all */
    const uint8_t *table;
} nncc_dsp_matmul_params;

/* Runs of adjacent bytes: so many, at least 1, of length bytes each, step bytes from one to the next. */
typedef struct
{
    int32_t length, count, step;
} nncc_dsp_runs;

/*
 * The runs r from a on and from b on, of two pixels, become words x[k][pixel], those of a run four bytes b0..b3 the
 * pairs (b0, b2) and (b1, b3), a rest of one byte (b0, z), of two (b0, b1), of three (b0, b2) and (b1, z); z is
 * anything, its weight is 0. x4, x8, x16: a byte b becomes (b + 128) times that. Returns a pointer to the word after
 * the last one.
 */
/* KERNELS(dsp_widen_2rows) */

/* A widening of two pixels' bytes for a product. */
typedef int32_t *nncc_dsp_widen_fn(const nncc_dsp_runs *r, const int8_t *a, const int8_t *b, int32_t *x);

/* A product of widened inputs and packed weights. */
typedef void nncc_dsp_matmul_fn(const nncc_dsp_matmul_params *p, const void *x, const int32_t *w, int8_t *y);

/*
 * Two pixels: x [pairs][2 pixels] words of two int16 each, w packed, y [4 * groups] at y and y + y_step (which may be
 * 0). Writes words at any address. Weights of all kinds.
 */
/* KERNELS(dsp_matmul_2rows) */
/* The same with a function of each result, from p->table; one byte is stored at a time. */
/* KERNELS(dsp_matmul_2rows_lut) */

/* The same for groups of channels that do not mix: every group of four has one word more behind its start values, the
 * bytes by which x moves on before it. */
/* KERNELS(dsp_matmul_2rows_groups) */

/* One pixel: x [pairs], pairs a multiple of 4. */
/* KERNELS(dsp_matmul_1row) */
/* The same by eight channels: p->groups are octets. */
/* KERNELS(nncc_dsp_matmul_1row_octets_s8) */

/*
 * For cores without the DSP extension: x [inputs][2 pixels] (one word of both for Thumb-1), every run of r with a zero
 * behind it where its length is odd. Packed weights hold, per group, 4 start values, 4 bytes an input, and {m,
 * c, s} of each channel; p->pairs counts inputs. No byte of inputs or results is read or written but by itself. w4:
 * half a word an input, its lowest 4 bits the first channel's, filled up to a word.
 */
/* KERNELS(plain_matmul_2rows) */
/* One pixel: x [inputs] bytes, any number. */
/* KERNELS(plain_matmul_1row) */

/* Convolution, any stride, dilation and padding; scratch as nncc_dsp_convolve_params says. */
typedef struct
{
    int32_t batches, in_h, in_w, in_c;
    int32_t out_h, out_w, out_c;
    int32_t in_pitch;  /* bytes from an input pixel to the next; not in_c only where that is a multiple of 4 a group,
                          with a ring, or where kernel_w is 1 */
    int32_t out_pitch; /* bytes from an output pixel to the next */
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t pad_h, pad_w; /* above and left */
    int32_t dil_h, dil_w;
    int32_t groups;      /* of channels that do not mix */
    int32_t border;      /* some window reaches into the padding */
    int32_t ring_rows;   /* > 0: input rows are copied with their padding into a ring of so many rows */
    int32_t ring_w;      /* pixels of such a row */
    int32_t pairs;       /* words of packed inputs of a pixel */
    int32_t group_words; /* of packed weights of four channels */
    int32_t pad;         /* value of the padding: the input's zero point */
    int32_t positive;
    uint32_t low, cap;    /* as in nncc_dsp_matmul_params */
    const uint8_t *table; /* of the products, or NULL */
} nncc_dsp_convolve_params;

/*
 * x [batches,in_h,in_w,in_c], w packed for each channel group, y [batches,out_h,out_w,out_c]; scratch: 2 * pairs words,
 * then ring_rows * ring_w * in_c bytes, or, with a border and no ring, in_c bytes (rounded up to words).
 */
/* KERNELS(nncc_dsp_convolve_s8) */

/* Two rows of four outputs. */
typedef struct
{
    int32_t row, col;   /* of the first input, outside of the image in the padding */
    int32_t rows, cols; /* that are wanted, at least 1 */
    int32_t y_row;      /* bytes from an output to the one below */
    int32_t y_pitch;    /* and to the next one */
} nncc_dsp_tiles;

/*
 * 3x3 windows of stride 1 by Winograd's F(2x2, 3x3): in_c a multiple of 4, one group. w holds, for every four channels,
 * [16][in_c / 2][4] words of two weights each, of the inputs (0, 2), (1, 3), (4, 6), ..., 4 GgG' in rows; 4 times the
 * four start values; 4 times {m, c, s}. Where the channels are no multiple of 4, the first two groups overlap. scratch:
 * 16 * in_c + 128 words and in_c bytes.
 */
/* KERNELS(dsp_convolve_3x3) */
/* The same for tiles; behind scratch's words in_c bytes of padding are in place. */
/* KERNELS(dsp_convolve_tiles) */

/*
 * Several groups of channels, inputs and outputs of each a multiple of four, no ring, no table; packed weights of four
 * channels have a word more than group_words says. scratch: 2 * pairs * groups words, then, with a border, in_c bytes.
 */
/* KERNELS(nncc_dsp_convolve_groups_s8) */

/*
 * A phase of a transposed convolution: what it computes for every stride-th row and column of the result is a
 * convolution of stride 1. Arguments are those of nncc_dsp_convolve_s8, which takes a row of the phase at a time; pads
 * may be negative, pad_w only without a ring. y is the first pixel of the phase. Where lines is not 0, the phase has so
 * many neighbouring rows of the result, whose pixels are channels of one, and parts of them may stand beyond the
 * result.
 */
typedef struct
{
    nncc_dsp_convolve_params conv;
    int32_t row;    /* bytes from a row of the phase to the next */
    int32_t image;  /* of the whole result */
    int32_t lines;  /* 0: results are where they belong as they come */
    int32_t high;   /* lines of an image from the phase's first on */
    int32_t down;   /* lines from a row of the phase to the next */
    int32_t wide;   /* bytes of a line from the phase's first on */
    int32_t pitch;  /* from a line to the next */
    int32_t run;    /* bytes of a pixel in a line */
    int32_t step;   /* from run to run */
    int32_t buffer; /* bytes of scratch in front of a row of the phase, out_w * out_c */
} nncc_dsp_phase_params;

/* KERNELS(nncc_dsp_transpose_conv_phase_s8) */

/* A matrix times packed weights: 1x1 convolutions of adjacent pixels, fully connected layers with several rows. */
typedef struct
{
    int32_t rows, in_c, out_c;
    int32_t in_pitch, out_pitch; /* bytes from a row to the next */
    int32_t pairs, group_words, positive;
    uint32_t low, cap;
    const uint8_t *table; /* of the products, or NULL */
} nncc_dsp_fully_connected_params;

/* x [rows,in_c], y [rows,out_c]; mat takes two pixels; scratch 2 * pairs words. */
/* KERNELS(nncc_dsp_convolve_1x1_s8) */

/* The same for few rows, each by itself; mat takes one pixel; scratch pairs words, pairs a multiple of 4. */
/* KERNELS(nncc_dsp_fully_connected_s8) */
/* The same for a single row by octets of channels, at least 8 of them; group_words: of eight. */
/* KERNELS(nncc_dsp_fully_connected_octets_s8) */
/* For cores without the DSP extension. */
/* KERNELS(plain_fully_connected) */

/*
 * Rows of inputs times few channels, requantised by any scale. Two channels, or the last one, have the words {start,
 * m, c, s} each, then their weights: as int8 in whole words, or, with the DSP extension, for four inputs the even ones
 * of each channel, then the odd ones, then bytes. Where s is not above 0, sums are shifted to the left by -s.
 */
typedef struct
{
    int32_t rows, in_c, out_c;
    int32_t in_pitch, out_pitch; /* bytes from a row to the next */
    int32_t low, top;            /* the least output, and by how much the largest one is larger */
    const uint8_t *table;        /* of outputs less low, or NULL */
} nncc_dsp_dots_params;

/* KERNELS(nncc_dsp_dots_s8) */
/* KERNELS(nncc_plain_dots_s8) */

/* Rows of several lines, those of each as in dots; results follow each other. */
typedef struct
{
    nncc_dsp_dots_params dots;
    int32_t lines, line; /* bytes from a line's inputs to the next one's */
} nncc_dsp_dots_lines_params;

/* KERNELS(dots_lines) */

/*
 * Windows of a map [batches,in_h,in_w,in_c] without dilation of columns; a row of a window is a row of dots, with the
 * weights of each in turn. scratch: two windows.
 */
typedef struct
{
    nncc_dsp_dots_params dots; /* in_c: bytes of a window's row; in_pitch: from one to the next; rows is not read */
    int32_t batches, in_h, in_w, in_c;
    int32_t out_h, out_w;
    int32_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
    int32_t dil_h;
    int32_t outside; /* what pixels outside the map have: the input's zero point */
} nncc_dsp_dots_windows_params;

/* KERNELS(nncc_dsp_dots_windows_s8) */

/* ---- products on int16 ----------------------------------------------------------------------- */

/*
 * int16 inputs and outputs with zero point 0, weights of 8 bits, sums that stay in 32 bits (nncc has proven it from the
 * weights) and one rounding: (sum * m + 2^31) >> 32 of a 32-bit multiplier m, or (shift) ((sum * m >> 32) + c) >> s.
 * Pitches and steps are bytes; x are words of two inputs.
 */
typedef struct
{
    int32_t groups; /* of four output channels, at least 1 */
    int32_t pairs;  /* of inputs of a channel, even, at least 2 */
    int32_t y_step; /* from the outputs of a pixel to those of the next one */
    int32_t act_min, act_max;
} nncc_dsp_matmul16_params;

/* Four pixels at a time, or three; the assembly has the offsets. */
typedef struct
{
    int32_t channels; /* 0: of the result, at least 1 */
    int32_t pairs;    /* 4: of inputs of a channel, at least 1 */
    int32_t act_min;  /* 8 */
    int32_t act_max;  /* 12 */
    int32_t quads;    /* 16: times four pixels, or three */
    int32_t in_c;     /* 20: inputs of a row of x, which are put side by side first; 0: they are already */
    int32_t *side;    /* 24: [pairs][4 pixels] words of two inputs */
    int32_t in[3];    /* 28: from a pixel's inputs to those of the next ones; the same again where fewer are wanted */
    int32_t out[3];   /* 40: from a pixel's outputs, the same */
    int32_t pixels;   /* 52: that are wanted of four */
    int32_t left;     /* 56: pixels of x in[0] apart that are left in the first line, 0: no lines, pixels as in says */
    int32_t line;     /* 60: those of a line */
    int32_t skip;     /* 64: bytes more behind each line */
} nncc_dsp_quads16_params;

/* n inputs of four pixels, as words x[k][pixel]; an odd one has a zero beside it. Returns the place behind the last
 * word. Without the DSP extension c and d may be NULL, d where c is: their words stay as they are. */
/* KERNELS(nncc_dsp_interleave_4rows_s16) */

/*
 * 4rows: w for every two channels 2 start values, a word of bytes a pair, (w0, w1) of the first input and (w0, w1) of
 * the second one, and 2 times m or {m, c, s}; of an odd number the first channel by itself, its w1 those of the next
 * pair, in front a word with one pair where their number is odd; at the end two words that are read. 3rows: the same
 * for two channels and more of three pixels, all of which are wanted; in_c is 0 in assembly only. 1row: x [pairs], for
 * every four channels 4 start values, two such words a pair, 4 times {m, c, s}. Words are written at any even address.
 */
typedef void nncc_dsp_matmul16_fn(const nncc_dsp_quads16_params *p, const int8_t *x, const int32_t *w, int8_t *y);

/* KERNELS(dsp_matmul_s16) */

/* Convolution, any stride, dilation, padding and groups. */
typedef struct
{
    int32_t batches, in_h, in_w;
    int32_t out_h, out_w, out_c;
    int32_t in_pitch, out_pitch; /* from a pixel to the next */
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t pad_h, pad_w; /* above and left */
    int32_t dil_h, dil_w;
    int32_t groups; /* of channels that do not mix */
    int32_t depth;  /* input channels of a group */
    int32_t merged; /* the inputs of a kernel row are one run, else those of a tap; runs are filled up to pairs */
    int32_t pairs;
    int32_t group_words; /* of packed weights of a group */
    int32_t act_min, act_max;
} nncc_dsp_convolve16_params;

/* scratch: 4 * pairs words; where windows stick out, then 2 bytes for every input of a run, 10 where runs are merged.
 * Where threes is no NULL, pixels that are no multiple of four have so many threes in front that it is one of four
 * behind them; it is NULL for 1, 2 and 5 pixels, which are no such sum. */
/* KERNELS(nncc_dsp_convolve_s16) */

/* A phase of a transposed convolution, as nncc_dsp_phase_params has it. */
typedef struct
{
    nncc_dsp_convolve16_params conv;
    int32_t row;   /* bytes from a row of the phase to the next */
    int32_t image; /* of the whole result */
} nncc_dsp_phase16_params;

/* KERNELS(nncc_dsp_transpose_conv_phase_s16) */

/* A matrix times packed weights. */
typedef struct
{
    int32_t rows, in_c, out_c;
    int32_t in_pitch, out_pitch; /* from a row to the next */
    int32_t pairs;
    int32_t group_words; /* of packed weights of four channels, where each row is by itself */
    int32_t act_min, act_max;
    int32_t line; /* rows in_pitch apart, with `skip` bytes more behind them, 0: all are; not where each is by itself */
    int32_t skip;
} nncc_dsp_fully_connected16_params;

/* scratch and threes as for convolutions. */
/* KERNELS(nncc_dsp_convolve_1x1_s16) */
/* The same for few rows, each by itself: scratch is `pairs` words. */
/* KERNELS(nncc_dsp_fully_connected_s16) */

/* Rows of several lines times few channels: a channel is a start value, {m, c, s} and its weights as bytes of whole
 * words. Results follow each other. */
typedef struct
{
    int32_t lines, rows; /* of a line */
    int32_t in_c, out_c;
    int32_t line;                /* from a line's inputs to the next one's */
    int32_t in_pitch, out_pitch; /* from a row to the next */
    int32_t channel_words;
    int32_t act_min, act_max;
} nncc_plain_dots16_params;

/* KERNELS(nncc_plain_dots_s16) */

/* ---- element-wise, pooling, order ------------------------------------------------------------ */

/* y[i] becomes at least the lower bound and at most the upper one: low and cap as in nncc_dsp_matmul_params. In place
 * only. */
/* KERNELS(nncc_dsp_clamp_s8) */

/* Scale of a sum of two table values, which are twice the scaled inputs; outputs count from low. */
typedef struct
{
    int32_t count;
    int32_t m, c, s;
    uint32_t low, cap;
} nncc_dsp_add_params;

/* y = scale(ta[a] + tb[b]), tables in the order of the bytes 0..255. y may be a or b. */
/* KERNELS(nncc_dsp_add_s8) */

/* Results of a product that wait in scratch until a tensor is added to them; output y may be that tensor. */
typedef struct
{
    nncc_dsp_add_params sum; /* but for count */
    int32_t pitch;           /* bytes from an output pixel to the next */
    int32_t other_pitch;     /* and of the other tensor */
    int32_t wait;            /* bytes of scratch in front of the results */
    int32_t part;            /* of the output that waits: rows, for a product of pixels pixels (an even number) */
} nncc_dsp_residual_params;

/*
 * nncc_dsp_convolve_s8 and nncc_dsp_convolve_1x1_s8 with an addition at their end. The tables are those of
 * nncc_dsp_add_s8: of the results and of other. scratch: theirs, then the results of a part.
 */
/* KERNELS(dsp_convolve_add) */
/* nncc_dsp_convolve_3x3_s8 with an addition; scratch: its own, then 8 * out_c bytes. */
/* KERNELS(dsp_convolve_3x3_add) */

/* Windows are cut to the input; every window has an element there. */
typedef struct
{
    int32_t batches, in_h, in_w, channels;
    int32_t out_h, out_w;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t pad_h, pad_w; /* above and left */
    uint32_t low, cap;
} nncc_dsp_pool_params;

/* The mean of the window's elements, ties away from zero; x [batches,in_h,in_w,channels], y
 * [batches,out_h,out_w,channels]. */
/* KERNELS(nncc_dsp_avg_pool_s8) */
/* The largest of them. */
/* KERNELS(nncc_dsp_max_pool_s8) */
/* The same for windows of up to two by two elements. */
/* KERNELS(dsp_pool_fours) */

/* Windows that overlap: strip outputs of a row together. */
typedef struct
{
    nncc_dsp_pool_params pool;
    int32_t strip;
} nncc_dsp_sliding_pool_params;

/*
 * The same with scratch: one value for each byte of the columns of a strip, and three more. The mean: values of 16
 * bits, at most 127 elements in a window. The stride is at most the width of the window.
 */
/* KERNELS(dsp_pool_sliding) */

typedef struct
{
    int32_t batches, rows, cols;
} nncc_dsp_transpose_params;

/* x [batches,rows,cols] bytes, y [batches,cols,rows]. */
/* KERNELS(nncc_dsp_transpose_s8) */

/* ---- products of two activations ------------------------------------------------------------- */

/*
 * y = a b for matrices [m,k] and [k,n] of three batch dimensions, each operand with strides of its own, in elements: 0
 * where an operand repeats, 1 for the columns of y. {scale, offset, shift} is {m, c, s} of every channel, proven for
 * all sums of k products. scratch, aligned to 4, with pairs = (k + 1) / 2: 2 * pairs words, for every four columns 16 +
 * 4 * pairs words, and, unless a_k is 1, m * k bytes. nncc_plain_*: with n = k + 2, 2 * n words, for every four columns
 * 16 + n words, and the bytes.
 */
typedef struct
{
    int32_t batch[3], a_batch[3], b_batch[3], y_batch[3];
    int32_t m, k, n;
    int32_t a_m, a_k, b_k, b_n, y_m;
    int32_t a_zero, b_zero;
    int32_t scale, offset, shift;
    int32_t positive;
    uint32_t low, cap;
} nncc_dsp_batch_matmul_params;

/* KERNELS(batch_matmul) */
/* The same without scratch and packing, for few rows or columns; on Thumb-1 k is at most 8192. */
/* KERNELS(nncc_dsp_batch_matmul_rows_s8) */

/*
 * The same of int16 with zero points 0: the sums, exact in 64 bits, times mult, a positive number, over 2^(32 + shift),
 * rounded half up, shift 1 to 31. The upper words of products stay below 2^30.
 *
 * n is at least 2. scratch: k rounded up to even, times 2 and n rounded up to even, values.
 */
typedef struct
{
    int32_t batch[3], a_batch[3], b_batch[3], y_batch[3];
    int32_t m, k, n;
    int32_t a_m, a_k, b_k, b_n, y_m;
    int32_t mult, shift;
    int32_t act_min, act_max;
} nncc_dsp_batch_matmul16_params;

/* KERNELS(nncc_dsp_batch_matmul_s16) */

/* ---- softmax, for all cores without Helium --------------------------------------------------- */

/*
 * Softmax of rows of `size` values, 1 to 8191, with the fixed-point arithmetic of arm_softmax_s8: y has scale 1/256 and
 * zero point -128. table[255 - d] is the exponential (Q0.31) of a value that lies d below the largest one of its row, 0
 * where it does not count. scratch: 4 * size bytes, aligned to 4. y may be x.
 */
typedef struct
{
    int32_t rows, size;
} nncc_dsp_softmax_params;

/* KERNELS(nncc_dsp_softmax_s8) */

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_helium.h: int8 kernels for cores with Helium (M-profile vector extension). Results are those of CMSIS-NN and of
 * TensorFlow Lite, bit for bit: requantisation rounds twice. Every kernel also has a portable body with the same
 * results.
 *
 * Names are nncc_helium_<operator>_<variant>_<type>. Variants: kN, the depth (inputs of a row) is N vectors of 16 and
 * the loop over it unrolled; unrollN, any depth, N vectors a turn of the loop; 1row, one row at a time; w4, weights of
 * 4 bits; 4rows, one channel of 4 rows at a time; relu, for act_min >= the output's zero point; upper, results are the
 * upper halves of words (below); lut, followed by a function of one value from a table of 256; add, followed by the sum
 * with another tensor; linear, away, q31, strided: see nncc_helium_add_linear_s8.
 *
 * What the compiler prepares ("packed" arguments, lower/kernel/helium): weights in the order in which they are loaded,
 * rows filled up with zeros to whole 16-byte vectors, and beside them the bias with the input offset times the weight
 * sum added, the Q31 multipliers and the shifts. All shifts are to the right, by 1 to 31. Packed data is 16-byte
 * aligned, little-endian.
 *
 * Parameters: x input, y or out output, packed as below, scratch memory that is nobody's, other what is added, rows and
 * n numbers of rows and of elements; dot and fn are kernels that the compiler chose, f and frame what they work on.
 *
 * Records of nncc_helium_matmul_k* and _unroll*: one for every 4 output channels: int32 bias[4], multiplier[4],
 * shift[4] (negative), then for every vector of 16 inputs the weights of channel 0, 1, 2, 3. Where the channels are no
 * multiple of 4, the last record holds the last 4 channels (which are computed twice); with fewer than 4 channels in
 * all, zeros follow.
 */
#include "nncc.h"

/* The store loop of dot products: y[p * pitch + c] = clamp(requantise(acc) + zero, act_min, act_max). */
typedef struct
{
    int32_t pitch; /* bytes from an output pixel to the next */
    int32_t zero;  /* output zero point */
    int32_t act_min;
    int32_t act_max;
    int32_t channels; /* output channels */
    int32_t step;     /* bytes from an input row to the next; rows may overlap */
    int32_t vectors;  /* 16-byte vectors in an input row, the last one with `tail` bytes that count, 1 to 16 */
    int32_t tail;
    int32_t single; /* last rows behind whose end a whole last vector would not be readable */
} nncc_helium_matmul_params;

/*
 * Dot products of every row with every output channel: a pointwise convolution, the rows being the pixels of a
 * channels-last map, or a fully connected layer with several rows. x: rows of 16 * (vectors - 1) + tail bytes, step
 * bytes apart; what follows in the last vector, the next rows, meets weights of zero. A record is used for two rows at
 * a time: 4 channels x 2 rows accumulate in 8 registers, so 16 * 8 MACs take 6 loads and 8 VMLADAVA. In relu kernels
 * the rounding of negative values does not show.
 *
 * An odd last row and the `single` last ones go through nncc_helium_matmul_1row_s8.
 */
typedef void nncc_helium_matmul_fn(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y,
                                   int32_t rows);

/* KERNELS(helium_matmul) */

/*
 * The same where nncc has proven that one product and one rounding give the results, clamped to int8: with a = acc *
 * scale + bias, and a += below where a < 0, they are (((2 * a * mult + 2^31) >> 32) + offset + 2^16) >> 17: the upper
 * halves of VQRDMLASH's words, narrowed by VQRSHRN (GNU as 2.40 makes that of VQSHRN, too). A record is int32 bias[4],
 * mult[4], below[4] (not in relu kernels, whose zero point is -128), scale, offset, 0, 0, then the weights. zero and
 * the clamp are not looked at.
 *
 * Rows that have nothing behind them are copied to the stack.
 */
/* KERNELS(helium_matmul_upper) */

/*
 * The same with 4-bit weights, -8 to 7: a record holds, for every vector of 16 inputs, 16 bytes 16 * w1 + w0 of
 * channels 0 and 1, then those of 2 and 3; no w1 is -8 where w0 is negative. The sum of products with these bytes is 16
 * times the odd channel's plus the even one's, with the bytes shifted to the left by 4 it is 16 times the even one's:
 * as many instructions as with weights of 8 bits, and 6 for 8 outputs.
 */
/* KERNELS(helium_matmul_w4) */

/*
 * The same for int16 inputs and outputs with zero point 0, 8-bit weights, sums that stay in 32 bits (nncc has proven it
 * from the weights) and one rounding: ((acc * multiplier >> 31) + 2^(shift - 1)) >> shift. Vectors hold 8 inputs; a
 * record is int32 bias[4], multiplier[4], shift[4] (-1 to -31), then for every vector 8 weights of channel 0, 1, 2, 3.
 * Pitch, step and tail are bytes.
 */
/* KERNELS(helium_matmul_s16) */

/*
 * The same for rows of up to three vectors, or of one to three and one or two inputs (kNp1, kNp2: so many more than N
 * vectors), with results that only int16 clamps, or zero does, too (relu). Then one rounding product gives them: (acc *
 * mult + 2^30) >> 31. Two rows stay in vector registers while the weights of all channels go by. Nothing behind a row
 * is read.
 *
 * packed is int32 line, skip: behind `line` rows the next one is `skip` bytes further than a step; then a record for
 * four channels: for every vector 8 weights of channel 0, 1, 2, 3, for every input behind them one of each channel,
 * int32 bias[4], mult[4]. Three channels that are left are in a record with the one before, one or two are by
 * themselves: int32 bias, twice mult, their weights, zeros up to whole words.
 */
/* KERNELS(helium_matmul_kept_s16) */

/*
 * Dot products of rows one at a time, 4 channels in 4 registers: a fully connected layer, a convolution with one output
 * pixel. The last vector of a row is loaded under a predicate. rows is at least 1, `single` is not looked at.
 */
/* KERNELS(nncc_helium_matmul_1row_s8) */

/*
 * The same products, of 4 rows with one channel at a time: for fewer than 4 channels, and for shifts to the left.
 * Packed is a line for every channel: int32 bias, multiplier, shift to the left (0 to 30), shift to the right (-31 to
 * 0), then its weights in whole vectors.
 */
/* KERNELS(nncc_helium_matmul_4rows_s8) */

/*
 * A function of two inputs that is linear before it is rounded (Add, Sub), and then clamped to [act_min, act_max]:
 *
 * nncc_helium_add_linear_s8: (a * x + b * y + c) >> shift, towards minus infinity; the output zero point and the half
 * step are in c.
 *
 * nncc_helium_add_linear_away_s8: (a * x + b * y + c) / 2^shift, ties away from zero, + zero.
 *
 * nncc_helium_add_linear_q31_s8: (a * x + b * y * b_mult + c) * mult >> shift, multipliers in Q31 with rounding, for
 * more precision.
 *
 * nncc has proven for all 65,536 pairs of inputs that the result is that of the operator; no sum leaves 32 bits. out
 * may be x or y.
 */
typedef struct
{
    int32_t a;
    int32_t b;
    int32_t c;
    int32_t shift;
    int32_t zero;
    int32_t b_mult;
    int32_t mult;
    int32_t act_min;
    int32_t act_max;
} nncc_helium_add_linear_params;

typedef void nncc_helium_add_linear_fn(const nncc_helium_add_linear_params *p, const int8_t *x, const int8_t *y,
                                       int8_t *out, int32_t n);

/* KERNELS(helium_add_linear) */

/* The same for rows of n elements that lie apart: pitches are bytes from a row to the next. */
typedef struct
{
    nncc_helium_add_linear_params sum;
    int32_t n;
    int32_t rows;
    int32_t x_pitch;
    int32_t y_pitch;
    int32_t out_pitch;
} nncc_helium_add_linear_strided_params;

/* KERNELS(nncc_helium_add_linear_strided_s8) */

/*
 * nncc_helium_matmul_* where the results may lie over the rows: `dot` takes so many at a time that it writes nothing
 * that it reads later, from the last ones on where y lies behind x, all of them where they lie apart. For n rows at a
 * time, an even number, y begins at least as many bytes before x as n results take, and n rows with what all results
 * are longer than all rows, or as many bytes behind it as n rows take, and n results with what all rows are longer.
 */
/* KERNELS(nncc_helium_matmul_blocks_s8) */

/*
 * nncc_helium_matmul_* with a function of one value behind it: `dot` takes some rows, the table their results, and so
 * on. p->single is at most 32, pitch is the number of channels.
 */
/* KERNELS(nncc_helium_matmul_lut_s8) */

/*
 * What a layer's results are added to before they are stored: y = fn(results, other), where `other` has the shape of y
 * and may be y. mac.pitch is the number of channels. Results wait in scratch, `pixels` of them: the sum in a loop of
 * its own takes 18 instructions for 8 results and spares the tensor in between; as part of the store it would take as
 * many, since neither clamp nor zero points fit into registers beside the accumulators.
 */
typedef struct
{
    nncc_helium_add_linear_params sum;
    int32_t swapped; /* y = fn(other, results) */
    int32_t pitch;   /* bytes from a pixel of y to the next */
    int32_t other_pitch;
    const uint8_t *table; /* NULL, or 256 values by the bit pattern of the results, which are added instead */
    int32_t pixels;       /* of results in scratch; nncc_helium_matmul_add_s8: even, and mac.single more */
} nncc_helium_residual_params;

/* KERNELS(nncc_helium_matmul_add_s8) */

/*
 * Convolution, channels last, any stride, dilation, padding and groups. What `block` output pixels at a time need is
 * copied into scratch, the input's zero point where they stick out, and goes through `dot`; no patch of the whole image
 * is ever held. Where neighbours overlap (`shared`), columns of kernel_h taps are copied, a pixel's patch is kernel_w
 * of them, and the weights are in the order [KW][KH][I]: every input is copied kernel_h / stride_h times only. For
 * short rows of pixels (`shared` 2) patches are copied from there, so that `dot` has more of them.
 * Otherwise patches [KH][KW][I] are copied one by one. What lies behind a patch in its last vector meets weights of
 * zero.
 *
 * scratch, 16-byte aligned: shared, ((block - 1) * stride_w + kernel_w) * kernel_h * I bytes and what the last vector
 * has more, behind block * mac.step for shared 2; else the latter. mac.channels are those of one group, mac.single is
 * 0. packed: the records of one group after the other's.
 */
typedef struct
{
    nncc_helium_matmul_params mac;
    int32_t batch;
    int32_t in_h;
    int32_t in_w;
    int32_t in_pitch; /* bytes from an input pixel to the next */
    int32_t depth;    /* input channels of a group */
    int32_t out_h;
    int32_t out_w;
    int32_t groups;
    int32_t kernel_h;
    int32_t kernel_w;
    int32_t stride_h;
    int32_t stride_w;
    int32_t dilation_h;
    int32_t dilation_w;
    int32_t pad_top;
    int32_t pad_left;
    int32_t in_zero; /* the input's zero point */
    int32_t block;
    int32_t shared;
    int32_t group_bytes;  /* of the records of a group */
    int32_t group_step;   /* bytes from the outputs of a group to those of the next one */
    const uint8_t *table; /* NULL, or 256 results by the bit pattern of the sums' values; groups is then 1 */
} nncc_helium_convolve_params;

/* KERNELS(nncc_helium_convolve_s8) */

/*
 * The same for single pixels without padding, which go through `dot` where they lie, a row of y at a time: mac.step is
 * the distance in a row, mac.single that of the last row, block 0, no table.
 */
/* KERNELS(nncc_helium_convolve_rows_s8) */

/* The same for one group, followed by the sum with `other`. r->pixels is at least `block`; the results lie in `wait`.
 */
/* KERNELS(nncc_helium_convolve_add_s8) */

/*
 * Transposed convolution whose kernel is as large as its strides, without padding, channels last: every result has one
 * tap. A row of the input gives kernel_h rows of the output, each the dot products of its pixels with kernel_w times
 * the channels, [kernel_w][O]: mac.channels and mac.pitch. packed: the records of one row of taps after the other's.
 * Instructions are those of `dot`.
 */
typedef struct
{
    nncc_helium_matmul_params mac;
    int32_t rows;  /* of the input, of all images */
    int32_t width; /* of the input */
    int32_t kernel_h;
    int32_t row_bytes; /* of the records of a row of taps */
} nncc_helium_transpose_conv_params;

/* KERNELS(nncc_helium_transpose_conv_s8) */

/*
 * A phase of a transposed convolution: what it computes for every stride-th row and column of the result is a
 * convolution of stride 1. Arguments are those of nncc_helium_convolve_s8, which takes a row of the phase at a time;
 * pads may be negative. y is the first pixel of the phase.
 */
typedef struct
{
    nncc_helium_convolve_params conv;
    int32_t row;   /* bytes from a row of the phase to the next */
    int32_t image; /* of the whole result */
} nncc_helium_phase_params;

/* KERNELS(nncc_helium_transpose_conv_phase_s8) */

/*
 * Depthwise convolution 3x3 without dilation, an output a channel, channels last; the name has the horizontal stride.
 * "relu" kernels are for act_min == zero.
 *
 * stride1, both strides 1: four rows of 16 channels are interleaved in scratch (VST4) and, four columns at a time, put
 * in the order [channel][column][row]: 16 bytes that give 2x2 outputs of a channel by 4 VMLADAV. Up to 2 columns of
 * padding, the output may be the input. packed: records of 112 bytes for every 4 channels: int32 bias[4],
 * multiplier[4], shift[4], then for each channel 16 bytes of weights [4][4], columns first, the last ones 0. scratch,
 * 16-byte aligned: 96 + 16 * in_w + 64 * (out_w rounded up to even, at most 24, + 2) bytes.
 *
 * stride2: pixel by pixel from the image, 16 channels at a time, the last ones again where they are no multiple of 16;
 * at least 8 channels. packed: records of 336 bytes for every 16 channels: int32 bias[16], multiplier[16], shift[16],
 * each in the order 0, 4, 8, 12, 2, 6, 10, 14, then the odd channels alike, and int8 weights[9][16]. scratch: 160 bytes
 * for windows that stick out at the sides, 16-byte aligned. Products are added by twos in 16 bits, in the order of the
 * taps; in no such pair both weights may be -128.
 */
typedef struct
{
    int32_t batch;
    int32_t in_h;
    int32_t in_w;
    int32_t in_c;
    int32_t out_h;
    int32_t out_w;
    int32_t stride_h;
    int32_t pad_top;
    int32_t pad_left;
    int32_t in_zero;
    int32_t zero; /* output zero point */
    int32_t act_min;
    int32_t act_max;
} nncc_helium_depthwise_3x3_params;

/* KERNELS(helium_depthwise_3x3) */

/*
 * Depthwise convolution, channels last, of a column or a row of 2 to 5 taps, horizontal stride 1: a row of results is
 * one line of bytes, a vector of 16 at a time, whichever channels they are of. packed holds `records` of 16
 * neighbouring bytes each, which repeat themselves: those of nncc_helium_depthwise_3x3_stride2 (in the order of its
 * lanes), upper: bias, multiplier and what is added below 0, then the taps, then int32 scale, offset, 0, 0. Scratch
 * holds `line` bytes: rows of a row of taps with their padding, or what a column finds outside of the image.
 */
typedef struct
{
    int32_t batch;
    int32_t in_h;
    int32_t out_h;
    int32_t in_row;  /* bytes of a row of the input */
    int32_t out_row; /* and of the result: whole words */
    int32_t stride_h;
    int32_t pad_top;
    int32_t pad_left; /* bytes */
    int32_t down;     /* rows from a tap to the next; 0: a row of taps */
    int32_t across;   /* bytes from a tap to the next; 0: a column of taps */
    int32_t line;     /* bytes; 0: rows are read where they lie, without padding */
    int32_t records;
    int32_t in_zero;
    int32_t zero; /* output zero point */
    int32_t act_min;
    int32_t act_max;
} nncc_helium_depthwise_taps_params;

/* KERNELS(helium_depthwise_taps) */

/*
 * Windows of a depthwise convolution in scratch, of one channel after the other: `vectors` times 16 bytes, in which the
 * weights say what counts. The kernels with k in their names are for so many vectors, those with step for so many bytes
 * between neighbouring windows; the one without takes any. Four outputs of a channel go together. `fours`, `x_back` and
 * the like stand first: the assembly has the offsets. record, x, y and channels move on.
 */
typedef struct
{
    int32_t fours; /* of the outputs of a row, and 0 to 3 more */
    int32_t rest;
    int32_t x_back; /* from where a row ends to the next one, in x and y, after all of the fours and, in x, the rest */
    int32_t y_back;
    int32_t hi[4]; /* act_max */
    int32_t next;  /* bytes from four results to the next four */
    int32_t step;  /* bytes from a window to the next */
    int32_t zero;  /* output zero point */
    int32_t act_min;
    int32_t rows;
    int32_t line; /* bytes from a row of results to the next */
    const int8_t *x;
    int8_t *y;
    const int8_t *record; /* int32 bias, multiplier, shift, 0, then the weights */
    int32_t row;          /* bytes from a row of windows to the next */
    int32_t left;         /* the assembly's */
    int32_t plane;        /* bytes from a channel's windows to those of the next */
    int32_t channels;     /* at least 1 */
    int32_t vectors;
    const int8_t *from; /* the assembly's */
    int8_t *to;
} nncc_helium_windows;

typedef void nncc_helium_windows_fn(nncc_helium_windows *f);

/* KERNELS(helium_depthwise_window) */

/*
 * Depthwise convolution with any kernel, strides, dilations and padding, output channel c reads input channel c /
 * multiplier. The rows that windows of `rows` rows of the output lie in are brought into the order
 * [channel][column][row] in scratch, 8 channels at a time, the zero point around them: then the window of an output is
 * a run of bytes, pitch * (kernel_w - 1) + kernel_h of them, and the same weights serve all rows. Dilated windows are
 * runs, too: columns dilation_w apart stand side by side, and rows of the output of which windows share rows go
 * together.
 *
 * packed: for every output channel a record of nncc_helium_windows, weights [kernel_w][pitch]. scratch, 16-byte
 * aligned: 16 bytes, `plane` for each of up to 8 channels, and what the last vector of three windows behind the last
 * one has more.
 */
typedef struct
{
    int32_t batch;
    int32_t in_h;
    int32_t in_w;
    int32_t in_c;
    int32_t out_h;
    int32_t out_w;
    int32_t multiplier; /* output channels of an input channel */
    int32_t kernel_h;
    int32_t kernel_w;
    int32_t stride_h;
    int32_t stride_w;
    int32_t dilation_h;
    int32_t dilation_w;
    int32_t pad_top;
    int32_t pad_left;
    int32_t in_zero;
    int32_t zero; /* output zero point */
    int32_t act_min;
    int32_t act_max;
    int32_t rows;     /* of the output at a time */
    int32_t span;     /* columns of the output at a time, a multiple of phases_w, or all */
    int32_t phases_h; /* dilation_h / gcd(dilation_h, stride_h), and the same of widths */
    int32_t phases_w;
    int32_t pitch; /* bytes of a column in scratch */
    int32_t width; /* columns in scratch of every residue by dilation_w */
    int32_t plane; /* dilation_w * width * pitch */
    int32_t vectors;
    int32_t out_pitch; /* bytes from a pixel of the output to the next, from a row, from an image */
    int32_t out_row;
    int32_t out_image;
} nncc_helium_depthwise_params;

/* KERNELS(nncc_helium_depthwise_s8) */

/*
 * Depthwise convolution of int16 with 8-bit weights, any kernel, stride, dilation, padding and multiplier, with the
 * arithmetic of nncc_helium_matmul_*_s16. Taps outside of the image are left out. packed: records for every 8 output
 * channels, the last ones again where they are no multiple of 8, zeros with fewer than 8: int32 bias[8], multiplier[8],
 * shift[8], each even channels first, then 8 weights for every tap, filled up to a multiple of 16 bytes. With a
 * multiplier above 1 or fewer than 8 channels a record begins with 32 bytes more: uint16 places[8] of the channels'
 * inputs behind that of the first one, and int32, the byte of a pixel at which that one is.
 */
typedef struct
{
    int32_t batch;
    int32_t in_h;
    int32_t in_w;
    int32_t in_c;
    int32_t out_h;
    int32_t out_w;
    int32_t channels;   /* output channels */
    int32_t multiplier; /* output channels of an input channel */
    int32_t kernel_h;
    int32_t kernel_w;
    int32_t stride_h;
    int32_t stride_w;
    int32_t dilation_h;
    int32_t dilation_w;
    int32_t pad_top;
    int32_t pad_left;
    int32_t record; /* bytes of a record */
    int32_t act_min;
    int32_t act_max;
    int32_t out_pitch; /* bytes from a pixel of the output to the next, from a row, from an image */
    int32_t out_row;
    int32_t out_image;
} nncc_helium_depthwise16_params;

/* KERNELS(nncc_helium_depthwise_s16) */

/*
 * Pooling over windows that are cut to the image, channels last. The average is the sum divided by the elements of the
 * cut window, ties away from zero; a window has less than 4080 elements, and at least one. The division is a
 * multiplication by 2^31 / count, rounded up, which is exact for such counts. Every cut window has an element.
 * nncc_helium_avg_pool_short_s8 takes at most 185 elements, for which a multiplication in 16 bits is exact.
 */
typedef struct
{
    int32_t batch;
    int32_t in_h;
    int32_t in_w;
    int32_t channels;
    int32_t out_h;
    int32_t out_w;
    int32_t kernel_h;
    int32_t kernel_w;
    int32_t stride_h;
    int32_t stride_w;
    int32_t pad_top;
    int32_t pad_left;
    int32_t act_min;
    int32_t act_max;
    int32_t in_pitch; /* bytes from an input pixel to the next */
    int32_t out_pitch;
} nncc_helium_pool_params;

/* KERNELS(helium_pool) */

/*
 * Softmax of rows of `size` values, 1 to 8191, with the fixed-point arithmetic of arm_softmax_s8: y has scale 1/256 and
 * zero point -128. table[255 - d] is the exponential (Q0.31) of a value that lies d below the largest one of its row, 0
 * where it does not count. scratch: 4 * size bytes, 16-byte aligned. y may be x.
 *
 * Per 4 elements: 0.25 + 3 loads, one of which picks 4 words of the table (a beat each, where words of 4 results would
 * be loaded one by one), 2 stores, 0.25 for the maximum, 8 others; and about 90 a row: 3.6 instructions an element in
 * long rows.
 */
typedef struct
{
    int32_t rows;
    int32_t size;
} nncc_helium_softmax_params;

/* KERNELS(nncc_helium_softmax_s8) */

/*
 * The same for rows that go as lanes of vectors, each of a row: 16 rows of up to 17 values, 8 of up to 4,000. scratch:
 * so many times size bytes.
 */

/* KERNELS(helium_softmax_rows) */

/*
 * y[n][c][r] = x[n][r][c], bytes: a change between channels first and channels last. The longer axis goes 16 bytes at a
 * time (8 where the shorter one has more than 17): contiguous on one side, bytes `shorter axis` apart on the other,
 * where a core takes a beat an element; byte by byte it is a load, a store and their addresses.
 */
typedef struct
{
    int32_t batches;
    int32_t rows;
    int32_t cols;
} nncc_helium_transpose_params;

/* KERNELS(nncc_helium_transpose_s8) */

/* ---- products of two activations ------------------------------------------------------------- */

/*
 * y = a b for matrices [m,k] and [k,n] of three batch dimensions, each operand with strides of its own, in elements: 0
 * where an operand repeats, 1 for the columns of y. Arithmetic as arm_batch_matmul_s8; shift is -1 to -31.
 *
 * scratch, 16-byte aligned: 4 * (m + 1) bytes, rounded up to 16; w bytes, w being k rounded up to 16, times m unless k
 * is w and a_k is 1; for every four columns 16 + 4 * w bytes.
 */
typedef struct
{
    int32_t batch[3], a_batch[3], b_batch[3], y_batch[3];
    int32_t m, k, n;
    int32_t a_m, a_k, b_k, b_n, y_m;
    int32_t a_zero, b_zero;
    int32_t mult, shift;
    int32_t zero, act_min, act_max;
} nncc_helium_batch_matmul_params;

/* KERNELS(nncc_helium_batch_matmul_s8) */

/*
 * The same of int16 with zero points 0: the sums, exact in 64 bits, times mult, a positive number, over 2^(32 + shift),
 * rounded half up, shift 1 to 31. The upper words of products stay below 2^30.
 *
 * scratch: m * k values unless a_k is 1, then n * k unless b_k is 1.
 */
typedef struct
{
    int32_t batch[3], a_batch[3], b_batch[3], y_batch[3];
    int32_t m, k, n;
    int32_t a_m, a_k, b_k, b_n, y_m;
    int32_t mult, shift;
    int32_t act_min, act_max;
} nncc_helium_batch_matmul16_params;

/* KERNELS(nncc_helium_batch_matmul_s16) */

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_dsp_depthwise.h: the depthwise convolutions of nncc_dsp.h, which has the conventions; results bit for bit those
 * of CMSIS-NN. Parameters: x input, w packed weights, y output, scratch memory that is nobody's; offsets are bytes from
 * x; fn are kernels that the compiler chose, f what they work on.
 */
#include "nncc.h"

/* ---- depthwise convolutions ------------------------------------------------------------------ */

/*
 * Four channels are a group; where their number is no multiple of 4 the last two groups overlap. Fewer than four are
 * one group with zeros.
 */
typedef struct
{
    int32_t batches, in_h, in_w;
    int32_t in_c, channels; /* channels: of the output, a multiple of in_c */
    int32_t out_h, out_w;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t pad_h, pad_w; /* above and left */
    int32_t dil_h, dil_w;
    int32_t pad;         /* value of the padding: the input's zero point */
    int32_t pad_bytes;   /* of a pixel of it: in_c, at least 4, whole words */
    int32_t group_words; /* of packed weights of four channels */
    int32_t out_pitch;   /* bytes from a pixel of the output to the next, from a row, from an image */
    int32_t out_row;
    int32_t out_image;
    uint32_t low, cap; /* as in nncc_dsp_matmul_params */
} nncc_dsp_depthwise_params;

/* Inner functions of the 3x3 kernel. */
typedef struct
{
    int32_t columns; /* outputs in a row, at least 2 */
    int32_t step;    /* bytes from an output to the one right of it */
    int32_t down;    /* bytes to the one below; 0: there is none, both are stored to the same address */
} nncc_dsp_depthwise_3x3_row_params;

/*
 * Four channels of output rows: x [columns of inputs][4 channels][2] words of two rows each, inputs times 256. Stride
 * 1: two rows of outputs from four rows of inputs; stride 2: one row.
 */
typedef void nncc_dsp_depthwise_3x3_row_fn(const nncc_dsp_depthwise_3x3_row_params *p, const int32_t *x,
                                           const int32_t *w, int8_t *y);

/* The upper pair of rows is the first word of each two (even) or the second one (odd); relu: no negative sum survives
 * the clamp. edge: one row of outputs of the lower two of three rows, the first words of each two; behind the words of
 * four channels are their start values, which have the padding in them. */
/* KERNELS(dsp_depthwise_3x3_row) */

/* Lines are rows of the image, or, with the window's rows and columns exchanged, its columns. */
typedef struct
{
    int32_t batches, channels;
    int32_t in_lines, in_pixels;   /* lines, and pixels of each */
    int32_t out_lines, out_pixels; /* out_pixels at least 2 */
    int32_t stride;
    int32_t pad_lines, pad_pixels; /* in front */
    int32_t line, pixel;           /* bytes of x from a line to the next and from a pixel to the next */
    int32_t out_line, out_pixel;   /* and of y */
    int32_t strip;                 /* outputs of a line that go together: at least 2, and so in the last strip */
    int32_t pad;                   /* value of the padding: the input's zero point */
    int32_t group_words;           /* of packed weights of four channels */
    uint32_t low, cap;             /* as in nncc_dsp_matmul_params */
} nncc_dsp_depthwise_3x3_params;

/*
 * 3x3 windows with stride 1 or 2 both ways, dilation 1, channels >= 4. The sum v of a channel,
 * inputs times 256, weights and start value shifted to match, becomes the output (((v * m) >> 32) + c - (v < 0 ? d :
 * 0)) >> 16, saturated. w holds per channel its weights, the start value and {m, c, d}, with relu no d. Weights are,
 * for stride 1, (w0, w1) and (w1, w2) of each column of the window; for stride 2 (w0, w1) of each column, then w2 of
 * the first two, then of the third one. scratch: 8 * (stride * (strip - 1) + 3) words.
 * even and odd are the kernels of two lines of both kinds. edge, or NULL: the kernel of the first line of outputs,
 * whose window begins in the padding; the others go two at a time from the second one on.
 */
/* KERNELS(nncc_dsp_depthwise_3x3_s8) */

/* Two rows of outputs of a channel, `columns` wide; the assembly has the offsets. */
typedef struct
{
    const int32_t *x; /* words of two rows of inputs */
    const int32_t
        *w; /* start value and {m, c, s}, then two words for the upper row, two for the lower one, and so on */
    int8_t *y;
    int32_t step;  /* bytes from a window to the next */
    int32_t pixel; /* bytes from an output to the one right of it */
    int32_t line;  /* to the one below; 0: there is none, both go to the same place */
    int32_t columns;
    int32_t rounds; /* of two words */
} nncc_dsp_depthwise_window;

/* Weights and start values are doubled; relu: negative ties may be rounded up. */
typedef void nncc_dsp_depthwise_window_fn(const nncc_dsp_depthwise_window *f);
/* KERNELS(dsp_depthwise_window) */

/*
 * Any window of at least two rows: outputs saturate and are clamped at the end. The rows that two rows of
 * outputs read become words of two rows, [channel][column][pair], four channels at a time: a window is a run of words,
 * the upper output's and the lower one's the same run with weights of their own. Dilated columns stand side by side,
 * and rows of outputs go together whose windows share rows.
 *
 * w holds `times` channels for each of the input channels in groups of four, the last of which may overlap the one
 * before. scratch: 1 word, lanes * plane bytes, and for the words behind the last window pairs * stride_w * phases_w
 * + 1.
 */
typedef struct
{
    int32_t batches, in_h, in_w;
    int32_t in_c, channels; /* channels: of the output */
    int32_t times;          /* outputs of a channel */
    int32_t lanes;          /* in_c, at most 4 */
    int32_t out_h, out_w;
    int32_t kernel_w;
    int32_t stride_h, stride_w;
    int32_t pad_h, pad_w; /* above and left */
    int32_t dil_h, dil_w;
    int32_t pad;                /* value of the padding: the input's zero point */
    int32_t phases_h, phases_w; /* dil_h / gcd(dil_h, stride_h), and the same of widths */
    int32_t span;               /* columns of the output at a time: a multiple of phases_w, or all */
    int32_t pairs;              /* words of a column */
    int32_t width;              /* columns of every residue by dil_w */
    int32_t plane;              /* bytes of a channel: 4 * pairs * width * dil_w */
    int32_t rounds;             /* of two words of a window */
    uint32_t low, cap;          /* as in nncc_dsp_matmul_params */
} nncc_dsp_depthwise_window_params;
/* KERNELS(nncc_dsp_depthwise_window_s8) */

/* Outputs of four channels, those of a pixel side by side or `times` bytes apart. The assembly has the offsets. */
typedef struct
{
    int32_t skip;         /* bytes from the end of a row of quads of a window to the next row */
    const int32_t *w_end; /* of the weights */
    int32_t taps;         /* quads of a row, 1 to 8 */
    const int32_t *x;     /* quads: words of two inputs of four channels, 256 times as large */
    int8_t *y;
    int32_t step;  /* bytes from a window to the next */
    int32_t pixel; /* bytes from an output to the next */
    int8_t *end;   /* y behind the last output */
    /* four start values, the weights of all quads, and four d (not with relu), c and m, or m and c with relu */
    const int32_t *w;
    int32_t times;
} nncc_dsp_depthwise_pairs;

/* relu: no negative sum survives the clamp; times: outputs of a pixel lie apart. c has 128 << 16 more. */
typedef void nncc_dsp_depthwise_pairs_fn(const nncc_dsp_depthwise_pairs *f);
/* KERNELS(dsp_depthwise_pairs) */

/*
 * Any window up to eight columns wide, in_c >= 4; requantised as in nncc_dsp_depthwise_3x3_s8. The rows that some rows
 * of outputs read become quads of two rows, [pair][column]. Dilated columns stand side by side, and rows of outputs go
 * together whose windows share rows.
 *
 * w holds, for each of the input channels in groups of four, the last of which may overlap the one before, `times`
 * groups of outputs; a group is the weights for windows that begin with the first row of a pair and, where down is odd,
 * for those that begin with the second one. scratch: 1 word and the quads.
 */
typedef struct
{
    int32_t batches, in_h, in_w;
    int32_t in_c, channels; /* channels: of the output */
    int32_t times;          /* outputs of a channel */
    int32_t out_h, out_w;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t pad_h, pad_w; /* above and left */
    int32_t dil_h, dil_w;
    int32_t pad;                /* value of the padding: the input's zero point */
    int32_t phases_h, phases_w; /* dil_h / gcd(dil_h, stride_h), and the same of widths */
    int32_t down;               /* rows of a window from an output to the one below */
    int32_t rows;               /* of outputs at a time */
    int32_t span;               /* columns of the output at a time: a multiple of phases_w, or all */
    int32_t width;              /* columns of every residue by dil_w */
    int32_t quads_bytes;
    int32_t even_words, group_words; /* of weights: those of the first kind, and all of a group */
    uint32_t low, cap;               /* as in nncc_dsp_matmul_params */
} nncc_dsp_depthwise_pairs_params;
/* KERNELS(nncc_dsp_depthwise_pairs_s8) */

/* The same for windows of one row, whose quads are two neighbours in the window, in `turns` runs of `taps`. */
typedef struct
{
    int32_t batches, in_h, in_w;
    int32_t in_c, channels;
    int32_t times;
    int32_t out_h, out_w;
    int32_t kernel_w;
    int32_t stride_h, stride_w;
    int32_t pad_h, pad_w;
    int32_t dil_w;
    int32_t pad;
    int32_t phases_w;
    int32_t down; /* columns of a window from an output to the next one of its phase */
    int32_t span; /* outputs of a phase at a time, even or all */
    int32_t taps, turns;
    int32_t quads_bytes;
    int32_t even_words, group_words;
    uint32_t low, cap;
} nncc_dsp_depthwise_line_params;
/* KERNELS(nncc_dsp_depthwise_line_s8) */

/* Outputs of four channels with three taps, at x and so many bytes from there. The assembly has the offsets. */
typedef struct
{
    /* four start values, the weights of two taps, words of a channel, those of the third, words (w0, w2) and (w1, w3),
     * and the scales as in nncc_dsp_depthwise_pairs */
    const int32_t *w;
    int32_t second, third;
    int32_t step;  /* bytes from a window to the next */
    int32_t pixel; /* bytes from an output to the next */
    int8_t *end;   /* y behind the last output */
    int8_t *y;
    const int8_t *x;
} nncc_dsp_depthwise_few;

typedef void nncc_dsp_depthwise_few_fn(const nncc_dsp_depthwise_few *f);
/* KERNELS(dsp_depthwise_few) */

/*
 * Windows of two or three taps, an output an input channel, at least 4; requantised as in nncc_dsp_depthwise_3x3_s8. w
 * holds the groups of four channels, the last of which may overlap the one before; the third tap of two has weights of
 * zero. scratch: pad_bytes, in one array with x.
 */
typedef struct
{
    int32_t batches, in_h, in_w;
    int32_t channels;
    int32_t out_h, out_w;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t pad_h, pad_w; /* above and left */
    int32_t dil_h, dil_w;
    int32_t pad;       /* value of the padding: the input's zero point */
    int32_t span;      /* outputs of a row at a time, at most */
    int32_t pad_bytes; /* of what so many windows read */
    int32_t group_words;
    uint32_t low, cap; /* as in nncc_dsp_matmul_params */
} nncc_dsp_depthwise_few_params;
/* KERNELS(nncc_dsp_depthwise_few_s8) */

typedef struct
{
    int32_t taps;     /* at least 2; without the DSP extension 1 */
    int32_t channels; /* at least 4 */
    uint32_t low, cap;
    int32_t lanes; /* as in nncc_dsp_matmul_params */
} nncc_dsp_depthwise_pixel_params;

/* One pixel of a depthwise layer: tap t of channel c is x[offsets[t] + c]; w packed, y [channels]. */
typedef void nncc_dsp_depthwise_pixel_fn(const nncc_dsp_depthwise_pixel_params *p, const int32_t *offsets,
                                         const int32_t *w, const int8_t *x, int8_t *y);
/* KERNELS(nncc_dsp_depthwise_pixel_s8) */
/* The same for cores without the DSP extension: w holds 4 bytes a tap, not doubled, start values neither. */
/* KERNELS(nncc_plain_depthwise_pixel_s8) */

/*
 * Any window. w holds per group 4 start values (of twice the sum), the weights of its taps by twos, doubled, a word a
 * channel, an odd tap in front of them as the words (w0, w2) and (w1, w3) of its channels, and {m, c, s} of each
 * channel, the output above low. The groups are of the first outputs of all input channels, then of the second ones.
 * scratch, in one array with x: 2 * taps words, for taps = kernel_h * kernel_w, then pad_bytes, with more channels than
 * in_c or fewer than 4 as many again, with fewer than 4 also taps * in_c + 3 bytes.
 */
/* KERNELS(nncc_dsp_depthwise_s8) */

/*
 * int16 with 8-bit weights, any window, an output an input channel, at least 4; the sums stay in 32 bits and are
 * requantised as those of nncc_dsp_matmul_4rows_shift_s16. Taps outside of the image are left out. w holds for every
 * four channels, the last ones again where they are no multiple of 4, 4 start values, a word of 4 bytes a tap, and {m,
 * c, s} of each channel. Cores without the DSP extension have it, too.
 *
 * nncc_dsp_depthwise_multiplier_s16 has several outputs an input channel, the ones of a channel side by side. Two words
 * stand in front of a group's start values: the byte of a pixel at which the input of its first output is, and the
 * number of its outputs that have the same one; the others have the next one.
 */
typedef struct
{
    int32_t batches, in_h, in_w, in_c;
    int32_t out_h, out_w;
    int32_t channels; /* of the output, at least 4 */
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t pad_h, pad_w; /* above and left */
    int32_t dil_h, dil_w;
    int32_t act_min, act_max;
    int32_t out_pitch, out_row, out_image; /* bytes from a pixel, row, image of the output to the next */
} nncc_dsp_depthwise16_params;

/* KERNELS(nncc_dsp_depthwise_s16) */
/* KERNELS(nncc_dsp_depthwise_multiplier_s16) */

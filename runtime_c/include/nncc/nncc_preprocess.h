/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_preprocess.h: what cameras and microphones give as inputs of a model, in integers. ir/preprocess of nncc defines
 * every number: files on a host, calibration and these kernels give the same tensor, bit for bit. out
 * is the input of the model that is written.
 */
#include "nncc.h"

/*
 * How frames of one size become one input. Positions along the part of the frame that is read are in 1/65536 of a
 * pixel, start + i * step for pixel i of the window at_* of the input, from 0 to last.
 */
typedef struct
{
    int32_t row_bytes;       /* of the frame */
    int32_t crop_x, crop_y;  /* the first pixel that is read */
    int32_t start_x, step_x; /* across */
    int32_t last_x;
    int32_t start_y, step_y; /* down */
    int32_t last_y;
    int32_t at_x, at_y; /* where pixels go; the rest of the input is the table's entry of pad */
    int32_t at_width, at_height;
    int32_t width, height;      /* of the input */
    int32_t stride_x, stride_y; /* elements between neighbours of the input */
    int32_t channels;           /* 1: grey, 3: red, green, blue */
    int32_t place[3];           /* of each channel: its offset in the input, */
    int32_t table[3];           /* and that of its 256 entries in the table */
    int32_t pad;
    int32_t mix;            /* 0: the nearest pixel; 1: between four pixels */
    int32_t yuv_offset;     /* of Y; the factors below are in 1/256 */
    int32_t yuv_y, yuv_rv;  /* red = y * (Y - offset) + rv * (V - 128), */
    int32_t yuv_gu, yuv_gv; /* green = y * (Y - offset) - gu * (U - 128) - gv * (V - 128), */
    int32_t yuv_bu;         /* blue = y * (Y - offset) + bu * (U - 128) */
} nncc_image_params;

/*
 * Reads a frame, rows without gaps, in the format of the kernel's name: rgb888, bgr888 (three bytes), rgb565 (16 bits,
 * low byte first), rgb565be (high byte first), yuyv, uyvy (two pixels in four bytes), grey8. A pixel is 8 bits for each
 * channel, mixed and rounded once; out takes what the table has for it.
 */
/* KERNELS(image) */

/* How samples of 16 bits become one input: frames of window samples, hop samples apart. */
typedef struct
{
    int32_t length; /* samples, (frames - 1) * hop + window */
    int32_t frames, window, hop;
    int32_t low, high; /* of the input's type */
    int32_t zero;      /* the input's zero point, */
    float step;        /* its scale, */
    float scale;       /* and what a sample is worth */
} nncc_sound_params;

/*
 * samples [length] is a ring that begins at index at: 0 for samples in a row. An input of 8 bits is read from steps
 * [256]: entry i is the smallest sample that gives the value low + i. One of 16 bits is saturate(round_half_even(sample
 * * scale / step) + zero) in float32, one of floats sample * scale.
 */
/* KERNELS(nncc_sound_u8) */
/* KERNELS(nncc_sound_s16) */
/* KERNELS(nncc_sound_f32) */

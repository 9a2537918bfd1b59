#include "nncc_helium_depthwise.h"

/* What the pixels of a block share; the assembly has the offsets. */
typedef struct
{
    int32_t act_min; /* 0 */
    int32_t act_max; /* 4 */
    int32_t zero;    /* 8 */
    int32_t lanes;   /* 12 */
    int32_t pairs;   /* 16: of taps */
    int32_t pitch;   /* 20: output channels */
    int32_t next;    /* 24: bytes in scratch from an output pixel to the next */
} nncc_helium_frame;

#if NNCC_HELIUM_MVE

static void nncc_helium_row(const nncc_helium_frame *f, const int16_t *scratch, const int8_t *record,
                            const int32_t *offsets, int8_t *y, int32_t pixels)
{
    NNCC_REG(int8_t *, to, "r1", y);
    NNCC_REG(const int16_t *, x, "r3", scratch);
    NNCC_REG(const nncc_helium_frame *, frame, "r6", f);
    NNCC_REG(const int8_t *, rec, "r8", record);
    NNCC_REG(const int32_t *, tab, "r9", offsets);
    NNCC_REG(int32_t, n, "r10", pixels);

    /* clang-format off */
    __asm volatile("ldrd r0, r2, [%[f]]\n\t"
                   "vdup.16 q6, r0\n\t"
                   "vdup.16 q7, r2\n\t"
                   "ldrd r0, r2, [%[f], #8]\n\t"
                   "vdup.16 q3, r0\n\t"
                   "vctp.16 r2\n\t"
                   "ldrd r11, r12, [%[f], #16]\n"
                   "1:\n\t"
                   "add r0, %[record], #96\n\t"
                   "mov r2, %[offsets]\n\t"
                   "vldrw.32 q4, [%[record]]\n\t"
                   "vldrw.32 q5, [%[record], #16]\n\t"
                   "dls lr, r11\n"
                   "2:\n\t"
                   "ldrd r4, r5, [r2], #8\n\t"
                   "add r4, r4, %[x]\n\t"
                   "add r5, r5, %[x]\n\t"
                   "vldrh.16 q0, [r4]\n\t"
                   "vldrb.s16 q1, [r0], #8\n\t"
                   "vmul.i16 q0, q0, q1\n\t"
                   "vldrh.16 q2, [r5]\n\t"
                   "vldrb.s16 q1, [r0], #8\n\t"
                   "vmul.i16 q2, q2, q1\n\t"
                   "vadd.i16 q0, q0, q2\n\t"
                   "vmovlb.s16 q1, q0\n\t"
                   "vmovlt.s16 q0, q0\n\t"
                   "vadd.i32 q4, q4, q1\n\t"
                   "vadd.i32 q5, q5, q0\n\t"
                   "le lr, 2b\n\t"
                   "vldrw.32 q0, [%[record], #32]\n\t"
                   "vldrw.32 q1, [%[record], #48]\n\t"
                   "vqrdmulh.s32 q4, q4, q0\n\t"
                   "vqrdmulh.s32 q5, q5, q1\n\t"
                   NNCC_ROUND_ALL(q4, q0) NNCC_ROUND_ALL(q5, q1)
                   "vldrw.32 q0, [%[record], #64]\n\t"
                   "vldrw.32 q1, [%[record], #80]\n\t"
                   "vrshl.s32 q4, q4, q0\n\t"
                   "vrshl.s32 q5, q5, q1\n\t"
                   "vqmovnb.s32 q4, q4\n\t"
                   "vqmovnt.s32 q4, q5\n\t"
                   "vqadd.s16 q4, q4, q3\n\t"
                   "vmax.s16 q4, q4, q6\n\t"
                   "vmin.s16 q4, q4, q7\n\t"
                   "vpst\n\t"
                   "vstrbt.16 q4, [%[y]]\n\t"
                   "ldr r4, [%[f], #24]\n\t"
                   "add %[y], %[y], r12\n\t"
                   "add %[x], %[x], r4\n\t"
                   "subs %[n], %[n], #1\n\t"
                   "bne 1b\n\t"
                   : [y] "+r"(to), [x] "+r"(x), [n] "+r"(n)
                   : [f] "r"(frame), [record] "r"(rec), [offsets] "r"(tab)
                   : "r0", "r2", "r4", "r5", "r11", "r12", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7",
                     "cc", "memory");
    /* clang-format on */
}

#else

static void nncc_helium_row(const nncc_helium_frame *f, const int16_t *scratch, const int8_t *record,
                            const int32_t *offsets, int8_t *y, int32_t pixels)
{
    const int8_t *w = record + NNCC_DW_HEAD;
    int32_t head[NNCC_DW_HEAD / 4];
    int32_t i;
    int32_t c;
    int32_t t;

    memcpy(head, record, sizeof head);
    for (i = 0; i < pixels; i++) {
        for (c = 0; c < f->lanes; c++) {
            int32_t at = c / 2 + c % 2 * 4; /* even channels first */
            uint32_t acc = (uint32_t)head[at];

            for (t = 0; t < 2 * f->pairs; t++) {
                acc += (uint32_t)(scratch[(i * f->next + offsets[t]) / 2 + c] * w[t * NNCC_HELIUM_LANES + c]);
            }
            y[i * f->pitch + c] = nncc_rq_s8(acc, head[8 + at], head[16 + at], f->zero, f->act_min, f->act_max);
        }
    }
}

#endif

void nncc_helium_depthwise_s8(const nncc_helium_depthwise_params *p, const int8_t *x, const int8_t *packed,
                              const int32_t *offsets, int16_t *scratch, int8_t *y)
{
    const nncc_helium_depthwise_3x3_params *d = &p->at;
    int32_t record =
        NNCC_DW_HEAD + (NNCC_HELIUM_LANES * p->taps + NNCC_HELIUM_BYTES - 1) / NNCC_HELIUM_BYTES * NNCC_HELIUM_BYTES;
    int32_t channels = d->in_c * d->multiplier;
    nncc_helium_frame f;
    nncc_dw_block b;
    int32_t n;
    int32_t oy;
    int32_t k;

    f.act_min = d->act_min;
    f.act_max = d->act_max;
    f.zero = d->zero;
    f.pairs = p->taps / 2;
    f.pitch = channels;
    f.next = 2 * NNCC_HELIUM_LANES * p->stride_w;
    b.width = p->width;
    b.inside = b.width - d->pad_left < d->in_w ? b.width - d->pad_left : d->in_w;
    nncc_widen_fill(scratch, d->in_zero, p->kernel_h * b.width);
    for (b.first = 0; b.first < channels; b.first += NNCC_HELIUM_LANES) {
        b.lanes = channels - b.first < NNCC_HELIUM_LANES ? channels - b.first : NNCC_HELIUM_LANES;
        f.lanes = b.lanes;
        for (n = 0; n < d->batch; n++) {
            for (oy = 0; oy < d->out_h; oy++) {
                for (k = 0; k < p->kernel_h && b.inside > 0; k++) {
                    nncc_dw_fill(d, &b, x + n * d->in_h * d->in_w * d->in_c,
                                 oy * d->stride_h - d->pad_top + k * p->dilation_h,
                                 scratch + k * b.width * NNCC_HELIUM_LANES);
                }
                nncc_helium_row(&f, scratch, packed, offsets, y + (n * d->out_h + oy) * d->out_w * channels + b.first,
                                d->out_w);
            }
        }
        packed += record;
    }
}

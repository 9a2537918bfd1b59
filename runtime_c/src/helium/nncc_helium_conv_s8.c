/* nncc_helium_conv_s8: convolution by patches of a few pixels. */
#include "nncc_helium_copy.h"
#include "nncc_helium_record.h"

/* Where a patch begins: an image of the batch, the first channel of a group, and its upper left corner. */
typedef struct {
    const int8_t *image;
    int32_t channels;
    int32_t top;
    int32_t left;
} nncc_patch;

/* The taps of one dimension that meet the image: [first, last). */
typedef struct {
    int32_t first;
    int32_t last;
} nncc_taps;

static inline nncc_taps nncc_patch_taps(int32_t start, int32_t taps, int32_t dilation, int32_t size)
{
    nncc_taps t;

    t.first = start >= 0 ? 0 : (dilation == 1 ? -start : (-start + dilation - 1) / dilation);
    t.last = start + (taps - 1) * dilation < size ? taps : (size - start <= 0 ? 0 : (size - start + dilation - 1) / dilation);
    return t;
}

/*
 * Rows of taps that are neighbours in memory are copied as one run, otherwise one column of taps after the other. What sticks
 * out is filled beforehand.
 */
static void nncc_patch_write(const nncc_helium_conv *p, const nncc_patch *a, int8_t *to)
{
    nncc_taps y = nncc_patch_taps(a->top, p->kernel_h, p->dilation_h, p->in_h);
    nncc_taps x = nncc_patch_taps(a->left, p->kernel_w, p->dilation_w, p->in_w);
    int32_t c = a->channels;
    int32_t pitch = p->in_w * p->in_c;
    const int8_t *from;
    nncc_rows r;

    r.from_step = p->dilation_h * pitch;
    r.to_step = p->kernel_w * c;
    r.rows = y.last - y.first;
    if (r.rows < p->kernel_h || x.last - x.first < p->kernel_w) {
        nncc_helium_fill(to, p->in_zero, p->kernel_h * r.to_step);
        if (r.rows <= 0 || x.last <= x.first) {
            return;
        }
    }
    from = a->image + (a->top + y.first * p->dilation_h) * pitch + (a->left + x.first * p->dilation_w) * p->in_c;
    to += y.first * r.to_step + x.first * c;
    if (c == p->in_c && p->dilation_w == 1) {
        r.n = (x.last - x.first) * c;
        nncc_helium_gather(to, from, &r);
        return;
    }
    r.n = c;
    for (; x.first < x.last; x.first++) {
        nncc_helium_gather(to, from, &r);
        from += p->dilation_w * p->in_c;
        to += c;
    }
}

void nncc_helium_conv_s8(const nncc_helium_conv *p, const int8_t *x, const int8_t *packed, int8_t *scratch, int8_t *y,
                         nncc_helium_dot_fn *dot)
{
    int32_t row = NNCC_HELIUM_BYTES * p->mac.vectors;
    int32_t records = (p->mac.channels + 3) / 4 * nncc_record_bytes(p->mac.vectors);
    int32_t pixels = p->batch * p->out_h * p->out_w;
    int32_t g;

    for (g = 0; g < p->groups; g++) {
        nncc_patch a;
        int32_t ox = 0;
        int32_t oy = 0;
        int32_t held = 0;
        int32_t i;

        a.channels = p->in_c / p->groups;
        a.image = x + g * a.channels;
        for (i = 0; i < pixels; i++) {
            if (held == 0 && i == pixels - 1 && p->block > 1) {
                /* The kernel wants two rows: the pixel before, still in the last place, is computed again. */
                nncc_helium_copy(scratch, scratch + (p->block - 1) * row, row);
                held = 1;
            }
            a.top = oy * p->stride_h - p->pad_top;
            a.left = ox * p->stride_w - p->pad_left;
            nncc_patch_write(p, &a, scratch + held * row);
            held++;
            if (++ox == p->out_w) {
                ox = 0;
                if (++oy == p->out_h) {
                    oy = 0;
                    a.image += p->in_h * p->in_w * p->in_c;
                }
            }
            if (held == p->block || i == pixels - 1) {
                dot(&p->mac, scratch, packed, y + (i + 1 - held) * p->mac.pitch, held);
                held = 0;
            }
        }
        packed += records;
        y += p->mac.channels;
    }
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_helium_windows.h: nncc_helium_depthwise_window*_s8 without assembly. */
#include "nncc_helium_core.h"

#if NNCC_HELIUM_MVE && !NNCC_HELIUM_ASM

/* Four windows of a channel. */
static inline int32x4_t nncc_window_four(const nncc_helium_windows *f, int32_t vectors, const int8_t *x)
{
    const int8_t *x1 = x + f->step, *x2 = x1 + f->step, *x3 = x2 + f->step, *w = f->record + NNCC_HELIUM_BYTES;
    int32_t a = 0, b = 0, c = 0, d = 0;

    for (int32_t k = 0; k < NNCC_HELIUM_BYTES * vectors; k += NNCC_HELIUM_BYTES) {
        const int8x16_t q = nncc_weights(w + k);

        a = vmladavaq_s8(a, vldrbq_s8(x + k), q);
        b = vmladavaq_s8(b, vldrbq_s8(x1 + k), q);
        c = vmladavaq_s8(c, vldrbq_s8(x2 + k), q);
        d = vmladavaq_s8(d, vldrbq_s8(x3 + k), q);
    }
    return nncc_four(a, b, c, d);
}

static inline void nncc_window_each(nncc_helium_windows *f, int32_t vectors)
{
    const int32x4_t lo = vdupq_n_s32(f->act_min), hi = vldrwq_s32(f->hi);
    const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)f->next / 4);

    for (; f->channels > 0; f->channels--) {
        int32_t head[3]; /* bias, multiplier, shift */

        memcpy(head, f->record, sizeof head);
        for (int32_t r = 0; r < f->rows; r++) {
            const int8_t *x = f->x + r * f->row;
            int8_t *y = f->y + r * f->line;

            for (int32_t left = 4 * f->fours + f->rest; left > 0; left -= 4) {
                int32x4_t v = nncc_window_four(f, vectors, x);

                v = vqrdmulhq_n_s32(vaddq_n_s32(v, head[0]), head[1]);
                v = vaddq_n_s32(vrshlq_n_s32(NNCC_ROUND_ALL(v), head[2]), f->zero);
                v = vminq_s32(vmaxq_s32(v, lo), hi);
                vstrbq_scatter_offset_p_s32(y, places, v, vctp32q((uint32_t)left));
                x += 4 * f->step;
                y += f->next;
            }
        }
        f->record += NNCC_HELIUM_BYTES * (1 + vectors);
        f->x += f->plane;
        f->y++;
    }
}

#elif !NNCC_HELIUM_MVE

static inline void nncc_window_each(nncc_helium_windows *f, int32_t vectors)
{
    for (; f->channels > 0; f->channels--) {
        int32_t head[3];

        memcpy(head, f->record, sizeof head);
        for (int32_t r = 0; r < f->rows; r++) {
            for (int32_t i = 0; i < 4 * f->fours + f->rest; i++) {
                const int8_t *x = f->x + r * f->row + i * f->step;
                uint32_t acc = (uint32_t)head[0];

                for (int32_t t = 0; t < NNCC_HELIUM_BYTES * vectors; t++) {
                    acc += (uint32_t)(x[t] * f->record[NNCC_HELIUM_BYTES + t]);
                }
                f->y[r * f->line + i * (f->next / 4)] =
                    nncc_rq_s8(acc, head[1], head[2], f->zero, f->act_min, f->hi[0]);
            }
        }
        f->record += NNCC_HELIUM_BYTES * (1 + vectors);
        f->x += f->plane;
        f->y++;
    }
}

#endif

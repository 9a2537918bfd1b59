/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_helium_windows.h: the portable body of nncc_helium_depthwise_window*_s8. */
#include "nncc_helium_core.h"

#if NNCC_HELIUM_MVE && !NNCC_HELIUM_ASM

/* Four sums of a channel as output values; head: bias, multiplier, shift. */
#define NNCC_WINDOW_SCALED(v, round) \
    do { \
        v = vqrdmulhq_n_s32(vaddq_n_s32(v, head[0]), head[1]); \
        v = vaddq_n_s32(vrshlq_n_s32(round(v), head[2]), zero); \
        v = vminq_s32(vmaxq_s32(v, lo), hi); \
    } while (0)

/* Where four neighbouring results go. */
static inline uint32x4_t nncc_window_places(const nncc_helium_windows *f)
{
    return vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)f->next / 4);
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

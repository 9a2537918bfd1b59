/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_resize_blend16.h: two rows of the input blended into one of 16-bit values, for weights in 256ths. */
#include "nncc_isa.h"
#include "nncc_mve.h"
#include "nncc_resize_linear.h"

#if NNCC_MVE && !(NNCC_MVE && NNCC_ASM)
#define NNCC_RESIZE_BLEND16(what, row) \
    do { \
        NNCC_PUTH##what(row, \
                        vmlaq_n_s16(vmulq_n_s16(NNCC_GET8##what(a), (int16_t)wa), NNCC_GET8##what(b), (int16_t)wb)); \
        a += 8; \
        b += 8; \
        row += 8; \
    } while (0)
#endif

static NNCC_RESIZE_APART void nncc_resize_blend16(const int8_t *a, const int8_t *b, int32_t wa, int32_t wb,
                                                  int16_t *row, int32_t n)
{
#if NNCC_MVE && NNCC_ASM
    __asm volatile("wlstp.16 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.s16 q0, [%[a]], #8\n\t"
                   "vldrb.s16 q1, [%[b]], #8\n\t"
                   "vmul.i16 q0, q0, %[wa]\n\t"
                   "vmla.s16 q0, q1, %[wb]\n\t"
                   "vstrh.16 q0, [%[row]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [a] "+l"(a), [b] "+l"(b), [row] "+l"(row)
                   : [n] "r"(n), [wa] "r"(wa), [wb] "r"(wb)
                   : "lr", "q0", "q1", "cc", "memory");
#elif NNCC_MVE
    NNCC_MVE_LOOP(n, 8, vctp16q, NNCC_RESIZE_BLEND16, row);
#else
    for (; n > 0; n--) {
        *row++ = (int16_t)(*a++ * wa + *b++ * wb);
    }
#endif
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_isa.h"
#include "nncc_s8.h"

#if NNCC_MVE && NNCC_ASM

/*
 * 16 elements in 4 instructions, a load, a gather of bytes and a store among them. The gather takes the core a beat an
 * element or so, which is still less than a load of the index, one of the entry and a store.
 */
void nncc_lut_s8(const nncc_count_params *p, const void *x, const void *table, void *y)
{
    __asm volatile("wlstp.8 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[x]], #16\n\t"
                   "vldrb.u8 q1, [%[t], q0]\n\t"
                   "vstrb.8 q1, [%[y]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [x] "+r"(x), [y] "+r"(y)
                   : [n] "r"(p->count), [t] "r"(table)
                   : "lr", "q0", "q1", "cc", "memory");
}

#elif NNCC_MVE

#include <arm_mve.h>

void nncc_lut_s8(const nncc_count_params *p, const void *x, const void *table, void *y)
{
    const uint8_t *from = (const uint8_t *)x, *const t = (const uint8_t *)table;
    uint8_t *to = (uint8_t *)y;
    int32_t n = p->count;

    for (; n >= 16; n -= 16) {
        vstrbq_u8(to, vldrbq_gather_offset_u8(t, vldrbq_u8(from)));
        from += 16;
        to += 16;
    }
    if (n > 0) {
        const mve_pred16_t rest = vctp8q((uint32_t)n);

        vstrbq_p_u8(to, vldrbq_gather_offset_z_u8(t, vldrbq_z_u8(from, rest), rest), rest);
    }
}

#else

#define NNCC_LUT_FOUR(i) \
    do { \
        const uint32_t a = t[from[i]], b = t[from[(i) + 1]], c = t[from[(i) + 2]], d = t[from[(i) + 3]]; \
\
        to[i] = (uint8_t)a; \
        to[(i) + 1] = (uint8_t)b; \
        to[(i) + 2] = (uint8_t)c; \
        to[(i) + 3] = (uint8_t)d; \
    } while (0)

/* 8 elements in 24 instructions and the loop: the loads of a half wait for each other's results together. */
void nncc_lut_s8(const nncc_count_params *p, const void *x, const void *table, void *y)
{
    const uint8_t *from = (const uint8_t *)x;
    const uint8_t *t = (const uint8_t *)table;
    uint8_t *to = (uint8_t *)y;
    int32_t n = p->count;

    for (; n >= 8; n -= 8) {
        NNCC_LUT_FOUR(0);
        NNCC_LUT_FOUR(4);
        from += 8;
        to += 8;
    }
    for (; n > 0; n--) {
        *to++ = t[*from++];
    }
}

#endif

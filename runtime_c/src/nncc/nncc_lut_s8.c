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

/* 8 elements in 24 instructions and the loop: the loads of a half wait for each other's results together. */
void nncc_lut_s8(const nncc_count_params *p, const void *x, const void *table, void *y)
{
    const uint8_t *from = (const uint8_t *)x;
    const uint8_t *t = (const uint8_t *)table;
    uint8_t *to = (uint8_t *)y;
    int32_t n = p->count;

    for (; n >= 8; n -= 8) {
        uint32_t a = from[0], b = from[1], c = from[2], d = from[3];

        a = t[a];
        b = t[b];
        c = t[c];
        d = t[d];
        to[0] = (uint8_t)a;
        to[1] = (uint8_t)b;
        to[2] = (uint8_t)c;
        to[3] = (uint8_t)d;
        a = from[4];
        b = from[5];
        c = from[6];
        d = from[7];
        a = t[a];
        b = t[b];
        c = t[c];
        d = t[d];
        to[4] = (uint8_t)a;
        to[5] = (uint8_t)b;
        to[6] = (uint8_t)c;
        to[7] = (uint8_t)d;
        from += 8;
        to += 8;
    }
    for (; n > 0; n--) {
        *to++ = t[*from++];
    }
}

#endif

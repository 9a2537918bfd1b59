/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_dsp_add_s8: one table look-up an operand, one multiplication a sum. */
#include "nncc_dsp_core.h"

void nncc_dsp_add_s8(const nncc_dsp_add_params *p, const int8_t *a, const int8_t *b, const int32_t *ta,
                     const int32_t *tb, int8_t *y)
{
    const int32_t mcs[3] = {p->m, p->c, p->s};
    int32_t n = p->count;

#if NNCC_DSP_ASM
    for (; n >= 4; n -= 4) {
        const uint32_t va = (uint32_t)nncc_dsp_load4(a), vb = (uint32_t)nncc_dsp_load4(b);
        int32_t s0 = ta[va & 255u] + tb[vb & 255u], s1 = ta[(va >> 8) & 255u] + tb[(vb >> 8) & 255u];
        int32_t s2 = ta[(va >> 16) & 255u] + tb[(vb >> 16) & 255u], s3 = ta[va >> 24] + tb[vb >> 24];
        int32_t t;

        __asm volatile("add %[t], %[c], %[s0], asr #31\n smmlar %[s0], %[s0], %[m], %[t]\n asr %[s0], %[s0], %[s]\n"
                       "add %[t], %[c], %[s1], asr #31\n smmlar %[s1], %[s1], %[m], %[t]\n asr %[s1], %[s1], %[s]\n"
                       "add %[t], %[c], %[s2], asr #31\n smmlar %[s2], %[s2], %[m], %[t]\n asr %[s2], %[s2], %[s]\n"
                       "add %[t], %[c], %[s3], asr #31\n smmlar %[s3], %[s3], %[m], %[t]\n asr %[s3], %[s3], %[s]\n"
                       "pkhbt %[s0], %[s0], %[s2], lsl #16\n pkhbt %[s1], %[s1], %[s3], lsl #16\n"
                       "usat16 %[s0], #8, %[s0]\n usat16 %[s1], #8, %[s1]\n orr %[s0], %[s0], %[s1], lsl #8\n"
                       : [s0] "+r"(s0), [s1] "+r"(s1), [s2] "+r"(s2), [s3] "+r"(s3), [t] "=&r"(t)
                       : [m] "r"(mcs[0]), [c] "r"(mcs[1]), [s] "r"(mcs[2]));
        __asm volatile("uqadd8 %[v], %[v], %[c]\n uqsub8 %[v], %[v], %[c]\n uadd8 %[v], %[v], %[l]\n"
                       : [v] "+r"(s0)
                       : [c] "r"(p->cap), [l] "r"(p->low));
        memcpy(y, &s0, sizeof s0);
        a += 4;
        b += 4;
        y += 4;
    }
#elif NNCC_DSP_ACLE
    const uint32_t cap = p->cap, bias = nncc_dsp_bias(p->low, cap);

    for (; n >= 4; n -= 4) {
        const uint32_t va = (uint32_t)nncc_dsp_load4(a), vb = (uint32_t)nncc_dsp_load4(b);
        uint32_t v =
            nncc_dsp_bytes(nncc_dsp_scaled(ta[va & 255u] + tb[vb & 255u], mcs[0], mcs[1], mcs[2]),
                           nncc_dsp_scaled(ta[(va >> 8) & 255u] + tb[(vb >> 8) & 255u], mcs[0], mcs[1], mcs[2]),
                           nncc_dsp_scaled(ta[(va >> 16) & 255u] + tb[(vb >> 16) & 255u], mcs[0], mcs[1], mcs[2]),
                           nncc_dsp_scaled(ta[va >> 24] + tb[vb >> 24], mcs[0], mcs[1], mcs[2]));

        v = nncc_dsp_clamped(v, bias, cap);
        memcpy(y, &v, sizeof v);
        a += 4;
        b += 4;
        y += 4;
    }
#endif
    for (; n > 0; n--) {
        *y++ = nncc_dsp_clamp(nncc_dsp_scale(ta[(uint8_t)*a] + tb[(uint8_t)*b], mcs, 1), p->low, p->cap);
        a++;
        b++;
    }
}

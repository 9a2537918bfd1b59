/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_helium_matmul_s16.h"

#if NNCC_HELIUM_ASM

/* The vector in q0 with the weights of 4 channels. */
#define NNCC_ROW16_MAC(acc) "vldrb.s16 q1,[%[w]],#8\nvmladava.s16 " acc ",q1,q0\n"
#define NNCC_ROW16_MACS NNCC_ROW16_MAC("r0") NNCC_ROW16_MAC("r2") NNCC_ROW16_MAC("r4") NNCC_ROW16_MAC("r6")

/* One row with the 4 channels of a record; y has room for 4. */
static void nncc_row16(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *record, int8_t *y)
{
    NNCC_REG(const int8_t *, from, "r1", x);
    NNCC_REG(const int8_t *, w, "r3", record);
    NNCC_REG(int8_t *, to, "r5", y);
    NNCC_REG(int32_t, tail, "r8", p->tail / 2);
    NNCC_REG(const nncc_helium_matmul_params *, mac, "r9", p);
    NNCC_REG(int32_t, full, "r11", p->vectors - 1);

    /* clang-format off */
    __asm volatile("vldrw.32 q5,[%[w]],#16\n"
                   "vldrw.32 q6,[%[w]],#16\n"
                   "vldrw.32 q7,[%[w]],#16\n"
                   "mov r0,#0\n"
                   "mov r2,#0\n"
                   "mov r4,#0\n"
                   "mov r6,#0\n"
                   "wls lr,%[n],2f\n"
                   "1:\n"
                   "vldrh.16 q0,[%[x]],#16\n"
                   NNCC_ROW16_MACS
                   "le lr,1b\n"
                   "2:\n"
                   "vctp.16 %[tail]\n"
                   "vpst\n"
                   "vldrht.16 q0,[%[x]]\n"
                   NNCC_ROW16_MACS
                   "vmov q0[2],q0[0],r0,r4\n"
                   "vmov q0[3],q0[1],r2,r6\n"
                   "ldrd r0,r2,[%[p],#8]\n"
                   "vdup.32 q3,r0\n"
                   "vdup.32 q4,r2\n"
                   NNCC_DOT16_OUTPUT(q0)
                   "vstrh.32 q0,[%[y]]\n"
                   : [x] "+r"(from), [w] "+r"(w)
                   : [y] "r"(to), [p] "r"(mac), [n] "r"(full), [tail] "r"(tail)
                   : "r0", "r2", "r4", "r6", "lr", "q0", "q1", "q3", "q4", "q5", "q6", "q7", "cc", "memory");
    /* clang-format on */
}

#elif NNCC_HELIUM_MVE

/* What the pointer to weights is biased by: GCC would copy it for an offset of 0 and move the copy. */
#define NNCC_ROW16_BIAS 8
/* The vector u with the weights of 4 channels at w, less the bias. */
#define NNCC_ROW16_VECTOR(u) \
    do { \
        a = vmladavaq_s16(a, vldrbq_s16(w + NNCC_ROW16_BIAS), u); \
        b = vmladavaq_s16(b, vldrbq_s16(w + NNCC_ROW16_BIAS + 8), u); \
        c = vmladavaq_s16(c, vldrbq_s16(w + NNCC_ROW16_BIAS + 16), u); \
        d = vmladavaq_s16(d, vldrbq_s16(w + NNCC_ROW16_BIAS + 24), u); \
    } while (0)

/* One row with the 4 channels of a record; y has room for 4. */
NNCC_MVE_IN_ORDER static void nncc_row16(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *record,
                                         int8_t *y)
{
    const int8_t *w = record + NNCC_RECORD16_HEAD - NNCC_ROW16_BIAS;
    int32_t a = 0, b = 0, c = 0, d = 0;
    int16x8_t u;
    NNCC_DOT16_HEAD(p, record);

    for (int32_t k = p->vectors - 1; k > 0; k--) {
        u = nncc_inputs16(x);
        x += NNCC_HELIUM_BYTES;
        NNCC_ROW16_VECTOR(u);
        w += NNCC_RECORD16_VECTOR;
    }
    u = vldrhq_z_s16((const int16_t *)(const void *)x, vctp16q((uint32_t)p->tail / 2));
    NNCC_ROW16_VECTOR(u);
    NNCC_DOT16_OUTPUT(nncc_four(a, b, c, d), y);
}

#else

static void nncc_row16(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *record, int8_t *y)
{
    nncc_record16_row(p, x, 8 * (p->vectors - 1) + p->tail / 2, record, y);
}

#endif

void nncc_helium_matmul_1row_s16(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y,
                                 int32_t rows)
{
    const int32_t bytes = nncc_record16_bytes(p->vectors);
    int32_t c;

    for (; rows > 0; rows--) {
        const int8_t *record = packed;

        if (p->channels < 4) {
            int8_t four[8];

            nncc_row16(p, x, record, four);
            memcpy(y, four, 2 * (size_t)p->channels);
        }
        for (c = 0; c + 4 <= p->channels; c += 4) {
            nncc_row16(p, x, record, y + 2 * c);
            record += bytes;
        }
        if (c < p->channels && c > 0) {
            nncc_row16(p, x, record, y + 2 * (p->channels - 4));
        }
        x += p->step;
        y += p->pitch;
    }
}

#include "nncc_helium_record.h"

#if NNCC_HELIUM_MVE

/* The vector in q0 with the weights of 4 channels. */
#define NNCC_ROW_MACS \
    "vldrw.32 q1, [%[w]], #16\n\t" \
    "vmladava.s8 r0, q1, q0\n\t" \
    "vldrw.32 q2, [%[w]], #16\n\t" \
    "vmladava.s8 r2, q2, q0\n\t" \
    "vldrw.32 q1, [%[w]], #16\n\t" \
    "vmladava.s8 r4, q1, q0\n\t" \
    "vldrw.32 q2, [%[w]], #16\n\t" \
    "vmladava.s8 r6, q2, q0\n\t"

/* One row with the 4 channels of a record; y has room for 4. */
static void nncc_row4(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *record, int8_t *y)
{
    NNCC_REG(const int8_t *, from, "r1", x);
    NNCC_REG(const int8_t *, w, "r3", record);
    NNCC_REG(int8_t *, to, "r5", y);
    NNCC_REG(const nncc_helium_matmul_params *, mac, "r9", p);
    NNCC_REG(int32_t, full, "r11", p->vectors - 1);

    /* clang-format off */
    __asm volatile("vldrw.32 q5, [%[w]], #16\n\t"
                   "vldrw.32 q6, [%[w]], #16\n\t"
                   "vldrw.32 q7, [%[w]], #16\n\t"
                   "mov r0, #0\n\t"
                   "mov r2, #0\n\t"
                   "mov r4, #0\n\t"
                   "mov r6, #0\n\t"
                   "wls lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[x]], #16\n\t"
                   NNCC_ROW_MACS
                   "le lr, 1b\n"
                   "2:\n\t"
                   "ldr r8, [%[p], #28]\n\t"
                   "vctp.8 r8\n\t"
                   "vpst\n\t"
                   "vldrbt.8 q0, [%[x]]\n\t"
                   NNCC_ROW_MACS
                   "vmov q0[2], q0[0], r0, r4\n\t"
                   "vmov q0[3], q0[1], r2, r6\n\t"
                   "ldrd r0, r2, [%[p], #8]\n\t"
                   "vdup.32 q3, r0\n\t"
                   "vdup.32 q4, r2\n\t"
                   "ldr r0, [%[p], #4]\n\t"
                   "vadd.i32 q0, q0, q5\n\t"
                   "vqrdmulh.s32 q0, q0, q6\n\t"
                   NNCC_ROUND_ALL(q0, q2)
                   "vrshl.s32 q0, q0, q7\n\t"
                   "vadd.i32 q0, q0, r0\n\t"
                   "vmax.s32 q0, q0, q3\n\t"
                   "vmin.s32 q0, q0, q4\n\t"
                   "vstrb.32 q0, [%[y]]\n\t"
                   : [x] "+r"(from), [w] "+r"(w)
                   : [y] "r"(to), [p] "r"(mac), [n] "r"(full)
                   : "r0", "r2", "r4", "r6", "r8", "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc",
                     "memory");
    /* clang-format on */
}

#else

static void nncc_row4(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *record, int8_t *y)
{
    nncc_record_row(p, x, NNCC_HELIUM_BYTES * (p->vectors - 1) + p->tail, record, y);
}

#endif

void nncc_helium_matmul_1row_s8(const nncc_helium_matmul_params *p, const int8_t *x, const int8_t *packed, int8_t *y,
                                int32_t rows)
{
    int32_t bytes = nncc_record_bytes(p->vectors);
    int32_t c;

    for (; rows > 0; rows--) {
        const int8_t *record = packed;

        if (p->channels < 4) {
            int8_t four[4];

            nncc_row4(p, x, record, four);
            memcpy(y, four, (size_t)p->channels);
        }
        for (c = 0; c + 4 <= p->channels; c += 4) {
            nncc_row4(p, x, record, y + c);
            record += bytes;
        }
        if (c < p->channels && c > 0) {
            nncc_row4(p, x, record, y + p->channels - 4);
        }
        x += p->step;
        y += p->pitch;
    }
}

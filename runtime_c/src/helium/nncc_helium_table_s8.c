/* nncc_helium_table_s8: 16 look-ups at a time. */
#include "nncc_helium_core.h"

void nncc_helium_table_s8(const int8_t *x, const int8_t *table, int8_t *y, int32_t n)
{
#if NNCC_HELIUM_MVE
    NNCC_REG(const int8_t *, from, "r1", x);
    NNCC_REG(const int8_t *, at, "r2", table);
    NNCC_REG(int8_t *, to, "r3", y);
    NNCC_REG(int32_t, count, "r4", n);

    __asm volatile("wlstp.8 lr, %[n], 2f\n"
                   "1:\n\t"
                   "vldrb.8 q0, [%[x]], #16\n\t"
                   "vldrb.u8 q1, [%[t], q0]\n\t"
                   "vstrb.8 q1, [%[y]], #16\n\t"
                   "letp lr, 1b\n"
                   "2:\n\t"
                   : [x] "+r"(from), [y] "+r"(to)
                   : [n] "r"(count), [t] "r"(at)
                   : "lr", "q0", "q1", "cc", "memory");
#else
    int32_t i;

    for (i = 0; i < n; i++) {
        y[i] = table[(uint8_t)x[i]];
    }
#endif
}

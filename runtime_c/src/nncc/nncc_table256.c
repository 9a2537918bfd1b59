/* nncc_table256: any function of one 8-bit tensor. */
#include "nncc_s8.h"

void nncc_table256(const nncc_count_params *p, const void *x, const void *table, void *y)
{
    const uint8_t *from = (const uint8_t *)x;
    const uint8_t *t = (const uint8_t *)table;
    uint8_t *to = (uint8_t *)y;

    for (int32_t i = 0; i < p->count; i++) {
        to[i] = t[from[i]];
    }
}

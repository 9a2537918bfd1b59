/* nncc_helium_map.h: results that go through a table before they leave. */
#ifndef NNCC_HELIUM_MAP_H
#define NNCC_HELIUM_MAP_H

#include "nncc_helium_core.h"

#include "nncc_s8.h"

static inline void nncc_helium_map(int8_t *y, const uint8_t *table, int32_t n)
{
    nncc_count_params p;

    p.count = n;
    nncc_table256(&p, (const uint8_t *)y, table, (uint8_t *)y);
}

/* The results of dot products in the n bytes from y on, which are whole rows of p->pitch bytes. */
static inline void nncc_helium_map_rows(int8_t *y, const uint8_t *table, const nncc_helium_mac *p, int32_t n)
{
    if (p->pitch == p->channels) {
        nncc_helium_map(y, table, n);
        return;
    }
    for (; n > 0; n -= p->pitch) {
        nncc_helium_map(y, table, p->channels);
        y += p->pitch;
    }
}

#endif /* NNCC_HELIUM_MAP_H */

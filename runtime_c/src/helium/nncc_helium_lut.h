/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_helium_lut.h: results that go through a table before they leave. */
#include "nncc_helium_core.h"

#include "nncc_s8.h"

static inline void nncc_helium_map(int8_t *y, const uint8_t *table, int32_t n)
{
    nncc_count_params p;

    p.count = n;
    nncc_lut_s8(&p, (const uint8_t *)y, table, (uint8_t *)y);
}

/* The results of dot products in the n bytes from y on, which are whole rows of p->pitch bytes. */
static inline void nncc_helium_map_rows(int8_t *y, const uint8_t *table, const nncc_helium_matmul_params *p, int32_t n)
{
    if (p->pitch == p->channels) {
        nncc_helium_map(y, table, n);
        return;
    }
#if NNCC_HELIUM_MVE
    if (p->channels <= NNCC_HELIUM_BYTES) {
        const mve_pred16_t lanes = vctp8q((uint32_t)p->channels);
        uint8_t *at = (uint8_t *)y;

        for (; n > 0; n -= p->pitch) {
            vstrbq_p_u8(at, vldrbq_gather_offset_z_u8(table, vldrbq_z_u8(at, lanes), lanes), lanes);
            at += p->pitch;
        }
        return;
    }
#endif
    for (; n > 0; n -= p->pitch) {
        nncc_helium_map(y, table, p->channels);
        y += p->pitch;
    }
}

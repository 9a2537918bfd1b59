/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_index.h"
#include "nncc_move.h"
#include "nncc_short_runs.h"

/* Slices of as many bytes are copied one by one: what is found out for each index is little beside. */
#define NNCC_GATHER_LONG 32

/* Runs of one element, four at a time. */
#define NNCC_GATHER_ONES(copy) \
    do { \
        const int32_t from_step = p->from_step, to_step = p->to_step; \
\
        NNCC_ROLLED \
        for (int32_t i = p->count >> 2; i > 0; i--) { \
            copy(to, from); \
            copy(to + to_step, from + from_step); \
            copy(to + 2 * to_step, from + 2 * from_step); \
            copy(to + 3 * to_step, from + 3 * from_step); \
            from += 4 * from_step; \
            to += 4 * to_step; \
        } \
        NNCC_ROLLED \
        for (int32_t i = p->count & 3; i > 0; i--) { \
            copy(to, from); \
            from += from_step; \
            to += to_step; \
        } \
    } while (0)

static inline void nncc_gather_byte(uint8_t *to, const uint8_t *from)
{
    *to = *from;
}

#if NNCC_COPY_WORDS
static inline void nncc_gather_word(uint8_t *to, const uint8_t *from)
{
    uint32_t a;

    memcpy(&a, from, sizeof a);
    memcpy(to, &a, sizeof a);
}
#endif

/* Runs that are a byte or, where words lie anywhere, a word go without a loop of their own. */
static void nncc_gather_runs(const nncc_short_runs *p, uint8_t *to, const uint8_t *from)
{
    if (p->n == 1) {
        NNCC_GATHER_ONES(nncc_gather_byte);
        return;
    }
#if NNCC_COPY_WORDS
    if (p->n == 4) {
        NNCC_GATHER_ONES(nncc_gather_word);
        return;
    }
#endif
    nncc_copy_runs(p, to, from);
}

/* What an index selects of short slices, at once from all that lies in front of the axis. */
static nncc_status nncc_gather_short(const nncc_gather_params *p, const uint8_t *from, const void *indices, uint8_t *to)
{
    nncc_short_runs r;

    r.n = p->block;
    r.count = p->outer;
    r.from_step = p->axis * p->block;
    r.to_step = p->count * p->block;
    for (int32_t i = 0; i < p->count; i++) {
        const int32_t at = nncc_index(indices, i, p->index_bytes, p->axis);

        if (at < 0) {
            return NNCC_ERR_INDEX;
        }
        nncc_gather_runs(&r, to, from + at * p->block);
        to += p->block;
    }
    return NNCC_OK;
}

nncc_status nncc_gather(const nncc_gather_params *p, const void *x, const void *indices, void *y)
{
    const uint8_t *from = (const uint8_t *)x;
    uint8_t *to = (uint8_t *)y;

    if (p->block < NNCC_GATHER_LONG && p->outer > 1) {
        return nncc_gather_short(p, from, indices, to);
    }
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->count; i++) {
            const int32_t at = nncc_index(indices, i, p->index_bytes, p->axis);

            if (at < 0) {
                return NNCC_ERR_INDEX;
            }
            nncc_copy(to, from + at * p->block, p->block);
            to += p->block;
        }
        from += p->axis * p->block;
    }
    return NNCC_OK;
}

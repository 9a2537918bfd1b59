/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_short_runs.h: copies of many short runs of the same length. How a run is cut into words is found out once for
 * all of them.
 */
#include "nncc_copy.h"

/* Runs, and bytes from one to the next on both sides. */
typedef struct
{
    int32_t n;
    int32_t count;
    int32_t from_step;
    int32_t to_step;
} nncc_short_runs;

#if !NNCC_MVE && (defined(__GNUC__) || defined(__clang__)) && defined(__thumb__)
#define NNCC_SHORT_WORDS 1

/* Words at any address where the core allows that; else at multiples of 4. */
static inline void nncc_word(uint8_t *to, const uint8_t *from)
{
#if NNCC_COPY_WORDS
    uint32_t a;

    memcpy(&a, from, sizeof a);
    memcpy(to, &a, sizeof a);
#else
    *(nncc_any32 *)(void *)to = *(const nncc_any32 *)(const void *)from;
#endif
}

static inline void nncc_runs_words(const nncc_short_runs *p, uint8_t *to, const uint8_t *from)
{
    const int32_t fours = p->n >> 4;
    const int32_t words = p->n >> 2 & 3;
    const int32_t bytes = p->n & 3;
    const int32_t from_gap = p->from_step - p->n;
    const int32_t to_gap = p->to_step - p->n;

    for (int32_t i = p->count; i > 0; i--) {
        for (int32_t k = fours; k > 0; k--) {
            nncc_word(to, from);
            nncc_word(to + 4, from + 4);
            nncc_word(to + 8, from + 8);
            nncc_word(to + 12, from + 12);
            from += 16;
            to += 16;
        }
        for (int32_t k = words; k > 0; k--) {
            nncc_word(to, from);
            from += 4;
            to += 4;
        }
        for (int32_t k = bytes; k > 0; k--) {
            *to++ = *from++;
        }
        from += from_gap;
        to += to_gap;
    }
}

#if !NNCC_COPY_WORDS
static inline void nncc_runs_bytes(const nncc_short_runs *p, uint8_t *to, const uint8_t *from)
{
    int32_t k;

    for (int32_t i = p->count; i > 0; i--) {
        const uint8_t *x = from;
        uint8_t *y = to;

        for (k = p->n; k >= 4; k -= 4) {
            y[0] = x[0];
            y[1] = x[1];
            y[2] = x[2];
            y[3] = x[3];
            x += 4;
            y += 4;
        }
        for (; k > 0; k--) {
            *y++ = *x++;
        }
        from += p->from_step;
        to += p->to_step;
    }
}
#endif

#else
#define NNCC_SHORT_WORDS 0
#endif

static inline void nncc_copy_runs(const nncc_short_runs *p, void *y, const void *x)
{
    uint8_t *to = (uint8_t *)y;
    const uint8_t *from = (const uint8_t *)x;

#if NNCC_SHORT_WORDS && NNCC_COPY_WORDS
    if (p->n < NNCC_COPY_LONG) {
        nncc_runs_words(p, to, from);
        return;
    }
#elif NNCC_SHORT_WORDS
    /* A call of memcpy takes as much as some words, and bytes more than here. */
    if ((((uintptr_t)to | (uintptr_t)from | (uintptr_t)p->from_step | (uintptr_t)p->to_step) & 3u) == 0) {
        nncc_runs_words(p, to, from);
    } else {
        nncc_runs_bytes(p, to, from);
    }
    return;
#endif
    for (int32_t i = p->count; i > 0; i--) {
        nncc_copy(to, from, p->n);
        from += p->from_step;
        to += p->to_step;
    }
}

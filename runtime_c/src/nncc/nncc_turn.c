/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_turn: strips of planes go where they belong along the cycles of their permutation, each once; then the strips of
 * every row are interleaved through scratch.
 */
#include "nncc_copy.h"
#include "nncc_move.h"
#include "nncc_run.h"

static void nncc_turn_strips(const nncc_turn_params *p, uint8_t *y, uint8_t *strip, uint8_t *moved)
{
    const int32_t n = p->cols * p->elem;
    const int32_t count = p->planes * p->rows;
    int32_t i;

    nncc_set(moved, 0, (count + 7) >> 3);
    for (i = 0; i < count; i++) {
        int32_t to = i;
        int32_t from = i;

        if ((moved[i >> 3] & 1u << (i & 7)) != 0) {
            continue;
        }
        nncc_copy(strip, y + i * n, n);
        do {
            const int32_t row = from / p->planes;

            to = from;
            from = (to - row * p->planes) * p->rows + row;
            moved[to >> 3] = (uint8_t)(moved[to >> 3] | 1u << (to & 7));
            nncc_copy(y + to * n, from == i ? strip : y + from * n, n);
        } while (from != i);
    }
}

#if NNCC_COPY_WORDS && !NNCC_MVE
/* Three strips of n bytes, red, green and blue say: a loop of loads and stores alone, four of each a turn. */
static void nncc_turn_three(uint8_t *y, const uint8_t *x, int32_t n)
{
    const uint8_t *const end = x + n;
    const int32_t two = 2 * n;

    NNCC_ROLLED
    for (; end - x >= 4; x += 4) {
        const uint8_t *const u = x + n;
        const uint8_t *const v = x + two;

        y[0] = x[0];
        y[1] = u[0];
        y[2] = v[0];
        y[3] = x[1];
        y[4] = u[1];
        y[5] = v[1];
        y[6] = x[2];
        y[7] = u[2];
        y[8] = v[2];
        y[9] = x[3];
        y[10] = u[3];
        y[11] = v[3];
        y += 12;
    }
    NNCC_ROLLED
    for (; x < end; x++) {
        *y++ = x[0];
        *y++ = x[n];
        *y++ = x[two];
    }
}
#endif

void nncc_turn(const nncc_turn_params *p, const void *x, void *scratch, void *y)
{
    const int32_t row = p->planes * p->cols * p->elem;
    const nncc_runs_params runs = {p->cols, 1, p->planes, p->planes, p->cols, 1, p->elem, 1, 0, 0};
    uint8_t *to = (uint8_t *)y;
    int32_t n;
    int32_t i;

    if (x != y) {
        nncc_copy(y, x, p->batches * p->rows * row);
    }
    for (n = 0; n < p->batches; n++) {
        nncc_turn_strips(p, to, (uint8_t *)scratch, (uint8_t *)scratch + row);
        for (i = 0; i < p->rows; i++) {
            nncc_copy(scratch, to, row);
#if NNCC_COPY_WORDS && !NNCC_MVE
            if (p->planes == 3 && p->elem == 1) {
                nncc_turn_three(to, (const uint8_t *)scratch, p->cols);
            } else {
                nncc_runs(&runs, scratch, to);
            }
#else
            nncc_runs(&runs, scratch, to);
#endif
            to += row;
        }
    }
}

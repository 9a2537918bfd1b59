#include "nncc_bcast.h"
#include "nncc_copy.h"
#include "nncc_s8.h"

/* Elements that are brought together for a call. */
#define NNCC_PAIR_BLOCK 128

/* Rows of an operand, col elements from one to the next and row from a row to the next, side by side. */
static void nncc_pair_stage(int8_t *t, const int8_t *x, int32_t col, int32_t row, int32_t rows, int32_t cols)
{
    for (; rows > 0; rows--) {
        if (col == 1) {
            nncc_copy(t, x, cols);
        } else if (col == 0) {
            nncc_set(t, (uint8_t)*x, cols);
        } else {
            for (int32_t i = 0; i < cols; i++) {
                t[i] = x[i * col];
            }
        }
        t += cols;
        x += row;
    }
}

/*
 * The two inner dimensions in blocks: some columns of a row, or some whole rows. Operands that lie in a block like the
 * result are read where they are, others are expanded first, once where every block has the same.
 */
void nncc_pairs_s8(const nncc_bcast_params *p, const void *form, nncc_pair_fn *fn, const int8_t *a, const int8_t *b,
                   int8_t *y)
{
    const int32_t inner = p->rank - 1, outer = p->rank > 1 ? p->rank - 2 : 0;
    const int32_t n = p->dims[inner], m = p->rank > 1 ? p->dims[outer] : 1;
    const int32_t ca = p->a_stride[inner], cb = p->b_stride[inner];
    const int32_t ra = p->rank > 1 ? p->a_stride[outer] : 0, rb = p->rank > 1 ? p->b_stride[outer] : 0;
    const int32_t together = m > 1 && n < NNCC_PAIR_BLOCK ? NNCC_PAIR_BLOCK / n : 1;
    const int32_t whole_a = ca == 1 && (together == 1 || ra == n), whole_b = cb == 1 && (together == 1 || rb == n);
    const int32_t width = (whole_a != 0 && whole_b != 0) || n < NNCC_PAIR_BLOCK ? n : NNCC_PAIR_BLOCK;
    int32_t index[NNCC_MAX_DIMS] = {0};
    int8_t ta[NNCC_PAIR_BLOCK], tb[NNCC_PAIR_BLOCK];
    int32_t ia = 0, ib = 0;

    do {
        int32_t rows;

        for (int32_t r = 0; r < m; r += rows) {
            int32_t cols;

            rows = m - r < together ? m - r : together;
            for (int32_t c = 0; c < n; c += cols) {
                const int8_t *xa = a + ia + r * ra + c * ca, *xb = b + ib + r * rb + c * cb;

                cols = n - c < width ? n - c : width;
                if (whole_a == 0) {
                    if ((ca != 0 && n > width) || (c == 0 && (r == 0 || ra != 0))) {
                        nncc_pair_stage(ta, xa, ca, ra, rows, cols);
                    }
                    xa = ta;
                }
                if (whole_b == 0) {
                    if ((cb != 0 && n > width) || (c == 0 && (r == 0 || rb != 0))) {
                        nncc_pair_stage(tb, xb, cb, rb, rows, cols);
                    }
                    xb = tb;
                }
                fn(form, xa, xb, y, rows * cols);
                y += rows * cols;
            }
        }
    } while (nncc_bcast_next(p, outer, index, &ia, &ib) != 0);
}

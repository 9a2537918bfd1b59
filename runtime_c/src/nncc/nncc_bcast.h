/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_bcast.h: walking two broadcast operands side by side (nncc_bcast.c). */
#include "nncc.h"

/*
 * Moves to the next position of the outer `dims` dimensions: index counts them, *a and *b are the element offsets into
 * the operands. All start at 0. Returns 0 when every position has been visited.
 */
int32_t nncc_bcast_next(const nncc_bcast_params *p, int32_t dims, int32_t *index, int32_t *a, int32_t *b);

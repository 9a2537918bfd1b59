/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_limit.h: inputs that are indices, lengths or counts are checked before kernels read them. What is out of range
 * is said by the ONNX operators.
 */
#include "nncc.h"

/* The range of an index, a length or a count, both ends within. */
typedef struct
{
    int32_t least, most;
} nncc_limit;

/*
 * indices [count/depth,depth] of index_bytes each, 4 (int32) or 8 (int64): NNCC_ERR_INDEX where one is outside
 * limits [depth].
 */
/* KERNELS(nncc_check_indices) */

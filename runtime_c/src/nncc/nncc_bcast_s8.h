/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* nncc_bcast_s8.h: the loop of the int8 kernels with two inputs. */
#include "nncc_bcast.h"
#include "nncc_s8.h"

/* Walks the broadcast *q: u and v are the elements of a and b, `step` the statement that uses them, once per element.
 */
#define NNCC_FOR_PAIRS(q, type, a, b, step) \
    do { \
        const int32_t inner = (q)->rank - 1; \
        const int32_t n = (q)->dims[inner]; \
        int32_t index[NNCC_MAX_DIMS] = {0}; \
        int32_t ia = 0; \
        int32_t ib = 0; \
\
        do { \
            int32_t ja = ia; \
            int32_t jb = ib; \
\
            for (int32_t i = 0; i < n; i++) { \
                const type u = (a)[ja]; \
                const type v = (b)[jb]; \
\
                step; \
                ja += (q)->a_stride[inner]; \
                jb += (q)->b_stride[inner]; \
            } \
        } while (nncc_bcast_next((q), inner, index, &ia, &ib) != 0); \
    } while (0)

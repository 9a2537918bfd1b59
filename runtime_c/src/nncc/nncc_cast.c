/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_fp.h"

#include "nncc_element_f32.h"
#include "nncc_f32.h"

/* Element i of a tensor of integers or bools. */
static int64_t nncc_cast_load(const void *x, int32_t i, int32_t type)
{
    switch (type) {
    case NNCC_TYPE_S8:
        return ((const int8_t *)x)[i];
    case NNCC_TYPE_S16:
        return ((const int16_t *)x)[i];
    case NNCC_TYPE_U16:
        return ((const uint16_t *)x)[i];
    case NNCC_TYPE_S32:
        return ((const int32_t *)x)[i];
    case NNCC_TYPE_U32:
        return ((const uint32_t *)x)[i];
    case NNCC_TYPE_S64:
        return ((const int64_t *)x)[i];
    default: /* NNCC_TYPE_BOOL, NNCC_TYPE_U8 */
        return ((const uint8_t *)x)[i];
    }
}

/* Stores the low bits of v, or whether it is not 0. */
static void nncc_cast_store(void *y, int32_t i, int32_t type, int64_t v)
{
    switch (type) {
    case NNCC_TYPE_BOOL:
        ((uint8_t *)y)[i] = v != 0 ? 1u : 0u;
        break;
    case NNCC_TYPE_S8:
    case NNCC_TYPE_U8:
        ((uint8_t *)y)[i] = (uint8_t)((uint64_t)v & 0xffu);
        break;
    case NNCC_TYPE_S16:
    case NNCC_TYPE_U16:
        ((uint16_t *)y)[i] = (uint16_t)((uint64_t)v & 0xffffu);
        break;
    case NNCC_TYPE_S64:
        ((int64_t *)y)[i] = v;
        break;
    default: /* NNCC_TYPE_S32, NNCC_TYPE_U32 */
        ((uint32_t *)y)[i] = (uint32_t)((uint64_t)v & 0xffffffffu);
        break;
    }
}

/* v without its fraction. */
static int64_t nncc_cast_whole(float v)
{
    if (v >= 9223372036854775808.0f) {
        return INT64_MAX;
    }
    if (v <= -9223372036854775808.0f) {
        return INT64_MIN;
    }
    return v == v ? (int64_t)v : 0;
}

void nncc_cast(const nncc_cast_params *p, const void *x, void *y)
{
    for (int32_t i = 0; i < p->count; i++) {
        if (p->from != NNCC_TYPE_F32) {
            const int64_t v = nncc_cast_load(x, i, p->from);

            if (p->to == NNCC_TYPE_F32) {
                ((float *)y)[i] = (float)v;
            } else {
                nncc_cast_store(y, i, p->to, v);
            }
        } else {
            const float v = ((const float *)x)[i];

            if (p->to == NNCC_TYPE_F32) {
                ((float *)y)[i] = v;
            } else if (p->to == NNCC_TYPE_BOOL) {
                ((uint8_t *)y)[i] = (uint8_t)(1 - nncc_el_equal_f32(v, 0.0f));
            } else {
                nncc_cast_store(y, i, p->to, nncc_cast_whole(v));
            }
        }
    }
}

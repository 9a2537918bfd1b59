/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplies numbers by an installed CMSIS-NN, so that nncc sees how it was built to round. */
#include "rounding.h"

#include "arm_nnfunctions.h"

static int8_t *at(const void *arena, uintptr_t offset) { return (int8_t *)((uintptr_t)arena + offset); }

int8_t *rounding_a(void *arena) { return at(arena, 0u); }
int8_t *rounding_b(void *arena) { return at(arena, ROUNDING_COUNT); }
const int8_t *rounding_y(const void *arena) { return at(arena, 2u * ROUNDING_COUNT); }

int32_t rounding_run(void *arena)
{
    return (int32_t)arm_elementwise_mul_s8(at(arena, 0u), at(arena, ROUNDING_COUNT), 0, 0, at(arena, 2u * ROUNDING_COUNT), 0,
                                           ROUNDING_MULTIPLIER, ROUNDING_SHIFT, -128, 127, ROUNDING_COUNT);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "mini.h"
#include "kernel.h"
#include <stddef.h>
#include <string.h>
#ifdef NNCC_TRACE
struct nncc_info;
void nncc_trace(const struct nncc_info *info, int32_t step);
#define STEP(i) nncc_trace(NULL, i)
#else
#define STEP(i) ((void)0)
#endif

int8_t *mini_mode(void *arena) { return (int8_t *)arena; }
int8_t *mini_x(void *arena) { return (int8_t *)arena + 16; }
const int8_t *mini_y(const void *arena) { return (const int8_t *)arena + 528; }
const int32_t *mini_sum(const void *arena) { return (const int32_t *)(const void *)((const int8_t *)arena + 1040); }

nncc_status mini_reset(void *state)
{
    memset(state, 0, 32);
    return NNCC_OK;
}

nncc_status mini_run(void *arena, void *state)
{
    int8_t *a = (int8_t *)arena;
    int32_t *sum;
    int32_t *total;
    if (a == NULL || ((uintptr_t)a & 15u) != 0u) {
        return NNCC_ERROR_ARGUMENT;
    }
    if (a[0] == 100) {
        return (nncc_status)-3;
    }
    STEP(-1);
    mini_kernel_scale(a + 16, a + 528, 512u);
    STEP(0);
    sum = (int32_t *)(void *)(a + 1040);
    total = (int32_t *)state;
    *sum = mini_kernel_sum(a + 528, 512u) + *total;
    *total = *sum;
    STEP(1);
    mini_kernel_mode(a);
    STEP(2);
    return NNCC_OK;
}

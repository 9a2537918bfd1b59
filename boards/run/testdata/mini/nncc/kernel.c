/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"
#include <stddef.h>
#include <stdlib.h>

extern const int8_t mini_weights[16];

void mini_kernel_scale(const int8_t *x, int8_t *y, uint32_t n)
{
    uint32_t i;
    for (i = 0; i < n; i++) {
        int32_t v = (int32_t)x[i] * mini_weights[i & 15u];
        y[i] = (int8_t)(v > 127 ? 127 : v < -128 ? -128 : v);
    }
}

int32_t mini_kernel_sum(const int8_t *x, uint32_t n)
{
    uint32_t i;
    int32_t s = 0;
    for (i = 0; i < n; i++) {
        s += x[i];
    }
    return s;
}

/* 4 instructions a turn, 2 around. */
#ifdef __arm__
__attribute__((naked, noinline)) static void count(uint32_t turns)
{
    (void)turns;
    __asm volatile(".syntax unified\n 1: nop\n nop\n subs r0, #1\n bne 1b\n nop\n bx lr\n");
}
#else
static void count(uint32_t turns) { (void)turns; }
#endif

static int32_t recurse(volatile int32_t *p, int32_t depth)
{
    volatile int32_t local[64];
    local[depth & 63] = *p;
    return recurse(local, depth + 1) + local[0];
}

static int32_t deep(volatile int8_t *p)
{
    volatile int8_t local[1200];
    local[0] = p[0];
    local[1199] = p[1];
    return local[0] + local[1199];
}

void mini_kernel_mode(int8_t *arena)
{
    void (*volatile call)(void) = NULL;
    switch (arena[0]) {
    case 1: call(); break;
    case 2: *(volatile uint32_t *)(void *)(arena + 1) = 1u; break;
    case 3: arena[0] = (int8_t)recurse((volatile int32_t *)(void *)arena, 0); break;
    case 4: ((volatile int8_t *)arena)[1088] = 1; break;
    case 5: ((volatile int8_t *)arena)[-1] = 1; break;
    case 6: for (;;) { call = NULL; } break;
    case 7:
#ifdef __arm__
    {
        register uint32_t r0 __asm("r0") = 0x18u;
        register uint32_t r1 __asm("r1") = 0x20026u;
        __asm volatile("bkpt 0xab" : : "r"(r0), "r"(r1) : "memory");
    }
#else
        _Exit(0);
#endif
        break;
    case 8: count(250u); break;
    case 9: count(2500000u); break;
    case 10: count(7500000u); break;
    case 15: count(1250u); break;
    case 11: arena[0] = (int8_t)deep(arena); break;
    case 13: arena[0] = ((volatile int8_t *)arena)[1089]; break;
    case 14: ((volatile uint32_t *)(void *)call)[2] = 1u; break;
    case 12: *(volatile uint32_t *)0xF0000000u = 1u; break;
    default: break;
    }
}

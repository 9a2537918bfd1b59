// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// The mini model stands for an emitted folder. Its first input selects what
// it does: behave, count to a number, or one of the ways to go wrong.
const miniHeader = `#ifndef MINI_H
#define MINI_H
#include <stdint.h>
typedef enum { NNCC_OK = 0, NNCC_ERROR_ARGUMENT = -1 } nncc_status;
#define MINI_ARENA_BYTES 1088u
#define MINI_ARENA_ALIGN 16u
#define MINI_STATE_BYTES 32u
int8_t *mini_mode(void *arena);
int8_t *mini_x(void *arena);
const int8_t *mini_y(const void *arena);
const int32_t *mini_sum(const void *arena);
nncc_status mini_run(void *arena, void *state);
nncc_status mini_reset(void *state);
#endif
`

const miniSource = `#include "mini.h"
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
`

const miniKernelHeader = `#ifndef KERNEL_H
#define KERNEL_H
#include <stdint.h>
void mini_kernel_scale(const int8_t *x, int8_t *y, uint32_t n);
int32_t mini_kernel_sum(const int8_t *x, uint32_t n);
void mini_kernel_mode(int8_t *arena);
#endif
`

const miniKernel = `#include "kernel.h"
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
`

const miniWeights = `#include <stdint.h>
extern const int8_t mini_weights[16];
const int8_t mini_weights[16] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16};
`

var miniModel = run.Model{
	Name: "mini", Header: "mini.h", ArenaMacro: "MINI_ARENA_BYTES",
	Inputs:  []run.IO{{"mode", "mini_mode", 16}, {"x", "mini_x", 512}},
	Outputs: []run.IO{{"y", "mini_y", 512}, {"sum", "mini_sum", 4}},
	RunFunc: "mini_run", ResetFunc: "mini_reset", StateMacro: "MINI_STATE_BYTES",
	Steps: []string{"scale", "sum", "mode"},
}

func writeMini(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"mini.h": miniHeader, "mini.c": miniSource, "mini_weights.c": miniWeights,
		"nncc/kernel.h": miniKernelHeader, "nncc/kernel.c": miniKernel,
	} {
		p := filepath.Join(dir, filepath.FromSlash(name))
		testenv.OK(t, os.MkdirAll(filepath.Dir(p), 0o755))
		testenv.OK(t, os.WriteFile(p, []byte(text), 0o644))
	}
	return dir
}

// miniCase makes inputs from a seed; miniOutputs is what the model computes,
// with the state before and after.
func miniCase(mode int8, seed uint32) run.Case {
	m, x := make([]byte, 16), make([]byte, 512)
	m[0] = byte(mode)
	for i := range x {
		seed = seed*1664525 + 1013904223
		x[i] = byte(seed >> 24)
	}
	return run.Case{Inputs: [][]byte{m, x}}
}

func miniOutputs(c run.Case, state int32) ([][]byte, int32) {
	weights := [16]int32{1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16}
	y := make([]byte, 512)
	for i, b := range c.Inputs[1] {
		v := max(-128, min(127, int32(int8(b))*weights[i&15]))
		y[i] = byte(int8(v))
		state += v
	}
	u := uint32(state)
	return [][]byte{y, {byte(u), byte(u >> 8), byte(u >> 16), byte(u >> 24)}}, state
}

// load reads a board and skips if its tools are missing.
func load(t testing.TB, name string) *boards.Spec {
	t.Helper()
	s, err := boards.Load(name)
	testenv.OK(t, err)
	if s.Core == "host" {
		testenv.Tool(t, "cc", s.Toolchain.CC)
	} else {
		testenv.Tool(t, "arm-gcc", s.Toolchain.Prefix+s.Toolchain.CC)
		testenv.Tool(t, "qemu", "qemu-system-arm")
	}
	return s
}

/* SPDX-License-Identifier: Apache-2.0 */

#include "models.h"
#include <string.h>

extern uint32_t stack_top, data_start, data_end, data_load, bss_start, bss_end;
void start(void);
void fault(void);
static void quit(uint32_t why)
{
    register uint32_t op __asm("r0") = 0x18u;
    register uint32_t arg __asm("r1") = why;
    __asm volatile("bkpt 0xAB" : : "r"(op), "r"(arg) : "memory");
    for (;;) {
    }
}
static void say(const char *text)
{
    register uint32_t op __asm("r0") = 0x04u;
    register const char *arg __asm("r1") = text;
    __asm volatile("bkpt 0xAB" : "+r"(op) : "r"(arg) : "memory");
}
void fault(void)
{
    say("fault\n");
    quit(0x20023u);
}
typedef union
{
    const uint32_t *stack;
    void (*handler)(void);
} vector;
__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    {.stack = &stack_top}, {.handler = start}, {.handler = fault}, {.handler = fault}, {.handler = fault},
    {.handler = fault}, {.handler = fault}};

static uint8_t before[64];
static uint8_t arena[NNCC_MODELS_ARENA_BYTES + 64] __attribute__((aligned(NNCC_MODELS_ARENA_ALIGN)));
{{range $m, $x := .Models}}{{range .Inputs}}
static const uint8_t {{$x.Prefix}}_in_{{.CName}}[] = { {{- .Text -}} };
{{- end}}{{range .Outputs}}
static const uint8_t {{$x.Prefix}}_out_{{.CName}}[] = { {{- .Text -}} };
{{- end}}{{end}}

int main(void);
int main(void)
{
    uint32_t round, i, wrong = 0u;
    memset(before, 0x5A, sizeof before);
    memset(arena + NNCC_MODELS_ARENA_BYTES, 0x5A, 64);
    for (round = 0; round < {{.Rounds}}u; round++) {
{{- range $m, $x := .Models}}
{{- range .Inputs}}
        memcpy({{$x.Prefix}}_{{.CName}}(arena), {{$x.Prefix}}_in_{{.CName}} + round * {{.Bytes}}u, {{.Bytes}}u);
{{- end}}
        if ({{.Prefix}}_run(arena) != NNCC_OK) {
            say("{{.Prefix}} failed\n");
            wrong++;
        }
{{- range .Outputs}}
        if (memcmp({{$x.Prefix}}_{{.CName}}(arena), {{$x.Prefix}}_out_{{.CName}} + round * {{.Bytes}}u,
                   {{.Bytes}}u) != 0) {
            say("{{$x.Prefix}} {{.CName}} differs\n");
            wrong++;
        }
{{- end}}
{{- end}}
    }
    for (i = 0; i < 64u; i++) {
        wrong += (uint32_t)(before[i] != 0x5Au) + (uint32_t)(arena[NNCC_MODELS_ARENA_BYTES + i] != 0x5Au);
    }
    say((wrong == 0u) ? "all right\n" : "not right\n");
    quit((wrong == 0u) ? 0x20026u : 0x20023u);
    return 0;
}

void start(void)
{
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* FPU and Helium */
    __asm volatile("dsb\n isb");
    memcpy(&data_start, &data_load, (size_t)((uint8_t *)&data_end - (uint8_t *)&data_start));
    memset(&bss_start, 0, (size_t)((uint8_t *)&bss_end - (uint8_t *)&bss_start));
    (void)main();
}

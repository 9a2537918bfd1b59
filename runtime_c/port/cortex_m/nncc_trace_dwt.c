/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Cycles of every step of a model on a real core, as JSON for `nncc profile --measured FILE`.
 *
 * Compile the firmware with -DNNCC_TRACE, this file with -DNNCC_TRACE_DWT as well, and after a run print what it took:
 *
 *     kws_run(arena);
 *     nncc_trace_json(&kws_info, put);     put(text) writes to a serial line, to RTT, ...
 *
 * The clock is CYCCNT, the cycle counter of the debug unit. Cores without one (M0, M0+, M23) and QEMU, where it stands
 * still, take another: -DNNCC_TRACE_CLOCK=name with a function `uint32_t name(void)` that counts cycles upwards over 32
 * bits. Interrupts count for the step in which they come: measure without them. Steps beyond NNCC_TRACE_STEPS are left
 * out of the sum and the list, which profile then refuses. */
#ifdef NNCC_TRACE_DWT
#include "nncc/nncc_model.h"

#include <stddef.h>

#ifndef NNCC_TRACE_STEPS
#define NNCC_TRACE_STEPS 256
#endif

void nncc_trace_json(const nncc_info *info, void (*put)(const char *text));

#ifdef NNCC_TRACE_CLOCK
uint32_t NNCC_TRACE_CLOCK(void);
#define NNCC_TRACE_SOURCE "own"
static void start(void)
{
}
static uint32_t now(void)
{
    return NNCC_TRACE_CLOCK();
}
#elif defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
#error "this core has no cycle counter: name a function that counts cycles, -DNNCC_TRACE_CLOCK=name"
#else
/* Addresses: Arm v7-M and v8-M Architecture Reference Manuals. */
#define NNCC_TRACE_SOURCE "DWT"
#define NNCC_TRACE_REG(address) (*(volatile uint32_t *)(address))
#define NNCC_DEMCR NNCC_TRACE_REG(0xE000EDFCu)
#define NNCC_DWT_CTRL NNCC_TRACE_REG(0xE0001000u)
#define NNCC_DWT_CYCCNT NNCC_TRACE_REG(0xE0001004u)
#define NNCC_DWT_LAR NNCC_TRACE_REG(0xE0001FB0u)
static void start(void)
{
    NNCC_DEMCR |= 1u << 24;     /* TRCENA */
    NNCC_DWT_LAR = 0xC5ACCE55u; /* the M7 locks the registers */
    NNCC_DWT_CTRL |= 1u;        /* CYCCNTENA */
}
static uint32_t now(void)
{
    return NNCC_DWT_CYCCNT;
}
#endif

static const nncc_info *traced;
static uint32_t cycles[NNCC_TRACE_STEPS];
static uint32_t empty; /* between two looks at the clock */
static uint32_t before;

void nncc_trace(const nncc_info *info, int32_t step)
{
    const uint32_t t = now();
    if (step < 0) {
        start();
        traced = info;
        before = now();
        empty = now() - before;
    } else if (info == traced && step < NNCC_TRACE_STEPS) {
        const uint32_t took = t - before;
        cycles[step] = (took > empty) ? took - empty : 0u;
    }
    before = now();
}

static void put_number(uint32_t value, void (*put)(const char *text))
{
    char text[11];
    char *p = &text[10];
    *p = '\0';
    do {
        p--;
        *p = (char)('0' + (char)(value % 10u));
        value /= 10u;
    } while (value != 0u);
    put(p);
}

static void put_string(const char *from, void (*put)(const char *text))
{
    static const char hex[] = "0123456789abcdef";
    char text[7] = {0};
    put("\"");
    for (; *from != '\0'; from++) {
        const unsigned char c = (unsigned char)*from;
        text[0] = *from;
        text[1] = '\0';
        if (c < 32u || c == 34u || c == 92u) {
            text[0] = '\\';
            text[1] = 'u';
            text[2] = '0';
            text[3] = '0';
            text[4] = hex[c >> 4];
            text[5] = hex[c & 15u];
        }
        put(text);
    }
    put("\"");
}

static void put_field(const char *name, const char *value, void (*put)(const char *text))
{
    put(name);
    put_string(value, put);
}

void nncc_trace_json(const nncc_info *info, void (*put)(const char *text))
{
    if (info == NULL || put == NULL || info != traced) {
        return;
    }
    put_field("{\"model\": ", info->name, put);
    put_field(", \"sha256\": ", info->sha256, put);
    put_field(", \"nncc\": ", info->nncc, put);
    put_field(", \"board\": ", info->board, put);
    put_field(", \"clock\": ", NNCC_TRACE_SOURCE, put);
    put(", \"steps\": [");
    for (int32_t i = 0; i < info->steps && i < NNCC_TRACE_STEPS; i++) {
        put((i == 0) ? "\n" : ",\n");
        put_field("  {\"name\": ", (info->step_names != NULL) ? info->step_names[i] : "", put);
        put(", \"cycles\": ");
        put_number(cycles[i], put);
        put("}");
    }
    put("\n]}\n");
}
#else
typedef int nncc_trace_is_off; /* C has no empty files */
#endif

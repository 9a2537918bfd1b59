/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_tracing.h"
#include "nncc_port.h"
#include "nncc_records.h"

#include <stddef.h>

#define NO_STEP 0xFFFFFFFEu

static struct
{
    const nncc_harness_model *model;
    int32_t dumps; /* handle of cases.bin, standing in the table of dumps */
    int32_t fills; /* another, standing in the fills of the case */
    uint32_t dump_table;
    uint32_t dump_count;
    uint32_t dump_next;  /* entries read so far in this inference */
    uint32_t dump[3];    /* step, offset, bytes of the entry read last */
    uint32_t fill_count; /* entries of the case not read yet */
    uint32_t fill[NNCC_FILL_WORDS];
    enum
    {
        TRACE_OFF,
        TRACE_ON,
        TRACE_CALIBRATE
    } mode;
    uint64_t step_start;
    uint32_t step_interrupts;
    uint32_t empty_step; /* ticks */
} t;

static void next_dump(void)
{
    if (t.dump_next >= t.dump_count) {
        t.dump[2] = 0u;
        t.dump_next = t.dump_count + 1u; /* none left */
        return;
    }
    if (nncc_read_words(t.dumps, t.dump, 3u) != 0) {
        nncc_fail(NNCC_EXIT_USAGE, "cases.bin ends within the table of dumps");
        t.dump_count = 0u;
    }
    t.dump_next++;
}

static void rewind_dumps(void)
{
    t.dump_next = 0u;
    if (t.dump_count != 0u && nncc_port_seek(t.dumps, t.dump_table) != 0) {
        nncc_fail(NNCC_EXIT_USAGE, "cases.bin cannot be read again");
        t.dump_count = 0u;
    }
    next_dump();
}

/* Bytes of the arena, whose parts stand behind each other, or of the state behind it; NULL: not all are there. */
static unsigned char *dumped(uint32_t offset, uint32_t size)
{
    uint32_t i = 0u;
    uint32_t there = t.model->parts[0].bytes;
    unsigned char *from = t.model->parts[0].store + NNCC_HARNESS_GUARD;
    while (offset >= there && i + 1u < t.model->part_count) {
        i++;
        offset -= there;
        there = t.model->parts[i].bytes;
        from = t.model->parts[i].store + NNCC_HARNESS_GUARD;
    }
    if (offset >= there && t.model->state_bytes != 0u) {
        offset -= there;
        there = t.model->state_bytes;
        from = t.model->kept + NNCC_HARNESS_GUARD;
    }
    return (offset > there || size > there - offset) ? NULL : from + offset;
}

static void next_fill(void)
{
    t.fill[0] = NO_STEP;
    if (t.fill_count != 0u) {
        t.fill_count--;
        if (nncc_read_words(t.fills, t.fill, NNCC_FILL_WORDS) != 0) {
            nncc_fail(NNCC_EXIT_USAGE, "cases.bin ends within the fills of a case");
            t.fill[0] = NO_STEP;
        }
    }
}

/* Gives a step the operands that the case wants. */
static void fill_for(uint32_t step)
{
    while (t.fill[0] == step) {
        unsigned char *const to = dumped(t.fill[1], t.fill[2]);
        uint32_t v = 12345u;
        if (to == NULL) {
            nncc_fail(NNCC_EXIT_USAGE, "a fill lies outside of the arena and the state");
            return;
        }
        for (uint32_t i = 0; i < t.fill[2]; i++) {
            const uint32_t word = (i >> 2) & 1u;
            const uint32_t shift = 8u * (i & 3u);
            v = v * 1664525u + 1013904223u;
            to[i] = (unsigned char)((((v >> 24) & (t.fill[3u + word] >> shift)) ^ (t.fill[5u + word] >> shift)) & 255u);
        }
        next_fill();
    }
}

void nncc_trace(const struct nncc_info *info, int32_t step)
{
    const uint64_t now = nncc_port_ticks();
    (void)info;
    if (t.mode == TRACE_OFF) {
        return;
    }
    if (t.mode == TRACE_CALIBRATE) {
        t.empty_step = (uint32_t)(now - t.step_start);
    } else if (step >= 0) {
        const uint64_t ticks = now - t.step_start;
        uint32_t w[3];
        w[0] = (uint32_t)(ticks & 0xFFFFFFFFu);
        w[1] = (uint32_t)(ticks >> 32);
        w[2] = nncc_port_interrupts() - t.step_interrupts;
        nncc_record_words(RECORD_STEP, (uint32_t)step, w, 3u);
    }
    while (t.dump_next <= t.dump_count && t.dump[0] == (uint32_t)step) {
        const uint32_t size = t.dump[2];
        const unsigned char *const from = dumped(t.dump[1], size);
        if (from == NULL) {
            nncc_fail(NNCC_EXIT_USAGE, "a dump lies outside of the arena and the state");
            return;
        }
        nncc_record(RECORD_DUMP, t.dump_next - 1u, from, size);
        next_dump();
    }
    fill_for((uint32_t)(step + 1));
    t.step_interrupts = nncc_port_interrupts();
    t.step_start = nncc_port_ticks();
}

int32_t nncc_tracing_open(void)
{
    t.dumps = nncc_port_open("cases.bin", 0);
    t.fills = nncc_port_open("cases.bin", 0);
    return (t.dumps < 0 || t.fills < 0) ? -1 : 0;
}

int32_t nncc_tracing_start(const nncc_harness_model *m, uint32_t dump_table, uint32_t dump_count, uint32_t fills_at,
                           uint32_t fill_count)
{
    t.model = m;
    t.mode = TRACE_ON;
    t.dump_table = dump_table;
    t.dump_count = dump_count;
    rewind_dumps();
    t.fill_count = fill_count;
    if (fill_count != 0u && nncc_port_seek(t.fills, fills_at) != 0) {
        nncc_fail(NNCC_EXIT_USAGE, "the fills of a case cannot be read");
        return -1;
    }
    next_fill();
    return 0;
}

void nncc_tracing_stop(void)
{
    t.mode = TRACE_OFF;
}

uint32_t nncc_tracing_cost(void)
{
    void (*volatile trace)(const struct nncc_info *, int32_t) = nncc_trace;
    t.mode = TRACE_CALIBRATE;
    t.fill[0] = NO_STEP;
    t.dump_count = 0u;
    t.dump_next = 1u;
    nncc_port_count(1);
    trace(NULL, -1);
    trace(NULL, 0);
    t.mode = TRACE_OFF;
    return t.empty_step;
}

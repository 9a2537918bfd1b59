/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Runs models over the cases of cases.bin and writes results.bin.
 *
 * Both files are sequences of little-endian 32-bit words and bytes; see
 * boards/run/proto.go, which writes one and reads the other. Every record that
 * leaves carries its length and a CRC-32, and the last one says how many there
 * were: a run that dies on the way cannot look like one that finished.
 */
#include "nncc_guards.h"
#include "nncc_harness.h"
#include "nncc_port.h"
#include "nncc_records.h"
#include "nncc_tracing.h"

#include <stddef.h>

#define CASES_MAGIC 0x4343434Eu /* NCCC */
#define PROTOCOL_VERSION 3u

enum case_flag
{
    CASE_KEEP_STATE = 1, /* go on from the state the case before has left */
    CASE_TRACE = 2,      /* count and dump step by step */
    CASE_STACK = 4       /* measure the stack, with a second inference if need be */
};

static nncc_harness_model model; /* that whose case runs */
static int32_t cases;            /* handle of cases.bin */

typedef struct
{
    int32_t status;
    uint64_t ticks;
    uint32_t interrupts;
    uint32_t stack;
    int32_t exact;
} measurement;

static int32_t nothing(void *arena, void *state)
{
    (void)arena;
    (void)state;
    return 0;
}

static measurement measure(int32_t (*run)(void *, void *), int32_t count)
{
    measurement m;
    void *const state = (model.kept != NULL) ? model.kept + NNCC_HARNESS_GUARD : NULL;
    const uintptr_t top = nncc_port_sp();
    nncc_port_stack_paint();
    nncc_port_count(count);
    uint64_t start = nncc_port_ticks();
    m.status = run(model.arena, state);
    m.ticks = nncc_port_ticks() - start;
    m.interrupts = nncc_port_interrupts();
    nncc_port_count(0);
    m.stack = nncc_port_stack_used(top, &m.exact);
    return m;
}

static int32_t in_arena(const unsigned char *p, uint32_t bytes)
{
    const uintptr_t at = (uintptr_t)p;
    int32_t inside = 0;
    for (uint32_t i = 0; i < model.part_count; i++) {
        const uintptr_t first = (uintptr_t)(model.parts[i].store + NNCC_HARNESS_GUARD);
        const uint32_t there = model.parts[i].bytes;
        inside |= at >= first && bytes <= there && at - first <= there - bytes;
    }
    return inside;
}

#define CASE_WORDS 3u /* model, flags, fills */

/* Rubbish, another one for each seed. */
static void spoil(unsigned char *to, uint32_t bytes, uint32_t seed)
{
    uint32_t v = seed * 2654435761u + 12345u;
    for (uint32_t i = 0; i < bytes; i += 4u) {
        v = v * 1664525u + 1013904223u;
        for (uint32_t k = 0; k < 4u && i + k < bytes; k++) {
            to[i + k] = (unsigned char)((v >> (8u * k)) & 255u);
        }
    }
}

/* The arena holds rubbish before every case, so does new state before its
 * reset: a model that reads what it has not written shows. */
static int32_t prepare(uint32_t seed, int32_t keep, uint32_t inputs_at)
{
    for (uint32_t i = 0; i < model.part_count; i++) {
        spoil(model.parts[i].store + NNCC_HARNESS_GUARD, model.parts[i].bytes, seed + 977u * i);
    }
    if (keep == 0 && model.kept != NULL) {
        unsigned char *const state = model.kept + NNCC_HARNESS_GUARD;
        spoil(state, model.state_bytes, seed + 1u);
        if (model.reset(state) != 0) {
            nncc_fail(NNCC_EXIT_USAGE, "the model's reset function failed");
            return -1;
        }
    }
    if (nncc_port_seek(cases, inputs_at) != 0) {
        nncc_fail(NNCC_EXIT_USAGE, "cases.bin cannot be read");
        return -1;
    }
    for (uint32_t i = 0; i < model.input_count; i++) {
        uint32_t crc;
        const uint32_t size = model.inputs[i].bytes;
        unsigned char *const to = model.inputs[i].address(model.arena);
        if (in_arena(to, size) == 0) {
            nncc_fail(NNCC_EXIT_GUARD, "an input lies outside of the arena");
            return -1;
        }
        if ((size != 0u && nncc_port_read(cases, to, size) != 0) || nncc_read_words(cases, &crc, 1u) != 0 ||
            crc != nncc_crc(0u, to, size)) {
            nncc_fail(NNCC_EXIT_USAGE, "cases.bin is cut short or damaged");
            return -1;
        }
    }
    return 0;
}

/* dumps entries of the table at a position of cases.bin say what a traced inference shows. */
static void run_case(uint32_t number, const uint32_t head[CASE_WORDS], uint32_t inputs_at, uint32_t fills_at,
                     uint32_t table, uint32_t dumps)
{
    const uint32_t flags = head[1];
    const int32_t keep = (flags & CASE_KEEP_STATE) != 0u;
    uint32_t w[6];
    if (prepare(number, keep, inputs_at) != 0) {
        return;
    }
    if ((flags & CASE_TRACE) != 0u && nncc_tracing_start(&model, table, dumps, fills_at, head[2]) != 0) {
        return;
    }
    nncc_guards_set(&model);
    measurement m = measure(model.run, 1);
    nncc_guards_check(&model);
    nncc_tracing_stop();
    if ((flags & CASE_STACK) != 0u && m.exact == 0 && keep == 0 && nncc_failed() == 0) {
        /* An interrupt of the counter used the stack at its deepest: look at
         * the stack again, without the counter. */
        if (prepare(number, 0, inputs_at) != 0) {
            return;
        }
        nncc_guards_set(&model);
        m.stack = measure(model.run, 0).stack;
        nncc_guards_check(&model);
        m.exact = 1;
    }
    w[0] = (uint32_t)m.status;
    w[1] = (uint32_t)(m.ticks & 0xFFFFFFFFu);
    w[2] = (uint32_t)(m.ticks >> 32);
    w[3] = m.interrupts;
    w[4] = m.stack;
    w[5] = (uint32_t)m.exact;
    nncc_record_words(RECORD_CASE, number, w, 6u);
    for (uint32_t i = 0; i < model.output_count && m.status == 0 && nncc_failed() == 0; i++) {
        const unsigned char *const from = model.outputs[i].address(model.arena);
        if (in_arena(from, model.outputs[i].bytes) == 0) {
            nncc_fail(NNCC_EXIT_GUARD, "an output lies outside of the arena");
            return;
        }
        nncc_record(RECORD_OUTPUT, i, from, model.outputs[i].bytes);
    }
}

/* What counting itself costs: an inference that does nothing, and a step that does nothing. */
static void hello(uint32_t number)
{
    uint32_t w[7];
    measurement m;
    uint32_t step;
    for (uint32_t i = 0; i < 2u; i++) { /* the second time finds everything in place */
        step = nncc_tracing_cost();
        m = measure(nothing, 1);
    }
    w[0] = PROTOCOL_VERSION;
    w[1] = model.arena_bytes;
    w[2] = model.steps;
    w[3] = model.input_count;
    w[4] = model.output_count;
    w[5] = (uint32_t)(m.ticks & 0xFFFFFFFFu);
    w[6] = step;
    nncc_record_words(RECORD_HELLO, number, w, 7u);
}

#define HEAD_WORDS 4u  /* magic, version, models, cases */
#define MODEL_WORDS 3u /* inputs, bytes of a case's inputs with their checksums, dumps */

/* Makes a model the one whose case runs; its words of the head, and the number of dumps of those before it. */
static int32_t choose(uint32_t number, uint32_t words[MODEL_WORDS], uint32_t *dumps_before)
{
    uint32_t expect = 0u;
    *dumps_before = 0u;
    if (number >= nncc_model_count || nncc_port_seek(cases, 4u * HEAD_WORDS) != 0) {
        nncc_fail(NNCC_EXIT_USAGE, "the cases are not those of the models");
        return -1;
    }
    for (uint32_t i = 0; i <= number; i++) {
        if (i > 0u) {
            *dumps_before += words[2];
        }
        if (nncc_read_words(cases, words, MODEL_WORDS) != 0) {
            nncc_fail(NNCC_EXIT_USAGE, "cases.bin is cut short");
            return -1;
        }
    }
    model = nncc_models[number];
    for (uint32_t i = 0; i < model.input_count; i++) {
        expect += model.inputs[i].bytes + 4u;
    }
    if (words[0] != model.input_count || words[1] != expect) {
        nncc_fail(NNCC_EXIT_USAGE, "the cases do not have the model's inputs");
        return -1;
    }
    return 0;
}

/* All dumps of the file. */
static uint32_t all_dumps(void)
{
    uint32_t words[MODEL_WORDS];
    uint32_t sum = 0u;
    for (uint32_t i = 0; i < nncc_model_count; i++) {
        if (nncc_read_words(cases, words, MODEL_WORDS) != 0) {
            nncc_fail(NNCC_EXIT_USAGE, "cases.bin is cut short");
        }
        sum += words[2];
    }
    return sum;
}

/* cases.bin: magic, version, models, cases; for each model inputs, bytes of a case's inputs with their checksums,
 * dumps; the dumps of each; then case by case model, flags, number of fills, inputs, fills. */
static void run_cases(void)
{
    uint32_t head[HEAD_WORDS];
    if (nncc_read_words(cases, head, HEAD_WORDS) != 0 || head[0] != CASES_MAGIC || head[1] != PROTOCOL_VERSION ||
        head[2] != nncc_model_count) {
        nncc_fail(NNCC_EXIT_USAGE, "cases.bin is not a file of cases of the models");
        return;
    }
    uint32_t tables = 4u * (HEAD_WORDS + MODEL_WORDS * nncc_model_count);
    uint32_t at = tables + 12u * all_dumps();
    for (uint32_t i = 0; i < head[3] && nncc_failed() == 0; i++) {
        uint32_t which[CASE_WORDS];
        uint32_t words[MODEL_WORDS];
        uint32_t before;
        if (nncc_port_seek(cases, at) != 0 || nncc_read_words(cases, which, CASE_WORDS) != 0) {
            nncc_fail(NNCC_EXIT_USAGE, "cases.bin is cut short");
            return;
        }
        if (choose(which[0], words, &before) != 0) {
            return;
        }
        at += 4u * CASE_WORDS;
        run_case(i, which, at, at + words[1], tables + 12u * before, words[2]);
        at += words[1] + 4u * NNCC_FILL_WORDS * which[2];
    }
}

int32_t nncc_harness_main(void)
{
    cases = nncc_port_open("cases.bin", 0);
    if (cases < 0 || nncc_tracing_open() != 0) {
        nncc_fail(NNCC_EXIT_USAGE, "cases.bin cannot be opened");
        return nncc_failed();
    }
    if (nncc_records_open() != 0) {
        return nncc_failed();
    }
    for (uint32_t i = 0; i < nncc_model_count; i++) {
        model = nncc_models[i];
        if (model.bind != NULL && model.bind() != 0) {
            nncc_fail(NNCC_EXIT_USAGE, "the model refuses its weights file");
        }
        if (model.stage != NULL && model.stage() != 0) {
            nncc_fail(NNCC_EXIT_USAGE, "the model does not copy its constants");
        }
        hello(i);
    }
    run_cases();
    nncc_records_close();
    return nncc_failed();
}

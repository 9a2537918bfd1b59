/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Runs models over the cases of cases.bin and writes results.bin.
 *
 * Both files are sequences of little-endian 32-bit words and bytes; see
 * boards/run/proto.go, which writes one and reads the other. Every record that
 * leaves carries its length and a CRC-32, and the last one says how many there
 * were: a run that dies on the way cannot look like one that finished.
 */
#include "nncc_harness.h"
#include "nncc_port.h"

#include <stddef.h>

#define CASES_MAGIC 0x4343434Eu  /* NCCC */
#define RECORD_MAGIC 0x5243434Eu /* NCCR */
#define PROTOCOL_VERSION 3u

enum record
{
    RECORD_HELLO = 1, /* version, arena bytes, steps, inputs, outputs, ticks of an empty inference, of an empty step */
    RECORD_CASE,      /* status, ticks (2 words), interrupts, stack bytes, exact */
    RECORD_OUTPUT,    /* the bytes */
    RECORD_STEP,      /* ticks (2 words), interrupts */
    RECORD_DUMP,      /* the bytes */
    RECORD_END        /* number of records before this one */
};

enum case_flag
{
    CASE_KEEP_STATE = 1, /* go on from the state the case before has left */
    CASE_TRACE = 2,      /* count and dump step by step */
    CASE_STACK = 4       /* measure the stack, with a second inference if need be */
};

/* A fill: step, offset, bytes; what eight bytes of noise keep, and what they are XORed with. */
#define FILL_WORDS 7u
#define NO_STEP 0xFFFFFFFEu

static nncc_harness_model nncc_model; /* that whose case runs */

static struct
{
    int32_t cases; /* handle of cases.bin */
    int32_t dumps; /* second handle, standing in the table of dumps */
    int32_t fills; /* third handle, standing in the fills of the case */
    int32_t out;   /* handle of results.bin */
    uint32_t records;
    uint32_t dump_table; /* of the model, position in the file */
    uint32_t dump_count;
    uint32_t dump_next;  /* entries read so far in this inference */
    uint32_t dump[3];    /* step, offset, bytes of the entry read last */
    uint32_t fill_count; /* entries of the case not read yet */
    uint32_t fill[FILL_WORDS];
    int32_t failed; /* exit code to end with, 0 so far */
    enum
    {
        TRACE_OFF,
        TRACE_ON,
        TRACE_CALIBRATE
    } tracing;
    uint64_t step_start;
    uint32_t step_interrupts;
    uint32_t empty_step; /* ticks */
} h;

static void fail(int32_t code, const char *why)
{
    if (h.failed == 0) {
        h.failed = code;
    }
    nncc_port_print("nncc: ");
    nncc_port_print(why);
    nncc_port_print("\n");
}

/* ---- CRC-32 (IEEE 802.3, reflected), four bits at a time ---- */

static uint32_t crc_add(uint32_t crc, const void *data, uint32_t bytes)
{
    static const uint32_t table[16] = {0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
                                       0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
                                       0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};
    const unsigned char *p = (const unsigned char *)data;
    uint32_t i;
    crc = ~crc;
    for (i = 0; i < bytes; i++) {
        crc ^= p[i];
        crc = (crc >> 4) ^ table[crc & 15u];
        crc = (crc >> 4) ^ table[crc & 15u];
    }
    return ~crc;
}

/* ---- little-endian words ---- */

static void put_u32(unsigned char *to, uint32_t v)
{
    to[0] = (unsigned char)(v & 255u);
    to[1] = (unsigned char)((v >> 8) & 255u);
    to[2] = (unsigned char)((v >> 16) & 255u);
    to[3] = (unsigned char)(v >> 24);
}

static uint32_t get_u32(const unsigned char *from)
{
    return (uint32_t)from[0] | ((uint32_t)from[1] << 8) | ((uint32_t)from[2] << 16) | ((uint32_t)from[3] << 24);
}

static int32_t read_words(int32_t handle, uint32_t *to, uint32_t count)
{
    unsigned char b[4];
    uint32_t i;
    for (i = 0; i < count; i++) {
        if (nncc_port_read(handle, b, 4u) != 0) {
            return -1;
        }
        to[i] = get_u32(b);
    }
    return 0;
}

/* ---- records ---- */

static void record(enum record type, uint32_t index, const void *payload, uint32_t bytes)
{
    unsigned char head[16];
    unsigned char tail[4];
    uint32_t crc;
    put_u32(head, RECORD_MAGIC);
    put_u32(head + 4, (uint32_t)type);
    put_u32(head + 8, index);
    put_u32(head + 12, bytes);
    crc = crc_add(crc_add(0u, head, 16u), payload, bytes);
    put_u32(tail, crc);
    if (nncc_port_write(h.out, head, 16u) != 0 || (bytes != 0u && nncc_port_write(h.out, payload, bytes) != 0) ||
        nncc_port_write(h.out, tail, 4u) != 0) {
        fail(NNCC_EXIT_IO, "results.bin cannot be written");
    }
    h.records++;
}

static void record_words(enum record type, uint32_t index, const uint32_t *words, uint32_t count)
{
    unsigned char b[4u * 8u];
    uint32_t i;
    for (i = 0; i < count; i++) {
        put_u32(b + 4u * i, words[i]);
    }
    record(type, index, b, 4u * count);
}

/* ---- tracing ---- */

static void next_dump(void)
{
    if (h.dump_next >= h.dump_count) {
        h.dump[2] = 0u;
        h.dump_next = h.dump_count + 1u; /* none left */
        return;
    }
    if (read_words(h.dumps, h.dump, 3u) != 0) {
        fail(NNCC_EXIT_USAGE, "cases.bin ends within the table of dumps");
        h.dump_count = 0u;
    }
    h.dump_next++;
}

static void rewind_dumps(void)
{
    h.dump_next = 0u;
    if (h.dump_count != 0u && nncc_port_seek(h.dumps, h.dump_table) != 0) {
        fail(NNCC_EXIT_USAGE, "cases.bin cannot be read again");
        h.dump_count = 0u;
    }
    next_dump();
}

/* Bytes of the arena, whose parts stand behind each other, or of the state behind it; NULL: not all are there. */
static unsigned char *dumped(uint32_t offset, uint32_t size)
{
    uint32_t i = 0u;
    uint32_t there = nncc_model.parts[0].bytes;
    unsigned char *from = nncc_model.parts[0].store + NNCC_HARNESS_GUARD;
    while (offset >= there && i + 1u < nncc_model.part_count) {
        i++;
        offset -= there;
        there = nncc_model.parts[i].bytes;
        from = nncc_model.parts[i].store + NNCC_HARNESS_GUARD;
    }
    if (offset >= there && nncc_model.state_bytes != 0u) {
        offset -= there;
        there = nncc_model.state_bytes;
        from = nncc_model.kept + NNCC_HARNESS_GUARD;
    }
    return (offset > there || size > there - offset) ? NULL : from + offset;
}

static void next_fill(void)
{
    h.fill[0] = NO_STEP;
    if (h.fill_count != 0u) {
        h.fill_count--;
        if (read_words(h.fills, h.fill, FILL_WORDS) != 0) {
            fail(NNCC_EXIT_USAGE, "cases.bin ends within the fills of a case");
            h.fill[0] = NO_STEP;
        }
    }
}

/* Gives a step the operands that the case wants. */
static void fill_for(uint32_t step)
{
    while (h.fill[0] == step) {
        unsigned char *const to = dumped(h.fill[1], h.fill[2]);
        uint32_t v = 12345u;
        uint32_t i;
        if (to == NULL) {
            fail(NNCC_EXIT_USAGE, "a fill lies outside of the arena and the state");
            return;
        }
        for (i = 0; i < h.fill[2]; i++) {
            const uint32_t word = (i >> 2) & 1u;
            const uint32_t shift = 8u * (i & 3u);
            v = v * 1664525u + 1013904223u;
            to[i] = (unsigned char)((((v >> 24) & (h.fill[3u + word] >> shift)) ^ (h.fill[5u + word] >> shift)) & 255u);
        }
        next_fill();
    }
}

void nncc_trace(const struct nncc_info *info, int32_t step)
{
    const uint64_t now = nncc_port_ticks();
    (void)info;
    if (h.tracing == TRACE_OFF) {
        return;
    }
    if (h.tracing == TRACE_CALIBRATE) {
        h.empty_step = (uint32_t)(now - h.step_start);
    } else if (step >= 0) {
        const uint64_t ticks = now - h.step_start;
        uint32_t w[3];
        w[0] = (uint32_t)(ticks & 0xFFFFFFFFu);
        w[1] = (uint32_t)(ticks >> 32);
        w[2] = nncc_port_interrupts() - h.step_interrupts;
        record_words(RECORD_STEP, (uint32_t)step, w, 3u);
    }
    while (h.dump_next <= h.dump_count && h.dump[0] == (uint32_t)step) {
        const uint32_t size = h.dump[2];
        const unsigned char *const from = dumped(h.dump[1], size);
        if (from == NULL) {
            fail(NNCC_EXIT_USAGE, "a dump lies outside of the arena and the state");
            return;
        }
        record(RECORD_DUMP, h.dump_next - 1u, from, size);
        next_dump();
    }
    fill_for((uint32_t)(step + 1));
    h.step_interrupts = nncc_port_interrupts();
    h.step_start = nncc_port_ticks();
}

/* ---- guards ---- */

static unsigned char guard_byte(uint32_t i)
{
    return (unsigned char)(0x5Au ^ (i * 37u));
}

static void guards_set(unsigned char *store, uint32_t bytes)
{
    unsigned char *const after = store + NNCC_HARNESS_GUARD + bytes;
    uint32_t i;
    for (i = 0; i < NNCC_HARNESS_GUARD; i++) {
        store[i] = guard_byte(i);
        after[i] = guard_byte(i);
    }
    nncc_port_forbid(store, NNCC_HARNESS_GUARD);
    nncc_port_forbid(after, NNCC_HARNESS_GUARD);
}

static void guards_check(const unsigned char *store, uint32_t bytes)
{
    const unsigned char *const after = store + NNCC_HARNESS_GUARD + bytes;
    int32_t low = 0;
    int32_t high = 0;
    uint32_t i;
    nncc_port_allow(store, NNCC_HARNESS_GUARD);
    nncc_port_allow(after, NNCC_HARNESS_GUARD);
    for (i = 0; i < NNCC_HARNESS_GUARD; i++) {
        low |= store[i] != guard_byte(i);
        high |= after[i] != guard_byte(i);
    }
    if (low != 0) {
        fail(NNCC_EXIT_GUARD, "the model wrote before the start of its arena or state");
    }
    if (high != 0) {
        fail(NNCC_EXIT_GUARD, "the model wrote beyond the end of its arena or state");
    }
}

static void guard_all(void)
{
    uint32_t i;
    for (i = 0; i < nncc_model.part_count; i++) {
        guards_set(nncc_model.parts[i].store, nncc_model.parts[i].bytes);
    }
    if (nncc_model.kept != NULL) {
        guards_set(nncc_model.kept, nncc_model.state_bytes);
    }
}

static void check_all(void)
{
    uint32_t i;
    for (i = 0; i < nncc_model.part_count; i++) {
        guards_check(nncc_model.parts[i].store, nncc_model.parts[i].bytes);
    }
    if (nncc_model.kept != NULL) {
        guards_check(nncc_model.kept, nncc_model.state_bytes);
    }
    if (nncc_port_stack_overflow() != 0) {
        fail(NNCC_EXIT_GUARD, "the stack overflowed: its lowest words were written");
    }
    if (nncc_port_vectors_changed() != 0) {
        fail(NNCC_EXIT_GUARD, "the model wrote to the exception vectors (through a null pointer?)");
    }
}

/* ---- cases ---- */

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
    void *const state = (nncc_model.kept != NULL) ? nncc_model.kept + NNCC_HARNESS_GUARD : NULL;
    uint64_t start;
    const uintptr_t top = nncc_port_sp();
    nncc_port_stack_paint();
    nncc_port_count(count);
    start = nncc_port_ticks();
    m.status = run(nncc_model.arena, state);
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
    uint32_t i;
    for (i = 0; i < nncc_model.part_count; i++) {
        const uintptr_t first = (uintptr_t)(nncc_model.parts[i].store + NNCC_HARNESS_GUARD);
        const uint32_t there = nncc_model.parts[i].bytes;
        inside |= at >= first && bytes <= there && at - first <= there - bytes;
    }
    return inside;
}

#define CASE_WORDS 3u /* model, flags, fills */

/* Rubbish, another one for each seed. */
static void spoil(unsigned char *to, uint32_t bytes, uint32_t seed)
{
    uint32_t v = seed * 2654435761u + 12345u;
    uint32_t i;
    for (i = 0; i < bytes; i += 4u) {
        uint32_t k;
        v = v * 1664525u + 1013904223u;
        for (k = 0; k < 4u && i + k < bytes; k++) {
            to[i + k] = (unsigned char)((v >> (8u * k)) & 255u);
        }
    }
}

/* The arena holds rubbish before every case, so does new state before its
 * reset: a model that reads what it has not written shows. */
static int32_t prepare(uint32_t seed, int32_t keep, uint32_t inputs_at)
{
    uint32_t i;
    for (i = 0; i < nncc_model.part_count; i++) {
        spoil(nncc_model.parts[i].store + NNCC_HARNESS_GUARD, nncc_model.parts[i].bytes, seed + 977u * i);
    }
    if (keep == 0 && nncc_model.kept != NULL) {
        unsigned char *const state = nncc_model.kept + NNCC_HARNESS_GUARD;
        spoil(state, nncc_model.state_bytes, seed + 1u);
        if (nncc_model.reset(state) != 0) {
            fail(NNCC_EXIT_USAGE, "the model's reset function failed");
            return -1;
        }
    }
    if (nncc_port_seek(h.cases, inputs_at) != 0) {
        fail(NNCC_EXIT_USAGE, "cases.bin cannot be read");
        return -1;
    }
    for (i = 0; i < nncc_model.input_count; i++) {
        uint32_t crc;
        const uint32_t size = nncc_model.inputs[i].bytes;
        unsigned char *const to = nncc_model.inputs[i].address(nncc_model.arena);
        if (in_arena(to, size) == 0) {
            fail(NNCC_EXIT_GUARD, "an input lies outside of the arena");
            return -1;
        }
        if ((size != 0u && nncc_port_read(h.cases, to, size) != 0) || read_words(h.cases, &crc, 1u) != 0 ||
            crc != crc_add(0u, to, size)) {
            fail(NNCC_EXIT_USAGE, "cases.bin is cut short or damaged");
            return -1;
        }
    }
    return 0;
}

static void run_case(uint32_t number, const uint32_t head[CASE_WORDS], uint32_t inputs_at, uint32_t fills_at)
{
    const uint32_t flags = head[1];
    const int32_t keep = (flags & CASE_KEEP_STATE) != 0u;
    measurement m;
    uint32_t w[6];
    uint32_t i;
    if (prepare(number, keep, inputs_at) != 0) {
        return;
    }
    if ((flags & CASE_TRACE) != 0u) {
        h.tracing = TRACE_ON;
        rewind_dumps();
        h.fill_count = head[2];
        if (h.fill_count != 0u && nncc_port_seek(h.fills, fills_at) != 0) {
            fail(NNCC_EXIT_USAGE, "the fills of a case cannot be read");
            return;
        }
        next_fill();
    }
    guard_all();
    m = measure(nncc_model.run, 1);
    check_all();
    h.tracing = TRACE_OFF;
    if ((flags & CASE_STACK) != 0u && m.exact == 0 && keep == 0 && h.failed == 0) {
        /* An interrupt of the counter used the stack at its deepest: look at
         * the stack again, without the counter. */
        if (prepare(number, 0, inputs_at) != 0) {
            return;
        }
        guard_all();
        m.stack = measure(nncc_model.run, 0).stack;
        check_all();
        m.exact = 1;
    }
    w[0] = (uint32_t)m.status;
    w[1] = (uint32_t)(m.ticks & 0xFFFFFFFFu);
    w[2] = (uint32_t)(m.ticks >> 32);
    w[3] = m.interrupts;
    w[4] = m.stack;
    w[5] = (uint32_t)m.exact;
    record_words(RECORD_CASE, number, w, 6u);
    for (i = 0; i < nncc_model.output_count && m.status == 0 && h.failed == 0; i++) {
        const unsigned char *const from = nncc_model.outputs[i].address(nncc_model.arena);
        if (in_arena(from, nncc_model.outputs[i].bytes) == 0) {
            fail(NNCC_EXIT_GUARD, "an output lies outside of the arena");
            return;
        }
        record(RECORD_OUTPUT, i, from, nncc_model.outputs[i].bytes);
    }
}

/* What counting itself costs: an inference that does nothing, and a step that
 * does nothing. Called twice, so that the second finds everything in place. */
static measurement calibrate(void)
{
    void (*volatile trace)(const struct nncc_info *, int32_t) = nncc_trace;
    h.tracing = TRACE_CALIBRATE;
    h.fill[0] = NO_STEP;
    h.dump_count = 0u;
    h.dump_next = 1u;
    nncc_port_count(1);
    trace(NULL, -1);
    trace(NULL, 0);
    h.tracing = TRACE_OFF;
    return measure(nothing, 1);
}

static void hello(uint32_t number)
{
    uint32_t w[7];
    measurement m = calibrate();
    m = calibrate();
    w[0] = PROTOCOL_VERSION;
    w[1] = nncc_model.arena_bytes;
    w[2] = nncc_model.steps;
    w[3] = nncc_model.input_count;
    w[4] = nncc_model.output_count;
    w[5] = (uint32_t)(m.ticks & 0xFFFFFFFFu);
    w[6] = h.empty_step;
    record_words(RECORD_HELLO, number, w, 7u);
}

#define HEAD_WORDS 4u  /* magic, version, models, cases */
#define MODEL_WORDS 3u /* inputs, bytes of a case's inputs with their checksums, dumps */

/* Makes a model the one whose case runs; its words of the head, and the number of dumps of those before it. */
static int32_t choose(uint32_t number, uint32_t words[MODEL_WORDS], uint32_t *dumps_before)
{
    uint32_t expect = 0u;
    uint32_t i;
    *dumps_before = 0u;
    if (number >= nncc_model_count || nncc_port_seek(h.cases, 4u * HEAD_WORDS) != 0) {
        fail(NNCC_EXIT_USAGE, "the cases are not those of the models");
        return -1;
    }
    for (i = 0; i <= number; i++) {
        if (i > 0u) {
            *dumps_before += words[2];
        }
        if (read_words(h.cases, words, MODEL_WORDS) != 0) {
            fail(NNCC_EXIT_USAGE, "cases.bin is cut short");
            return -1;
        }
    }
    nncc_model = nncc_models[number];
    for (i = 0; i < nncc_model.input_count; i++) {
        expect += nncc_model.inputs[i].bytes + 4u;
    }
    if (words[0] != nncc_model.input_count || words[1] != expect) {
        fail(NNCC_EXIT_USAGE, "the cases do not have the model's inputs");
        return -1;
    }
    return 0;
}

/* All dumps of the file. */
static uint32_t all_dumps(void)
{
    uint32_t words[MODEL_WORDS];
    uint32_t sum = 0u;
    uint32_t i;
    for (i = 0; i < nncc_model_count; i++) {
        if (read_words(h.cases, words, MODEL_WORDS) != 0) {
            fail(NNCC_EXIT_USAGE, "cases.bin is cut short");
        }
        sum += words[2];
    }
    return sum;
}

/* cases.bin: magic, version, models, cases; for each model inputs, bytes of a case's inputs with their checksums,
 * dumps; the dumps of each; then case by case model, flags, number of fills, inputs, fills. */
static int32_t run_cases(void)
{
    uint32_t head[HEAD_WORDS];
    uint32_t tables;
    uint32_t at;
    uint32_t i;
    if (read_words(h.cases, head, HEAD_WORDS) != 0 || head[0] != CASES_MAGIC || head[1] != PROTOCOL_VERSION ||
        head[2] != nncc_model_count) {
        fail(NNCC_EXIT_USAGE, "cases.bin is not a file of cases of the models");
        return h.failed;
    }
    tables = 4u * (HEAD_WORDS + MODEL_WORDS * nncc_model_count);
    at = tables + 12u * all_dumps();
    for (i = 0; i < head[3] && h.failed == 0; i++) {
        uint32_t which[CASE_WORDS];
        uint32_t model[MODEL_WORDS];
        uint32_t before;
        if (nncc_port_seek(h.cases, at) != 0 || read_words(h.cases, which, CASE_WORDS) != 0) {
            fail(NNCC_EXIT_USAGE, "cases.bin is cut short");
            return h.failed;
        }
        if (choose(which[0], model, &before) != 0) {
            return h.failed;
        }
        h.dump_table = tables + 12u * before;
        h.dump_count = model[2];
        at += 4u * CASE_WORDS;
        run_case(i, which, at, at + model[1]);
        at += model[1] + 4u * FILL_WORDS * which[2];
    }
    return h.failed;
}

int32_t nncc_harness_main(void)
{
    uint32_t i;
    h.cases = nncc_port_open("cases.bin", 0);
    h.dumps = nncc_port_open("cases.bin", 0);
    h.fills = nncc_port_open("cases.bin", 0);
    if (h.cases < 0 || h.dumps < 0 || h.fills < 0) {
        fail(NNCC_EXIT_USAGE, "cases.bin cannot be opened");
        return h.failed;
    }
    h.out = nncc_port_open("results.bin", 1);
    if (h.out < 0) {
        fail(NNCC_EXIT_IO, "results.bin cannot be opened");
        return h.failed;
    }
    for (i = 0; i < nncc_model_count; i++) {
        nncc_model = nncc_models[i];
        if (nncc_model.bind != NULL && nncc_model.bind() != 0) {
            fail(NNCC_EXIT_USAGE, "the model refuses its weights file");
        }
        if (nncc_model.stage != NULL && nncc_model.stage() != 0) {
            fail(NNCC_EXIT_USAGE, "the model does not copy its constants");
        }
        hello(i);
    }
    if (run_cases() == 0) {
        record_words(RECORD_END, 0u, &h.records, 1u);
    }
    if (nncc_port_close(h.out) != 0 && h.failed == 0) {
        fail(NNCC_EXIT_IO, "results.bin cannot be closed");
    }
    return h.failed;
}

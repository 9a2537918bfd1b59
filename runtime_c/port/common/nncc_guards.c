/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_guards.h"
#include "nncc_port.h"
#include "nncc_records.h"

#include <stddef.h>

static unsigned char guard_byte(uint32_t i)
{
    return (unsigned char)(0x5Au ^ (i * 37u));
}

static void guard(unsigned char *store, uint32_t bytes)
{
    unsigned char *const after = store + NNCC_HARNESS_GUARD + bytes;
    for (uint32_t i = 0; i < NNCC_HARNESS_GUARD; i++) {
        store[i] = guard_byte(i);
        after[i] = guard_byte(i);
    }
    nncc_port_forbid(store, NNCC_HARNESS_GUARD);
    nncc_port_forbid(after, NNCC_HARNESS_GUARD);
}

static void check(const unsigned char *store, uint32_t bytes)
{
    const unsigned char *const after = store + NNCC_HARNESS_GUARD + bytes;
    int32_t low = 0;
    int32_t high = 0;
    nncc_port_allow(store, NNCC_HARNESS_GUARD);
    nncc_port_allow(after, NNCC_HARNESS_GUARD);
    for (uint32_t i = 0; i < NNCC_HARNESS_GUARD; i++) {
        low |= store[i] != guard_byte(i);
        high |= after[i] != guard_byte(i);
    }
    if (low != 0) {
        nncc_fail(NNCC_EXIT_GUARD, "the model wrote before the start of its arena or state");
    }
    if (high != 0) {
        nncc_fail(NNCC_EXIT_GUARD, "the model wrote beyond the end of its arena or state");
    }
}

void nncc_guards_set(const nncc_harness_model *m)
{
    for (uint32_t i = 0; i < m->part_count; i++) {
        guard(m->parts[i].store, m->parts[i].bytes);
    }
    if (m->kept != NULL) {
        guard(m->kept, m->state_bytes);
    }
}

void nncc_guards_check(const nncc_harness_model *m)
{
    for (uint32_t i = 0; i < m->part_count; i++) {
        check(m->parts[i].store, m->parts[i].bytes);
    }
    if (m->kept != NULL) {
        check(m->kept, m->state_bytes);
    }
    if (nncc_port_stack_overflow() != 0) {
        nncc_fail(NNCC_EXIT_GUARD, "the stack overflowed: its lowest words were written");
    }
    if (nncc_port_vectors_changed() != 0) {
        nncc_fail(NNCC_EXIT_GUARD, "the model wrote to the exception vectors (through a null pointer?)");
    }
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The contract between models and the program that tests them.
 *
 * harness/model_glue.c describes the models in nncc_models; harness_main.c feeds
 * them cases from the file cases.bin and writes what comes back to results.bin.
 */
#ifndef NNCC_HARNESS_H
#define NNCC_HARNESS_H

#include <stdint.h>

/* Bytes before and after every part of the arena and the state that the model must not touch.
 * A multiple of every alignment they can ask for. */
#define NNCC_HARNESS_GUARD 64u

/* Exit codes of the program; boards/run gives them their names. */
#define NNCC_EXIT_OK 0
#define NNCC_EXIT_USAGE 2 /* cases.bin does not fit the model, or cannot be read */
#define NNCC_EXIT_FAULT 3 /* the processor trapped */
#define NNCC_EXIT_GUARD 4 /* bytes beside the arena or below the stack were written */
#define NNCC_EXIT_IO 5    /* results.bin cannot be written */

typedef struct
{
    uint32_t bytes;
    unsigned char *(*address)(void *arena);
} nncc_harness_input;

typedef struct
{
    uint32_t bytes;
    const unsigned char *(*address)(const void *arena);
} nncc_harness_output;

/* A part of the arena, most often all of it. */
typedef struct
{
    unsigned char *store; /* guard, part, guard: the same for all models */
    uint32_t bytes;       /* of the part */
} nncc_harness_part;

typedef struct
{
    void *arena; /* what the model's functions take: the arena, or a structure of its parts */
    const nncc_harness_part *parts;
    uint32_t part_count;
    unsigned char *kept;  /* guard, state, guard; NULL where the model keeps no state */
    uint32_t arena_bytes; /* of all parts */
    uint32_t state_bytes;
    uint32_t steps; /* calls of nncc_trace with step >= 0 in one inference */
    uint32_t input_count;
    uint32_t output_count;
    const nncc_harness_input *inputs;
    const nncc_harness_output *outputs;
    int32_t (*run)(void *arena, void *state); /* 0 is success */
    int32_t (*reset)(void *state);            /* NULL where the model keeps no state */
    int32_t (*bind)(void);                    /* NULL where the model's constants are linked */
    int32_t (*stage)(void);                   /* NULL where no constant has a copy */
} nncc_harness_model;

extern const nncc_harness_model nncc_models[];
extern const uint32_t nncc_model_count;

/* Called by a model compiled with NNCC_TRACE: step -1 before the first step,
 * then each step's number after it. */
struct nncc_info;
void nncc_trace(const struct nncc_info *info, int32_t step);

/* Runs the cases; the result is the exit code. */
int32_t nncc_harness_main(void);

#endif

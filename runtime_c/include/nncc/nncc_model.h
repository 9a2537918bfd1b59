/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * nncc_model.h: what emitted models say of themselves at run time, and the hook between their steps. All models of an
 * image share it.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with every change of nncc_info: a model that was written for another one says so when it is compiled. */
#define NNCC_INFO_VERSION 1

/* A model, as <name>_info describes it. */
typedef struct nncc_info
{
    const char *name;              /* C prefix */
    const char *nncc;              /* version of nncc that wrote it */
    const char *sha256;            /* of the model file, 64 hexadecimal digits */
    const char *board;             /* that it was compiled for */
    uint32_t arena_bytes;          /* <NAME>_ARENA_BYTES */
    uint32_t state_bytes;          /* <NAME>_STATE_BYTES; 0: it keeps no state */
    uint32_t align;                /* of both, in bytes */
    uint32_t weights_bytes;        /* constants */
    int32_t steps;                 /* <NAME>_STEPS */
    const char *const *step_names; /* one a step, UTF-8; NULL where NNCC_NO_NAMES was defined */
} nncc_info;

/*
 * With NNCC_TRACE defined, models call this after every step, and with step -1 before the first: write it to profile or
 * to watch a model. The harness has one that counts cycles.
 */
void nncc_trace(const nncc_info *info, int32_t step);

/* Steps are compiled into the functions that run them: what an image does not call is not in it. */
#if defined(__GNUC__) || defined(__clang__)
#define NNCC_INLINE inline __attribute__((always_inline))
#elif defined(__ICCARM__)
#define NNCC_INLINE _Pragma("inline=forced") inline
#else
#define NNCC_INLINE inline
#endif

#ifdef __cplusplus
}
#endif

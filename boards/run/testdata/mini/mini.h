/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MINI_H
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

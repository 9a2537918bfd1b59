/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Bytes that no inference may change: beside the arena and the state, below the stack, the exception vectors. */
#ifndef NNCC_GUARDS_H
#define NNCC_GUARDS_H

#include "nncc_harness.h"

void nncc_guards_set(const nncc_harness_model *m);

/* Fails with NNCC_EXIT_GUARD where some were changed. */
void nncc_guards_check(const nncc_harness_model *m);

#endif

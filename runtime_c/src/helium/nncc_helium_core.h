/*
 * nncc_helium_core.h: what the Helium kernels share: when the vector bodies are compiled, and the requantisation.
 *
 * Vector bodies are inline assembly: GCC 12 moves predicates and accumulators about where it compiles intrinsics.
 * Operands have registers of their own (NNCC_REG), never r7, the frame pointer of unoptimised builds: that compiles at
 * any level.
 */
#ifndef NNCC_HELIUM_CORE_H
#define NNCC_HELIUM_CORE_H

#include "nncc_helium.h"

#include <string.h>

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1) && defined(__GNUC__) && defined(__thumb2__) && \
    !defined(__ARM_BIG_ENDIAN)
#define NNCC_HELIUM_MVE 1
#else
#define NNCC_HELIUM_MVE 0
#endif

/* Bytes in a vector. */
#define NNCC_HELIUM_BYTES 16

#if NNCC_HELIUM_MVE

/* A variable in a core register, for the assembly that follows at once. */
#define NNCC_REG(type, name, reg, value) register type name __asm(reg) = (value)

/* Ties of the right shift go away from zero: negative values one down before VRSHL rounds them up. t is a free vector.
 */
#define NNCC_ROUND_ALL(q, t) "vshr.s32 " #t ", " #q ", #31\nvadd.i32 " #q ", " #q ", " #t "\n"
/* Negative values end at act_min whichever way they are rounded. */
#define NNCC_ROUND_RELU(q, t) ""

#else

#include "nncc_requant.h"

#endif

#endif /* NNCC_HELIUM_CORE_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_file.h: reading and checking segment files (mla_file.c). */
#include "mla_command.h"

/* Checks header and sections without their content; fills what the header says. image->memory stays unset. */
mla_status mla_read_header(const uint8_t *file, size_t bytes, mla_image *image);

/* Compares the checksums of all sections. */
mla_status mla_check_sums(const uint8_t *file);

/* Checks every tensor. */
mla_status mla_check_tensors(const mla_image *image);

/*
 * Goes over the command stream: checks every command, and runs it where run is 1. The counters may be NULL.
 * image->memory is set.
 */
mla_status mla_walk(const mla_image *image, int32_t run, mla_counters *counters);

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* Words in, records out: the two files of the protocol (boards/run/proto.go). */
#ifndef NNCC_RECORDS_H
#define NNCC_RECORDS_H

#include <stdint.h>

enum nncc_record
{
    RECORD_HELLO = 1, /* version, arena bytes, steps, inputs, outputs, ticks of an empty inference, of an empty step */
    RECORD_CASE,      /* status, ticks (2 words), interrupts, stack bytes, exact */
    RECORD_OUTPUT,    /* the bytes */
    RECORD_STEP,      /* ticks (2 words), interrupts */
    RECORD_DUMP,      /* the bytes */
    RECORD_END        /* number of records before this one */
};

/* Opens results.bin; 0 is success. */
int32_t nncc_records_open(void);

/* Ends the records with their number, unless something failed, and closes the file. */
void nncc_records_close(void);

/* A record with its length and CRC-32. */
void nncc_record(enum nncc_record type, uint32_t index, const void *payload, uint32_t bytes);

/* A record of at most 8 words. */
void nncc_record_words(enum nncc_record type, uint32_t index, const uint32_t *words, uint32_t count);

/* Reads words of an open file; 0 is success. */
int32_t nncc_read_words(int32_t handle, uint32_t *to, uint32_t count);

/* CRC-32 (IEEE 802.3, reflected) of bytes behind those of crc; 0 is that of none. */
uint32_t nncc_crc(uint32_t crc, const void *data, uint32_t bytes);

/* Says why the program fails. The first exit code is what it ends with. */
void nncc_fail(int32_t code, const char *why);

/* The exit code to end with, 0 so far. */
int32_t nncc_failed(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
#include "nncc_records.h"
#include "nncc_harness.h"
#include "nncc_port.h"

#define RECORD_MAGIC 0x5243434Eu /* NCCR */

static int32_t results; /* handle of results.bin */
static uint32_t records;
static int32_t failed;

void nncc_fail(int32_t code, const char *why)
{
    if (failed == 0) {
        failed = code;
    }
    nncc_port_print("nncc: ");
    nncc_port_print(why);
    nncc_port_print("\n");
}

/* Four bits at a time. */

uint32_t nncc_crc(uint32_t crc, const void *data, uint32_t bytes)
{
    static const uint32_t table[16] = {0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
                                       0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
                                       0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};
    const unsigned char *p = (const unsigned char *)data;
    crc = ~crc;
    for (uint32_t i = 0; i < bytes; i++) {
        crc ^= p[i];
        crc = (crc >> 4) ^ table[crc & 15u];
        crc = (crc >> 4) ^ table[crc & 15u];
    }
    return ~crc;
}

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

int32_t nncc_read_words(int32_t handle, uint32_t *to, uint32_t count)
{
    unsigned char b[4];
    for (uint32_t i = 0; i < count; i++) {
        if (nncc_port_read(handle, b, 4u) != 0) {
            return -1;
        }
        to[i] = get_u32(b);
    }
    return 0;
}

void nncc_record(enum nncc_record type, uint32_t index, const void *payload, uint32_t bytes)
{
    unsigned char head[16];
    unsigned char tail[4];
    put_u32(head, RECORD_MAGIC);
    put_u32(head + 4, (uint32_t)type);
    put_u32(head + 8, index);
    put_u32(head + 12, bytes);
    uint32_t crc = nncc_crc(nncc_crc(0u, head, 16u), payload, bytes);
    put_u32(tail, crc);
    if (nncc_port_write(results, head, 16u) != 0 || (bytes != 0u && nncc_port_write(results, payload, bytes) != 0) ||
        nncc_port_write(results, tail, 4u) != 0) {
        nncc_fail(NNCC_EXIT_IO, "results.bin cannot be written");
    }
    records++;
}

void nncc_record_words(enum nncc_record type, uint32_t index, const uint32_t *words, uint32_t count)
{
    unsigned char b[4u * 8u];
    for (uint32_t i = 0; i < count; i++) {
        put_u32(b + 4u * i, words[i]);
    }
    nncc_record(type, index, b, 4u * count);
}

int32_t nncc_failed(void)
{
    return failed;
}

int32_t nncc_records_open(void)
{
    results = nncc_port_open("results.bin", 1);
    if (results < 0) {
        nncc_fail(NNCC_EXIT_IO, "results.bin cannot be opened");
    }
    return failed;
}

void nncc_records_close(void)
{
    if (failed == 0) {
        const uint32_t before = records;
        nncc_record_words(RECORD_END, 0u, &before, 1u);
    }
    if (nncc_port_close(results) != 0 && failed == 0) {
        nncc_fail(NNCC_EXIT_IO, "results.bin cannot be closed");
    }
}

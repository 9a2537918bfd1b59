/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_file: header, sections, tensors and command stream of a segment file. */
#include "mla_file.h"
#include "mla_crc32.h"

/* Offsets in the header. */
enum
{
    MLA_AT_CRC = 12,
    MLA_AT_SECTIONS = 40,
    MLA_AT_END = 108
};

/* Sections in their order. */
enum
{
    MLA_TENSORS = 0,
    MLA_COMMANDS = 1,
    MLA_WEIGHTS = 2,
    MLA_NAMES = 3,
    MLA_SECTIONS = 4
};

/* The offset of a section, then its size, then its checksum. */
static uint32_t mla_section(const uint8_t *file, uint32_t section, uint32_t word)
{
    return mla_u32(file + MLA_AT_SECTIONS + 12u * section + 4u * word);
}

static int32_t mla_zeroes(const uint8_t *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (p[i] != 0) {
            return 0;
        }
    }
    return 1;
}

/* Sections follow each other, aligned, to the end of the file, with zeroes between them. */
static mla_status mla_check_sections(const uint8_t *file, uint32_t bytes)
{
    uint32_t at = MLA_HEADER_BYTES;

    for (uint32_t i = 0; i < MLA_SECTIONS; i++) {
        const uint32_t size = mla_section(file, i, 1);

        if (mla_section(file, i, 0) != at || size > bytes - at) {
            return MLA_ERR_HEADER;
        }
        uint32_t end = (at + size + 15u) & ~15u;
        if (end > bytes || mla_zeroes(file + at + size, end - at - size) == 0) {
            return MLA_ERR_HEADER;
        }
        at = end;
    }
    return at == bytes ? MLA_OK : MLA_ERR_HEADER;
}

static uint32_t mla_header_crc(const uint8_t *file)
{
    static const uint8_t zero[4] = {0};
    uint32_t crc = mla_crc32(0, file, MLA_AT_CRC);

    crc = mla_crc32(crc, zero, 4);
    return mla_crc32(crc, file + MLA_AT_CRC + 4, MLA_HEADER_BYTES - MLA_AT_CRC - 4);
}

mla_status mla_read_header(const uint8_t *file, size_t bytes, mla_image *image)
{
    static const uint8_t magic[4] = {'N', 'M', 'L', 'A'};

    if (bytes < MLA_HEADER_BYTES || bytes > MLA_MAX_BYTES) {
        return MLA_ERR_TRUNCATED;
    }
    for (uint32_t i = 0; i < 4u; i++) {
        if (file[i] != magic[i]) {
            return MLA_ERR_MAGIC;
        }
    }
    if (mla_u16(file + 4) != MLA_MAJOR || mla_u16(file + 6) > MLA_MINOR) {
        return MLA_ERR_VERSION;
    }
    if (mla_header_crc(file) != mla_u32(file + MLA_AT_CRC)) {
        return MLA_ERR_CHECKSUM;
    }
    if (mla_u32(file + 8) != MLA_HEADER_BYTES || mla_zeroes(file + MLA_AT_END, MLA_HEADER_BYTES - MLA_AT_END) == 0) {
        return MLA_ERR_HEADER;
    }
    if (mla_u32(file + 16) != bytes || bytes % 16u != 0u) {
        return MLA_ERR_TRUNCATED;
    }
    mla_status status = mla_check_sections(file, (uint32_t)bytes);
    if (status != MLA_OK) {
        return status;
    }
    image->memory_bytes = mla_u32(file + 20);
    image->tensors = file + mla_section(file, MLA_TENSORS, 0);
    image->tensor_count = mla_u32(file + 24);
    image->commands = file + mla_section(file, MLA_COMMANDS, 0);
    image->command_bytes = mla_section(file, MLA_COMMANDS, 1);
    image->command_count = mla_u32(file + 28);
    image->weights = file + mla_section(file, MLA_WEIGHTS, 0);
    image->weight_bytes = mla_section(file, MLA_WEIGHTS, 1);
    image->name_bytes = mla_section(file, MLA_NAMES, 1);
    image->input_count = mla_u32(file + 32);
    image->output_count = mla_u32(file + 36);
    image->macs = mla_u64(file + 88);
    image->work = mla_u64(file + 96);
    image->memory = NULL;
    if (image->memory_bytes > MLA_MAX_BYTES || image->memory_bytes % 16u != 0u || image->tensor_count > MLA_MAX_COUNT ||
        mla_section(file, MLA_TENSORS, 1) != image->tensor_count * MLA_TENSOR_BYTES ||
        image->command_count > MLA_MAX_COUNT || image->name_bytes == 0u || mla_u32(file + 104) >= image->name_bytes ||
        file[mla_section(file, MLA_NAMES, 0) + image->name_bytes - 1u] != 0) {
        return MLA_ERR_HEADER;
    }
    return MLA_OK;
}

mla_status mla_check_sums(const uint8_t *file)
{
    for (uint32_t i = 0; i < MLA_SECTIONS; i++) {
        if (mla_crc32(0, file + mla_section(file, i, 0), mla_section(file, i, 1)) != mla_section(file, i, 2)) {
            return MLA_ERR_CHECKSUM;
        }
    }
    return MLA_OK;
}

/* Bytes of an element, 0 for a type that does not exist. */
static uint32_t mla_type_bytes(uint32_t type)
{
    static const uint8_t bytes[] = {0, 1, 1, 2, 4, 4, 8, 8, 16, 2, 4};

    return type < sizeof bytes ? bytes[type] : 0u;
}

static int32_t mla_tensor_ok(const mla_image *image, const uint8_t *e)
{
    const uint32_t rank = e[46];
    const int32_t zero = mla_i32(e + 52);
    const uint32_t scale = mla_u32(e + 48);
    const uint64_t offset = mla_u32(e + 56);
    const uint64_t size = mla_u32(e + 60);
    uint64_t n = mla_type_bytes(e[44]);
    uint32_t seen = 0;

    if (n == 0u || e[45] < MLA_INPUT || e[45] > MLA_CONST || rank < 1u || rank > MLA_DIMS || e[47] != 0 ||
        mla_u32(e + 40) >= image->name_bytes) {
        return 0;
    }
    for (uint32_t d = 0; d < MLA_DIMS; d++) {
        const uint32_t dim = mla_u32(e + 4u * d);

        if (d >= rank) {
            if (dim != 0u || e[32u + d] != 0) {
                return 0;
            }
            continue;
        }
        if (dim < 1u || dim > MLA_MAX_BYTES || e[32u + d] >= rank || ((seen >> e[32u + d]) & 1u) != 0u) {
            return 0;
        }
        seen |= 1u << e[32u + d];
        n = mla_product(n, dim);
    }
    /* a scale that is negative, infinite or not a number has a bit pattern from that of infinity on, but for -0 */
    if (n != size || n > MLA_MAX_BYTES || (scale >= 0x7f800000u && scale != 0x80000000u) || zero < -32768 ||
        zero > 65536) {
        return 0;
    }
    if (e[45] == MLA_CONST) {
        return offset % 16u == 0u && offset + n <= image->weight_bytes;
    }
    return offset + n <= image->memory_bytes;
}

mla_status mla_check_tensors(const mla_image *image)
{
    uint32_t inputs = 0;
    uint32_t outputs = 0;

    for (uint32_t i = 0; i < image->tensor_count; i++) {
        const uint8_t *e = image->tensors + (size_t)i * MLA_TENSOR_BYTES;

        if (mla_tensor_ok(image, e) == 0) {
            return MLA_ERR_TENSOR;
        }
        inputs += e[45] == MLA_INPUT ? 1u : 0u;
        outputs += e[45] == MLA_OUTPUT ? 1u : 0u;
    }
    if (inputs != image->input_count || outputs != image->output_count || inputs == 0u || outputs == 0u) {
        return MLA_ERR_HEADER;
    }
    return MLA_OK;
}

/* The operands of a command name tensors of the table, constants where they must be, and begin inside of them. */
static int32_t mla_operands_ok(const mla_image *image, const mla_operation *o, const uint8_t *p)
{
    for (uint32_t i = 0; i < o->operands; i++) {
        const uint32_t number = mla_u32(p + 8u * i);
        const uint32_t offset = mla_u32(p + 8u * i + 4u);
        const int32_t constant = (o->constant >> i) & 1;

        if (number == MLA_NONE) {
            if (((o->optional >> i) & 1) == 0 || offset != 0u) {
                return 0;
            }
            continue;
        }
        if (number >= image->tensor_count) {
            return 0;
        }
        mla_tensor t = mla_tensor_at(image, number);
        if ((constant != 0 && t.role != MLA_CONST) || (i + 1u == o->operands && t.role == MLA_CONST) ||
            offset >= t.bytes) {
            return 0;
        }
    }
    return 1;
}

/* Decodes the command at p, which has `left` bytes, and gives its size; 0 when it is malformed. */
static uint32_t mla_decode(const mla_image *image, const uint8_t *p, uint32_t left, mla_command *c)
{
    if (left < MLA_COMMAND_BYTES) {
        return 0;
    }
    const mla_operation *o = mla_operation_of(mla_u16(p));
    if (o == NULL || p[2] != o->operands || p[3] != 0 || mla_u16(p + 4) != o->words || mla_u16(p + 6) != 0u ||
        mla_u32(p + 8) >= image->name_bytes) {
        return 0;
    }
    uint32_t size = MLA_COMMAND_BYTES + 8u * o->operands + 4u * o->words;
    if (size > left || mla_operands_ok(image, o, p + MLA_COMMAND_BYTES) == 0) {
        return 0;
    }
    c->image = image;
    c->operation = o;
    c->operands = p + MLA_COMMAND_BYTES;
    c->next = c->operands + 8u * o->operands;
    c->status = MLA_OK;
    c->access_count = 0;
    c->cost = 0;
    c->macs = 0;
    return size;
}

mla_status mla_walk(const mla_image *image, int32_t run, mla_counters *counters)
{
    uint32_t at = 0;
    uint64_t work = 0;
    uint64_t macs = 0;

    for (uint32_t i = 0; i < image->command_count; i++) {
        mla_command c;

        c.run = run;
        uint32_t size = mla_decode(image, image->commands + at, image->command_bytes - at, &c);
        if (size == 0u) {
            return MLA_ERR_COMMAND;
        }
        c.operation->perform(&c);
        if (c.status != MLA_OK) {
            return c.status;
        }
        at += size;
        work += c.cost;
        macs += c.macs;
        if (work > MLA_MAX_WORK) {
            return MLA_ERR_COMMAND;
        }
        if (counters != NULL) {
            counters->commands++;
            counters->macs += c.macs;
        }
    }
    if (at != image->command_bytes || work != image->work || macs != image->macs) {
        return MLA_ERR_COMMAND;
    }
    return MLA_OK;
}

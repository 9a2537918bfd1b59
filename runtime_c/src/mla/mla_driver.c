/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_driver: the driver interface, implemented by a functional simulator on the host's core. */
#include "mla_driver.h"
#include "mla_file.h"

#include <string.h>

/* States of a device. */
#define MLA_STATE_OPEN 0x4d4c4131u
#define MLA_STATE_LOADED 0x4d4c4132u
#define MLA_STATE_SUBMITTED 0x4d4c4133u

static int32_t mla_aligned(const void *p)
{
    return (uintptr_t)p % MLA_ALIGN == 0u;
}

mla_status mla_memory_bytes(const void *image, size_t image_bytes, uint32_t *memory_bytes)
{
    mla_image m;

    if (image == NULL || memory_bytes == NULL) {
        return MLA_ERR_NULL;
    }
    mla_status status = mla_read_header((const uint8_t *)image, image_bytes, &m);
    *memory_bytes = status == MLA_OK ? m.memory_bytes : 0u;
    return status;
}

mla_status mla_open(mla_device *device, void *memory, size_t memory_bytes)
{
    if (device == NULL || memory == NULL) {
        return MLA_ERR_NULL;
    }
    memset(device, 0, sizeof *device);
    if (mla_aligned(memory) == 0) {
        return MLA_ERR_ALIGN;
    }
    device->memory = (uint8_t *)memory;
    device->memory_bytes = memory_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)memory_bytes;
    device->state = MLA_STATE_OPEN;
    return MLA_OK;
}

/* Constants are used in place, so the host's byte order must be the file's. */
static int32_t mla_little_endian(void)
{
    const uint32_t one = 1;

    return *(const uint8_t *)&one == 1u;
}

/* The device's program as mla_load has checked it. */
static mla_status mla_program(const mla_device *device, mla_image *m)
{
    const mla_status status = mla_read_header(device->image, device->image_bytes, m);

    m->memory = device->memory;
    return status;
}

mla_status mla_load(mla_device *device, const void *image, size_t image_bytes)
{
    mla_image m;

    if (device == NULL || image == NULL) {
        return MLA_ERR_NULL;
    }
    if (device->state != MLA_STATE_OPEN && device->state != MLA_STATE_LOADED) {
        return MLA_ERR_STATE;
    }
    device->state = MLA_STATE_OPEN;
    if (mla_little_endian() == 0) {
        return MLA_ERR_HOST;
    }
    if (mla_aligned(image) == 0) {
        return MLA_ERR_ALIGN;
    }
    mla_status status = mla_read_header((const uint8_t *)image, image_bytes, &m);
    if (status != MLA_OK) {
        return status;
    }
    status = mla_check_sums((const uint8_t *)image);
    if (status != MLA_OK) {
        return status;
    }
    if (m.memory_bytes > device->memory_bytes) {
        return MLA_ERR_MEMORY;
    }
    m.memory = device->memory;
    status = mla_check_tensors(&m);
    if (status != MLA_OK) {
        return status;
    }
    status = mla_walk(&m, 0, NULL);
    if (status != MLA_OK) {
        return status;
    }
    device->image = (const uint8_t *)image;
    device->image_bytes = (uint32_t)image_bytes;
    device->state = MLA_STATE_LOADED;
    return MLA_OK;
}

/* Number k of the tensors with a role. There are so many. */
static mla_tensor mla_role_at(const mla_image *m, uint32_t role, uint32_t k)
{
    mla_tensor t = {0, 0, 0, 0};

    for (uint32_t i = 0; i < m->tensor_count; i++) {
        t = mla_tensor_at(m, i);
        if (t.role == role && k-- == 0u) {
            break;
        }
    }
    return t;
}

mla_status mla_submit(mla_device *device, const mla_input *in, uint32_t in_count, const mla_output *out,
                      uint32_t out_count)
{
    mla_image m;

    if (device == NULL || in == NULL || out == NULL) {
        return MLA_ERR_NULL;
    }
    if (device->state != MLA_STATE_LOADED) {
        return MLA_ERR_STATE;
    }
    mla_status status = mla_program(device, &m);
    if (status != MLA_OK) {
        return status;
    }
    if (in_count != m.input_count || out_count != m.output_count) {
        return MLA_ERR_IO;
    }
    for (uint32_t i = 0; i < in_count; i++) {
        if (in[i].data == NULL) {
            return MLA_ERR_NULL;
        }
        if (in[i].bytes != mla_role_at(&m, MLA_INPUT, i).bytes) {
            return MLA_ERR_IO;
        }
    }
    for (uint32_t i = 0; i < out_count; i++) {
        if (out[i].data == NULL) {
            return MLA_ERR_NULL;
        }
        if (out[i].bytes != mla_role_at(&m, MLA_OUTPUT, i).bytes) {
            return MLA_ERR_IO;
        }
    }
    for (uint32_t i = 0; i < in_count; i++) {
        memcpy(device->memory + mla_role_at(&m, MLA_INPUT, i).offset, in[i].data, in[i].bytes);
        device->counters.bytes_moved += in[i].bytes;
    }
    device->outputs = out;
    device->output_count = out_count;
    device->state = MLA_STATE_SUBMITTED;
    return MLA_OK;
}

mla_status mla_wait(mla_device *device)
{
    mla_image m;

    if (device == NULL) {
        return MLA_ERR_NULL;
    }
    if (device->state != MLA_STATE_SUBMITTED) {
        return MLA_ERR_STATE;
    }
    device->state = MLA_STATE_LOADED;
    mla_status status = mla_program(device, &m);
    if (status != MLA_OK) {
        return status;
    }
    device->counters.runs++;
    status = mla_walk(&m, 1, &device->counters);
    if (status != MLA_OK) {
        return status;
    }
    for (uint32_t i = 0; i < device->output_count; i++) {
        const mla_output *o = &device->outputs[i];

        memcpy(o->data, device->memory + mla_role_at(&m, MLA_OUTPUT, i).offset, o->bytes);
        device->counters.bytes_moved += o->bytes;
    }
    return MLA_OK;
}

mla_status mla_close(mla_device *device)
{
    if (device == NULL) {
        return MLA_ERR_NULL;
    }
    memset(device, 0, sizeof *device);
    return MLA_OK;
}

mla_status mla_get_counters(const mla_device *device, mla_counters *counters)
{
    if (device == NULL || counters == NULL) {
        return MLA_ERR_NULL;
    }
    *counters = device->counters;
    return MLA_OK;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* mla_run_segment: one run of a segment through the driver interface alone, so that it serves any driver. */
#include "mla_driver.h"

mla_status mla_run_segment(const void *image, size_t image_bytes, void *memory, size_t memory_bytes,
                           const mla_input *in, uint32_t in_count, const mla_output *out, uint32_t out_count,
                           mla_counters *counters)
{
    mla_device device;
    mla_status status = mla_open(&device, memory, memory_bytes);

    if (status == MLA_OK) {
        status = mla_load(&device, image, image_bytes);
    }
    if (status == MLA_OK) {
        status = mla_submit(&device, in, in_count, out, out_count);
    }
    if (status == MLA_OK) {
        status = mla_wait(&device);
    }
    if (counters != NULL) {
        (void)mla_get_counters(&device, counters);
    }
    (void)mla_close(&device);
    return status;
}

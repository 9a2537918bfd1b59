/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/*
 * mla_driver.h: the interface between a model's firmware and an MLA. A vendor's driver implements these functions for
 * the hardware; the sources that nncc ships implement them by a functional simulator, which executes segment files
 * (mla_format.h) with the same results bit for bit.
 *
 * One run of a segment:
 *
 *     mla_device dev;
 *     mla_open(&dev, memory, bytes);            memory: as much as mla_memory_bytes says
 *     mla_load(&dev, image, image_bytes);       checks the file; may be done once for many runs
 *     mla_submit(&dev, in, 1, out, 1);          inputs are copied before it returns
 *     mla_wait(&dev);                           outputs are complete when it returns
 *     mla_close(&dev);
 *
 * Where a vendor's driver is linked, the model is compiled with MLA_DRIVER_INSTALLED: otherwise these names are linked
 * with a digest of the simulator's sources behind them.
 *
 * No function keeps state outside of the device, so devices are independent of each other.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory and images are aligned to this many bytes. */
#define MLA_ALIGN 16

/* What every function returns. Whatever a file holds, loading and running it ends with one of these. */
typedef enum
{
    MLA_OK = 0,
    MLA_ERR_NULL = 1,      /* a pointer is NULL */
    MLA_ERR_ALIGN = 2,     /* memory or image is not aligned to MLA_ALIGN */
    MLA_ERR_STATE = 3,     /* not opened, nothing loaded, nothing submitted, or submitted twice */
    MLA_ERR_TRUNCATED = 4, /* the image has other bytes than its header says */
    MLA_ERR_MAGIC = 5,     /* no segment file */
    MLA_ERR_VERSION = 6,   /* a segment file of a version that this driver does not know */
    MLA_ERR_CHECKSUM = 7,  /* damaged */
    MLA_ERR_HEADER = 8,    /* header or sections do not fit together */
    MLA_ERR_TENSOR = 9,    /* a tensor lies outside of memory or weights, or is malformed */
    MLA_ERR_COMMAND = 10,  /* a command with an unknown operation, or outside of its tensors or limits */
    MLA_ERR_MEMORY = 11,   /* the memory given is smaller than the segment needs */
    MLA_ERR_IO = 12,       /* number or size of inputs or outputs differ from the segment's */
    MLA_ERR_RUN = 13,      /* a command failed while it ran: an index computed at run time is out of range */
    MLA_ERR_HOST = 14      /* the host stores numbers in another byte order than the file */
} mla_status;

/* An input of a submission, in the segment's order, type and memory order. */
typedef struct
{
    const void *data;
    uint32_t bytes;
} mla_input;

/* An output of a submission. */
typedef struct
{
    void *data;
    uint32_t bytes;
} mla_output;

/* What a device has done since it was opened. */
typedef struct
{
    uint32_t runs;
    uint64_t commands;    /* executed */
    uint64_t macs;        /* multiply-accumulate operations */
    uint64_t bytes_moved; /* inputs and outputs, between the host and the MLA */
} mla_counters;

/* A device. Its content is the driver's own. */
typedef struct
{
    uint32_t state;
    uint32_t memory_bytes;
    uint8_t *memory;
    const uint8_t *image;
    uint32_t image_bytes;
    const mla_output *outputs;
    uint32_t output_count;
    mla_counters counters;
} mla_device;

/* How much memory the segment in an image needs; checks the header only. */
mla_status mla_memory_bytes(const void *image, size_t image_bytes, uint32_t *memory_bytes);

/* Sets the working memory, which must stay valid until mla_close. */
mla_status mla_open(mla_device *device, void *memory, size_t memory_bytes);

/* Checks a segment file completely and makes it the device's program; the image must not change until mla_close. */
mla_status mla_load(mla_device *device, const void *image, size_t image_bytes);

/* Starts a run. `out` and what it points to must stay valid until mla_wait. */
mla_status mla_submit(mla_device *device, const mla_input *in, uint32_t in_count, const mla_output *out,
                      uint32_t out_count);

/* Waits for the end of the run and gives its result. */
mla_status mla_wait(mla_device *device);

/* Ends the use of memory and image. */
mla_status mla_close(mla_device *device);

/* The counters of a device that is open. */
mla_status mla_get_counters(const mla_device *device, mla_counters *counters);

/*
 * The whole of it for one run, as emitted code calls it: opens a device on `memory`, loads, submits, waits, closes.
 * counters may be NULL.
 */
mla_status mla_run_segment(const void *image, size_t image_bytes, void *memory, size_t memory_bytes,
                           const mla_input *in, uint32_t in_count, const mla_output *out, uint32_t out_count,
                           mla_counters *counters);

#ifdef __cplusplus
}
#endif

// SPDX-License-Identifier: Apache-2.0

package mla_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// apiMain uses the driver interface as it must and must not be used; it reads
// the image of a segment with one input and one output and ends with the line
// of the first thing that is wrong.
const apiMain = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mla/mla_driver.h"

#define WANT(call, status) do { if ((call) != (status)) { return __LINE__ % 250 + 1; } } while (0)

static _Alignas(16) uint8_t image[1 << 16];
static _Alignas(16) uint8_t memory[1 << 16];
static _Alignas(16) uint8_t other[1 << 16];
static uint8_t x[1 << 12], ya[1 << 12], yb[1 << 12];

int main(int argc, char **argv)
{
    const size_t size = fread(image, 1, sizeof image, stdin);
    const uint32_t in_bytes = (uint32_t)atoi(argv[argc - 2]), out_bytes = (uint32_t)atoi(argv[argc - 1]);
    mla_input in = {x, 0};
    mla_output out = {ya, 0}, out2 = {yb, 0};
    mla_device dev, two;
    mla_counters c;
    uint32_t need = 0;
    size_t i;

    for (i = 0; i < sizeof x; i++) { x[i] = (uint8_t)(i * 37u); }
    WANT(mla_memory_bytes(NULL, size, &need), MLA_ERR_NULL);
    WANT(mla_memory_bytes(image, 64, &need), MLA_ERR_TRUNCATED);
    WANT(mla_memory_bytes(image, size, &need), MLA_OK);
    WANT(mla_open(NULL, memory, need), MLA_ERR_NULL);
    WANT(mla_open(&dev, NULL, need), MLA_ERR_NULL);
    WANT(mla_open(&dev, memory + 4, need), MLA_ERR_ALIGN);
    WANT(mla_load(&dev, image, size), MLA_ERR_STATE);
    WANT(mla_wait(&dev), MLA_ERR_STATE);
    WANT(mla_open(&dev, memory, need - 16), MLA_OK);
    WANT(mla_load(&dev, image, size), MLA_ERR_MEMORY);
    WANT(mla_open(&dev, memory, need), MLA_OK);
    WANT(mla_submit(&dev, &in, 1, &out, 1), MLA_ERR_STATE);
    WANT(mla_load(&dev, image + 8, size - 8), MLA_ERR_ALIGN);
    WANT(mla_load(&dev, image, size - 16), MLA_ERR_TRUNCATED);
    WANT(mla_load(&dev, NULL, size), MLA_ERR_NULL);
    WANT(mla_load(&dev, image, size), MLA_OK);
    WANT(mla_wait(&dev), MLA_ERR_STATE);
    WANT(mla_submit(&dev, &in, 1, &out, 1), MLA_ERR_IO);
    in.bytes = in_bytes;
    WANT(mla_submit(&dev, &in, 1, &out, 1), MLA_ERR_IO);
    out.bytes = out2.bytes = out_bytes;
    WANT(mla_submit(&dev, &in, 2, &out, 1), MLA_ERR_IO);
    WANT(mla_submit(&dev, &in, 1, &out, 0), MLA_ERR_IO);
    WANT(mla_submit(&dev, NULL, 1, &out, 1), MLA_ERR_NULL);
    in.data = NULL;
    WANT(mla_submit(&dev, &in, 1, &out, 1), MLA_ERR_NULL);
    in.data = x;

    /* two devices at once, and several runs of one load */
    WANT(mla_open(&two, other, sizeof other), MLA_OK);
    WANT(mla_load(&two, image, size), MLA_OK);
    WANT(mla_submit(&dev, &in, 1, &out, 1), MLA_OK);
    WANT(mla_submit(&dev, &in, 1, &out, 1), MLA_ERR_STATE);
    WANT(mla_load(&dev, image, size), MLA_ERR_STATE);
    WANT(mla_submit(&two, &in, 1, &out2, 1), MLA_OK);
    WANT(mla_wait(&two), MLA_OK);
    WANT(mla_wait(&dev), MLA_OK);
    WANT(memcmp(ya, yb, out_bytes), 0);
    memset(ya, 0, sizeof ya);
    WANT(mla_submit(&dev, &in, 1, &out, 1), MLA_OK);
    WANT(mla_wait(&dev), MLA_OK);
    WANT(memcmp(ya, yb, out_bytes), 0);
    WANT(mla_get_counters(&dev, &c), MLA_OK);
    WANT(c.runs == 2u && c.bytes_moved == 2u * (uint64_t)(in_bytes + out_bytes), 1);
    WANT(mla_get_counters(&two, &c), MLA_OK);
    WANT(c.runs == 1u, 1);
    WANT(mla_close(&dev), MLA_OK);
    WANT(mla_submit(&dev, &in, 1, &out, 1), MLA_ERR_STATE);
    WANT(mla_close(NULL), MLA_ERR_NULL);

    /* all at once */
    memset(ya, 0, sizeof ya);
    WANT(mla_run_segment(image, size, memory, need, &in, 1, &out, 1, &c), MLA_OK);
    WANT(memcmp(ya, yb, out_bytes), 0);
    WANT(c.runs == 1u, 1);
    WANT(mla_run_segment(image, size, memory, need - 16, &in, 1, &out, 1, NULL), MLA_ERR_MEMORY);
    image[size - 1] ^= 1u;
    WANT(mla_run_segment(image, size, memory, need, &in, 1, &out, 1, NULL), MLA_ERR_HEADER);
    image[size - 1] ^= 1u;
    image[200] ^= 1u;
    WANT(mla_run_segment(image, size, memory, need, &in, 1, &out, 1, NULL), MLA_ERR_CHECKSUM);
    return 0;
}
`

// TestDriver: states, sizes, several devices and runs.
func TestDriver(t *testing.T) {
	k := compiled(t, "conv", parse(t, nodes()["conv"]), 1)
	run(t, nil) // builds the programs, or skips
	dir, _ := simulator()
	in, out := &k.seg.Tensors[k.seg.Inputs()[0]], &k.seg.Tensors[k.seg.Outputs()[0]]
	cmd := exec.Command(filepath.Join(dir, "api"), itoa(in.Bytes()), itoa(out.Bytes()))
	cmd.Stdin = bytes.NewReader(k.file)
	msg, err := cmd.CombinedOutput()
	testenv.Check(t, err == nil, "%v (the status is the line within driver_test.go's program, plus 1)\n%s", err, msg)
}

// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/accel/ethosu/npu"
)

// armHeader has what ethosu_run calls of Arm's driver.
const armHeader = `
#include <stddef.h>
#include <stdint.h>
struct ethosu_driver;
struct ethosu_driver *ethosu_reserve_driver(void);
void ethosu_release_driver(struct ethosu_driver *drv);
int ethosu_invoke_v3(struct ethosu_driver *drv, const void *custom_data_ptr, const int custom_data_size,
                     uint64_t *const base_addr, const size_t *base_addr_size, const int num_base_addr, void *user_arg);
`

// armDriver refuses what Arm's driver refuses of a stream, and writes its result's first byte.
const armDriver = `
#include <stdio.h>
#include "arm_driver.h"
#include "ethosu/ethosu_driver.h"

struct ethosu_driver { int reserved, runs; } device;
static _Alignas(16) uint8_t actions[1 << 16], weights[1 << 16], in[1 << 12], out[1 << 12];

struct ethosu_driver *ethosu_reserve_driver(void) { device.reserved++; return &device; }
void ethosu_release_driver(struct ethosu_driver *drv) { drv->reserved--; }

int ethosu_invoke_v3(struct ethosu_driver *drv, const void *data, const int bytes, uint64_t *const base,
                     const size_t *size, const int n, void *arg)
{
    const uint32_t *w = data;
    int i;

    if (w[0] != 0x31504F43u || (w[1] & 0xFFu) != 1u || w[2] != CONFIG || w[3] >> 28 != 1u || (w[3] >> 20 & 255u) > 0u) {
        return -1;
    }
    for (i = 4; (w[i] & 0xFFu) == 5u; i++) {}
    if ((w[i] & 0xFFu) != 2u || (uintptr_t)&w[i + 1] % 16u != 0u || (w[i] >> 16) != (uint32_t)(bytes / 4 - i - 1)) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        if (base[i] % 16u != 0u) { return -1; }
    }
    if (drv->reserved != 1 || n > 8 || arg != NULL || size[1] != 96u || base[1] != (uintptr_t)in) { return -1; }
    drv->runs++;
    ((uint8_t *)(uintptr_t)base[3])[0] = 77;
    return 0;
}

int main(void)
{
    const uint32_t n = (uint32_t)fread(actions, 1, sizeof actions, stdin);
    const ethosu_region r[4] = {{weights, NULL, sizeof weights}, {in, NULL, 96}, {NULL, NULL, 0}, {out, out, 48}};
    uint8_t first = 0;
    const ethosu_output o = {&first, 1, 3, 0};

    if (ethosu_run(actions, n, r, 4, NULL, 0, &o, 1) != ETHOSU_OK || first != 77 || device.reserved != 0) { return 1; }
    actions[15] = 0; /* of no architecture */
    return ethosu_run(actions, n, r, 4, NULL, 0, &o, 1) == ETHOSU_ERR_DRIVER && device.runs == 1 ? 0 : 2;
}
`

// TestArmDriver: with NNCC_ETHOSU_DRIVER a stream goes to Arm's driver, which has nothing to refuse, and is given back.
func TestArmDriver(t *testing.T) {
	cc, err := exec.LookPath("cc")
	testenv.SkipIf(t, err != nil, "no C compiler")
	g := irtest.Parse(t, "graph \"g\" {\nin %x : i8[1,16,3,2] q(0.05:3)\n"+
		"%y : i8[1,16,3,1] q(0.05:3) = MaxPool(%x) {kernel_shape=[1,2]}\nout \"o\" = %y\n}")
	b := testenv.Must(build(npu.Find("ethos-u55-128"), g, 0))(t)
	dir := t.TempDir()
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "arm_driver.h"), []byte(armHeader), 0o666))
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "main.c"), []byte(armDriver), 0o666))
	sources, exe := filepath.Join("..", "..", "..", "runtime_c"), filepath.Join(dir, "run")
	out, err := exec.Command(cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-DNNCC_ETHOSU_DRIVER=<arm_driver.h>",
		"-DCONFIG=0x1807u", "-I"+dir, "-I"+filepath.Join(sources, "include"), "-I"+filepath.Join(sources, "include",
			"ethosu"), "-o", exe, filepath.Join(dir, "main.c"), filepath.Join(sources, "src", "ethosu",
			"ethosu_run.c")).CombinedOutput()
	testenv.Require(t, err == nil, "%v\n%s", err, out)
	cmd := exec.Command(exe)
	cmd.Stdin = bytes.NewReader(b.actions)
	out, err = cmd.CombinedOutput()
	testenv.Check(t, err == nil, "%v (1: refused, 2: not refused)\n%s", err, out)
}

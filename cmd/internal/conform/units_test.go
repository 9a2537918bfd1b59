// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir/irtest/testenv"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// TestUnits: all kernels together are units that compile without a warning, so that an
// image may hold any of them: none takes macros or functions that another one left.
func TestUnits(t *testing.T) {
	testenv.Slow(t)
	dir := t.TempDir()
	var kernels []string
	for _, f := range runtimec.Shipped().Emitted(runtimec.All()) {
		to := filepath.Join(dir, "nncc", filepath.FromSlash(f.Path))
		if strings.HasSuffix(to, ".c") {
			kernels = append(kernels, "nncc/"+f.Path)
			to += ".inc"
		}
		testenv.OK(t, os.MkdirAll(filepath.Dir(to), 0o777))
		testenv.OK(t, os.WriteFile(to, f.Data, 0o666))
	}
	sources := units(kernels)
	var names []string
	for name, b := range sources {
		testenv.OK(t, os.WriteFile(filepath.Join(dir, name), b, 0o666))
		names = append(names, name)
	}
	for _, board := range []string{"host", "cortex-m55", "cortex-m4"} {
		t.Run(board, func(t *testing.T) {
			t.Parallel()
			spec, err := boards.Load(board)
			testenv.OK(t, err)
			label := "arm-gcc"
			if board == "host" {
				label = "cc"
			}
			cc := testenv.Tool(t, label, spec.Toolchain.Prefix+spec.Toolchain.CC)
			args := slices.Concat([]string{"-fsyntax-only", "-Wall", "-Wno-unused-function", "-Werror", "-Inncc",
				"-Inncc/cmsis_nn"}, spec.Toolchain.CPU, spec.Toolchain.CFlags, names)
			cmd := exec.Command(cc, args...)
			cmd.Dir = dir
			if msg, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, msg)
			}
		})
	}
}

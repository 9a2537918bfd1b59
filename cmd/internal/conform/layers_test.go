// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// TestTFLite compiles a layer of every operator of TensorFlow Lite in every type and runs
// them as one program, whose results are the interpreter's bit for bit.
func TestTFLite(t *testing.T) {
	var all []*tflitetest.Layer
	for _, l := range tflitetest.Layers() {
		all = append(all, l)
		if a := l.Amid(); a != nil {
			all = append(all, a)
		}
	}
	if only := testenv.Get("NNCC_CONFORMANCE_ONLY"); only != "" {
		var some []*tflitetest.Layer
		for _, l := range all {
			if regexp.MustCompile(only).MatchString(l.Op) {
				some = append(some, l)
			}
		}
		all = some
	}
	p := Plan{Targets: []string{"host"}}
	if testenv.Long() {
		p.Targets = []string{"host", "cortex-m55", "cortex-m4", "cortex-m0plus"}
	}
	p.Targets = testenv.Boards(p.Targets...)
	require(t, &p)
	for _, target := range p.Targets {
		spec, err := boards.Load(target)
		testenv.OK(t, err)
		failed := map[int]error{}
		if err := RunLayers(context.Background(), all, spec, func(i int, err error) {
			if err != nil {
				failed[i] = err
				t.Errorf("%s: %s %s (%d): %v", target, all[i].Op, all[i].Type, i, err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if target == "host" && testenv.Get("NNCC_CONFORMANCE_ONLY") == "" {
			holdRows(t, TFLiteSupport(all, failed))
		}
	}
}

// holdRows holds what was seen against testdata/tflite.rows, of which the page is made.
func holdRows(t *testing.T, rows []byte) {
	path := filepath.Join("testdata", "tflite.rows")
	if irtest.Updating() {
		testenv.OK(t, os.WriteFile(path, rows, 0o666))
	}
	if have, _ := os.ReadFile(path); !bytes.Equal(have, rows) {
		t.Errorf("%s is not what was seen; -update writes it:\n%s", path, rows)
	}
}

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

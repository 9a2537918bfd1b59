// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
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
		some := lists.Filter(all, func(l *tflitetest.Layer) bool {
			return regexp.MustCompile(only).MatchString(l.Op)
		})
		all = some
	}
	p := Plan{Targets: []string{"host"}}
	if testenv.Long() {
		p.Targets = []string{"host", "cortex-m55", "cortex-m4", "cortex-m0plus"}
	}
	p.Targets = testenv.Boards(p.Targets...)
	require(t, &p)
	for _, target := range p.Targets {
		spec := testenv.Must(boards.Load(target))(t)
		failed := map[int]error{}
		testenv.OK(t, RunLayers(context.Background(), all, spec, func(i int, err error) {
			if err != nil {
				failed[i] = err
				t.Errorf("%s: %s %s (%d): %v", target, all[i].Op, all[i].Type, i, err)
			}
		}))
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
	have, _ := os.ReadFile(path)
	testenv.Check(t, bytes.Equal(have, rows), "%s is not what was seen; -update writes it:\n%s", path, rows)
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
			spec := testenv.Must(boards.Load(board))(t)
			label := "arm-gcc"
			if board == "host" {
				label = "cc"
			}
			cc := testenv.Tool(t, label, spec.Toolchain.Prefix+spec.Toolchain.CC)
			args := slices.Concat([]string{"-fsyntax-only", "-Wall", "-Wno-unused-function", "-Werror", "-Inncc",
				"-Inncc/cmsis_nn"}, spec.Toolchain.CPU, spec.Toolchain.CFlags, names)
			cmd := exec.Command(cc, args...)
			cmd.Dir = dir
			msg, err := cmd.CombinedOutput()
			testenv.Check(t, err == nil, "%v\n%s", err, msg)
		})
	}
}

// TestRunTime builds and runs what depends on data that only the run knows, on
// the host and a Cortex-M55 against the interpreter: an axis, every one that
// there is and those that there are not; how much is found, within a bound and
// beyond it. The interpreter is held to the definitions by frontend/onnx.
func TestRunTime(t *testing.T) {
	p := Plan{Targets: []string{"host", "cortex-m55"}}
	require(t, &p)
	x := tensor.New(tensor.F32, []int{2, 3, 4})
	z := tensor.New(tensor.F32, []int{2, 3, 2, 2})
	for _, d := range []*tensor.Dense{x, z} {
		for i := range d.Len() {
			d.SetFloat(i, float64((i*7+3)%11-5)*float64(i%3))
		}
	}
	var cases []*Case
	stops := map[*Case]bool{}
	add := func(sig, body string, dims map[string]int, in ...*tensor.Dense) {
		text := fmt.Appendf(nil, `<ir_version: 8, opset_import: ["" : 20]> g %s { %s }`, sig, body)
		m, err := onnx.Parse(text, onnx.Limits{})
		testenv.OK(t, err)
		c := &Case{Test: &Test{Folder: "run", Name: fmt.Sprintf("time%d", len(cases))}, Model: m, In: in, Args: in}
		if c.Graph, err = onnx.OpenModel(m, onnx.ImportOptions{Dims: dims}); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		c.Want, err = interp.Run(c.Graph, in, nil)
		stops[c] = err != nil
		cases = append(cases, c)
	}
	for axis := int64(-5); axis <= 4; axis++ {
		a := tensor.Of([]int{1}, []int32{int32(axis)})
		add("(float[2,3,4] x, int32[1] a) => (float y)", "y = CumSum <exclusive = 1> (x, a)", nil, x, a)
		add("(float[2,3,2,2] x, int64[] a) => (float y)", `y = DFT (x, "", a)`, nil, z, tensor.Scalar(axis))
	}
	for mask := 0; mask < 1<<6; mask += 7 {
		c, f := tensor.New(tensor.Bool, []int{3}), tensor.New(tensor.F32, []int{2, 3})
		for i := range f.Len() {
			f.SetFloat(i, float64(mask>>i&1)*(float64(i)-2.5))
			if i < 3 {
				c.SetInt(i, int64(mask>>i&1))
			}
		}
		add("(float[2,3] x) => (int64[2,N] y)", "y = NonZero (x)", map[string]int{"N": 3}, f)
		two := map[string]int{"N": 2}
		add("(float[2,3,4] x, bool[3] c) => (float[2,N,4] y)", "y = Compress <axis = 1> (x, c)", two, x, c)
		add("(float[2,3,4] x, bool[3] c) => (float[N] y)", "y = Compress (x, c)", map[string]int{"y.0": 3}, x, c)
	}
	stopping := 0
	for _, stop := range stops {
		if stop {
			stopping++
		}
	}
	testenv.Check(t, stopping >= 5 && stopping <= len(cases)/2, "the interpreter stops in %d of %d cases", stopping,
		len(cases))
	for _, board := range p.Targets {
		spec, err := boards.Load(board)
		testenv.OK(t, err)
		var built []*Built
		for i, c := range cases {
			prefix := fmt.Sprintf("r%03d", i)
			o, err := c.Compile(spec, prefix)
			testenv.Require(t, err == nil, "%s: %v", c.Graph, err)
			built = append(built, &Built{c, prefix, o})
		}
		seen := 0
		err = runBatches(context.Background(), spec, Batches(built), nil, func(b *Built, err error) {
			seen++
			stopped := err != nil && strings.Contains(err.Error(), "the run function returned")
			if stops[b.Case] && !stopped || !stops[b.Case] && err != nil {
				t.Errorf("%s: %v; the interpreter stops: %v\n%s", board, err, stops[b.Case], b.Case.Graph)
			}
		})
		testenv.Check(t, err == nil && seen == len(cases), "%s: %d of %d cases, %v", board, seen, len(cases), err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

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
	if stopping < 5 || stopping > len(cases)/2 {
		t.Errorf("the interpreter stops in %d of %d cases", stopping, len(cases))
	}
	for _, board := range p.Targets {
		spec, err := boards.Load(board)
		testenv.OK(t, err)
		var built []*Built
		for i, c := range cases {
			prefix := fmt.Sprintf("r%03d", i)
			o, err := c.Compile(spec, prefix)
			if err != nil {
				t.Fatalf("%s: %v", c.Graph, err)
			}
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
		if err != nil || seen != len(cases) {
			t.Errorf("%s: %d of %d cases, %v", board, seen, len(cases), err)
		}
	}
}

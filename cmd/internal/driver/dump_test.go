// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// TestDumpWarnsOnce: nodes that ONNX has no form for, at several stages, are one short warning.
func TestDumpWarnsOnce(t *testing.T) {
	g := ir.New("mixed")
	x := g.AddInput("x", ir.T(tensor.BF16, 1, 1, 1, 1))
	weight := g.AddConst("w", tensor.New(tensor.BF16, []int{1, 1, 1, 1}))
	bias := g.AddConst("b", tensor.New(tensor.F32, []int{1})) // ONNX wants it in bfloat16
	for range 100 {
		n, err := g.Add(op.Conv, "", nil, 1, x, weight, bias)
		testenv.OK(t, err)
		x = n.Out[0]
	}
	g.AddOutput("y", x)
	c := Defaults()
	c.Board = "host"
	c.DumpIR = filepath.Join(t.TempDir(), "dump")
	d, err := c.openDump()
	testenv.OK(t, err)
	defer d.Discard()
	for _, stage := range []string{"00-one", "01-two"} {
		testenv.OK(t, d.graph(stage, g))
	}
	d.warnNoONNX()
	if len(c.Diags) != 1 {
		t.Fatalf("%d warnings", len(c.Diags))
	}
	if s := c.Diags[0].Msg; len(s) > 300 || !strings.Contains(s, "00-one, 01-two") || !strings.Contains(s, "99 more") {
		t.Error(s)
	}
}

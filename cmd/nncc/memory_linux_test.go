// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// TestMemoryOfCompilation: a compilation of a model whose weights outweigh all else, with
// calibration and without, holds at most some times the model: 3.5 and 4.3 alone, more beside other
// work, when collections come late.
func TestMemoryOfCompilation(t *testing.T) {
	dir := t.TempDir()
	model, samples := filepath.Join(dir, "large.onnx"), filepath.Join(dir, "samples.npz")
	size := writeLargeModel(t, model)
	must(t, npz.WriteNpzFile(samples, []npz.Entry{{Name: "x",
		Array: npz.FromTensor(ir.Rand(1, tensor.F32, []int{2, 8, 8, 8}))}}))
	for what, most := range map[string]int64{"calibrated": 5, "float32": 5} {
		args := []string{"--calib", samples}
		if what == "float32" {
			args = []string{"--precision", what}
		}
		c := nnccCommand(t, append(args, "-q", "-board", "cortex-m55", "--out", filepath.Join(dir, what), model)...)
		out, err := c.CombinedOutput()
		testenv.Require(t, err == nil, "%s: %v\n%s", what, err, out)
		held := c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
		t.Logf("%s: %.1f times the model's %d bytes", what, float64(held)/float64(size), size)
		testenv.Check(t, held <= most*size, "%s: %d bytes, more than %d times the model's %d", what, held, most, size)
	}
}

// writeLargeModel writes convolutions and matrix products with about 70 MB of weights.
func writeLargeModel(t *testing.T, path string) (size int64) {
	t.Helper()
	g := ir.New("large")
	v := g.AddInput("x", ir.T(tensor.F32, 1, 8, 8, 8))
	layer := func(d *ir.OpDef, attrs ir.Attrs, fan int, weights ...int) {
		w := ir.Rand(uint64(len(g.Nodes)), tensor.F32, weights)
		for i, x := range w.Data.([]float32) {
			w.Data.([]float32)[i] = x / float32(fan) * 16
		}
		n := testenv.Must(g.Add(d, fmt.Sprintf("n%d", len(g.Nodes)), attrs, 1, v, g.AddConst("w", w)))(t)
		v = n.Out[0]
	}
	same := ir.Attrs{"pads": ir.Ints(1, 1, 1, 1)}
	layer(op.Conv, same, 72, 512, 8, 3, 3)
	layer(op.Conv, same, 4608, 512, 512, 3, 3)
	layer(op.Conv, same, 4608, 512, 512, 3, 3)
	pool := testenv.Must(g.Add(op.GlobalAveragePool, "pool", nil, 1, v))(t)
	flat := testenv.Must(g.Add(op.Flatten, "flat", nil, 1, pool.Out[0]))(t)
	v = flat.Out[0]
	layer(op.Gemm, ir.Attrs{"transB": ir.Int(1)}, 512, 4096, 512)
	layer(op.Gemm, nil, 4096, 4096, 1024)
	layer(op.Gemm, nil, 1024, 1024, 4096)
	layer(op.Gemm, ir.Attrs{"transB": ir.Int(1)}, 4096, 1024, 4096)
	g.AddOutput("y", v)
	p := testenv.Must(onnx.Export(g, onnx.ExportOptions{}))(t)
	b := testenv.Must(onnx.Marshal(p))(t)
	must(t, os.WriteFile(path, b, 0o666))
	return int64(len(b))
}

// SPDX-License-Identifier: Apache-2.0

// Package irtest is what tests of passes share: graphs from text, seeded
// inputs and seeded random graphs, comparison of outputs, golden files, and
// the check that a pass keeps what a graph computes.
package irtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// Tol bounds max|a-b| / max|b| of an output before and after a Reassoc pass,
// by the output's type. Rounding in float32 grows where large terms cancel and
// over many layers: tests of the algebra use float64 graphs.
type Tol struct{ F32, F64 float64 }

// DefaultTol is used by Check and Golden.
var DefaultTol = Tol{F32: 1e-5, F64: 1e-11}

func (t Tol) of(d tensor.DType) float64 {
	if d == tensor.F64 {
		return t.F64
	}
	return t.F32
}

// Parse reads a graph in text form with nncc's operators and verifies it.
func Parse(t testing.TB, src string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(src, op.Get)
	if err != nil {
		t.Fatalf("%v in\n%s", err, src)
	}
	Verify(t, g)
	return g
}

// Verify fails the test when the graph is invalid.
func Verify(t testing.TB, g *ir.Graph) {
	t.Helper()
	if errs := g.Verify(); len(errs) > 0 {
		t.Fatalf("invalid graph: %v\n%s", errs, g)
	}
}

// Inputs are seeded inputs for g: floats roughly normal, 8-bit integers over
// their range, other integers 0 and 1 so that they are valid indices.
func Inputs(g *ir.Graph, seed uint64) []*tensor.Dense {
	in := make([]*tensor.Dense, len(g.In))
	for i, v := range g.In {
		d := ir.Rand(seed*1009+uint64(i)+1, v.Type.DType, v.Type.Shape)
		if v.Type.DType.IsInt() && v.Type.Quant == nil && v.Type.DType.Bits() > 8 {
			for k, n := 0, d.Len(); k < n; k++ {
				d.SetInt(k, d.Int(k)&1)
			}
		}
		in[i] = d
	}
	return in
}

// Run evaluates g or fails the test.
func Run(t testing.TB, g *ir.Graph, in []*tensor.Dense) []*tensor.Dense {
	t.Helper()
	out, err := interp.Run(g, in, nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, g)
	}
	return out
}

// Diff is interp.Diff.
func Diff(a, b *tensor.Dense) float64 { return interp.Diff(a, b) }

// Same compares outputs: within tol, or equal when the pass is Exact.
func Same(got, want []*tensor.Dense, names []string, numerics pass.Numerics, bound Tol) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d outputs, want %d", len(got), len(want))
	}
	for i := range want {
		a, b := got[i], want[i]
		if a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) {
			return fmt.Errorf("output %s is %s, want %s", names[i], a, b)
		}
		switch {
		case tensor.Equal(a, b):
		default:
			tol := bound.of(b.DType)
			if numerics == pass.Exact {
				tol = 0 // zeros may differ in sign, NaNs in their payload
			}
			if d := Diff(a, b); d > tol {
				return fmt.Errorf("output %s: max|a-b|/max|b| = %.3g, at most %g is allowed", names[i], d, tol)
			}
		}
	}
	return nil
}

// Check makes a pass.Manager check that runs the interpreter on the graphs
// before and after a pass, on inputs of each seed, and compares within the
// pass's Numerics. Lossy passes are only run. Inputs and outputs must keep
// names and types.
func Check(seeds ...uint64) func(p *pass.Pass, before, after *ir.Graph) error {
	return CheckWithin(DefaultTol, seeds...)
}

// CheckWithin is Check with another tolerance for Reassoc passes.
func CheckWithin(tol Tol, seeds ...uint64) func(p *pass.Pass, before, after *ir.Graph) error {
	if len(seeds) == 0 {
		seeds = []uint64{1}
	}
	return func(p *pass.Pass, before, after *ir.Graph) error {
		if !slices.Equal(before.OutNames, after.OutNames) {
			return fmt.Errorf("pass %s changed the outputs from %q to %q", p.Name, before.OutNames, after.OutNames)
		}
		if len(before.In) != len(after.In) {
			return fmt.Errorf("pass %s changed the number of inputs from %d to %d", p.Name, len(before.In),
				len(after.In))
		}
		for i, v := range before.In {
			if w := after.In[i]; v.Name != w.Name || !v.Type.Equal(w.Type) {
				return fmt.Errorf("pass %s changed input %s %s to %s %s", p.Name, v, v.Type, w, w.Type)
			}
		}
		for _, s := range seeds {
			in := Inputs(before, s)
			want, err := interp.Run(before, in, nil)
			if err != nil {
				return fmt.Errorf("before pass %s: %w", p.Name, err)
			}
			got, err := interp.Run(after, in, nil)
			if err != nil {
				return fmt.Errorf("after pass %s: %w", p.Name, err)
			}
			if p.Numerics == pass.Lossy {
				continue
			}
			if err := Same(got, want, before.OutNames, p.Numerics, tol); err != nil {
				return fmt.Errorf("pass %s, seed %d: %w", p.Name, s, err)
			}
		}
		return nil
	}
}

// Passes runs passes over g with the check of Check after each, and fails the
// test when one goes wrong.
func Passes(t testing.TB, g *ir.Graph, passes []pass.Pass, seeds ...uint64) *pass.Ctx {
	t.Helper()
	c := &pass.Ctx{}
	before := g.Clone()
	m := pass.Manager{Passes: passes, Check: Check(seeds...)}
	if err := m.Run(c, g); err != nil {
		if b, ok := err.(*pass.Bug); ok && b.Stack != "" {
			t.Logf("%s", b.Stack)
		}
		t.Fatalf("%v\nbefore\n%s\nafter\n%s", err, brief(before), brief(g))
	}
	return c
}

// brief is the text form without long constants.
func brief(g *ir.Graph) string {
	var b strings.Builder
	g.WriteText(&b, true)
	return b.String()
}

// Count is how many nodes of an operator g has; name is as ONNX writes it.
func Count(g *ir.Graph, name string) int {
	k := 0
	for _, n := range g.Nodes {
		if n.Op.Name == name {
			k++
		}
	}
	return k
}

// Shared is the path of a file in the folder of test data beside the
// repository; without it the test is skipped (package sharedata).
func Shared(t testing.TB, elem ...string) string {
	t.Helper()
	return sharedata.Need(t, elem...)
}

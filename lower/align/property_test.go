// SPDX-License-Identifier: Apache-2.0

package align_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// padded pads a copy of g and checks what holds for every plan: the graph is
// valid, interfaces are untouched, what was patched has its multiple.
func padded(t *testing.T, g *ir.Graph, o align.Options) (*ir.Graph, *align.Result) {
	t.Helper()
	p := g.Clone()
	r := align.Run(p, o)
	irtest.Verify(t, p)
	for i, v := range p.Out {
		if !v.Type.Equal(g.Out[i].Type) {
			t.Fatalf("output %s is %s, was %s", p.OutNames[i], v.Type, g.Out[i].Type)
		}
	}
	for _, w := range r.Rows {
		testenv.Check(t, w.Status != align.Patched || w.Target%4 == 0 || o.Mode != option.AlignAlways,
			"patched to no multiple of four: %s", &w)
		testenv.Check(t, w.Status != align.Locked || w.Reason != "" && w.Code != "", "locked without a reason: %s",
			&w)
	}
	return p, r
}

func TestRandomFloat(t *testing.T) {
	total := 0
	for seed := range testenv.Count(t, 500) {
		g := coupled(uint64(seed), tensor.F64)
		if seed%5 == 4 {
			g = irtest.Gen(uint64(seed), tensor.F64)
		}
		p, r := padded(t, g, align.Options{Mode: option.AlignAlways})
		total += r.Padded
		in := irtest.Inputs(g, uint64(seed))
		if err := irtest.Same(irtest.Run(t, p, in), irtest.Run(t, g, in), g.OutNames, pass.Reassoc,
			irtest.DefaultTol); err != nil {
			t.Fatalf("seed %d: %v\nbefore\n%s\nafter\n%s", seed, err, g, p)
		}
	}
	testenv.Check(t, total >= 500, "only %d rows were patched", total)
}

// TestRandomInt8 pads graphs on integers: every bit stays.
func TestRandomInt8(t *testing.T) {
	total := 0
	for seed := range testenv.Count(t, 500) {
		g := coupled(uint64(seed), tensor.F32)
		c := &pass.Ctx{}
		testenv.OK(t, (&pass.Manager{Passes: legal.Passes}).Run(c, g))
		if _, err := quant.Insert(g, quant.Options{Method: option.MinMax, Samples: quant.SyntheticSamples(g.In, 2, 1),
			Source: "synthetic"}); err != nil {
			t.Fatal(err)
		}
		qdq := g.Clone()
		testenv.OK(t, quant.Integer(g, quant.IntegerOptions{}))
		soft := func(*ir.Node) bool { return seed%2 == 0 }
		p, r := padded(t, g, align.Options{Mode: option.AlignAlways, HardCoded: soft})
		total += r.Padded
		in := irtest.Inputs(g, uint64(seed))
		if err := irtest.Same(irtest.Run(t, p, in), irtest.Run(t, g, in), g.OutNames, pass.Exact,
			irtest.DefaultTol); err != nil {
			t.Fatalf("seed %d: %v\nbefore\n%s\nafter\n%s", seed, err, g, p)
		}
		if seed%4 == 0 { // the same with QuantizeLinear and DequantizeLinear
			p, _ := padded(t, qdq, align.Options{Mode: option.AlignAlways})
			in := irtest.Inputs(qdq, uint64(seed))
			if err := irtest.Same(irtest.Run(t, p, in), irtest.Run(t, qdq, in), qdq.OutNames, pass.Reassoc,
				irtest.Tol{F32: 1e-6}); err != nil {
				t.Fatalf("QDQ, seed %d: %v\nbefore\n%s\nafter\n%s", seed, err, qdq, p)
			}
		}
	}
	testenv.Check(t, total >= 500, "only %d rows were patched", total)
}

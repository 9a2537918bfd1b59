// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/patch"
)

func macs(g *ir.Graph) (n int64) {
	for _, x := range g.Nodes {
		if x.Op.MACs != nil {
			n += x.Op.MACs(x)
		}
	}
	return n
}

// flat are prices by which a call costs something.
var flat = patch.Prices{Rows: func(_, _, rows, _ int) float64 { return 100 + 10*float64(rows) },
	Copy: func(n int) float64 { return float64(20 + n) }, Turn: func(_, n int) float64 { return float64(n) },
	Most: math.Inf(1)}

// attention is self-attention of heads, with a mask or none, and a feed-forward layer behind it. Keys are transposed
// at once or before, so that the graph has what exporters write.
func attention(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	rows, heads, size := 2+r.IntN(7), 1+r.IntN(4), 1+r.IntN(5)
	width := heads * size
	text := fmt.Sprintf("graph \"a\" {\n in %%x : f64[1,%d,%d]\n const %%s : f64[%d] = rand 1\n", rows, width, width)
	constant := func(name string, shape ...int) {
		text += fmt.Sprintf(" const %%%s : %s = rand %d\n", name,
			strings.ReplaceAll(fmt.Sprintf("f64%v", shape), " ", ","), r.IntN(1000))
	}
	shape := func(name string, v ...int) {
		text += fmt.Sprintf(" const %%%s : i64[%d] = {%s}\n", name, len(v),
			strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ","), "[]"))
	}
	shape("flat", rows, width)
	shape("split", 1, rows, heads, size)
	shape("back", 1, rows, width)
	constant("mask", 1, 1, rows, rows)
	constant("w1", width, 2*width)
	constant("w2", 2*width, width)
	text += " %n = LayerNormalization(%x, %s) {axis=-1}\n"
	for _, name := range []string{"q", "k", "v"} {
		constant(name+"w", width, width)
		constant(name+"b", width)
		perm := "[0,2,1,3]"
		if name == "k" && seed%2 == 0 {
			perm = "[0,2,3,1]"
		}
		text += strings.ReplaceAll(" %#r = Reshape(%n, %flat)\n %#g = Gemm(%#r, %#w, %#b)\n"+
			" %#s = Reshape(%#g, %split)\n %# = Transpose(%#s) {perm="+perm+"}\n", "#", name)
	}
	keys, scores := "%k", "%m"
	if seed%2 > 0 {
		keys, text = "%kt", text+" %kt = Transpose(%k) {perm=[0,1,3,2]}\n"
	}
	text += " %m = MatMul(%q, " + keys + ")\n"
	if seed%3 == 0 {
		scores, text = "%masked", text+" %masked = Add(%m, %mask)\n"
	}
	return text + " %p = Softmax(" + scores + ") {axis=-1}\n %o = MatMul(%p, %v)\n" +
		" %t = Transpose(%o) {perm=[0,2,1,3]}\n %j = Reshape(%t, %back)\n %y = Add(%x, %j)\n" +
		" %l = LayerNormalization(%y, %s) {axis=-1}\n %h = MatMul(%l, %w1)\n %a = Relu(%h)\n" +
		" %f = MatMul(%a, %w2)\n %z = Add(%y, %f)\n out \"z\" = %z\n}"
}

// TestRandom computes random networks a few rows at a time, all stretches in the ways
// that the search would take and some that it would not: the same bits, and never
// more products.
func TestRandom(t *testing.T) {
	plans, inner, several, rings := 0, 0, 0, 0
	heads := 0
	for seed := range uint64(270) {
		g := irtest.Gen(seed, tensor.F64)
		if seed >= 250 {
			g = irtest.Parse(t, attention(seed))
			patch.Hoist(g)
			irtest.Verify(t, g)
		}
		in := irtest.Inputs(g, seed)
		want := irtest.Run(t, g, in)
		list := patch.Candidates(g, seed%2 == 0, flat, 1<<30)
		if len(list) > 0 {
			list = append(list, patch.Variants(g, seed%2 == 0, flat, list[len(list)/2])...)
		}
		for _, p := range append(list, patch.All(g, int(seed%3+1))...) {
			h := g.Clone()
			err := patch.Apply(h, p, seed%2 == 0)
			testenv.Require(t, err == nil, "seed %d, %+v: %v\n%s", seed, p.Chains, err, g)
			irtest.Verify(t, h)
			got := irtest.Run(t, h, in)
			for k := range want {
				testenv.Require(t, tensor.Equal(want[k], got[k]), "seed %d, %+v: output %d changed\n%s\n%s", seed,
					p.Chains, k, g, h)
			}
			if slices.ContainsFunc(p.Chains, func(c patch.Chain) bool { return c.Heads }) {
				heads++
			}
			twice := slices.ContainsFunc(p.Chains, func(c patch.Chain) bool { return c.Rows == 0 })
			a, b := macs(g), macs(h)
			testenv.Check(t, b <= a || twice, "seed %d, %+v: %d products, %d as whole layers", seed, p.Chains, b, a)
			plans++
			if len(p.Chains) > 0 && p.Chains[0].From > 0 {
				inner++
			}
			if len(p.Chains) > 1 {
				several++
			}
			if slices.ContainsFunc(h.Nodes, func(n *ir.Node) bool { return n.Op == op.Crop }) {
				rings++
			}
		}
	}
	if min(plans, inner, rings, 4*several, 2*heads) < 400 {
		t.Errorf("%d plans, %d that begin in the middle, %d of several chains, %d with rings, %d by heads: "+
			"the test shows little", plans, inner, several, rings, heads)
	}
}

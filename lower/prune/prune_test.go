// SPDX-License-Identifier: Apache-2.0

package prune_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/prune"
	"github.com/nncc/nncc/lower/quant"
)

// layers are the arithmetic of random networks: of 8 bits, and data of 16.
var layers = []quant.Layer{quant.Int8, quant.Int16x8}

// quantised is a seeded random network on integers.
func quantised(t *testing.T, seed uint64, layer quant.Layer) *ir.Graph {
	t.Helper()
	g := irtest.Gen(seed, tensor.F32)
	testenv.OK(t, testenv.Err(lower.Legalise(g, true)))
	if _, err := quant.Insert(g, quant.Options{Samples: quant.SyntheticSamples(g.In, 4, seed), Source: "synthetic",
		Method: option.MinMax, Layer: func(*ir.Node) quant.Layer { return layer }}); err != nil {
		t.Fatal(err)
	}
	testenv.OK(t, quant.Integer(g, quant.IntegerOptions{}))
	return g
}

// kill makes random channels of sums constant by biases far out, or weightless.
func kill(g *ir.Graph, r *rand.Rand) {
	for _, n := range g.Nodes {
		b, w := n.ConstIn(2), n.ConstIn(1)
		if n.Op != op.Conv && n.Op != op.Gemm || b == nil || w == nil ||
			b.DType != tensor.I32 && b.DType != tensor.I64 {
			continue
		}
		far := int64(1 << 26)
		if b.DType == tensor.I64 {
			far = 1 << 34
		}
		d, e := b.Clone(), w.Clone()
		per := w.Len() / max(b.Len(), 1)
		for c := range b.Len() {
			switch r.IntN(6) {
			case 0, 1:
				d.SetInt(c, -far)
			case 2:
				d.SetInt(c, far)
			case 3:
				if n.Op == op.Conv {
					for i := range per {
						e.SetInt(c*per+i, 0)
					}
				}
			}
		}
		bv, wv := g.AddConst(n.In[2].Name, d), g.AddConst(n.In[1].Name, e)
		bv.Type.Quant, wv.Type.Quant = n.In[2].Type.Quant, n.In[1].Type.Quant
		g.SetInput(n, 2, bv)
		g.SetInput(n, 1, wv)
	}
}

// TestRandom prunes random networks with dead channels: outputs stay the same
// bit for bit, no channel has a code that the pass ruled out.
func TestRandom(t *testing.T) {
	for _, layer := range layers {
		t.Run(layer.String(), func(t *testing.T) { random(t, layer) })
	}
}

func random(t *testing.T, layer quant.Layer) {
	removed, whole := 0, 0
	for seed := range uint64(150) {
		g := quantised(t, seed, layer)
		kill(g, rand.New(rand.NewPCG(seed, 7)))
		before := g.Clone()
		cuts, err := prune.Run(g)
		testenv.Require(t, err == nil, "seed %d: %v\n%s", seed, err, before)
		irtest.Verify(t, g)
		for _, c := range cuts {
			if c.After == 0 {
				whole++
			}
			removed += c.Before - c.After
		}
		for k := range uint64(3) {
			in := irtest.Inputs(before, seed*3+k)
			want, got := irtest.Run(t, before, in), irtest.Run(t, g, in)
			for i := range want {
				testenv.Require(t, tensor.Equal(want[i], got[i]),
					"seed %d: output %d differs\nbefore %s\nafter %s\n%v", seed, i, before, g, cuts)
			}
		}
	}
	testenv.Check(t, removed >= 500 && whole >= 20,
		"only %d channels and %d whole values removed: the test shows nothing", removed, whole)
}

// TestRangesHold: no run shows a code outside its interval, and on layers that
// inputs reach directly the ends are codes that some input gives.
func TestRangesHold(t *testing.T) {
	for seed := range uint64(60) {
		g := quantised(t, seed, layers[seed%2])
		kill(g, rand.New(rand.NewPCG(seed, 7)))
		r := prune.Ranges(g)
		for k := range uint64(4) {
			in := irtest.Inputs(g, seed*5+k)
			if k == 3 { // extremes
				p := rand.New(rand.NewPCG(seed, 9))
				for _, d := range in {
					lo, hi := d.DType.IntRange()
					for i := range d.Len() {
						if d.DType.IsInt() {
							d.SetInt(i, []int64{lo, hi}[p.IntN(2)])
						}
					}
				}
			}
			testenv.Must(interp.Run(g, in, func(v *ir.Value, d *tensor.Dense) {
				x := r[v]
				for i := 0; x != nil && i < d.Len(); i++ {
					c := i / tensor.Count(d.Shape[2:]) % d.Shape[1]
					if q := int32(d.Int(i)); q < x[c].Lo || q > x[c].Hi {
						t.Fatalf("seed %d: %s channel %d has code %d outside %v\n%s", seed, v, c, q, x[c], g)
					}
				}
			}))(t)
		}
	}
}

// conv is a graph of one convolution of one channel with 3x3 weights of 1.
func conv(bias int, pads string) string {
	size := "2,2"
	if pads != "[0,0,0,0]" {
		size = "4,4"
	}
	return fmt.Sprintf(`graph "g" {
  in %%x : i8[1,1,4,4] q(1:0)
  const %%w : i8[1,1,3,3] q(1:0) = splat 1
  const %%b : i32[1] = {%d}
  %%c : i8[1,1,%s] q(1:-128) = Conv(%%x, %%w, %%b) {pads=%s}
  const %%v : i8[2,1,1,1] q(1:0) = {3,-2}
  %%y : i8[1,2,%s] q(8:0) = Conv(%%c, %%v)
  out "y" = %%y
}`, bias, size, pads, size)
}

// TestConstantSubgraph: what is the same for every input goes with everything
// that leads to it and all that is computed from it alone, floats included;
// its constant stays where it meets something else.
func TestConstantSubgraph(t *testing.T) {
	g := irtest.Parse(t, `graph "g" {
  in %x : i8[1,2,4,4] q(0.05:3)
  const %w : i8[3,2,3,3] q(0.01:0) = rand 3
  const %b : i32[3] q(0.0005:0) = {-67108864,-67108864,67108864}
  const %f : f32[] = {0.03}
  const %z : i8[] = {-100}
  %c : i8[1,3,2,2] q(0.04:-7) = Conv(%x, %w, %b)
  %s : i8[1,3,2,2] q(0.03:-100) = Swish(%c)
  %m : i8[1,3,2,2] q(0.03:-100) = MaxPool(%s) {kernel_shape=[1,1]}
  %d = DequantizeLinear(%m, %f, %z)
  %e = Exp(%d)
  %p : i8[1,2,2,2] q(0.05:3) = MaxPool(%x) {kernel_shape=[2,2], strides=[2,2]}
  const %p0 : i8[1,2,1,1] q(0.02:0) = {5,-9}
  const %q : i8[1,2,1,1] q(0.02:0) = {0,0}
  %k : i8[1,2,1,1] q(0.05:3) = Mul(%p0, %q)
  %y : i8[1,2,2,2] q(0.1:0) = Add(%p, %k)
  out "e" = %e
  out "y" = %y
}`)
	before := g.Clone()
	cuts := testenv.Must(prune.Run(g))(t)
	irtest.Verify(t, g)
	left := lists.Map(g.Nodes, func(n *ir.Node) string { return n.Op.Name })
	got := strings.Join(left, " ")
	testenv.Check(t, got == "MaxPool Add" && len(cuts) != 0, "left %q, want MaxPool and Add\n%s", got, g)
	for seed := range uint64(4) {
		in := irtest.Inputs(before, seed)
		want, got := irtest.Run(t, before, in), irtest.Run(t, g, in)
		for i := range want {
			testenv.Check(t, tensor.Equal(want[i], got[i]), "output %d changed", i)
		}
	}
}

// TestBorders: nine taps of at most 127 and at least -128 decide exactly at
// which bias the channel is constant; at a border there are fewer of them.
func TestBorders(t *testing.T) {
	for _, c := range []struct {
		bias  int
		pads  string
		fixed bool
	}{
		{-9 * 127, "[0,0,0,0]", true}, // at most 0, clamped to the zero point
		{-9*127 + 1, "[0,0,0,0]", false},
		{-9 * 127, "[1,1,1,1]", true},
		{255 + 9*128, "[0,0,0,0]", true}, // at least 255
		{255 + 9*128 - 1, "[0,0,0,0]", false},
		{255 + 9*128, "[1,1,1,1]", true},
	} {
		g := irtest.Parse(t, conv(c.bias, c.pads))
		before := g.Clone()
		testenv.OK(t, testenv.Err(prune.Run(g)))
		if fixed := len(g.Nodes) == 0; fixed != c.fixed {
			t.Errorf("bias %d, pads %s: constant is %v, want %v\n%s", c.bias, c.pads, fixed, c.fixed, g)
		}
		in := irtest.Inputs(before, 1)
		testenv.Check(t, tensor.Equal(irtest.Run(t, before, in)[0], irtest.Run(t, g, in)[0]),
			"bias %d, pads %s: the output changed", c.bias, c.pads)
	}
}

// TestPaddedReader: a constant other than the zero point is no constant addend
// where the reader pads; the zero point is.
func TestPaddedReader(t *testing.T) {
	for _, c := range []struct {
		bias int // of the dead channel
		left int // channels after
	}{{-100000, 1}, {100000, 2}} {
		g := irtest.Parse(t, fmt.Sprintf(`graph "g" {
  in %%x : i8[1,1,4,4] q(1:0)
  const %%w : i8[2,1,1,1] q(1:0) = splat 1
  const %%b : i32[2] = {0,%d}
  %%c : i8[1,2,4,4] q(1:-128) = Conv(%%x, %%w, %%b)
  const %%v : i8[1,2,3,3] q(1:0) = splat 1
  %%y : i8[1,1,4,4] q(64:0) = Conv(%%c, %%v) {pads=[1,1,1,1]}
  out "y" = %%y
}`, c.bias))
		before := g.Clone()
		testenv.OK(t, testenv.Err(prune.Run(g)))
		got := g.Nodes[0].Out[0].Type.Shape[1]
		testenv.Check(t, got == c.left, "bias %d: %d channels left, want %d\n%s", c.bias, got, c.left, g)
		in := irtest.Inputs(before, 3)
		testenv.Check(t, tensor.Equal(irtest.Run(t, before, in)[0], irtest.Run(t, g, in)[0]),
			"bias %d: the output changed", c.bias)
	}
}

// TestTied: a depthwise convolution and a residual Add lose a channel only
// together with what they are computed from, and not while somebody reads it.
func TestTied(t *testing.T) {
	src := `graph "g" {
  in %x : i8[1,1,4,4] q(1:0)
  const %w : i8[3,1,1,1] q(1:0) = splat 1
  const %b : i32[3] = {0,-100000,5}
  %c : i8[1,3,4,4] q(1:-128) = Conv(%x, %w, %b)
  const %d : i8[3,1,3,3] q(1:0) = splat 1
  %e : i8[1,3,4,4] q(4:-128) = Conv(%c, %d) {group=3, pads=[1,1,1,1]}
  %s : i8[1,3,4,4] q(4:-128) = Add(%e, %c)
  const %v : i8[2,3,1,1] q(1:0) = {1,2,3,4,5,6}
  %y : i8[1,2,4,4] q(8:0) = Conv(%s, %v)
  out "y" = %y
}`
	g := irtest.Parse(t, src)
	testenv.OK(t, testenv.Err(prune.Run(g)))
	for _, n := range g.Nodes[:3] {
		testenv.Equal(t, n.Out[0].Type.Shape[1], 2, "%s has channels", n)
	}
	g = irtest.Parse(t, strings.Replace(src, `out "y" = %y`, "out \"y\" = %y\n  out \"c\" = %c", 1))
	cuts, err := prune.Run(g)
	testenv.Check(t, err == nil && len(cuts) == 0, "channels of a graph output went: %v, %v", cuts, err)
}

// SPDX-License-Identifier: Apache-2.0

package legal4d_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/mla"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/legal4d"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// integerGraph quantises a float graph; nil where that is not possible.
// perTensor gives the weights of products one scale each, as many exporters do:
// there the multiplier of a Gemm is not that of a Conv.
func integerGraph(t testing.TB, g *ir.Graph, perTensor bool) *ir.Graph {
	t.Helper()
	g = g.Clone()
	testenv.OK(t, (&pass.Manager{Passes: legal.Passes}).Run(&pass.Ctx{}, g))
	if _, err := quant.Insert(g, quant.Options{Samples: quant.SyntheticSamples(g.In, 3, 1),
		Method: option.MinMax}); err != nil {
		return nil
	}
	testenv.OK(t, quant.Integer(g, quant.IntegerOptions{}))
	if perTensor {
		for _, n := range g.Nodes {
			if n.Op != op.Gemm && n.Op != op.MatMul && n.Op != op.Conv {
				continue
			}
			if q := n.In[1].Type.Quant; q != nil && n.In[1].Const != nil {
				w := g.AddConst(n.In[1].Name, n.In[1].Const)
				w.Type.Quant = ir.PerTensor(q.Scale[0], 0)
				g.SetInput(n, 1, w)
			}
			if b := n.Input(2); b != nil && b.Const != nil {
				c := g.AddConst(b.Name, b.Const)
				g.SetInput(n, 2, c)
			}
		}
	}
	irtest.Verify(t, g)
	return g
}

// checkInteger rewrites an integer graph and compares bit for bit; it gives the
// nodes that are not 4-D or not the accelerator's.
func checkInteger(t testing.TB, g *ir.Graph, seed uint64) []string {
	t.Helper()
	in := irtest.Inputs(g, seed)
	want := irtest.Run(t, g, in)
	r, err := legal4d.Run(g, legal4d.Options{Integer: true})
	if err != nil {
		t.Fatalf("%v in\n%s", err, brief(g))
	}
	irtest.Verify(t, r.Native)
	irtest.Verify(t, r.Restore)
	got := runBoth(t, r, in)
	for i := range want {
		if !slices.Equal(got[i].Shape, want[i].Shape) || !tensor.Equal(got[i], want[i]) {
			t.Fatalf("output %d differs\nbefore\n%s\nafter\n%s\n%s", i, brief(g), brief(r.Native), brief(r.Restore))
		}
	}
	var out []string
	entry := entry(r)
	for _, n := range r.Native.Nodes {
		if entry[n] {
			continue
		}
		for _, v := range n.Out {
			if v.Type.Rank() != 4 || v.Type.Shape[0] != 1 {
				out = append(out, n.String()+" gives "+v.Type.String())
			}
		}
		for _, why := range mla.CheckQuantised(n, mla.Defaults()) {
			out = append(out, n.String()+": "+why.Text)
		}
	}
	return out
}

// seeds is how many graphs to draw: n, or fewer for a short test.
func seeds(n uint64) uint64 {
	if testing.Short() {
		return 60
	}
	return n
}

// TestIntegerGraphs: on quantised values the rewrites are exact, for random
// graphs with everything that the float rewrites know.
func TestIntegerGraphs(t *testing.T) {
	n := seeds(500)
	run, clean := 0, 0
	for seed := range n {
		m := newMaker(t, seed)
		m.dt = tensor.F32 // what quantised models compute in
		g := integerGraph(t, m.random(seed, false).g, seed%2 == 0)
		if g == nil {
			continue
		}
		run++
		if len(checkInteger(t, g, seed)) == 0 {
			clean++
		}
	}
	t.Logf("%d graphs, %d all on the accelerator", run, clean)
	testenv.Check(t, run >= int(n)*3/4 && clean >= run*3/4,
		"of %d graphs %d could be quantised and %d are all 4-D: this tests too little", n, run, clean)
}

// TestIntegerHeads: quantised networks with the heads of classifiers, detectors
// and transformers become all 4-D.
func TestIntegerHeads(t *testing.T) {
	for name, build := range map[string]func(m *maker){
		"classifier": func(m *maker) {
			x := m.conv(m.in(1, 3, 8, 8), 6, 3, 2)
			x = m.op(op.Relu, nil, m.linear(m.reshape(x, 1, 96), 12))
			m.out(m.softmax(m.linear(x, 5), 1))
		},
		"lanes": func(m *maker) {
			x := m.conv(m.in(1, 3, 6, 10), 4, 3, 2)
			x = m.linear(m.op(op.Relu, nil, m.linear(m.reshape(x, 1, 60), 16)), 70)
			m.out(m.reshape(m.slice(x, 1, 0, 40, 1), 1, 5, 4, 2))
			m.out(m.reshape(m.slice(x, 1, 40, 70, 1), 1, 5, 3, 2))
		},
		"transformer": func(m *maker) {
			x := m.conv(m.in(1, 3, 8, 8), 12, 3, 4)
			x = m.transpose(m.reshape(x, 1, 12, 4), 0, 2, 1)
			x = m.op(op.Add, nil, m.concat(1, m.c(1, 1, 12), x), m.c(1, 5, 12))
			x = m.block(x, 3, "split", nil)
			m.out(m.linear(m.take(x, 1, 0), 4))
		},
		"upsampler": func(m *maker) {
			x := m.op(op.ConvTranspose, ir.Attrs{"strides": ir.Ints(1, 5), "pads": ir.Ints(0, 3, 0, 3)},
				m.in(1, 4, 1, 9), m.c(4, 6, 1, 10), m.c(6))
			m.out(m.op(op.Tanh, nil, x))
		},
		"boxes": func(m *maker) {
			x := m.conv(m.in(1, 3, 8, 8), 8, 3, 1)
			y := m.conv(x, 8, 3, 2)
			a, b := m.reshape(x, 1, 8, 64), m.reshape(y, 1, 8, 16)
			m.out(m.concat(2, a, b))
		},
	} {
		for _, perTensor := range []bool{false, true} {
			m := newMaker(t, 11)
			m.dt = tensor.F32
			build(m)
			g := integerGraph(t, m.g, perTensor)
			testenv.Require(t, g != nil, "%s: not quantised", name)
			for _, s := range checkInteger(t, g, 3) {
				t.Errorf("%s: %s", name, s)
			}
		}
	}
}

// quantisedNorms is a random quantised graph: movements of data, and between them
// BatchNormalizations of a stretch of their own, as quantised models keep them.
func quantisedNorms(t testing.TB, seed uint64) *ir.Graph {
	m := newMaker(t, seed)
	m.dt = tensor.F32
	r := rand.New(rand.NewPCG(seed, 9))
	q := ir.PerTensor(0.03, 4)
	int8Value := func(v *ir.Value) *ir.Value {
		v.Type = v.Type.WithQuant(tensor.I8, q)
		return v
	}
	dims := []int{1, 2, 3, 4, 6}
	shape := []int{1}
	for range r.IntN(5) {
		shape = append(shape, dims[r.IntN(len(dims))])
	}
	if r.IntN(3) == 0 {
		shape[0] = dims[r.IntN(len(dims))]
	}
	vs := []*ir.Value{int8Value(m.in(shape...))}
	for range 2 + r.IntN(8) {
		var v *ir.Value
		if r.IntN(3) > 0 {
			if v = randomStep(m, r, vs, true); v.Def != nil {
				for _, y := range v.Def.Out {
					int8Value(y)
				}
			}
		} else {
			x := vs[len(vs)-1]
			c := 1
			if x.Type.Rank() > 1 {
				c = x.Type.Shape[1]
			}
			if x.Type.Rank() == 0 {
				continue
			}
			variance := m.c(c)
			for i := range c {
				variance.Const.SetFloat(i, 0.3+math.Abs(variance.Const.Float(i)))
			}
			v = int8Value(m.op(op.BatchNormalization, nil, x, m.c(c), m.c(c), m.c(c), variance))
		}
		if v.Type.Rank() < 7 && tensor.Count(v.Type.Shape) < 3000 {
			vs = append(vs, v)
		}
	}
	m.out(vs[len(vs)-1])
	m.g.RemoveDead()
	irtest.Verify(t, m.g)
	return m.g
}

// TestQuantisedBatchNorm: a BatchNormalization that a quantised model keeps has its numbers
// for dimension 1, wherever rewrites of views put that.
func TestQuantisedBatchNorm(t *testing.T) {
	n := seeds(400)
	norms, logical := 0, 0
	for seed := range n {
		g := quantisedNorms(t, seed)
		for _, n := range g.Nodes {
			if n.Op == op.BatchNormalization {
				norms++
			}
		}
		logical += len(checkInteger(t, g, seed))
	}
	t.Logf("%d, %d nodes not on 4-D tensors of the accelerator", norms, logical)
	testenv.Check(t, norms >= int(n)/2, "%d in %d graphs: this tests too little", norms, n)
}

// TestPaddedPointwise: a 1x1 convolution of a tensor in another layout whose stride and padding
// give as many pixels as there were is no product of those pixels.
func TestPaddedPointwise(t *testing.T) {
	for _, c := range []struct{ pads, strides []int }{
		{[]int{0, 1, 0, 1}, []int{1, 2}},
		{[]int{0, 0, 0, 0}, []int{1, 1}},
	} {
		m := newMaker(t, 5)
		x := m.reshape(m.op(op.Relu, nil, m.in(1, 9, 3)), 3, 3, 1, 3)
		m.out(m.op(op.Conv, ir.Attrs{"pads": ir.Ints(c.pads...), "strides": ir.Ints(c.strides...)}, x, m.c(4, 3, 1, 1),
			m.c(4)))
		m.check(false)
	}
}

// TestQuantisedReductionOfOne: a reduction of dimensions of size 1 moves nothing, and gives its
// result another scale all the same.
func TestQuantisedReductionOfOne(t *testing.T) {
	for _, d := range []*ir.OpDef{op.ReduceMean, op.ReduceSum, op.ReduceMax, op.ReduceMin} {
		for _, shape := range [][]int{{1, 3, 2}, {1, 4}, {2, 1, 3, 4}, {3, 1, 2, 2, 2}} {
			axis := slices.Index(shape, 1)
			m := newMaker(t, 3)
			m.dt = tensor.F32
			x := m.in(shape...)
			x.Type = x.Type.WithQuant(tensor.I8, ir.PerTensor(0.05, 3))
			y := m.op(d, ir.Attrs{"keepdims": ir.Int(0)}, x, m.ints(axis))
			y.Type = y.Type.WithQuant(tensor.I8, ir.PerTensor(0.02, -7))
			m.out(y)
			irtest.Verify(t, m.g)
			checkInteger(t, m.g, 1)
		}
	}
}

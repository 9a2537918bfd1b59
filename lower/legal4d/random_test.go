// SPDX-License-Identifier: Apache-2.0

package legal4d_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/mla"
)

// maker builds test graphs node by node.
type maker struct {
	t    testing.TB
	g    *ir.Graph
	dt   tensor.DType
	seed uint64
	n    int
}

// newMaker makes graphs in float64, in which rounding is far below any error.
func newMaker(t testing.TB, seed uint64) *maker {
	return &maker{t: t, g: ir.New(fmt.Sprintf("g%d", seed)), dt: tensor.F64, seed: seed * 7919}
}

func (m *maker) in(shape ...int) *ir.Value {
	return m.g.AddInput(fmt.Sprintf("x%d", len(m.g.In)), ir.T(m.dt, shape...))
}

func (m *maker) try(d *ir.OpDef, attrs ir.Attrs, nout int, in ...*ir.Value) ([]*ir.Value, error) {
	m.n++
	n, err := m.g.Add(d, fmt.Sprintf("%s_%d", d.Name, m.n), attrs, nout, in...)
	if err != nil {
		return nil, err
	}
	n.Origin = []string{n.Name}
	return n.Out, nil
}

func (m *maker) op(d *ir.OpDef, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	m.t.Helper()
	out, err := m.try(d, attrs, 1, in...)
	if err != nil {
		m.t.Fatal(err)
	}
	return out[0]
}

// c is a seeded constant.
func (m *maker) c(shape ...int) *ir.Value {
	m.seed++
	return m.g.AddConst(fmt.Sprintf("c%d", m.seed), ir.Rand(m.seed, m.dt, shape))
}

func (m *maker) k(x float64) *ir.Value {
	return m.g.AddConst("k", tensor.FromFloats(m.dt, nil, []float64{x}))
}

func (m *maker) ints(v ...int) *ir.Value { return m.g.AddConst("i", tensor.Ints(v...)) }

func (m *maker) reshape(v *ir.Value, s ...int) *ir.Value {
	return m.op(op.Reshape, nil, v, m.ints(s...))
}

func (m *maker) transpose(v *ir.Value, p ...int) *ir.Value {
	return m.op(op.Transpose, ir.Attrs{"perm": ir.Ints(p...)}, v)
}

func (m *maker) slice(v *ir.Value, axis, lo, hi, step int) *ir.Value {
	return m.op(op.Slice, nil, v, m.ints(lo), m.ints(hi), m.ints(axis), m.ints(step))
}

func (m *maker) concat(axis int, vs ...*ir.Value) *ir.Value {
	return m.op(op.Concat, ir.Attrs{"axis": ir.Int(axis)}, vs...)
}

func (m *maker) split(v *ir.Value, axis int, sizes ...int) []*ir.Value {
	out, err := m.try(op.Split, ir.Attrs{"axis": ir.Int(axis)}, len(sizes), v, m.ints(sizes...))
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

func (m *maker) take(v *ir.Value, axis, i int) *ir.Value {
	return m.op(op.Gather, ir.Attrs{"axis": ir.Int(axis)}, v, m.g.AddConst("i", tensor.Scalar(int64(i))))
}

func (m *maker) softmax(v *ir.Value, axis int) *ir.Value {
	return m.op(op.Softmax, ir.Attrs{"axis": ir.Int(axis)}, v)
}

// linear is MatMul with a constant and Add of a bias, as exporters write it.
func (m *maker) linear(v *ir.Value, out int) *ir.Value {
	s := v.Type.Shape
	return m.op(op.Add, nil, m.c(out), m.op(op.MatMul, nil, v, m.c(s[len(s)-1], out)))
}

func (m *maker) norm(v *ir.Value) *ir.Value {
	k := v.Type.Shape[v.Type.Rank()-1]
	return m.op(op.LayerNormalization, nil, v, m.c(k), m.c(k))
}

func (m *maker) conv(v *ir.Value, out, k, stride int) *ir.Value {
	p := k / 2
	return m.op(op.Conv, ir.Attrs{"pads": ir.Ints(p, p, p, p), "strides": ir.Ints(stride, stride)}, v,
		m.c(out, v.Type.Shape[1], k, k), m.c(out))
}

func (m *maker) out(v *ir.Value) { m.g.AddOutput(fmt.Sprintf("y%d", len(m.g.Out)), v) }

// check rewrites the graph and compares; exact where data is only moved.
func (m *maker) check(exact bool) (notIn4D []string) {
	m.t.Helper()
	m.g.RemoveDead()
	irtest.Verify(m.t, m.g)
	in := irtest.Inputs(m.g, m.seed)
	want := irtest.Run(m.t, m.g, in)
	r := must(m.t, m.g)
	got := runBoth(m.t, r, in)
	full, err := r.Original()
	if err != nil {
		m.t.Fatal(err)
	}
	irtest.Verify(m.t, full)
	for i := range want {
		tol := 1e-11
		if exact {
			tol = 0
		}
		if !slices.Equal(got[i].Shape, want[i].Shape) {
			m.t.Fatalf("output %d: shape %v, want %v in\n%s", i, got[i].Shape, want[i].Shape, brief(m.g))
		}
		if d := irtest.Diff(got[i], want[i]); d > tol {
			m.t.Fatalf("output %d differs by %g\nbefore\n%s\nafter\n%s\n%s", i, d, brief(m.g), brief(r.Native),
				brief(r.Restore))
		}
	}
	return append(append(notFour(r.Native), leftOf(r.Left)...), refused(r.Native)...)
}

// refused are the nodes that the accelerator does not take, for other reasons
// than rank and batch, with what it says.
func refused(g *ir.Graph) []string {
	var out []string
	for _, n := range g.Nodes {
		for _, r := range mla.CheckLegality(n, mla.Defaults()) {
			out = append(out, fmt.Sprintf("%s: %s: %s", n, r.Code, r.Text))
		}
	}
	return out
}

func leftOf[T any](l []T) []string {
	return lists.Map(l, func(x T) string { return fmt.Sprintf("%+v", x) })
}

// randomShape is another shape of the same size.
func randomShape(r *rand.Rand, n int) []int {
	var s []int
	for n > 1 && len(s) < 5 {
		var ds []int
		for d := 1; d <= n; d++ {
			if n%d == 0 {
				ds = append(ds, d)
			}
		}
		d := ds[r.IntN(len(ds))]
		s = append(s, d)
		n /= d
	}
	if n > 1 {
		s[len(s)-1] *= n
	}
	for len(s) < 1+r.IntN(4) {
		i := r.IntN(len(s) + 1)
		s = slices.Insert(s, i, 1)
	}
	return s
}

// randomStep appends a random node; data movement only when exact.
func randomStep(m *maker, r *rand.Rand, vs []*ir.Value, exact bool) *ir.Value {
	v := vs[r.IntN(len(vs))]
	s := v.Type.Shape
	rank := len(s)
	kinds := 6
	if !exact {
		kinds = 15
	}
	axis := r.IntN(max(rank, 1))
	switch r.IntN(kinds) {
	case 0:
		return m.reshape(v, randomShape(r, tensor.Count(s))...)
	case 1:
		if rank > 1 {
			return m.transpose(v, r.Perm(rank)...)
		}
	case 2:
		if rank > 0 && s[axis] > 1 {
			lo := r.IntN(s[axis])
			hi := lo + 1 + r.IntN(s[axis]-lo)
			return m.slice(v, axis, lo, hi, 1+r.IntN(5)/4)
		}
	case 3:
		if rank > 0 {
			var same []*ir.Value
			for _, w := range vs {
				if w.Type.Rank() != rank {
					continue
				}
				ok := true
				for d := range rank {
					ok = ok && (d == axis || w.Type.Shape[d] == s[d])
				}
				if ok {
					same = append(same, w)
				}
			}
			return m.concat(axis, v, same[r.IntN(len(same))])
		}
	case 4:
		if rank > 0 && s[axis] > 1 {
			k := 1 + r.IntN(s[axis]-1)
			return m.split(v, axis, k, s[axis]-k)[r.IntN(2)]
		}
	case 5:
		if rank > 0 {
			if r.IntN(2) == 0 {
				return m.take(v, axis, r.IntN(s[axis]))
			}
			return m.op(op.Gather, ir.Attrs{"axis": ir.Int(axis)}, v, m.ints(r.IntN(s[axis]), r.IntN(s[axis])))
		}
	case 6:
		return m.op(op.Relu, nil, v)
	case 7:
		c := slices.Clone(s)
		for i := range c {
			if r.IntN(2) == 0 {
				c[i] = 1
			} else if s[i] == 1 && r.IntN(3) == 0 {
				c[i] = 2 + r.IntN(3) // the constant is larger
			}
		}
		return m.op([]*ir.OpDef{op.Mul, op.Sub, op.Max}[r.IntN(3)], nil, v, m.c(c...))
	case 8:
		same := lists.Filter(vs, func(w *ir.Value) bool { return slices.Equal(w.Type.Shape, s) })
		return m.op(op.Add, nil, v, same[r.IntN(len(same))])
	case 9:
		if rank > 0 {
			return m.softmax(v, axis)
		}
	case 10:
		if rank > 1 {
			return m.linear(v, 1+r.IntN(6))
		}
	case 11:
		if rank > 1 {
			for _, w := range vs {
				if out, err := m.try(op.MatMul, nil, 1, v, w); err == nil {
					return out[0]
				}
			}
			p := ir.Identity(rank)
			p[rank-1], p[rank-2] = p[rank-2], p[rank-1]
			return m.op(op.MatMul, nil, v, m.transpose(v, p...))
		}
	case 12:
		if rank > 0 {
			return m.norm(v)
		}
	case 13:
		if rank > 0 {
			d := []*ir.OpDef{op.ReduceMean, op.ReduceSum, op.ReduceMax}[r.IntN(3)]
			axes := []int{axis}
			if o := r.IntN(rank); o != axis {
				axes = append(axes, o)
			}
			return m.op(d, ir.Attrs{"keepdims": ir.Int(r.IntN(2))}, v, m.ints(axes...))
		}
	case 14:
		if rank == 4 {
			return m.conv(v, 1+r.IntN(5), 1+2*r.IntN(2), 1)
		}
	}
	return v
}

func randomGraph(t testing.TB, seed uint64, exact bool) *maker {
	return newMaker(t, seed).random(seed, exact)
}

func (m *maker) random(seed uint64, exact bool) *maker {
	r := rand.New(rand.NewPCG(seed, 4))
	dims := []int{1, 2, 3, 4, 6, 8}
	shape := []int{1}
	for range 1 + r.IntN(4) {
		shape = append(shape, dims[r.IntN(len(dims))])
	}
	vs := []*ir.Value{m.in(shape...)}
	for range 3 + r.IntN(9) {
		if v := randomStep(m, r, vs, exact); tensor.Count(v.Type.Shape) < 5000 && v.Type.Rank() < 7 {
			vs = append(vs, v)
		}
	}
	m.out(vs[len(vs)-1])
	if r.IntN(3) == 0 {
		m.out(vs[r.IntN(len(vs))])
	}
	return m
}

// TestRandomMovement: data movement is bit-identical.
func TestRandomMovement(t *testing.T) {
	n := uint64(800)
	if testing.Short() {
		n = 100
	}
	for seed := range n {
		randomGraph(t, seed, true).check(true)
	}
}

// TestRandomGraphs: arithmetic as well; counts what kept its logical form.
func TestRandomGraphs(t *testing.T) {
	n := uint64(1500)
	if testing.Short() {
		n = 100
	}
	clean := 0
	for seed := range n {
		if len(randomGraph(t, seed, false).check(false)) == 0 {
			clean++
		}
	}
	t.Logf("%d of %d graphs are all 4-D", clean, n)
}

// TestRandomNetworks: what exporters write for convolutional networks.
func TestRandomNetworks(t *testing.T) {
	for seed := range uint64(150) {
		m := &maker{t: t, g: irtest.Gen(seed, tensor.F64), dt: tensor.F64, seed: seed}
		m.check(false)
	}
}

// FuzzRun: no graph makes it panic or changes results.
func FuzzRun(f *testing.F) {
	f.Add(uint64(1), true)
	f.Add(uint64(2), false)
	f.Fuzz(func(t *testing.T, seed uint64, exact bool) { randomGraph(t, seed, exact).check(exact) })
}

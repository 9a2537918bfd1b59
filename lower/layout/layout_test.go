// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/layout"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

var libraries = []string{"cmsisnn", "refc"}

// ready is g as the layout pass gets it, an error where a kernel is missing.
func ready(g *ir.Graph, precision option.Precision) (before *ir.Graph, err error) {
	o := lower.Options{Precision: precision, Legalize: true, Libraries: libraries,
		Target: kernel.Options{}}
	o.StopAfter = "kernels"
	o.Observe = func(s lower.Step) error {
		if s.Stage.Name == "own-outputs" {
			before = s.State.Graph.Clone()
		}
		return nil
	}
	if precision != option.Float32 && !lower.Quantised(g) {
		o.Quant = quant.Options{Method: option.MinMax, Source: quant.SyntheticSource,
			Samples: quant.SyntheticSamples(g.In, 1, 1)}
	}
	_, err = lower.Run(g, o)
	return before, err
}

func rules(t testing.TB) layout.Rules {
	t.Helper()
	table := testenv.Must(lower.Kernels(libraries, kernel.Options{}))(t)
	plans := table.Plans(&kernel.Options{})
	return func(n *ir.Node) kernel.Layout {
		testenv.OK(t, testenv.Err(plans.Of(n)))
		return plans.Layout(n)
	}
}

func assign(t testing.TB, g *ir.Graph, opt layout.Options) {
	t.Helper()
	testenv.OK(t, layout.Assign(g, rules(t), opt))
	irtest.Verify(t, g)
}

// relayouts are the copies of a graph, as "bytes value".
func relayouts(g *ir.Graph) []string {
	var s []string
	for _, n := range g.Nodes {
		if n.Op == op.Relayout {
			s = append(s, fmt.Sprintf("%d %s", n.Out[0].Type.Bytes(), n.In[0].Name))
		}
	}
	return s
}

// memory is a tensor as it lies in memory.
func memory(d *tensor.Dense, t ir.Type) *tensor.Dense { return d.Transpose(t.OrderOrIdentity()) }

// check holds every node against its kernel's demand, and looks for copies
// that are not needed.
func check(g *ir.Graph, rules layout.Rules, opt layout.Options) error {
	order := func(v *ir.Value) string { return fmt.Sprintf("%s %s", v, v.Type) }
	for _, n := range g.Nodes {
		l := rules(n)
		is := func(v *ir.Value, o []int) error {
			if v != nil && v.Const == nil && !v.Type.SameMemory(o) {
				return fmt.Errorf("%s: %s, the kernel wants %v", n, order(v), o)
			}
			return nil
		}
		var err error
		all := func(vs []*ir.Value, o func(i int) []int) {
			for i, v := range vs {
				if e := is(v, o(i)); err == nil {
					err = e
				}
			}
		}
		nth := func(s [][]int) func(int) []int {
			return func(i int) []int {
				if i < len(s) {
					return s[i]
				}
				return nil
			}
		}
		natural := nth(nil)
		switch l.Kind {
		case kernel.Natural:
			all(n.In, natural)
			all(n.Out, natural)
		case kernel.Fixed:
			all(n.In, nth(l.In))
			all(n.Out, nth(l.Out))
		case kernel.Same:
			rank, o := n.Out[0].Type.Rank(), n.Out[0].Type.Order
			for _, v := range slices.Concat(n.In, n.Out) {
				if v != nil && v.Type.Rank() == rank {
					all([]*ir.Value{v}, func(int) []int { return o })
				} else {
					all([]*ir.Value{v}, natural)
				}
			}
		case kernel.ViewTranspose, kernel.ViewReshape:
			// The bytes must be those of the input, element by element.
			x, y := n.In[0].Type, n.Out[0].Type
			d := tensor.New(tensor.I32, x.Shape)
			for i := range d.Len() {
				d.SetInt(i, int64(i))
			}
			e := d.Reshaped(y.Shape)
			if l.Kind == kernel.ViewTranspose {
				e = d.Transpose(l.Perm)
			}
			if a, b := memory(d, x), memory(e, y); !slices.Equal(a.Bytes(), b.Bytes()) {
				err = fmt.Errorf("%s is no view: %s, %s", n, order(n.In[0]), order(n.Out[0]))
			}
		case kernel.AnyToAny:
			v, w := n.In[0], n.Out[0]
			switch {
			case v.Type.SameMemory(w.Type.Order):
				err = fmt.Errorf("%s copies without change: %s", n, order(v))
			case v.Def != nil && v.Def.Op == op.Relayout:
				err = fmt.Errorf("%s copies a copy: %s", n, order(v))
			case len(w.Uses()) == 0 && !g.IsOutput(w):
				err = fmt.Errorf("%s: nobody reads the copy", n)
			}
			for _, u := range v.Uses() {
				if u.Node != n && u.Node.Op == op.Relayout && u.Node.Out[0].Type.SameMemory(w.Type.Order) {
					err = fmt.Errorf("%s and %s make the same copy of %s", n, u.Node, v)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	for _, v := range slices.Concat(g.In, g.Out) {
		free := opt.NativeIO && v.Type.Rank() == 4 && v.Type.SameMemory(ir.NHWC(4))
		if v.Const == nil && !free && !v.Type.SameMemory(nil) {
			return fmt.Errorf("%s at the border", order(v))
		}
	}
	return nil
}

// TestRandom: on random networks every demand is met, no copy is needless, and
// the graph computes what it did.
func TestRandom(t *testing.T) {
	n := uint64(60)
	if testing.Short() {
		n = 15
	}
	failed := uint64(0)
	for seed := range n {
		precision := []option.Precision{option.Float32, option.Int8}[seed%2]
		g, err := ready(irtest.Gen(seed, tensor.F32), precision)
		if err != nil {
			t.Logf("seed %d: %v", seed, err)
			failed++
			continue
		}
		opt := layout.Options{NativeIO: seed%3 == 0}
		in := irtest.Inputs(g, seed)
		want := irtest.Run(t, g, in)
		assign(t, g, opt)
		if err := check(g, rules(t), opt); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, g)
		}
		got := irtest.Run(t, g, in)
		for i := range want {
			testenv.Check(t, tensor.Equal(got[i], want[i]), "seed %d: output %d changed", seed, i)
		}
	}
	testenv.Check(t, failed*10 <= n, "%d of %d networks have a node without a kernel", failed, n)
}

// TestCopies: small networks with the copies that they need and no other.
func TestCopies(t *testing.T) {
	for _, c := range []struct {
		name      string
		precision option.Precision
		native    bool
		src       string
		want      []string
	}{
		{"one channel in, flattened out", option.Float32, false, `
			in %x : f32[1,1,6,6]
			const %w : f32[4,1,3,3] = rand 1
			const %k : f32[5,64] = rand 2
			%c = Conv(%x, %w)
			%r = Relu(%c)
			%f = Flatten(%r)
			%y = Gemm(%f, %k) {transB=1}
			out "y" = %y`, nil},
		{"NCHW input", option.Float32, false, `
			in %x : f32[1,3,6,6]
			const %w : f32[4,3,3,3] = rand 1
			%c = Conv(%x, %w)
			%y = GlobalAveragePool(%c)
			out "y" = %y`, []string{"432 x"}},
		{"NCHW input, quantised at the border: the int8 is copied", option.Int8, false, `
			in %x : f32[1,3,6,6]
			const %w : f32[4,3,3,3] = rand 1
			%c = Conv(%x, %w)
			%y = GlobalAveragePool(%c)
			out "y" = %y`, []string{"108 x"}},
		{"NCHW output", option.Float32, false, `
			in %x : f32[1,1,6,6]
			const %w : f32[4,1,3,3] = rand 1
			%c = Conv(%x, %w)
			%s = Sigmoid(%c)
			out "y" = %s`, []string{"256 c"}},
		{"native border", option.Float32, true, `
			in %x : f32[1,3,6,6]
			const %w : f32[4,3,3,3] = rand 1
			%c = Conv(%x, %w)
			%s = Sigmoid(%c)
			out "y" = %s`, nil},
		{"native border without a kernel that minds: logical order", option.Float32, true, `
			in %x : f32[1,3,6,6]
			%s = Sigmoid(%x)
			out "y" = %s`, nil},
		{"residual", option.Float32, true, `
			in %x : f32[1,4,6,6]
			const %w : f32[4,4,3,3] = rand 1
			%a = Conv(%x, %w) {pads=[1,1,1,1]}
			%b = Conv(%a, %w) {pads=[1,1,1,1]}
			%s = Add(%b, %x)
			%c = Conv(%s, %w)
			out "y" = %c`, nil},
		{"1-D convolutions are reshaped, not copied", option.Float32, false, `
			in %x : f32[1,1,20]
			const %w : f32[4,1,3] = rand 1
			const %v : f32[4,4,3] = rand 2
			const %k : f32[5,4] = rand 3
			const %axes : i64[1] = {2}
			%a = Conv(%x, %w)
			%b = Relu(%a)
			%c = Conv(%b, %v)
			%m = ReduceMean(%c, %axes) {keepdims=0}
			%y = Gemm(%m, %k) {transB=1}
			out "y" = %y`, nil},
		{"squeeze and excitation", option.Float32, true, `
			in %x : f32[1,4,6,6]
			const %w : f32[4,4,3,3] = rand 1
			const %p : f32[2,4,1,1] = rand 2
			const %q : f32[4,2,1,1] = rand 3
			%c = Conv(%x, %w)
			%g = GlobalAveragePool(%c)
			%s = Conv(%g, %p)
			%r = Relu(%s)
			%e = Conv(%r, %q)
			%h = HardSigmoid(%e)
			%m = Mul(%c, %h)
			%y = Conv(%m, %w)
			out "y" = %y`, nil},
		{"squeeze and excitation through Gemm", option.Float32, true, `
			in %x : f32[1,4,6,6]
			const %w : f32[4,4,3,3] = rand 1
			const %p : f32[2,4] = rand 2
			const %q : f32[4,2] = rand 3
			const %s : i64[4] = {1,4,1,1}
			%c = Conv(%x, %w)
			%g = GlobalAveragePool(%c)
			%f = Flatten(%g)
			%a = Gemm(%f, %p) {transB=1}
			%b = Gemm(%a, %q) {transB=1}
			%h = Sigmoid(%b)
			%e = Reshape(%h, %s)
			%m = Mul(%c, %e)
			%y = Conv(%m, %w)
			out "y" = %y`, nil},
		{"Concat of branches, one of them logical", option.Float32, true, `
			in %x : f32[1,2,6,6]
			in %z : f32[1,1,6,6]
			const %w : f32[2,2,1,1] = rand 1
			const %v : f32[5,5,1,1] = rand 2
			%a = Conv(%x, %w)
			%b = Softmax(%z) {axis=-1}
			%c = Concat(%a, %b, %x) {axis=1}
			%y = Conv(%c, %v)
			out "y" = %y`, nil},
		{"NHWC model: Transposes around each convolution", option.Float32, false, `
			in %x : f32[1,8,8,3]
			const %w : f32[4,3,3,3] = rand 1
			const %d : f32[4,1,3,3] = rand 2
			const %b : f32[4] = rand 3
			const %k : f32[36,5] = rand 4
			const %s : i64[2] = {1,36}
			%t = Transpose(%x) {perm=[0,3,1,2]}
			%c = Conv(%t, %w)
			%u = Transpose(%c) {perm=[0,2,3,1]}
			%e = Add(%u, %b)
			%r = Relu(%e)
			%v = Transpose(%r) {perm=[0,3,1,2]}
			%f = Conv(%v, %d) {group=4}
			%p = MaxPool(%f) {kernel_shape=[2,2]}
			%o = Transpose(%p) {perm=[0,2,3,1]}
			%q = Reshape(%o, %s)
			%y = MatMul(%q, %k)
			out "y" = %y`, nil},
		{"channel shuffle: one copy", option.Float32, true, `
			in %x : f32[1,6,4,4]
			const %w : f32[6,6,1,1] = rand 1
			const %s : i64[5] = {1,2,3,4,4}
			const %b : i64[4] = {1,6,4,4}
			%c = Conv(%x, %w)
			%r = Reshape(%c, %s)
			%t = Transpose(%r) {perm=[0,2,1,3,4]}
			%u = Reshape(%t, %b)
			%y = Conv(%u, %w)
			out "y" = %y`, []string{"384 t"}},
		{"rows of a feature map as tokens, and back", option.Float32, true, `
			in %x : f32[1,6,4,4]
			const %w : f32[6,6,1,1] = rand 1
			const %m : f32[6,6] = rand 2
			const %s : i64[3] = {1,6,16}
			const %b : i64[4] = {1,6,4,4}
			%c = Conv(%x, %w)
			%r = Reshape(%c, %s)
			%t = Transpose(%r) {perm=[0,2,1]}
			%a = MatMul(%t, %m)
			%u = Transpose(%a) {perm=[0,2,1]}
			%d = Reshape(%u, %b)
			%y = Conv(%d, %w)
			out "y" = %y`, nil},
		{"a value read in both orders is copied once", option.Float32, true, `
			in %x : f32[1,4,6,6]
			const %w : f32[4,4,3,3] = rand 1
			%c = Conv(%x, %w)
			const %m : f32[4,4] = rand 2
			const %n : f32[4,4] = rand 3
			%a = MatMul(%c, %m)
			%b = MatMul(%c, %n)
			%d = Conv(%c, %w)
			%s = Add(%a, %b)
			out "y" = %d
			out "s" = %s`, []string{"256 c"}},
		{"what most bytes want", option.Float32, true, `
			in %x : f32[1,4,6,6]
			const %w : f32[4,4,1,1] = rand 1
			const %i : i64[1] = {3}
			const %j : i64[1] = {1}
			const %z : i64[1] = {0}
			const %m : f32[1,6] = rand 3
			%c = Conv(%x, %w)
			%r = HardSwish(%c)
			%s = Sigmoid(%r)
			%y = Conv(%s, %w)
			%k = Slice(%s, %z, %j, %i)
			%l = Relu(%k)
			%a = MatMul(%l, %m)
			%e = MatMul(%k, %m)
			out "y" = %y
			out "a" = %a
			out "e" = %e`, []string{"96 k"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := testenv.Must(ready(irtest.Parse(t, "graph \"g\" {"+c.src+"\n}"), c.precision))(t)
			opt := layout.Options{NativeIO: c.native}
			assign(t, g, opt)
			err := check(g, rules(t), opt)
			testenv.Check(t, err == nil, "%v", err)
			got := relayouts(g)
			testenv.Check(t, slices.Equal(got, c.want), "copies %q, want %q\n%s", got, c.want, g)
		})
	}
}

// TestNativeOrders: orders at the border are the logical one or channels last,
// nothing else, whatever the graph would like.
func TestNativeOrders(t *testing.T) {
	g := testenv.Must(ready(irtest.Parse(t, `graph "g" {
		in %x : f32[1,4,6,6]
		const %w : f32[4,4,1,1] = rand 1
		%c = Conv(%x, %w)
		%t = Transpose(%c) {perm=[0,1,3,2]}
		out "y" = %t
	}`), option.Float32))(t)
	opt := layout.Options{NativeIO: true}
	assign(t, g, opt)
	err := check(g, rules(t), opt)
	testenv.Check(t, err == nil, "%v\n%s", err, g)
}

// TestSharedModels: demands are met on real networks, and the number of bytes
// copied is shown.
func TestSharedModels(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(irtest.Shared(t, "models"), "*.onnx"))
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".onnx")
		if testing.Short() || strings.HasSuffix(name, "_full") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			m := testenv.Must(onnx.Load(f, onnx.Limits{}))(t)
			g, err := onnx.Import(m, onnx.ImportOptions{})
			testenv.Require(t, err == nil, "not imported: %v", err)
			precision := option.Float32
			if lower.Quantised(g) {
				precision = option.Int8
			}
			if g, err = ready(g, precision); err != nil {
				t.Fatalf("not lowered: %v", err)
			}
			for _, opt := range []layout.Options{{}, {NativeIO: true}} {
				h := g.Clone()
				assign(t, h, opt)
				if err := check(h, rules(t), opt); err != nil {
					t.Error(err)
				}
				t.Logf("native border %v: %d nodes, copies %v", opt.NativeIO, len(h.Nodes), relayouts(h))
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package op_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func TestDefinitionsAreComplete(t *testing.T) {
	for _, d := range op.All() {
		testenv.Check(t, d.Doc != "" && !strings.Contains(d.Doc, "\n"), "%s: Doc must be one line, is %q", d.Name,
			d.Doc)
		testenv.Check(t, d.Infer != nil, "%s has no Infer", d.Name)
		testenv.Check(t, d.Eval != nil, "%s has no Eval", d.Name)
		testenv.Check(t, d.Quant != ir.QInt || d.EvalQ != nil, "%s computes on integers but has no EvalQ", d.Name)
		seen := map[string]bool{}
		for _, a := range d.Attrs {
			testenv.Check(t, !seen[a.Name], "%s declares attribute %s twice", d.Name, a.Name)
			seen[a.Name] = true
		}
	}
}

// TestScalarIsEval: the scalar function that tables are made of is what Eval
// computes in float64, and float32 evaluation is that rounded, within the
// last place where the float32 loop rounds its own constants or products.
func TestScalarIsEval(t *testing.T) {
	xs := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2.5, -3.5, 1e-8, -1e-8, 30, -30, 200, -200, 1e10, -1e10}
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		xs = append(xs, r.NormFloat64()*math.Exp(r.Float64()*6-3))
	}
	for i := range xs {
		xs[i] = float64(float32(xs[i]))
	}
	for _, d := range op.All() {
		if d.Scalar == nil {
			continue
		}
		attrs := []ir.Attrs{nil}
		if d.Name == "Gelu" {
			attrs = append(attrs, ir.Attrs{"approximate": ir.Str("tanh")})
		}
		if slices.ContainsFunc(d.Attrs, func(a ir.AttrSpec) bool { return a.Name == "alpha" }) {
			attrs = append(attrs, ir.Attrs{"alpha": ir.Float(0.3)})
		}
		for _, a := range attrs {
			for _, dt := range []tensor.DType{tensor.F64, tensor.F32} {
				g := ir.New("t")
				x := tensor.FromFloats(dt, []int{len(xs)}, xs)
				in := []*ir.Value{g.AddInput("x", ir.T(dt, len(xs)))}
				ds := []*tensor.Dense{x}
				if d.Name == "Clip" {
					lo := tensor.FromFloats(dt, nil, []float64{-0.75})
					in, ds = append(in, g.AddConst("lo", lo)), append(ds, lo)
				}
				n, err := g.Add(d, "n", a, 1, in...)
				if err != nil {
					if d.Name == "Not" {
						continue
					}
					t.Fatal(err)
				}
				y := testenv.Must(ir.EvalNode(n, ds))(t)
				for i, v := range xs {
					got, want := y[0].Float(i), d.Scalar(n, v)
					if dt == tensor.F32 {
						want = float64(float32(want))
						if math.Abs(got-want) <= math.Abs(want)*0x1p-23 {
							continue
						}
					}
					if got != want && (got == got || want == want) {
						t.Errorf("%s %v %s(%v) = %v, want %v", d.Name, a, dt, v, got, want)
					}
				}
			}
		}
	}
}

// TestRandomNodes puts nodes with random inputs and attributes to every
// operator: whatever comes, Infer and Eval answer or return an error that is
// no internal fault, and the results have the inferred types.
func TestRandomNodes(t *testing.T) {
	r := rand.New(rand.NewPCG(42, 7))
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for _, d := range op.All() {
		t.Run(d.Name, func(t *testing.T) {
			good := 0
			for range rounds {
				ok := testenv.Must(randomNode(r, d))(t)
				if ok {
					good++
				}
			}
			t.Logf("%d of %d nodes were valid", good, rounds)
		})
	}
}

func randomNode(r *rand.Rand, d *ir.OpDef) (valid bool, err error) {
	g := ir.New("t")
	k := d.MinIn
	if d.MaxIn > d.MinIn {
		k += r.IntN(d.MaxIn - d.MinIn + 1)
	} else if d.MaxIn < 0 {
		k += r.IntN(3)
	}
	var vs []*ir.Value
	var ds []*tensor.Dense
	shape := randShape(r)
	dt := randType(r)
	for i := range k {
		if i >= d.MinIn && r.IntN(4) == 0 {
			vs, ds = append(vs, nil), append(ds, nil)
			continue
		}
		x := randDense(r, dt, shape)
		v := g.AddInput("x", ir.T(x.DType, x.Shape...))
		if i > 0 || r.IntN(4) == 0 {
			switch r.IntN(4) {
			case 0:
				x = tensor.Ints(randInts(r)...)
			case 1:
				x = randDense(r, randType(r), nil)
			case 2:
				x = randDense(r, dt, randShape(r))
			}
			v = g.AddConst("c", x)
			if r.IntN(3) == 0 {
				v = g.AddInput("x", ir.T(x.DType, x.Shape...))
			}
		}
		vs, ds = append(vs, v), append(ds, x)
	}
	attrs := ir.Attrs{}
	for _, a := range d.Attrs {
		if !a.Required && r.IntN(2) == 0 {
			continue
		}
		switch a.Kind {
		case ir.AttrInt:
			attrs[a.Name] = ir.Int(r.IntN(7) - 2)
		case ir.AttrFloat:
			attrs[a.Name] = ir.Float(float32(r.NormFloat64()))
		case ir.AttrString:
			attrs[a.Name] = ir.Str([]string{"", "tanh", "LEFT", "SAME_UPPER", "linear", "reflect"}[r.IntN(6)])
		case ir.AttrInts:
			attrs[a.Name] = ir.Ints(randInts(r)...)
		case ir.AttrFloats:
			attrs[a.Name] = ir.Floats(1, 2)
		case ir.AttrTensor:
			attrs[a.Name] = ir.Tens(randDense(r, randType(r), []int{1}))
		}
	}
	desc := func() string {
		s := d.Name
		for _, v := range vs {
			if v == nil {
				s += " -"
			} else {
				s += fmt.Sprintf(" %s(const %t)", v.Type, v.Const != nil)
			}
		}
		for _, n := range attrs.Names() {
			s += fmt.Sprintf(" %s=%+v", n, attrs[n])
		}
		return s
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, desc())
		}
	}()
	nout := d.MinOut
	if d.MaxOut > d.MinOut {
		nout += r.IntN(d.MaxOut - d.MinOut + 1)
	}
	n, inferErr := g.Add(d, "n", attrs, nout, vs...)
	if inferErr != nil {
		return false, nil
	}
	for _, v := range n.Out {
		if v.Type.Elems() > 1<<16 {
			return false, nil
		}
	}
	if quantise(r, n) {
		if _, err := ir.InferNode(n); err != nil {
			return false, nil // refuses this combination of quantised inputs
		}
	}
	out, evalErr := ir.EvalNode(n, ds[:len(n.In)])
	if evalErr != nil {
		if bug.Is(evalErr) {
			return false, fmt.Errorf("%w\n%s", evalErr, desc())
		}
		return false, nil
	}
	for i, v := range n.Out {
		if i >= len(out) || out[i] == nil || out[i].DType != v.Type.DType || !slices.Equal(out[i].Shape, v.Type.Shape) {
			return false, fmt.Errorf("output %d is inferred as %s, evaluated as %v\n%s", i, v.Type, out, desc())
		}
	}
	return true, nil
}

// quantise makes every int8 value of the node one that stands for reals, half
// of the time.
func quantise(r *rand.Rand, n *ir.Node) bool {
	if r.IntN(2) == 0 || n.In == nil || n.Op.Quant == ir.QNone {
		return false
	}
	q := randQuant(r)
	for _, v := range append(slices.Clone(n.In), n.Out...) {
		if v == nil || v.Type.DType != tensor.I8 {
			continue
		}
		if n.Op.Quant != ir.QMove && r.IntN(2) == 0 {
			q = randQuant(r)
		}
		v.Type = v.Type.WithQuant(tensor.I8, q)
	}
	return true
}

func randShape(r *rand.Rand) []int {
	s := make([]int, r.IntN(5))
	for i := range s {
		s[i] = []int{1, 1, 2, 3, 4, 5, 0}[r.IntN(6+r.IntN(2))]
	}
	return s
}

func randInts(r *rand.Rand) []int {
	s := make([]int, r.IntN(5))
	for i := range s {
		s[i] = r.IntN(8) - 3
	}
	return s
}

func randType(r *rand.Rand) tensor.DType {
	switch r.IntN(4) {
	case 0:
		return tensor.F32
	case 1:
		return tensor.I8
	}
	return []tensor.DType{tensor.F64, tensor.F16, tensor.BF16, tensor.I8, tensor.I32, tensor.I64, tensor.U8, tensor.U64,
		tensor.Bool}[r.IntN(9)]
}

func randDense(r *rand.Rand, dt tensor.DType, shape []int) *tensor.Dense {
	d := tensor.New(dt, shape)
	for i := range d.Len() {
		if dt.IsFloat() {
			d.SetFloat(i, r.NormFloat64()*3)
		} else {
			d.SetInt(i, int64(r.IntN(9)-2))
		}
	}
	return d
}

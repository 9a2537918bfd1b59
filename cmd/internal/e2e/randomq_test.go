// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/lists"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/fidelity"
	"github.com/nncc/nncc/lower/verify"
)

// stepsAllowed is how far the program may be from the model's own semantics
// between two quantised tensors, in steps of the second.
const stepsAllowed = 2

// throughFile is a graph as the importer makes it of the ONNX model that the
// graph exports to.
func throughFile(t testing.TB, net *ir.Graph) (*onnx.Model, *ir.Graph) {
	t.Helper()
	m := testenv.Must(onnx.Export(net, onnx.ExportOptions{Producer: "nncc", Custom: true}))(t)
	b := testenv.Must(onnx.Marshal(m))(t)
	return imported(t, b)
}

// stretchError is the largest difference of a stretch.
type stretchError struct {
	steps float64
	at    string // the operators of the stretch
	wide  bool   // it ends in int16
	jumps bool   // a function of it is not continuous: any error of float is enough
}

// compiled is a model compiled for the board that c names.
func compiled(t *testing.T, c *driver.Config, m *onnx.Model, g *ir.Graph) *driver.Compiled {
	t.Helper()
	o := testenv.Must(c.CompileGraph(m, g, mustLoad(t, c.Board)))(t)
	return o
}

// checkModel compares the program of a quantised network, all of whose quantised values are outputs, with what the
// model means, stretch by stretch: each starts from the program's own integers.
func checkModel(t *testing.T, seed uint64, m *onnx.Model, g *ir.Graph, board string) {
	t.Helper()
	model := g.Clone()
	c := driver.Defaults()
	c.Board, c.Name = board, "net"
	o := compiled(t, &c, m, g)
	prog := o.Lowered.Reference
	for k := range uint64(3) {
		in := irtest.Inputs(model, seed*10+k)
		pin := make([]*tensor.Dense, len(in))
		for i, d := range in {
			var err error
			if pin[i], err = verify.Input(d, prog.In[i]); err != nil {
				t.Fatal(err)
			}
		}
		got := testenv.Must(interp.Run(prog, pin, nil))(t)
		for _, b := range compareStretches(t, model, in, prog, got) {
			t.Errorf("seed %d, input %d: %.3g steps off: %s", seed, k, b.steps, b.at)
		}
	}
}

// compareStretches evaluates the model node by node; where the program has the
// value among its outputs, the two are compared, and the evaluation goes on from
// the program's.
func compareStretches(t testing.TB, model *ir.Graph, in []*tensor.Dense, prog *ir.Graph,
	got []*tensor.Dense) []stretchError {
	t.Helper()
	out := map[*ir.Value]int{}
	for i, v := range model.Out {
		out[v] = i
	}
	env := map[*ir.Value]*tensor.Dense{}
	for i, v := range model.In {
		env[v] = in[i]
	}
	var bad []stretchError
	check := func(v *ir.Value) {
		i, ok := out[v]
		if !ok {
			return
		}
		want, have := env[v], got[i]
		pt := prog.Out[i].Type
		worst := 0.0
		loose := amplified(t, v, env, out)
		switch {
		case !want.DType.IsFloat():
			testenv.Require(t, have.DType == want.DType, "output %s is %s, the model's %s", v, have.DType, want.DType)
			for e := range want.Len() {
				steps := math.Abs(want.Float(e) - have.Float(e))
				if steps > stepsAllowed {
					steps -= loose()[e]
				}
				worst = math.Max(worst, steps)
			}
			worst -= kernelError(prog.Out[i])
			env[v] = have
		case pt.Quant != nil: // steps of the program's integers
			dequantised := ir.Dequantise(have, pt.Quant)
			for e := range want.Len() {
				steps := math.Abs(want.Float(e)-dequantised.Float(e)) / float64(pt.Quant.Scale[0])
				if steps > stepsAllowed {
					steps -= loose()[e] / float64(pt.Quant.Scale[0])
				}
				worst = math.Max(worst, steps)
			}
			worst -= kernelError(prog.Out[i])
		default:
			top := 1e-30
			for e := range want.Len() {
				top = math.Max(top, math.Abs(want.Float(e)))
			}
			for e := range want.Len() {
				if d := math.Abs(want.Float(e)-have.Float(e)) / top; d > 1e-4 {
					worst = math.Max(worst, stepsAllowed+d)
				}
			}
		}
		if worst > stepsAllowed {
			text, jumps := stretchText(v)
			bad = append(bad, stretchError{worst, text, pt.DType == tensor.I16, jumps})
		}
	}
	for _, n := range model.Nodes {
		ins := make([]*tensor.Dense, len(n.In))
		for i, v := range n.In {
			if v != nil {
				ins[i] = v.Const
				if ins[i] == nil {
					ins[i] = env[v]
				}
			}
		}
		res := testenv.Must(ir.EvalNode(n, ins))(t)
		for i, v := range n.Out {
			env[v] = res[i]
			check(v)
		}
	}
	return bad
}

// kernelError is how far a value may be off by the definition of the nodes that
// made it, in steps: those between it and the program's inputs and outputs.
func kernelError(v *ir.Value) float64 {
	n := v.Def
	if n == nil {
		return 0
	}
	sum := ir.QuantError(n)
	if n.Op.Quant == ir.QMove {
		sum += kernelError(n.In[0])
	}
	return sum
}

// amplified is how far v moves, element by element, where the floats of the
// stretch that ends in it are rounded otherwise: found when it is asked for.
func amplified(t testing.TB, v *ir.Value, env map[*ir.Value]*tensor.Dense, ends map[*ir.Value]int) func() []float64 {
	return sync.OnceValue(func() []float64 {
		g, at := ir.New("stretch"), map[*ir.Value]*ir.Value{}
		var in []*tensor.Dense
		var copied func(w *ir.Value) *ir.Value
		copied = func(w *ir.Value) *ir.Value {
			_, end := ends[w]
			switch {
			case w == nil:
				return nil
			case at[w] != nil:
			case w.Const != nil:
				at[w] = g.AddConst(w.Name, w.Const)
			case w.Def == nil || end && w != v:
				at[w] = g.AddInput(w.Name, w.Type)
				in = append(in, env[w])
			default:
				args := lists.Map(w.Def.In, copied)
				n := testenv.Must(g.Add(w.Def.Op, w.Def.Name, w.Def.Attrs.Clone(), len(w.Def.Out), args...))(t)
				for i, o := range w.Def.Out {
					n.Out[i].Type, at[o] = o.Type, n.Out[i]
				}
			}
			return at[w]
		}
		end := copied(v)
		s := testenv.Must(fidelity.Spread(g, in, map[*ir.Value]*tensor.Dense{end: env[v]}, nil))(t)
		return s[end]
	})
}

// stretchText names the operators between v and the quantised values before it,
// and says whether one jumps: a comparison, an index of the largest, a Floor.
func stretchText(v *ir.Value) (text string, jumps bool) {
	var s []string
	seen := map[*ir.Value]bool{}
	var walk func(v *ir.Value, first bool)
	walk = func(v *ir.Value, first bool) {
		if v == nil || v.Def == nil || seen[v] || !first && v.Def.Op == op.QuantizeLinear {
			return
		}
		seen[v] = true
		for _, x := range v.Def.In {
			walk(x, false)
		}
		t := v.Type.DType.String()
		if v.Def.Op == op.DequantizeLinear {
			t = v.Def.In[0].Type.DType.String()
			if v.Def.In[0].Const != nil {
				t += " const"
			}
		}
		s = append(s, v.Def.Op.Name+" "+t)
		if x := v.Def.In[0]; v.Def.Op != op.QuantizeLinear && x != nil && x.Type.DType.IsFloat() &&
			!v.Type.DType.IsFloat() || v.Def.Op == op.Floor {
			jumps = true
		}
	}
	walk(v, true)
	return strings.Join(s, ", "), jumps
}

// TestRandomQDQ: programs of random quantised networks compute what the models
// mean. NNCC_RANDOM=N tries N, NNCC_RANDOM=FROM+N those from a seed on.
func TestRandomQDQ(t *testing.T) {
	found := []uint64{
		83,   // a Softmax into steps much finer than its kernel's
		69,   // Where with a constant outside the range of its operand
		173,  // Min with one
		223,  // Pad with one
		184,  // an output read with another scale than it was written with
		474,  // MaxPool with the bounds of a Clip outside its range
		358,  // Requantize from int16 to a step 34,000 times as long
		875,  // Floor on int16, as a curve
		2264, // int16 read with another scale, in a curve
		2632, // x * Sigmoid(x) on int16, 16 steps off
	}
	from, n := testenv.Range(t, 60)
	for k := from; k < from+n; k++ {
		found = append(found, uint64(k))
	}
	for _, seed := range found {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m, g := throughFile(t, irtest.ExposeQuantised(irtest.GenQDQ(seed)))
			checkModel(t, seed, m, g, "host")
		})
	}
}

// TestRandomQuantisedOnAccelerator: random quantised networks, in QDQ form and with all
// that can be in QOperator form, rearranged for an accelerator's tensors of four
// dimensions compute what the models mean. NNCC_RANDOM as for TestRandomQDQ.
func TestRandomQuantisedOnAccelerator(t *testing.T) {
	seeds := []int{
		83,  // a Softmax with a scale that no operation of the accelerator takes
		135, // ReduceMin of a dimension of size 1 into another scale
		139, // ReduceSum of one
		273, // a node without a kernel on integers, computed in float: a value between two steps
		352, // a float output whose sums are taken in another order
		619, // a 1x1 convolution whose stride and padding give as many pixels as before
	}
	from, n := testenv.Range(t, 60)
	for s := from; s < from+n; s++ {
		seeds = append(seeds, s)
	}
	for _, s := range seeds {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			m, g := throughFile(t, irtest.ExposeQuantised(irtest.GenQDQ(uint64(s))))
			checkModel(t, uint64(s), m, g, "mla-host")
			p := testenv.Must(onnx.Export(irtest.GenQDQ(uint64(s)), onnx.ExportOptions{}))(t)
			if s%2 == 1 {
				toQOperators(p)
			}
			b := testenv.Must(onnx.Marshal(p))(t)
			m, g = imported(t, b)
			verified(t, m, g, "mla-host")
		})
	}
}

// verified compiles a model for a board and compares the program with the model as verify does.
func verified(t *testing.T, m *onnx.Model, g *ir.Graph, board string) {
	t.Helper()
	c := driver.Defaults()
	c.Board, c.Name, c.Cases = board, "net", 2
	o := compiled(t, &c, m, g)
	cases := mustCases(t, &c, o)
	rows := testenv.Must(verify.Model(o.Lowered, o.Float, cases))(t)
	for _, r := range rows {
		for _, d := range r.Differs {
			t.Errorf("output %s: %s", r.Output, d.Text())
		}
	}
}

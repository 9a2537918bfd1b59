// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestInto: operators evaluated into memory that is there give what the reference gives, but
// for rounding in float32, whatever was in the memory.
func TestInto(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	done := map[*ir.OpDef]int{}
	for range 3000 {
		n, in := drawInto(t, r)
		f := Into(n)
		if f == nil {
			continue
		}
		done[n.Op]++
		want := testenv.Must(n.Op.Eval(n, in))(t)
		got := make([]float32, want[0].Len())
		for i := range got {
			got[i] = float32(math.NaN())
		}
		f(in, got)
		compareInto(t, n, want[0], got)
	}
	for _, o := range intoOps {
		testenv.Check(t, done[o.op] >= 15, "%s: %d were evaluated", o.op.Name, done[o.op])
	}
}

func compareInto(t *testing.T, n *ir.Node, want *tensor.Dense, got []float32) {
	t.Helper()
	for i, w := range want.Floats() {
		g := float64(got[i])
		testenv.Require(t, math.Abs(g-w) <= 1e-5*(0.1+math.Abs(w)), "%s: element %d is %v, want %v", n, i, g, w)
	}
}

// drawn is a tensor of normal numbers.
func drawn(r *rand.Rand, spread float64, shape ...int) *tensor.Dense {
	d := tensor.New(tensor.F32, shape)
	for i := range d.Len() {
		d.SetFloat(i, r.NormFloat64()*spread)
	}
	return d
}

// intoDraw is an operator that is being drawn.
type intoDraw struct {
	r     *rand.Rand
	shape []int
	in    []*tensor.Dense
	attrs ir.Attrs
}

func (d *intoDraw) plain() {}

// intoOps are the operators with what makes their operands.
var intoOps = []struct {
	op   *ir.OpDef
	draw func(d *intoDraw)
}{
	{Softmax, func(d *intoDraw) { d.attrs["axis"] = ir.Int(-1) }},
	{LayerNormalization, func(d *intoDraw) {
		axis := d.r.IntN(len(d.shape))
		d.in, d.attrs["axis"] = append(d.in, drawn(d.r, 1, d.shape[axis:]...)), ir.Int(axis)
		if d.r.IntN(2) == 0 {
			d.in = append(d.in, drawn(d.r, 1, d.shape[axis:]...))
		}
	}},
	{Swish, func(d *intoDraw) { d.attrs["alpha"] = ir.Float(float32(d.r.NormFloat64())) }},
	{Sigmoid, (*intoDraw).plain}, {Tanh, (*intoDraw).plain}, {Erf, (*intoDraw).plain},
	{Softplus, (*intoDraw).plain}, {Mish, (*intoDraw).plain},
	{Gelu, func(d *intoDraw) { d.attrs["approximate"] = ir.Str([]string{"none", "tanh"}[d.r.IntN(2)]) }},
}

// drawInto draws an operator with its operands.
func drawInto(t *testing.T, r *rand.Rand) (*ir.Node, []*tensor.Dense) {
	shape := make([]int, 1+r.IntN(4))
	for i := range shape {
		shape[i] = 1 + r.IntN(7)
	}
	d := &intoDraw{r: r, shape: shape, in: []*tensor.Dense{drawn(r, []float64{0.1, 1, 6}[r.IntN(3)], shape...)},
		attrs: ir.Attrs{}}
	o := intoOps[r.IntN(len(intoOps))]
	o.draw(d)
	g := ir.New("into")
	var values []*ir.Value
	for _, x := range d.in {
		values = append(values, g.AddInput("x", ir.T(x.DType, x.Shape...)))
	}
	n := testenv.Must(g.Add(o.op, "n", d.attrs, 1, values...))(t)
	return n, d.in
}

// TestLSTMInto: LSTMs of all directions, with and without biases, given states and a bound of
// the cell state, are those of the reference, and all cell states are seen.
func TestLSTMInto(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	for range 200 {
		seq, batch, input, hidden := 1+r.IntN(5), 1+r.IntN(2), 1+r.IntN(9), 1+r.IntN(20)
		direction := []string{"forward", "reverse", "bidirectional"}[r.IntN(3)]
		dirs := 1
		if direction == "bidirectional" {
			dirs = 2
		}
		in := []*tensor.Dense{drawn(r, 1, seq, batch, input), drawn(r, 0.5, dirs, 4*hidden, input),
			drawn(r, 0.5, dirs, 4*hidden, hidden), nil, nil, nil, nil}
		if r.IntN(2) == 0 {
			in[3] = drawn(r, 1, dirs, 8*hidden)
		}
		if r.IntN(2) == 0 {
			in[5], in[6] = drawn(r, 1, dirs, batch, hidden), drawn(r, 1, dirs, batch, hidden)
		}
		attrs := ir.Attrs{"direction": ir.Str(direction), "hidden_size": ir.Int(hidden)}
		if r.IntN(3) == 0 {
			attrs["cell_clip"] = ir.Float(0.75)
		}
		g := ir.New("lstm")
		var values []*ir.Value
		for _, d := range in {
			if d == nil {
				values = append(values, nil)
				continue
			}
			values = append(values, g.AddInput("x", ir.T(d.DType, d.Shape...)))
		}
		n := testenv.Must(g.Add(LSTM, "n", attrs, 3, values...))(t)
		f := LSTMInto(n, in[1], in[2], in[3])
		testenv.Require(t, f != nil, "%s has no quick form", n)
		want := testenv.Must(n.Op.Eval(n, in))(t)
		got := lists.Map(want, func(w *tensor.Dense) []float32 { return make([]float32, w.Len()) })
		cells := 0
		f([]*tensor.Dense{in[0], nil, nil, nil, nil, in[5], in[6]}, got, func(c []float32) { cells += len(c) })
		testenv.Require(t, cells == seq*batch*dirs*hidden, "%s: %d cell states were seen, want %d", n, cells,
			seq*batch*dirs*hidden)
		for i, w := range want {
			compareInto(t, n, w, got[i])
		}
	}
}

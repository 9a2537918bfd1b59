// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// maxCellSteps bounds the cell states that the int16 cell state covers where
// no calibration tells (see lstm_cell.go). A state grows by less than 1 a step,
// so short sequences need less.
const maxCellSteps = 64

// recurrentGates are the gates of the operators with an integer form, and the
// activations that it has.
var recurrentGates = map[*ir.OpDef][]string{op.LSTM: {"sigmoid", "tanh", "tanh"}, op.GRU: {"sigmoid", "tanh"}}

// stateInput and stateOutput are where the state in int16 is given and read: the
// cell state of an LSTM, the hidden state of a GRU.
var (
	stateInput  = map[*ir.OpDef]int{op.LSTM: 6, op.GRU: 5}
	stateOutput = map[*ir.OpDef]int{op.LSTM: 2, op.GRU: 1}
)

// integerRecurrent reports an LSTM or GRU that QLSTM or QGRU computes.
func integerRecurrent(n *ir.Node) bool {
	return recurrentGates[n.Op] != nil && WhyRecurrentInFloat(n) == ""
}

// WhyRecurrentInFloat says why an LSTM or GRU has no integer form; "" where it
// has, and for other operators.
func WhyRecurrentInFloat(n *ir.Node) string {
	acts, ok := recurrentGates[n.Op]
	if !ok {
		return ""
	}
	g, err := op.RNNGeometry(n)
	switch {
	case err != nil:
		return err.Error()
	case g.BatchFirst:
		return "its layout has the batch first"
	case !math.IsInf(g.Clip, 1):
		return "it clips its gates"
	case n.Op == op.LSTM && ir.AttrsOf[op.LSTMAttrs](n).InputForget != 0:
		return "its input and forget gates are coupled"
	case n.Input(4) != nil:
		return "it has sequence lengths"
	case n.Input(7) != nil:
		return "it has peepholes"
	case g.Seq < 1 || g.Batch < 1 || g.Input < 1:
		return "it is empty"
	}
	if why := otherActivations(g, acts); why != "" {
		return why
	}
	return computedOperand(n)
}

// computedOperand says which weights or biases of a recurrent layer are no
// constants; "" where all are.
func computedOperand(n *ir.Node) string {
	for i := 1; i <= 3; i++ {
		if v := n.Input(i); v != nil && v.Const == nil && (v.Def == nil || v.Def.Op != op.DequantizeLinear) {
			return fmt.Sprintf("its operand %s is computed at run time", v)
		}
	}
	return ""
}

// otherActivations says which activation is none of those that the integer form
// has; "" where all are.
func otherActivations(g *op.RNNGeom, acts []string) string {
	for d := range g.Dirs() {
		for k, want := range acts {
			if has := g.ActName(d, k); has != want {
				return fmt.Sprintf("its activation %d is %s, not %s", k, has, want)
			}
		}
	}
	return ""
}

// gatesOf is the number of gates of a recurrent operator.
func gatesOf(n *ir.Node) int { return n.In[2].Type.Shape[1] / n.In[2].Type.Shape[2] }

// gateQuant is one symmetric scale for all rows of a gate of recurrent weights
// [dirs, gates*H, k], along dimension 1.
func gateQuant(w *tensor.Dense, gates int) *ir.Quant {
	rows := w.Shape[1]
	h := rows / gates
	peak := channelPeaks(w, 1)
	q := &ir.Quant{Axis: 1, Scale: make([]float32, rows), Zero: make([]int32, rows)}
	for r := range rows {
		q.Scale[r] = float32(max(slices.Max(peak[r/h*h:][:h])/127, minScale))
	}
	return q
}

// statePower is the exponent of the state's scale: what calibration found, else
// what covers the cell states of sequences of this length. The state of a GRU
// stays between -1 and 1.
func statePower(n *ir.Node, steps int) int {
	if p, ok := notedStatePower(n); ok {
		return p
	}
	if n.Op == op.GRU {
		return minStatePower
	}
	return int(math.Ceil(math.Log2(float64(min(max(steps, 1), maxCellSteps))))) - 15
}

// recurrence is an LSTM or GRU that is being converted.
type recurrence struct {
	*converter
	n     *ir.Node
	geo   *op.RNNGeom
	x     form
	w, r  form          // [dirs, gates*H, k]
	bias  *tensor.Dense // [dirs, 2*gates*H], or nil
	power int           // of the state's scale
	// hidden and state are the types of the hidden state, which Y has too, and of
	// the state in int16, without shapes.
	hidden, state ir.Type
	// from is the result of the integer node that stands for an output: 0 Y, 1 the
	// hidden state, 2 the state; outs is how many results are needed.
	from map[int]int
	outs int
}

// recurrent converts an LSTM or GRU to one QLSTM or QGRU a direction. ONNX's
// weights have the directions in front; Y is [steps, dirs, batch, H].
func (c *converter) recurrent(n *ir.Node) bool {
	if !integerRecurrent(n) {
		return false
	}
	geo := fail.Must(op.RNNGeometry(n))
	r := &recurrence{converter: c, n: n, geo: geo, from: map[int]int{}}
	if !r.operands() {
		return false
	}
	results := map[int][]*ir.Value{}
	for d := range geo.Dirs() {
		m := r.direction(d)
		for i := range n.Out {
			if k, ok := r.from[i]; ok {
				results[i] = append(results[i], r.shaped(m.Out[k], i))
			}
		}
	}
	for i := range n.Out {
		if list := results[i]; len(list) > 0 {
			v := r.joined(list, i)
			c.have[n.Out[i]] = form{v, v.Type}
		}
	}
	return true
}

// operands finds the types and constants; false where they are none that the
// integer node takes.
func (r *recurrence) operands() bool {
	c, n := r.converter, r.n
	x, ok := c.intForm(n.In[0])
	if !ok || !r.types(x.t.DType) {
		return false
	}
	if x.t.DType == tensor.I8 && r.hidden.DType == tensor.I16 {
		x = c.widened(n, x)
	}
	if x.t.DType != r.hidden.DType {
		return false
	}
	r.x = x
	var okW, okR bool
	r.w, okW = c.gates(n.In[1], r.geo.Gates)
	r.r, okR = c.gates(n.In[2], r.geo.Gates)
	if !okW || !okR {
		return false
	}
	if v := n.Input(3); v != nil {
		k := constData(v)
		if k == nil {
			return false
		}
		r.bias = k.reals()
	}
	return r.fits()
}

// types finds the quantisation of the hidden state, from what the readers of the
// outputs want; data is the type of X.
func (r *recurrence) types(data tensor.DType) bool {
	c, n := r.converter, r.n
	r.power = statePower(n, r.geo.Seq)
	r.state = ir.Type{DType: tensor.I16, Quant: ir.PerTensor(float32(math.Ldexp(1, r.power)), 0)}
	for i, v := range n.Out {
		if len(v.Uses()) == 0 && !c.g.IsOutput(v) {
			continue
		}
		w, wanted := c.want[v]
		isState := wanted && w.DType == r.state.DType && w.Quant.Equal(r.state.Quant)
		switch {
		case !wanted:
			return false
		case i == stateOutput[n.Op] && isState:
			r.from[i] = 2
		case i == 2 || r.hidden.Quant != nil && (w.DType != r.hidden.DType || !r.hidden.Quant.Equal(w.Quant)):
			return false
		default:
			r.from[i], r.hidden = i, w
		}
		r.outs = max(r.outs, r.from[i]+1)
	}
	if r.hidden.Quant == nil { // only the state is read
		r.hidden = unitRange(data)
	}
	return r.outs > 0
}

// unitRange is the type of data between -1 and 1.
func unitRange(data tensor.DType) ir.Type {
	if data == tensor.I16 {
		return ir.Type{DType: data, Quant: ir.PerTensor(1.0/32768, 0)}
	}
	return ir.Type{DType: data, Quant: ir.PerTensor(1.0/128, 0)}
}

// fits reports that the sums of int16 data fit 32 bits, whatever the data.
func (r *recurrence) fits() bool {
	if r.hidden.DType != tensor.I16 {
		return true
	}
	const room = math.MaxInt32 - maxAcc
	for _, f := range []form{r.w, r.r} {
		size := f.t.Shape[2]
		for i, w := 0, tensor.As[int8](f.v.Const); i < len(w); i += size {
			sum := lists.Sum(w[i:][:size], func(v int8) int { return max(int(v), -int(v)) })
			if sum > room>>15 {
				return false
			}
		}
	}
	return true
}

// direction is the integer node of direction d.
func (r *recurrence) direction(d int) *ir.Node {
	c, n := r.converter, r.n
	w, rec := c.direction(r.w, d), c.direction(r.r, d)
	in := []*ir.Value{r.x.v, w, rec}
	rows := r.geo.Gates * r.geo.Hidden
	var b, rb *ir.Value
	if n.Op == op.LSTM {
		b = r.biases(d, ".bias", w, r.x.t.Quant, 0, rows)
	} else {
		b, rb = r.biases(d, ".bias", w, r.x.t.Quant, 0), r.biases(d, ".recurrence_bias", rec, r.hidden.Quant, rows)
	}
	state := r.given(stateInput[n.Op], d, r.state)
	def, attrs := op.QGRU, ir.Attrs{"state_scale_power": ir.Int(r.power)}
	if n.Op == op.LSTM {
		h := r.given(5, d, r.hidden)
		def, attrs = op.QLSTM, ir.Attrs{"cell_scale_power": ir.Int(r.power)}
		if limit := math.Ldexp(r.geo.CellClip, -r.power); limit < math.MaxInt16 {
			attrs["cell_clip"] = ir.Int(max(int(limit), 1))
		}
		in = append(in, b, h, state)
	} else {
		attrs["linear_before_reset"] = ir.Int(ir.AttrsOf[op.GRUAttrs](n).LinearBeforeReset)
		in = append(in, b, rb, state)
	}
	dir, name := "forward", n.Name
	if r.geo.Reverse[d] {
		dir = "reverse"
	}
	if d > 0 {
		name += ".reverse"
	}
	attrs["direction"] = ir.Str(dir)
	m := fail.Must(c.g.InsertBefore(n, def, name, attrs, r.outs, in...))
	m.Origin = n.Origin
	for i, v := range m.Out {
		t := r.hidden
		if i == 2 {
			t = r.state
		}
		v.Type = v.Type.WithQuant(t.DType, t.Quant)
	}
	return m
}

// given is the part of an initial state for direction d, [batch, H]; nil for zeros.
func (r *recurrence) given(i, d int, t ir.Type) *ir.Value {
	c, n := r.converter, r.n
	v := n.Input(i)
	if zeroState(v) {
		return nil
	}
	f, ok := c.intForm(v)
	if !ok {
		q := Linear(c.g, n, op.QuantizeLinear, v, v.Type.WithQuant(t.DType, t.Quant))
		q.Type = q.Type.WithQuant(t.DType, t.Quant)
		f = form{q, q.Type}
	}
	x := c.inType(n, f.v, t)
	if r.geo.Dirs() > 1 {
		at := func(k int) *ir.Value { return c.g.AddConst(v.Name+".direction", tensor.Ints(k)) }
		x = r.moved(op.Slice, v.Name+".of_direction", nil, x, at(d), at(d+1), at(0))
	}
	return r.reshaped(x, v.Name+".state", r.geo.Batch, r.geo.Hidden)
}

// moved is what an operator that moves data makes of quantised values, all quantised as the first.
func (r *recurrence) moved(o *ir.OpDef, name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	y := r.converter.g.Insert(r.n, r.n, o, name, attrs, in...)
	y.Type = y.Type.WithQuant(in[0].Type.DType, in[0].Type.Quant)
	return y
}

// reshaped is a quantised value in another shape.
func (r *recurrence) reshaped(v *ir.Value, name string, shape ...int) *ir.Value {
	return r.moved(op.Reshape, name, nil, v, r.converter.g.AddConst(name+".shape", tensor.Ints(shape...)))
}

// shaped is a result of one direction as a part of output i.
func (r *recurrence) shaped(v *ir.Value, i int) *ir.Value {
	if i == 0 {
		return r.reshaped(v, v.Name+".shaped", r.geo.Seq, 1, r.geo.Batch, r.geo.Hidden)
	}
	return r.reshaped(v, v.Name+".shaped", 1, r.geo.Batch, r.geo.Hidden)
}

// joined is output i of all directions.
func (r *recurrence) joined(list []*ir.Value, i int) *ir.Value {
	if len(list) == 1 {
		return list[0]
	}
	axis := 0
	if i == 0 {
		axis = 1
	}
	return r.moved(op.Concat, r.n.Name+".directions", ir.Attrs{"axis": ir.Int(axis)}, list...)
}

// gates are int8 weights [dirs, gates*H, k] with one scale a gate.
func (c *converter) gates(v *ir.Value, gates int) (form, bool) {
	f, ok := c.have[v]
	if !ok || f.v == nil || f.v.Const == nil || f.t.DType != tensor.I8 {
		return f, false
	}
	q := f.t.Quant
	if q.PerAxis() && q.Axis != 1 {
		return f, false
	}
	h := f.t.Shape[1] / gates
	for r := range f.t.Shape[1] {
		if q.ScaleAt(r) != q.ScaleAt(r/h*h) || q.ZeroAt(r) != 0 {
			return f, false
		}
	}
	return f, true
}

// direction is the part [gates*H, k] of recurrent weights.
func (c *converter) direction(f form, d int) *ir.Value {
	v := c.g.AddConst(f.v.Name, f.v.Const.Slice(0, d, d+1).Reshaped(f.t.Shape[1:]))
	q := *f.t.Quant
	if q.PerAxis() {
		q.Axis = 0
	}
	v.Type.Quant = &q
	return v
}

// biases are the sums of the parts of ONNX's biases [dirs, 2*gates*H] of
// direction d that begin at the given rows, in steps of the products of data and
// weights; nil where there are none.
func (r *recurrence) biases(d int, name string, w *ir.Value, data *ir.Quant, at ...int) *ir.Value {
	if r.bias == nil {
		return nil
	}
	rows := r.geo.Gates * r.geo.Hidden
	q := &ir.Quant{Axis: 0, Scale: make([]float32, rows), Zero: make([]int32, rows)}
	out := tensor.New(tensor.I32, []int{rows})
	for i := range rows {
		s := float64(data.Scale[0]) * float64(w.Type.Quant.ScaleAt(i))
		q.Scale[i] = float32(s)
		sum := lists.Sum(at, func(first int) float64 { return r.bias.Float(d*2*rows + first + i) })
		out.SetInt(i, ir.ClampInt(math.Round(sum/s), -maxAcc, maxAcc))
	}
	return r.converter.g.AddQuantConst(r.n.Name+name, out, q)
}

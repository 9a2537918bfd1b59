// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// QLSTMAttrs are the attributes of QLSTM.
type QLSTMAttrs struct {
	CellScalePower int    `attr:",required"`
	CellClip       int    `default:"0"`
	Direction      string `default:"forward"`
}

// QLSTM is the LSTM with TFLite's integer arithmetic, one direction, the
// activations sigmoid, tanh, tanh, no peepholes: the numbers of
// TensorFlow Lite Micro's UNIDIRECTIONAL_SEQUENCE_LSTM. The quantiser makes it from ONNX's LSTM; a
// bidirectional one becomes two, with a Concat behind them. X, Y and the hidden
// states may be int16 in place of int8, all of them, with the same arithmetic.
//
// Inputs: X int8 [steps, batch, input]; W int8 [4*H, input] and R int8 [4*H,
// H], gates in ONNX's order i, o, f, c; B int32 [4*H], the sum of both ONNX
// biases, or absent; initial_h int8 [batch, H] and initial_c int16 [batch, H],
// or absent for zeros. Outputs: Y int8 [steps, batch, H], the last hidden
// state int8 [batch, H], the last cell state int16 [batch, H].
//
// Quantisation, all of it in the types: X and Y per tensor; the hidden state
// (initial_h and the second output) as Y. W and R are symmetric, quantised
// along dimension 0 with one scale for all rows of a gate, or per tensor; B
// has the scales of X times W. The cell state is symmetric with scale
// 2^cell_scale_power: the smallest power whose 32767-fold covers the states
// (-11, that is up to 16, suits most models). Gates are Q3.12 before and Q0.15
// after their activation. cell_clip limits the magnitude of the cell state's
// integers, 0 for none. direction reverse reads and writes from the last step
// to the first.
var QLSTM = quantisedRecurrent("QLSTM", "LSTM with TFLite's integer arithmetic", ir.Declare[QLSTMAttrs](),
	qlstmGeometry, evalQLSTMFloat, func(n *ir.Node, in []*tensor.Dense) []*tensor.Dense {
		if in[0].DType == tensor.I16 {
			return evalQLSTM[int16](n, in)
		}
		return evalQLSTM[int8](n, in)
	})

// QGRUAttrs are the attributes of QGRU.
type QGRUAttrs struct {
	StateScalePower   int    `attr:",required"`
	Direction         string `default:"forward"`
	LinearBeforeReset int    `default:"0"`
}

// QGRU is the GRU on integers, one direction, the activations sigmoid and tanh.
// The quantiser makes it from ONNX's GRU; a bidirectional one becomes two, with a
// Concat behind them.
//
// Inputs: X int8 [steps, batch, input]; W int8 [3*H, input] and R int8 [3*H, H],
// gates in ONNX's order z, r, h; B and RB int32 [3*H], the biases of the products
// with X and with the hidden state, or absent; the initial state int16 [batch, H],
// or absent for zeros. Outputs: Y int8 [steps, batch, H], the last hidden state
// int8 [batch, H], the last state int16 [batch, H]. X, Y and the hidden state may
// be int16 in place of int8, all of them.
//
// Quantisation: X and Y per tensor, the hidden state as Y; W and R symmetric with
// one scale for all rows of a gate; B has the scales of X times W, RB of Y times
// R. The state is symmetric with scale 2^state_scale_power: -15 holds everything
// that comes from zeros. What is multiplied by R is the state in the scale of Y;
// the state itself is not rounded to int8 from step to step. Gates are Q3.12
// before and Q0.15 after their activation (qref.GRU).
var QGRU = quantisedRecurrent("QGRU", "GRU on integers, state int16", ir.Declare[QGRUAttrs](), qgruGeometry,
	evalQGRUFloat, func(n *ir.Node, in []*tensor.Dense) []*tensor.Dense {
		if in[0].DType == tensor.I16 {
			return evalQGRU[int16](n, in)
		}
		return evalQGRU[int8](n, in)
	})

// quantisedRecurrent defines a recurrent operator of one direction with a state of int16.
func quantisedRecurrent(name, doc string, attrs []ir.AttrSpec, geometry func(*ir.Node) (*RNNGeom, error),
	float evalFunc, whole func(*ir.Node, []*tensor.Dense) []*tensor.Dense) *ir.OpDef {
	return def(ir.OpDef{
		Name: name, Domain: "nncc", Doc: doc, Attrs: attrs, MinIn: 3, MaxIn: 6, MaxOut: 3,
		QError: func(*ir.Node) float64 { return math.Inf(1) }, // every step reads the rounded result of the one before
		Infer: func(n *ir.Node) ([]ir.Type, error) {
			g := fail.Must(geometry(n))
			dt, state := n.In[0].Type.DType, n.In[0].Type.DType
			if n.In[0].Type.Quant != nil {
				state = tensor.I16
			}
			return []ir.Type{ir.T(dt, g.Seq, g.Batch, g.Hidden), ir.T(dt, g.Batch, g.Hidden),
				ir.T(state, g.Batch, g.Hidden)}, nil
		},
		Eval:    float,
		EvalQ:   func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) { return whole(n, in), nil },
		Pattern: ir.Opaque, Quant: ir.QInt, Exact: true,
		MACs: func(n *ir.Node) int64 {
			g, err := geometry(n)
			if err != nil {
				return 0
			}
			return work(g.Seq, g.Batch, g.Gates, g.Hidden, g.Input+g.Hidden)
		},
	})
}

func qlstmGeometry(n *ir.Node) (_ *RNNGeom, err error) {
	defer fail.Catch(&err)
	a := ir.AttrsOf[QLSTMAttrs](n)
	refuse(n, a.CellScalePower < -15 || a.CellScalePower > -4, "cell-scale", "cell_scale_power is %d, want -15 to -4",
		a.CellScalePower)
	refuse(n, a.CellClip < 0 || a.CellClip > math.MaxInt16, "cell-clip", "cell_clip is %d, want 0 to %d", a.CellClip,
		math.MaxInt16)
	g := directionGeometry(n, "LSTM")
	if a.CellClip > 0 {
		g.CellClip = math.Ldexp(float64(a.CellClip), a.CellScalePower)
	}
	rows, state := 4*g.Hidden, []int{g.Batch, g.Hidden}
	g.wantOperands(n, []int{rows, g.Input}, []int{rows, g.Hidden}, []int{rows}, state, state)
	return g, nil
}

func qgruGeometry(n *ir.Node) (_ *RNNGeom, err error) {
	defer fail.Catch(&err)
	p := ir.AttrsOf[QGRUAttrs](n).StateScalePower
	refuse(n, p < -15 || p > -4, "state-scale", "state_scale_power is %d, want -15 to -4", p)
	g := directionGeometry(n, "GRU")
	rows, state := 3*g.Hidden, []int{g.Batch, g.Hidden}
	g.wantOperands(n, []int{rows, g.Input}, []int{rows, g.Hidden}, []int{rows}, []int{rows}, state)
	return g, nil
}

// directionGeometry is that of one direction of a recurrent operator: X [steps,
// batch, input], the weights without a dimension for directions.
func directionGeometry(n *ir.Node, of string) *RNNGeom {
	for i, r := range []int{3, 2, 2} {
		wantRank(n, i, r)
	}
	x, r := n.In[0].Type.Shape, n.In[2].Type.Shape
	d := ir.AttrsOf[DirectionAttr](n).Direction
	refuse(n, d != "forward" && d != "reverse", "direction", "direction is %q, want forward or reverse", d)
	g := &RNNGeom{Seq: x[0], Batch: x[1], Input: x[2], Hidden: r[1], Gates: rnnKinds[of].gates, Clip: math.Inf(1),
		CellClip: math.Inf(1), Reverse: []bool{d == "reverse"}}
	g.readActs(&ir.Node{Op: Get("", of)}, rnnKinds[of].acts)
	return g
}

// wantOperands checks the shapes of the operands from input 1 on, and that none is
// empty.
func (g *RNNGeom) wantOperands(n *ir.Node, shapes ...[]int) {
	for i, want := range shapes {
		if v := n.Input(i + 1); v != nil && !sameShape(v.Type.Shape, want) {
			refuse(n, true, "shape-mismatch", "input %d (%s) has shape %v, want %v", i+1, v, v.Type.Shape, want)
		}
	}
	refuse(n, g.Seq < 1 || g.Batch < 1 || g.Input < 1 || g.Hidden < 1, "shape",
		"the input %v with %d hidden units is empty", n.In[0].Type.Shape, g.Hidden)
}

// evalQLSTMFloat is the same LSTM in float: ONNX's operator on these shapes.
func evalQLSTMFloat(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(qlstmGeometry(n))
	wide := append(slices.Clone(in[:3]), joined(2*4*g.Hidden, in[0].DType, opt(in, 3)), nil, opt(in, 4), opt(in, 5))
	return g.oneDirection(inFloat(wide, lstmFloat(&ir.Node{Name: n.Name, Op: Get("", "LSTM")}, g)))
}

// evalQGRUFloat is the same GRU in float: ONNX's operator on these shapes.
func evalQGRUFloat(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(qgruGeometry(n))
	wide := append(slices.Clone(in[:3]), joined(2*3*g.Hidden, in[0].DType, opt(in, 3), opt(in, 4)), nil, opt(in, 5))
	gru := &ir.Node{Name: n.Name, Op: Get("", "GRU"), Attrs: ir.Attrs{
		"linear_before_reset": ir.Int(ir.AttrsOf[QGRUAttrs](n).LinearBeforeReset)}}
	out := inFloat(wide, gruFloat(gru, g))
	return g.oneDirection(append(out, out[1]))
}

// joined are biases one behind the other, with zeros for those that are not there: nil where none is.
func joined(size int, dt tensor.DType, parts ...*tensor.Dense) *tensor.Dense {
	b, some := tensor.New(dt, []int{size}), false
	for i, d := range parts {
		if d != nil {
			b.Copy(i*d.Len(), d, 0, d.Len())
			some = true
		}
	}
	if !some {
		return nil
	}
	return b
}

// oneDirection are results without the dimension of directions.
func (g *RNNGeom) oneDirection(out []*tensor.Dense) ([]*tensor.Dense, error) {
	return outs(out[0].Reshaped([]int{g.Seq, g.Batch, g.Hidden}), out[1].Reshaped([]int{g.Batch, g.Hidden}),
		out[2].Reshaped([]int{g.Batch, g.Hidden}))
}

// QLSTMParams are the arguments of arm_lstm_unidirectional_s8 for a QLSTM with
// constant weights, as time-major data; a reason that is not empty says why
// the types do not fit. Effective biases contain the zero points: the input
// bias is B minus X's zero point times the row sums of W, the hidden bias
// minus Y's zero point times the row sums of R.
func QLSTMParams(n *ir.Node) (*qref.LSTMParams, string) {
	if n.ConstIn(1) == nil || n.ConstIn(2) == nil || n.Input(3) != nil && n.ConstIn(3) == nil {
		return nil, "the weights or biases are computed at run time"
	}
	return qlstmParams(n, n.ConstIn(1), n.ConstIn(2), n.ConstIn(3))
}

func qlstmParams(n *ir.Node, w, r, b *tensor.Dense) (*qref.LSTMParams, string) {
	g, err := qlstmGeometry(n)
	if err != nil {
		return nil, err.Error()
	}
	a, y := ir.AttrsOf[QLSTMAttrs](n), n.Out[0].Type
	cell := math.Ldexp(1, a.CellScalePower)
	if why := recurrentTypes(n, 4, 3, 4, float32(cell)); why != "" {
		return nil, why
	}
	p := &qref.LSTMParams{Batch: g.Batch, Time: g.Seq, InputSize: g.Input, HiddenSize: g.Hidden,
		CellScalePower: int32(a.CellScalePower), OutputOffset: y.Quant.Zero[0], CellClip: int32(a.CellClip),
		Rounding: Rounding(n)}
	const gateOut = 1.0 / (1 << 15)
	p.ForgetToCellMult, p.ForgetToCellShift = fixp.QuantizeMultiplier(gateOut)
	p.InputToCellMult, p.InputToCellShift = fixp.QuantizeMultiplier(gateOut * gateOut / cell)
	p.OutputMult, p.OutputShift = fixp.QuantizeMultiplier(gateOut * gateOut / float64(y.Quant.Scale[0]))
	for k, gate := range []*qref.LSTMGate{&p.Input, &p.Output, &p.Forget, &p.Cell} {
		gateParams(gate, n, k, w, r, b, nil)
	}
	p.Cell.Act = qref.Tanh
	return p, ""
}

// QGRUParams is the arithmetic of a QGRU with constant weights; a reason that is
// not empty says why the types do not fit.
func QGRUParams(n *ir.Node) (*qref.GRUParams, string) {
	for i := 1; i <= 4; i++ {
		if n.Input(i) != nil && n.ConstIn(i) == nil {
			return nil, "the weights or biases are computed at run time"
		}
	}
	return qgruParams(n, n.ConstIn(1), n.ConstIn(2), n.ConstIn(3), n.ConstIn(4))
}

func qgruParams(n *ir.Node, w, r, b, rb *tensor.Dense) (*qref.GRUParams, string) {
	g, err := qgruGeometry(n)
	if err != nil {
		return nil, err.Error()
	}
	a, y := ir.AttrsOf[QGRUAttrs](n), n.Out[0].Type
	scale := math.Ldexp(1, a.StateScalePower)
	if why := recurrentTypes(n, 3, 4, -1, float32(scale)); why != "" {
		return nil, why
	}
	p := &qref.GRUParams{Batch: g.Batch, Time: g.Seq, InputSize: g.Input, HiddenSize: g.Hidden,
		LinearBeforeReset: a.LinearBeforeReset != 0, StatePower: int32(a.StateScalePower),
		OutputOffset: y.Quant.Zero[0]}
	p.OutputMult, p.OutputShift = fixp.QuantizeMultiplier(scale / float64(y.Quant.Scale[0]))
	if p.OutputShift > 14 {
		return nil, "the scale of the output is below 2^-15 times that of the state"
	}
	for k, gate := range []*qref.LSTMGate{&p.Update, &p.Reset, &p.New} {
		gateParams(gate, n, k, w, r, b, rb)
	}
	return p, ""
}

// gateParams are the weights, effective biases and scales of gate k of a
// recurrent node, b the biases of the products with X, rb those of the products
// with the hidden state, nil for zeros. Gates are Q3.12 before their activation.
func gateParams(gate *qref.LSTMGate, n *ir.Node, k int, w, r, b, rb *tensor.Dense) {
	const gateIn = 1.0 / (1 << 12)
	x, y := n.In[0].Type, n.Out[0].Type
	I, H := w.Shape[1], r.Shape[1]
	gate.InputWeights, gate.HiddenWeights = w.Data.([]int8)[k*H*I:][:H*I], r.Data.([]int8)[k*H*H:][:H*H]
	gate.InputMult, gate.InputShift = fixp.QuantizeMultiplier(fixp.EffectiveScaleFC(x.Quant.Scale[0],
		n.In[1].Type.Quant.ScaleAt(k*H), gateIn))
	gate.HiddenMult, gate.HiddenShift = fixp.QuantizeMultiplier(fixp.EffectiveScaleFC(y.Quant.Scale[0],
		n.In[2].Type.Quant.ScaleAt(k*H), gateIn))
	gate.InputBias, gate.HiddenBias = make([]int32, H), make([]int32, H)
	for u := range H {
		if b != nil {
			gate.InputBias[u] = int32(b.Int(k*H + u))
		}
		if rb != nil {
			gate.HiddenBias[u] = int32(rb.Int(k*H + u))
		}
		gate.InputBias[u] -= x.Quant.Zero[0] * rowSum(gate.InputWeights, u, I)
		gate.HiddenBias[u] -= y.Quant.Zero[0] * rowSum(gate.HiddenWeights, u, H)
	}
}

func rowSum(w []int8, row, size int) (s int32) {
	for _, v := range w[row*size:][:size] {
		s += int32(v)
	}
	return s
}

// recurrentTypes checks the quantisation that the operator's description demands:
// weights of so many gates, biases up to input last, the hidden state in input hidden
// (-1: none) and the other state, of that scale, in input 5.
func recurrentTypes(n *ir.Node, gates, last, hidden int, scale float32) string {
	x, y := n.In[0].Type, n.Out[0].Type
	if !(perTensorS8(x) && perTensorS8(y) || ir.Int16Zero(x) && ir.Int16Zero(y)) {
		return fmt.Sprintf("input and output are %s and %s, want int8 with one scale each, or int16 with zero point 0",
			x, y)
	}
	if why := gateWeights(n, gates, last); why != "" {
		return why
	}
	h := ir.T(y.DType, x.Shape[1], y.Shape[2]).WithQuant(y.DType, y.Quant)
	state := h.WithQuant(tensor.I16, ir.PerTensor(scale, 0))
	out := append(slices.Clone(n.Out), nil, nil)
	for _, s := range []struct {
		v    *ir.Value
		want ir.Type
	}{{n.Input(max(hidden, 0)), h}, {n.Input(5), state}, {out[1], h}, {out[2], state}} {
		v, t := s.v, s.want
		if v != nil && v != n.In[0] && (v.Type.DType != t.DType || !t.Quant.Equal(v.Type.Quant)) {
			return fmt.Sprintf("the state %s is %s, want %s", v, v.Type, t)
		}
	}
	return ""
}

// gateWeights says why inputs 1 and 2 are not symmetric int8 weights with one
// scale for each gate, or the biases from input 3 up to last not int32.
func gateWeights(n *ir.Node, gates, last int) string {
	for i := 1; i <= 2; i++ {
		t := n.In[i].Type
		if t.DType != tensor.I8 || t.Quant == nil || t.Quant.Axis > 0 {
			return fmt.Sprintf("the weights %s are %s, want int8 with a scale a row or one", n.In[i], t)
		}
		H := t.Shape[0] / gates
		for u := range gates * H {
			if t.Quant.ScaleAt(u) != t.Quant.ScaleAt(u/H*H) || t.Quant.ZeroAt(u) != 0 {
				return fmt.Sprintf("the weights %s are not symmetric with one scale a gate (row %d)", n.In[i], u)
			}
		}
	}
	for i := 3; i <= last; i++ {
		if b := n.Input(i); b != nil && b.Type.DType != tensor.I32 {
			return fmt.Sprintf("the bias %s is of type %s, want int32", b, b.Type.DType)
		}
	}
	return ""
}

func evalQLSTM[T int8 | int16](n *ir.Node, in []*tensor.Dense) []*tensor.Dense {
	p, why := qlstmParams(n, in[1], in[2], opt(in, 3))
	refuse(n, why != "", "quant", "%s", why)
	h, c := make([]T, p.Batch*p.HiddenSize), make([]int16, p.Batch*p.HiddenSize)
	fillOf(h, T(p.OutputOffset))
	if d := opt(in, 4); d != nil {
		copy(h, d.Data.([]T))
	}
	if d := opt(in, 5); d != nil {
		copy(c, d.Data.([]int16))
	}
	y := inDirection(n, in[0].Data.([]T), p.Time, len(h), func(x, y []T) { qref.LSTM(p, x, y, c, h) })
	state := []int{p.Batch, p.HiddenSize}
	return []*tensor.Dense{tensor.Of([]int{p.Time, p.Batch, p.HiddenSize}, y), tensor.Of(state, h), tensor.Of(state, c)}
}

func evalQGRU[T int8 | int16](n *ir.Node, in []*tensor.Dense) []*tensor.Dense {
	p, why := qgruParams(n, in[1], in[2], opt(in, 3), opt(in, 4))
	refuse(n, why != "", "quant", "%s", why)
	s := make([]int16, p.Batch*p.HiddenSize)
	if d := opt(in, 5); d != nil {
		copy(s, d.Data.([]int16))
	}
	var h []T
	y := inDirection(n, in[0].Data.([]T), p.Time, len(s), func(x, y []T) { h = qref.GRU(p, x, y, s) })
	state := []int{p.Batch, p.HiddenSize}
	return []*tensor.Dense{tensor.Of([]int{p.Time, p.Batch, p.HiddenSize}, y), tensor.Of(state, h), tensor.Of(state, s)}
}

// inDirection runs so many steps of x, forward or reverse, to results of a size each.
func inDirection[T any](n *ir.Node, x []T, steps, size int, run func(x, y []T)) []T {
	reverse := ir.AttrsOf[DirectionAttr](n).Direction == "reverse"
	if reverse {
		x = reverseRows(x, steps)
	}
	y := make([]T, steps*size)
	run(x, y)
	if reverse {
		y = reverseRows(y, steps)
	}
	return y
}

// reverseRows is a copy of rows equal parts in the opposite order.
func reverseRows[T any](x []T, rows int) []T {
	y, k := make([]T, len(x)), len(x)/rows
	for i := range rows {
		copy(y[(rows-1-i)*k:][:k], x[i*k:])
	}
	return y
}

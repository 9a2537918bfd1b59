// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"math"

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
var QLSTM = def(ir.OpDef{
	Name: "QLSTM", Domain: "nncc", Doc: "LSTM with TFLite's integer arithmetic",
	Attrs: ir.Declare[QLSTMAttrs](), MinIn: 3, MaxIn: 6, MaxOut: 3,
	QError: func(*ir.Node) float64 { return math.Inf(1) }, // every step reads the rounded result of the one before
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		g := fail.Must(qlstmGeometry(n))
		dt, cell := n.In[0].Type.DType, n.In[0].Type.DType
		if n.In[0].Type.Quant != nil {
			cell = tensor.I16
		}
		return []ir.Type{ir.T(dt, g.Seq, g.Batch, g.Hidden), ir.T(dt, g.Batch, g.Hidden),
			ir.T(cell, g.Batch, g.Hidden)}, nil
	},
	Eval:    evalQLSTMFloat,
	EvalQ:   evalQLSTM,
	Pattern: ir.Opaque, Quant: ir.QInt, Exact: true,
	MACs: func(n *ir.Node) int64 {
		g, err := qlstmGeometry(n)
		if err != nil {
			return 0
		}
		return int64(g.Seq) * int64(g.Batch) * 4 * int64(g.Hidden) * int64(g.Input+g.Hidden)
	},
})

func qlstmGeometry(n *ir.Node) (*RNNGeom, error) {
	if p := ir.AttrsOf[QLSTMAttrs](n).CellScalePower; p < -15 || p > -4 {
		return nil, ir.Errf(n, "cell-scale", "cell_scale_power is %d, want -15 to -4", p)
	}
	clip := ir.AttrsOf[QLSTMAttrs](n).CellClip
	if clip < 0 || clip > math.MaxInt16 {
		return nil, ir.Errf(n, "cell-clip", "cell_clip is %d, want 0 to %d", clip, math.MaxInt16)
	}
	g, err := directionGeometry(n, "LSTM")
	if err != nil {
		return nil, err
	}
	g.CellClip = math.Inf(1)
	if clip > 0 {
		g.CellClip = math.Ldexp(float64(clip), ir.AttrsOf[QLSTMAttrs](n).CellScalePower)
	}
	rows, state := 4*g.Hidden, []int{g.Batch, g.Hidden}
	return g, wantOperands(n, g, []int{rows, g.Input}, []int{rows, g.Hidden}, []int{rows}, state, state)
}

// directionGeometry is that of one direction of a recurrent operator: X [steps,
// batch, input], the weights without a dimension for directions.
func directionGeometry(n *ir.Node, of string) (*RNNGeom, error) {
	for i, r := range []int{3, 2, 2} {
		if err := wantRank(n, i, r); err != nil {
			return nil, err
		}
	}
	x, r := n.In[0].Type.Shape, n.In[2].Type.Shape
	g := &RNNGeom{Seq: x[0], Batch: x[1], Input: x[2], Hidden: r[1], Gates: rnnKinds[of].gates, Clip: math.Inf(1),
		Reverse: []bool{false}}
	switch d := ir.AttrsOf[DirectionAttr](n).Direction; d {
	case "forward":
	case "reverse":
		g.Reverse[0] = true
	default:
		return nil, ir.Errf(n, "direction", "direction is %q, want forward or reverse", d)
	}
	return g, g.readActs(&ir.Node{Op: Get("", of)}, rnnKinds[of].acts)
}

// wantOperands checks the shapes of the operands from input 1 on, and that none is
// empty.
func wantOperands(n *ir.Node, g *RNNGeom, shapes ...[]int) error {
	for i, want := range shapes {
		if v := n.Input(i + 1); v != nil && !sameShape(v.Type.Shape, want) {
			return ir.Errf(n, "shape-mismatch", "input %d (%s) has shape %v, want %v", i+1, v, v.Type.Shape, want)
		}
	}
	if g.Seq < 1 || g.Batch < 1 || g.Input < 1 || g.Hidden < 1 {
		return ir.Errf(n, "shape", "the input %v with %d hidden units is empty", n.In[0].Type.Shape, g.Hidden)
	}
	return nil
}

// evalQLSTMFloat is the same LSTM in float: ONNX's operator on these shapes.
func evalQLSTMFloat(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(qlstmGeometry(n))
	wide := make([]*tensor.Dense, 7)
	copy(wide, in[:3])
	if b := opt(in, 3); b != nil {
		wide[3] = tensor.New(b.DType, []int{2 * b.Len()})
		cellsOf(wide[3]).copyFrom(0, b.Data, 0, b.Len())
	}
	wide[5], wide[6] = opt(in, 4), opt(in, 5)
	lstm := &ir.Node{Name: n.Name, Op: Get("", "LSTM")}
	out := inFloat(wide, lstmFloat[float64](lstm, g))
	out[0] = out[0].Reshaped([]int{g.Seq, g.Batch, g.Hidden})
	for i := 1; i < 3; i++ {
		out[i] = out[i].Reshaped([]int{g.Batch, g.Hidden})
	}
	return out, nil
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
	y := n.Out[0].Type
	cell := math.Ldexp(1, ir.AttrsOf[QLSTMAttrs](n).CellScalePower)
	if why := qlstmTypes(n, float32(cell)); why != "" {
		return nil, why
	}
	H := g.Hidden
	p := &qref.LSTMParams{TimeMajor: true, Batch: g.Batch, Time: g.Seq, InputSize: g.Input, HiddenSize: H,
		CellScalePower: int32(ir.AttrsOf[QLSTMAttrs](n).CellScalePower), OutputOffset: y.Quant.Zero[0],
		CellClip: int32(ir.AttrsOf[QLSTMAttrs](n).CellClip), Rounding: Rounding(n)}
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

// qlstmTypes checks the quantisation that the operator's description demands.
func qlstmTypes(n *ir.Node, cell float32) string {
	y := n.Out[0].Type
	if why := recurrentData(n); why != "" {
		return why
	}
	H := y.Shape[2]
	if why := gateWeights(n, 4, 3); why != "" {
		return why
	}
	hidden := ir.T(y.DType, n.In[0].Type.Shape[1], H).WithQuant(y.DType, y.Quant)
	cells := hidden.WithQuant(tensor.I16, ir.PerTensor(cell, 0))
	out := append(append([]*ir.Value(nil), n.Out...), nil, nil)
	for _, why := range []string{stateType(n.Input(4), hidden), stateType(n.Input(5), cells), stateType(out[1], hidden),
		stateType(out[2], cells)} {
		if why != "" {
			return why
		}
	}
	return ""
}

// recurrentData says why X and Y are not int8, or int16 with zero point 0, with
// one scale each.
func recurrentData(n *ir.Node) string {
	x, y := n.In[0].Type, n.Out[0].Type
	wide := func(t ir.Type) bool {
		return t.DType == tensor.I16 && t.Quant != nil && !t.Quant.PerAxis() && t.Quant.Zero[0] == 0
	}
	if perTensorS8(x) && perTensorS8(y) || wide(x) && wide(y) {
		return ""
	}
	return fmt.Sprintf("input and output are %s and %s, want int8 with one scale each, or int16 with zero point 0",
		x, y)
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

// stateType says why a state has not the type that is wanted; nil has.
func stateType(v *ir.Value, want ir.Type) string {
	if v != nil && (v.Type.DType != want.DType || v.Type.Quant == nil || !v.Type.Quant.Equal(want.Quant)) {
		return fmt.Sprintf("the state %s is %s, want %s", v, v.Type, want)
	}
	return ""
}

func evalQLSTM(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	if in[0].DType == tensor.I16 {
		return evalQLSTMOf[int16](n, in)
	}
	return evalQLSTMOf[int8](n, in)
}

func evalQLSTMOf[T int8 | int16](n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	p, why := qlstmParams(n, in[1], in[2], opt(in, 3))
	refuse(n, why != "", "quant", "%s", why)
	x := in[0].Data.([]T)
	reverse := ir.AttrsOf[DirectionAttr](n).Direction == "reverse"
	if reverse {
		x = reverseRows(x, p.Time)
	}
	size := p.Batch * p.HiddenSize
	y, h, c := make([]T, p.Time*size), make([]T, size), make([]int16, size)
	for i := range h {
		h[i] = T(p.OutputOffset)
	}
	if d := opt(in, 4); d != nil {
		copy(h, d.Data.([]T))
	}
	if d := opt(in, 5); d != nil {
		copy(c, d.Data.([]int16))
	}
	if err := qref.LSTM(p, x, y, c, h); err != nil {
		return nil, ir.Errf(n, "kernel", "%v", err)
	}
	if reverse {
		y = reverseRows(y, p.Time)
	}
	state := []int{p.Batch, p.HiddenSize}
	return outs(tensor.Of([]int{p.Time, p.Batch, p.HiddenSize}, y), tensor.Of(state, h), tensor.Of(state, c))
}

// reverseRows is a copy of rows equal parts in the opposite order.
func reverseRows[T any](x []T, rows int) []T {
	y, k := make([]T, len(x)), len(x)/rows
	for i := range rows {
		copy(y[(rows-1-i)*k:][:k], x[i*k:])
	}
	return y
}

// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

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
var QGRU = def(ir.OpDef{
	Name: "QGRU", Domain: "nncc", Doc: "GRU on integers, state int16",
	Attrs: ir.Declare[QGRUAttrs](), MinIn: 3, MaxIn: 6, MaxOut: 3,
	QError: func(*ir.Node) float64 { return math.Inf(1) }, // every step reads the rounded result of the one before
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		g := fail.Must(qgruGeometry(n))
		dt, state := n.In[0].Type.DType, n.In[0].Type.DType
		if n.In[0].Type.Quant != nil {
			state = tensor.I16
		}
		return []ir.Type{ir.T(dt, g.Seq, g.Batch, g.Hidden), ir.T(dt, g.Batch, g.Hidden),
			ir.T(state, g.Batch, g.Hidden)}, nil
	},
	Eval:    evalQGRUFloat,
	EvalQ:   evalQGRU,
	Pattern: ir.Opaque, Quant: ir.QInt, Exact: true,
	MACs: func(n *ir.Node) int64 {
		g, err := qgruGeometry(n)
		if err != nil {
			return 0
		}
		return int64(g.Seq) * int64(g.Batch) * 3 * int64(g.Hidden) * int64(g.Input+g.Hidden)
	},
})

func qgruGeometry(n *ir.Node) (*RNNGeom, error) {
	if p := ir.AttrsOf[QGRUAttrs](n).StateScalePower; p < -15 || p > -4 {
		return nil, ir.Errf(n, "state-scale", "state_scale_power is %d, want -15 to -4", p)
	}
	g, err := directionGeometry(n, "GRU")
	if err != nil {
		return nil, err
	}
	rows, state := 3*g.Hidden, []int{g.Batch, g.Hidden}
	return g, wantOperands(n, g, []int{rows, g.Input}, []int{rows, g.Hidden}, []int{rows}, []int{rows}, state)
}

// evalQGRUFloat is the same GRU in float: ONNX's operator on these shapes.
func evalQGRUFloat(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(qgruGeometry(n))
	wide := make([]*tensor.Dense, 6)
	copy(wide, in[:3])
	if b, rb := opt(in, 3), opt(in, 4); b != nil || rb != nil {
		wide[3] = tensor.New(in[0].DType, []int{6 * g.Hidden})
		for i, d := range []*tensor.Dense{b, rb} {
			if d != nil {
				cellsOf(wide[3]).copyFrom(i*3*g.Hidden, d.Data, 0, d.Len())
			}
		}
	}
	wide[5] = opt(in, 5)
	gru := &ir.Node{Name: n.Name, Op: Get("", "GRU"), Attrs: ir.Attrs{
		"linear_before_reset": ir.Int(ir.AttrsOf[QGRUAttrs](n).LinearBeforeReset)}}
	out := inFloat(wide, gruFloat[float64](gru, g))
	last := out[1].Reshaped([]int{g.Batch, g.Hidden})
	return []*tensor.Dense{out[0].Reshaped([]int{g.Seq, g.Batch, g.Hidden}), last, last}, nil
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
	if why := qgruTypes(n, float32(scale)); why != "" {
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

// qgruTypes checks the quantisation that the operator's description demands.
func qgruTypes(n *ir.Node, scale float32) string {
	if why := recurrentData(n); why != "" {
		return why
	}
	if why := gateWeights(n, 3, 4); why != "" {
		return why
	}
	y := n.Out[0].Type
	hidden := ir.T(y.DType, n.In[0].Type.Shape[1], y.Shape[2]).WithQuant(y.DType, y.Quant)
	state := hidden.WithQuant(tensor.I16, ir.PerTensor(scale, 0))
	out := append(append([]*ir.Value(nil), n.Out...), nil, nil)
	for _, why := range []string{stateType(n.Input(5), state), stateType(out[1], hidden), stateType(out[2], state)} {
		if why != "" {
			return why
		}
	}
	return ""
}

func evalQGRU(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	if in[0].DType == tensor.I16 {
		return evalQGRUOf[int16](n, in)
	}
	return evalQGRUOf[int8](n, in)
}

func evalQGRUOf[T int8 | int16](n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	p, why := qgruParams(n, in[1], in[2], opt(in, 3), opt(in, 4))
	refuse(n, why != "", "quant", "%s", why)
	x := in[0].Data.([]T)
	reverse := ir.AttrsOf[DirectionAttr](n).Direction == "reverse"
	if reverse {
		x = reverseRows(x, p.Time)
	}
	size := p.Batch * p.HiddenSize
	y, s := make([]T, p.Time*size), make([]int16, size)
	if d := opt(in, 5); d != nil {
		copy(s, d.Data.([]int16))
	}
	h := qref.GRU(p, x, y, s)
	if reverse {
		y = reverseRows(y, p.Time)
	}
	state := []int{p.Batch, p.HiddenSize}
	return outs(tensor.Of([]int{p.Time, p.Batch, p.HiddenSize}, y), tensor.Of(state, h), tensor.Of(state, s))
}

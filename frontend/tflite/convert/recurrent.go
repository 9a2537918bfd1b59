// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// Inputs of UNIDIRECTIONAL_SEQUENCE_LSTM: of each gate the weights of the input and of the
// hidden state, peepholes and biases, in the order input, forget, cell, output; then
// projection, states, and coefficients of layer normalisation.
const (
	lstmInputWeights  = 1
	lstmHiddenWeights = 5
	lstmPeepholes     = 9
	lstmBiases        = 12
	lstmProjection    = 16
	lstmHidden        = 18
	lstmCell          = 19
	lstmNormalization = 20
)

// lstmGates are ONNX's gates (input, output, forget, cell) in the format's order.
var lstmGates = [4]int{0, 3, 1, 2}

// sequenceLSTM writes an LSTM with its states as variables: nncc.QLSTM where it is
// quantised, LSTM where it is not.
func sequenceLSTM(n *node) {
	o := options[fb.UnidirectionalSequenceLSTMOptions](n)
	n.plainLSTM(o)
	x, y, integer := n.in(0), n.out(), n.in(0).Quantized() && n.in(lstmInputWeights+1).Quantized()
	w := n.gates(lstmInputWeights, "weights", integer)
	r := n.gates(lstmHiddenWeights, "recurrence", integer)
	b := n.gateBiases(integer)
	steps := n.timeFirst(x, o.TimeMajor())
	in := vals{n.c.real(steps), w, r, b}
	if !integer {
		in = append(in, nil)
	}
	states := [2]*model.Tensor{n.in(lstmHidden), n.in(lstmCell)}
	inner := n.beside(y, "steps")
	var vars [2]*variable
	var next [2]*model.Tensor
	labels := []string{n.c.realName(inner)}
	for i, t := range states {
		vars[i], next[i] = n.c.tensorVariable(t), n.beside(t, [2]string{"hidden", "cell"}[i])
		in = append(in, n.shapedState(n.c.like(t, n.c.value(vars[i])), integer))
		labels = append(labels, n.c.realName(next[i]))
	}
	var out vals
	if integer {
		power := math.Round(math.Log2(float64(states[1].Scale[0])))
		out = n.add("nncc.QLSTM", labels, in, intAttr("cell_scale_power", int(power)),
			intAttr("cell_clip", cellClip(o, states[1])))
	} else {
		out = n.floatLSTM(labels, in, states[0].Shape[1], o.CellClip())
	}
	n.c.store(inner, out[0])
	for i := range next {
		n.c.store(next[i], out[1+i])
		vars[i].last = n.c.raw(next[i])
	}
	if o.TimeMajor() {
		n.give("Identity", vals{n.c.raw(inner)})
	} else {
		n.give("Transpose", vals{n.c.raw(inner)}, intsAttr("perm", 1, 0, 2))
	}
}

func (n *node) plainLSTM(o *fb.UnidirectionalSequenceLSTMOptions) {
	x, y, h, c := n.in(0), n.out(), n.in(lstmHidden), n.in(lstmCell)
	n.refuse(h == nil || c == nil || len(h.Shape) != 2 || len(c.Shape) != 2 || len(x.Shape) != 3 || len(y.Shape) != 3,
		"want an input [batch, time, size], a hidden and a cell state [batch, units]")
	for i, what := range map[int]string{lstmPeepholes: "peepholes", lstmPeepholes + 1: "peepholes",
		lstmProjection: "a projection", lstmNormalization: "layer normalisation"} {
		n.refuse(n.in(i) != nil, "it has %s, want an LSTM without", what)
	}
	for k := range 4 {
		for _, first := range []int{lstmInputWeights, lstmHiddenWeights, lstmBiases} {
			n.refuse(n.in(first+k) == nil, "weights or biases of gate %d are absent, want all four gates", k)
		}
	}
	n.lstmLimits(o)
}

// lstmLimits refuses types and activations that the operator has not, and a limit of the cell
// state below its step.
func (n *node) lstmLimits(o *fb.UnidirectionalSequenceLSTMOptions) {
	x, h, c := n.in(0), n.in(lstmHidden), n.in(lstmCell)
	n.refuse(n.in(lstmInputWeights+1).Quantized() && x.Quantized() && (!quantised(tensor.I8, x, n.out(), h) ||
		!quantised(tensor.I16, c)), "data %s, hidden state %s and cell state %s with quantised weights, want "+
		"int8, int8 and int16 with one scale each, or float32 throughout", x.DType, h.DType, c.DType)
	n.refuse(o.Activation() != actTanh, "activation %d, want TANH (4)", o.Activation())
	if c.Quantized() && o.CellClip() > 0 && cellClip(o, c) == 0 {
		n.failf("the cell state is limited to %g, want none (0), or at least its step %g", o.CellClip(), c.Scale[0])
	}
}

// cellClip is the limit of a quantised cell state in its steps, 0 for none. The projection
// is refused, so that a limit of what it gives (proj_clip) limits nothing.
func cellClip(o *fb.UnidirectionalSequenceLSTMOptions, c *model.Tensor) int {
	return int(min(max(float64(o.CellClip())/float64(c.Scale[0]), 0), math.MaxInt16))
}

// gates puts constants of the four gates below each other. Of integers every row has its
// gate's scale.
func (n *node) gates(first int, what string, integer bool) *ir.Value {
	t := &model.Tensor{}
	var ints []int8
	var floats []float32
	for _, k := range lstmGates {
		g := n.in(first + k)
		d := n.data(g, "weights")
		n.refuse(len(g.Shape) != 2 || integer && (g.DType != tensor.I8 || len(g.Scale) != 1),
			"weights %q of shape %v, want two dimensions, and int8 with one scale", g.Name, g.Shape)
		t.Shape = []int{4 * g.Shape[0], g.Shape[1]}
		for i := range d.Len() {
			switch {
			case integer:
				ints = append(ints, int8(d.Int(i)))
			case g.Quantized():
				floats = append(floats, g.Scale[0]*float32(d.Int(i)-g.Zero[0]))
			default:
				floats = append(floats, float32(d.Float(i)))
			}
		}
		for range g.Shape[0] {
			if integer {
				t.Scale, t.Zero = append(t.Scale, g.Scale[0]), append(t.Zero, g.Zero[0])
			}
		}
	}
	if !integer {
		t.Shape = append([]int{1}, t.Shape...)
		return n.constant(what, tensor.Of(t.Shape, floats))
	}
	n.refuse(len(ints) != t.Elems(), "weights of gates with different shapes")
	return n.c.real(n.c.like(t, n.constant(what, tensor.Of(t.Shape, ints))))
}

// gateBiases are those of the four gates: of integers in units of the input's scale times
// that of the gate's weights, of floats with as many zeros for ONNX's second bias.
func (n *node) gateBiases(integer bool) *ir.Value {
	t := &model.Tensor{}
	var ints []int32
	var floats []float32
	for _, k := range lstmGates {
		d := n.data(n.in(lstmBiases+k), "bias")
		for i := range d.Len() {
			if !integer {
				floats = append(floats, float32(d.Float(i)))
				continue
			}
			ints = append(ints, int32(d.Int(i)))
			t.Scale = append(t.Scale, float32(float64(n.in(0).Scale[0])*float64(n.in(lstmInputWeights + k).Scale[0])))
		}
	}
	if !integer {
		floats = append(floats, make([]float32, len(floats))...)
		return n.constant("bias", tensor.Of([]int{1, len(floats)}, floats))
	}
	t.Zero = make([]int64, len(ints))
	return n.c.real(n.c.like(t, n.constant("bias", tensor.Of([]int{len(ints)}, ints))))
}

func (n *node) timeFirst(x *model.Tensor, already bool) *model.Tensor {
	if already {
		return x
	}
	return n.c.like(x, n.make("input", "Transpose", vals{n.c.raw(x)}, intsAttr("perm", 1, 0, 2)))
}

// shapedState is a state as QLSTM or LSTM reads it: the latter with a dimension for
// directions.
func (n *node) shapedState(t *model.Tensor, integer bool) *ir.Value {
	if integer {
		return n.c.real(t)
	}
	return n.make("state", "Unsqueeze", vals{n.c.real(t), n.list(0)})
}

// floatLSTM is LSTM with its dimensions for directions taken away.
func (n *node) floatLSTM(labels []string, in vals, units int, clip float32) vals {
	inner := lists.Make(len(labels), func(int) string { return n.label("directions") })
	op, attrs := "LSTM", []attr{intAttr("hidden_size", units)}
	if clip > 0 { // ONNX has no limit of the cell state
		op, attrs = "nncc.LSTM", append(attrs, floatAttr("cell_clip", clip))
	}
	out := n.add(op, inner, in, attrs...)
	axes := vals{n.list(1), n.list(0)}
	for i, v := range out {
		out[i] = n.add("Squeeze", labels[i:i+1], vals{v, axes[min(i, 1)]})[0]
	}
	return out
}

func (c *converter) tensorVariable(t *model.Tensor) *variable {
	v := c.vars.shared(t, "tensor/"+t.Name)
	v.like = t
	return v
}

// svdf writes nncc.SVDF, with its state as a variable. Inputs: data, weights of features,
// weights over time, bias, state.
func svdf(n *node) {
	o := options[fb.SVDFOptions](n)
	x, time, state, y := n.in(0), n.in(2), n.in(4), n.out()
	n.svdfOperands(int(o.Rank()))
	if x.DType == tensor.F32 {
		n.floatSVDF(o)
		return
	}
	n.svdfActivation(o.Activation(), y)
	filters, memory := time.Shape[0], time.Shape[1]
	v := n.c.tensorVariable(state)
	at := n.c.like(state, n.make("state", "Reshape", vals{n.c.value(v), n.list(x.Shape[0], filters, memory)}))
	b, next := n.svdfBias(filters/int(o.Rank())), n.beside(state, "next")
	out := n.add("nncc.SVDF", []string{n.c.realName(y), n.c.realName(next)},
		vals{n.real(0), n.real(1), n.real(2), b, n.c.real(at)}, intAttr("rank", int(o.Rank())))
	n.c.store(y, out[0])
	n.c.store(next, out[1])
	v.last = n.make("kept", "Reshape", vals{n.c.raw(next), n.list(state.Shape...)})
}

func (n *node) svdfOperands(rank int) {
	x, features, time, state := n.in(0), n.in(1), n.in(2), n.in(4)
	n.refuse(state == nil || len(x.Shape) != 2 || len(features.Shape) != 2 || len(time.Shape) != 2,
		"want an input [batch, size], weights [filters, size] and [filters, memory], and a state")
	float := x.DType == tensor.F32 && state.DType == tensor.F32
	n.refuse(!float && (!quantised(tensor.I8, x, features, n.out()) || !integer(time, state) ||
		time.DType != state.DType), "data %s, weights %s, weights over time %s with %d scales, state %s with %d: "+
		"want int8, and one type for the last two, of one scale each; or float32 throughout", x.DType,
		features.DType, time.DType, len(time.Scale), state.DType, len(state.Scale))
	n.refuse(rank < 1 || time.Shape[0]%rank != 0 || time.Shape[1] < 1,
		"%d filters of rank %d over %d steps, want a multiple, and at least one step", time.Shape[0], rank,
		time.Shape[1])
}

// floatSVDF writes the layer in real numbers: the products of the filters join the state
// behind those of the steps before, and the state is multiplied with the weights over time.
func (n *node) floatSVDF(o *fb.SVDFOptions) {
	x, time, state := n.in(0), n.in(2), n.in(4)
	batch, filters, memory, rank := x.Shape[0], time.Shape[0], time.Shape[1], int(o.Rank())
	v := n.c.tensorVariable(state)
	kept := n.reshape(n.c.value(v), batch, filters, memory)
	now := n.step("Gemm", vals{n.real(0), n.real(1)}, intAttr("transB", 1))
	now = n.step("Unsqueeze", vals{now, n.list(-1)})
	next := n.join(n.cut(kept, 1, memory), now)
	v.last = n.make("kept", "Reshape", vals{next, n.list(state.Shape...)})
	sum := n.step("Mul", vals{next, n.real(2)})
	sum = n.reshape(sum, batch, filters/rank, rank*memory)
	sum = n.step("ReduceSum", vals{sum, n.list(-1)}, intAttr("keepdims", 0))
	if b := n.in(3); b != nil {
		n.activated(o.Activation(), "Add", vals{sum, n.c.real(b)})
		return
	}
	n.activated(o.Activation(), "Identity", vals{sum})
}

func (n *node) svdfActivation(a int8, y *model.Tensor) {
	n.refuse(a != actNone && !(a == actRelu && y.Quantized() && y.Zero[0] == -128),
		"activation %d, want NONE, or RELU with a result that holds nothing below 0", a)
}

// svdfBias is the bias, zeros where there is none, in the scale of the state times that of
// the weights over time.
func (n *node) svdfBias(units int) *ir.Value {
	v := make([]int32, units)
	if b := n.in(3); b != nil {
		d := n.data(b, "bias")
		n.refuse(d.Len() != units, "a bias of %d elements for %d units", d.Len(), units)
		for i := range v {
			v[i] = int32(d.Int(i))
		}
	}
	t := &model.Tensor{Scale: []float32{n.in(4).Scale[0] * n.in(2).Scale[0]}, Zero: []int64{0}}
	return n.c.real(n.c.like(t, n.constant("bias", tensor.Of([]int{units}, v))))
}

// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
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
func sequenceLSTM(n *operands) error {
	var o fb.UnidirectionalSequenceLSTMOptions
	if err := n.options("UnidirectionalSequenceLSTMOptions", o.Init); err != nil {
		return err
	}
	if err := n.plainLSTM(&o); err != nil {
		return err
	}
	x, y, integer := n.in(0), n.out(), n.in(0).Quantized() && n.in(lstmInputWeights+1).Quantized()
	w, err := n.gates(lstmInputWeights, "weights", integer)
	if err != nil {
		return err
	}
	r, err := n.gates(lstmHiddenWeights, "recurrence", integer)
	if err != nil {
		return err
	}
	b, err := n.gateBiases(integer)
	if err != nil {
		return err
	}
	steps := n.timeFirst(x, o.TimeMajor())
	in := []string{n.c.real(steps), w, r, b}
	if !integer {
		in = append(in, "")
	}
	states := [2]*model.Tensor{n.in(lstmHidden), n.in(lstmCell)}
	var vars [2]*variable
	for i, t := range states {
		vars[i] = n.c.tensorVariable(t)
		at := *t
		at.Name = n.c.value(vars[i])
		in = append(in, n.shapedState(&at, integer))
	}
	inner := *y
	inner.Name = n.c.fresh(y, "steps")
	next := [2]model.Tensor{*states[0], *states[1]}
	out := []string{n.c.realOut(&inner)}
	for i := range next {
		next[i].Name = n.c.fresh(y, [2]string{"hidden", "cell"}[i])
		out = append(out, n.c.realOut(&next[i]))
	}
	if integer {
		power := math.Round(math.Log2(float64(states[1].Scale[0])))
		n.c.nodes("nncc.QLSTM", out, in, intAttr("cell_scale_power", int(power)), intAttr("cell_clip",
			cellClip(&o, states[1])))
	} else {
		n.floatLSTM(out, in, states[0].Shape[1], o.CellClip())
	}
	n.c.store(&inner)
	for i := range next {
		n.c.store(&next[i])
		vars[i].last = next[i].Name
	}
	if o.TimeMajor() {
		n.c.node("Identity", y.Name, []string{inner.Name})
	} else {
		n.c.node("Transpose", y.Name, []string{inner.Name}, intsAttr("perm", 1, 0, 2))
	}
	return nil
}

// plainLSTM refuses what QLSTM and LSTM do not compute.
func (n *operands) plainLSTM(o *fb.UnidirectionalSequenceLSTMOptions) error {
	x, y, h, c := n.in(0), n.out(), n.in(lstmHidden), n.in(lstmCell)
	if h == nil || c == nil || len(h.Shape) != 2 || len(c.Shape) != 2 || len(x.Shape) != 3 || len(y.Shape) != 3 {
		return fmt.Errorf("want an input [batch, time, size], a hidden and a cell state [batch, units]")
	}
	for i, what := range map[int]string{lstmPeepholes: "peepholes", lstmPeepholes + 1: "peepholes",
		lstmProjection: "a projection", lstmNormalization: "layer normalisation"} {
		if n.in(i) != nil {
			return fmt.Errorf("it has %s, want an LSTM without", what)
		}
	}
	for k := range 4 {
		for _, first := range []int{lstmInputWeights, lstmHiddenWeights, lstmBiases} {
			if n.in(first+k) == nil {
				return fmt.Errorf("weights or biases of gate %d are absent, want all four gates", k)
			}
		}
	}
	return n.lstmLimits(o)
}

// lstmLimits refuses types and activations that the operator has not, and a limit of the cell
// state below its step.
func (n *operands) lstmLimits(o *fb.UnidirectionalSequenceLSTMOptions) error {
	x, h, c := n.in(0), n.in(lstmHidden), n.in(lstmCell)
	if n.in(lstmInputWeights+1).Quantized() && x.Quantized() && (!quantised(tensor.I8, x, n.out(), h) ||
		!quantised(tensor.I16, c)) {
		return fmt.Errorf("data %s, hidden state %s and cell state %s with quantised weights, want int8, int8 and "+
			"int16 with one scale each, or float32 throughout", x.DType, h.DType, c.DType)
	}
	if o.Activation() != actTanh {
		return fmt.Errorf("activation %d, want TANH (4)", o.Activation())
	}
	if c.Quantized() && o.CellClip() > 0 && cellClip(o, c) == 0 {
		return fmt.Errorf("the cell state is limited to %g, want none (0), or at least its step %g", o.CellClip(),
			c.Scale[0])
	}
	return nil
}

// cellClip is the limit of a quantised cell state in its steps, 0 for none. The projection
// is refused, so that a limit of what it gives (proj_clip) limits nothing.
func cellClip(o *fb.UnidirectionalSequenceLSTMOptions, c *model.Tensor) int {
	return int(min(max(float64(o.CellClip())/float64(c.Scale[0]), 0), math.MaxInt16))
}

// gates puts constants of the four gates below each other. Of integers every row has its
// gate's scale.
func (n *operands) gates(first int, what string, integer bool) (string, error) {
	t := &model.Tensor{Name: n.c.fresh(n.out(), what), DType: tensor.F32}
	var ints []int8
	var floats []float32
	for _, k := range lstmGates {
		g := n.in(first + k)
		d, err := g.Const()
		if err != nil {
			return "", fmt.Errorf("weights: %w", err)
		}
		if len(g.Shape) != 2 || integer && (g.DType != tensor.I8 || len(g.Scale) != 1) {
			return "", fmt.Errorf("weights %q of shape %v, want two dimensions, and int8 with one scale", g.Name,
				g.Shape)
		}
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
		return n.c.constant(t.Name, tensor.Of(t.Shape, floats)), nil
	}
	if len(ints) != t.Elems() {
		return "", fmt.Errorf("weights of gates with different shapes")
	}
	t.DType = tensor.I8
	n.c.constant(t.Name, tensor.Of(t.Shape, ints))
	return n.c.real(t), nil
}

// gateBiases are those of the four gates: of integers in units of the input's scale times
// that of the gate's weights, of floats with as many zeros for ONNX's second bias.
func (n *operands) gateBiases(integer bool) (string, error) {
	t := &model.Tensor{Name: n.c.fresh(n.out(), "bias"), DType: tensor.I32}
	var ints []int32
	var floats []float32
	for _, k := range lstmGates {
		d, err := n.in(lstmBiases + k).Const()
		if err != nil {
			return "", fmt.Errorf("bias: %w", err)
		}
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
		return n.c.constant(t.Name, tensor.Of([]int{1, len(floats)}, floats)), nil
	}
	t.Shape, t.Zero = []int{len(ints)}, make([]int64, len(ints))
	n.c.constant(t.Name, tensor.Of(t.Shape, ints))
	return n.c.real(t), nil
}

// timeFirst is the input with time as its first dimension.
func (n *operands) timeFirst(x *model.Tensor, already bool) *model.Tensor {
	if already {
		return x
	}
	at := *x
	at.Name = n.c.fresh(n.out(), "input")
	at.Shape = []int{x.Shape[1], x.Shape[0], x.Shape[2]}
	n.c.node("Transpose", at.Name, []string{n.c.raw(x)}, intsAttr("perm", 1, 0, 2))
	return &at
}

// shapedState is a state as QLSTM or LSTM reads it: the latter with a dimension for
// directions.
func (n *operands) shapedState(t *model.Tensor, integer bool) string {
	if integer {
		return n.c.real(t)
	}
	return n.c.node("Unsqueeze", n.c.fresh(n.out(), "state"), []string{n.c.real(t), n.list("direction", 0)})
}

// floatLSTM writes LSTM and takes its dimensions for directions away.
func (n *operands) floatLSTM(out, in []string, units int, clip float32) {
	inner := make([]string, len(out))
	for i := range out {
		inner[i] = n.c.fresh(n.out(), "directions")
	}
	if clip > 0 { // ONNX has no limit of the cell state
		n.c.nodes("nncc.LSTM", inner, in, intAttr("hidden_size", units), floatAttr("cell_clip", clip))
	} else {
		n.c.nodes("LSTM", inner, in, intAttr("hidden_size", units))
	}
	axes := []string{n.list("directions_axis", 1), n.list("direction", 0)}
	for i := range out {
		n.c.node("Squeeze", out[i], []string{inner[i], axes[min(i, 1)]})
	}
}

// tensorVariable is the variable that a tensor is which keeps its value.
func (c *converter) tensorVariable(t *model.Tensor) *variable {
	v := c.vars.shared(t, "tensor/"+t.Name)
	v.like = t
	return v
}

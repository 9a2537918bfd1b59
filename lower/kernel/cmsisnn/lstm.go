// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/qref/cmsis"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// lstm is arm_lstm_unidirectional_s8, time major. The kernel knows one
// direction only: for the other one the rows are turned round into scratch
// memory before it and back after it.
var lstm = &kernel.Kernel{
	Name: "arm_lstm_unidirectional_s8", Library: Library, Was: "CMSIS-LSTM", Doc: "int8 LSTM, int16 cell state",
	Ops: []*ir.OpDef{op.QLSTM},
	Rules: append(quantised.RecurrentRules(), cond.New("DATA-TYPE", "int8 data", func(n *kernel.Node) string {
		t := n.In[0].Type.DType
		return cond.If(t != tensor.I8, "the data is %s, want int8", t)
	}), cond.New("STATE-PRODUCTS", "products with the hidden state within int16", func(n *kernel.Node) string {
		p, why := quantised.LSTMs.Of(n)
		return cond.If(why == "" && !p.HiddenInt16(),
			"a product with the hidden state may leave int16, which CMSIS-NN limits only in the sum")
	})),
	Lower: lowerLSTM,
}

func lowerLSTM(n *kernel.Node) *call.Lowered {
	p := quantised.LSTMs.Must(n)
	low := &call.Lowered{Unused: []int{1, 2, 3}, Kernel: "arm_lstm_unidirectional_s8"}
	scratch := func(bytes int, ctype string) call.Scratch {
		s := call.Scratch{Off: low.Scratch, CType: ctype}
		low.Scratch += roundUp(bytes, 16)
		return s
	}
	size := p.Batch * p.HiddenSize
	temp := cmsis.Size("arm_lstm_unidirectional_s8", &cmsis.Query{Build: PlainC, In: cmsis.Dims{N: p.Batch},
		Out: cmsis.Dims{C: p.HiddenSize}})
	temp1, temp2 := scratch(temp, "void"), scratch(temp, "void")

	var list []call.Call
	copyTo := func(from, to call.Arg, bytes int) {
		list = append(list, call.Call{Func: "arm_reshape_s8", Args: []call.Arg{from, to, call.I32(bytes)}})
	}
	// The cell state lives in its output, the hidden one in its own. Without
	// initial values the kernel starts both at zero when there is no hidden
	// buffer, and the last row of Y is the last hidden state.
	reverse := ir.AttrsOf[op.DirectionAttr](n).Direction == "reverse"
	in, out := call.Arg(i8In(0)), call.Arg(i8Out(0))
	if reverse {
		in, out = scratch(p.Time*p.Batch*p.InputSize, "int8_t"), scratch(p.Time*size, "int8_t")
		list = append(list, turned(p.Time, p.Batch*p.InputSize, i8In(0), in))
	}
	// result is output i, or scratch where the node has none.
	result := func(i, bytes int) call.Arg {
		if len(n.Out) > i {
			return call.Out{I: i, CType: "void"}
		}
		return scratch(bytes, "void")
	}
	cell, hidden := result(2, temp), call.Arg(call.Null{})
	given := n.Input(4) != nil || n.Input(5) != nil
	if given {
		hidden = result(1, size)
		zeroPoint := slices.Repeat([]int8{int8(p.OutputOffset)}, size)
		copyTo(state(n.Node, 4, tensor.Of([]int{size}, zeroPoint)), bytesOf(hidden, 0), size)
		copyTo(state(n.Node, 5, tensor.New(tensor.I16, []int{size})), bytesOf(cell, 0), 2*size)
	}
	list = append(list, call.Call{Func: "arm_lstm_unidirectional_s8", Status: call.CMSISStatus, Args: []call.Arg{
		in, out, lstmParams(p),
		&call.Struct{Type: "cmsis_nn_lstm_context", Mutable: true, Fields: call.Ints("temp1", temp1, "temp2", temp2,
			"cell_state", cell, "hidden_state", hidden)},
	}})
	if !given && len(n.Out) > 1 {
		copyTo(bytesOf(out, (p.Time-1)*size), i8Out(1), size)
	}
	if reverse {
		list = append(list, turned(p.Time, size, out, i8Out(0)))
	}
	return calls(low, list...)
}

// state is initial state i as bytes, or the constant zero.
func state(n *ir.Node, i int, zero *tensor.Dense) call.Arg {
	switch v := n.Input(i); {
	case v == nil:
		return &call.Blob{Hint: "zero", CType: "int8_t", Data: zero.Bytes(), Align: 4, NoCast: true}
	case v.Const != nil:
		return &call.Blob{Hint: "state", CType: "int8_t", Data: v.Const.Bytes(), Align: 4, NoCast: true}
	}
	return i8In(i)
}

// bytesOf is a buffer as arm_reshape_s8 writes it, from an offset on.
func bytesOf(a call.Arg, off int) call.Arg {
	switch a := a.(type) {
	case call.Out:
		a.CType, a.Off = "int8_t", a.Off+off
		return a
	case call.Scratch:
		a.CType, a.Off = "int8_t", a.Off+off
		return a
	}
	panic(bug.Errorf("a state in %T", a))
}

// turned copies rows of the given size in the opposite order.
func turned(rows, size int, x, y call.Arg) call.Call {
	return copyND(1, (rows-1)*size, 0, []int{rows, size}, []int{-size, 1}, []int{size, 1}, x, y)
}

func lstmParams(p *qref.LSTMParams) *call.Struct {
	return &call.Struct{Type: "cmsis_nn_lstm_params", Fields: call.Ints("time_major", 1, "batch_size", p.Batch,
		"time_steps", p.Time, "input_size", p.InputSize, "hidden_size", p.HiddenSize,
		"input_offset", 0, // in the biases
		"forget_to_cell_multiplier", call.T(p.ForgetToCellMult), "forget_to_cell_shift", call.T(p.ForgetToCellShift),
		"input_to_cell_multiplier", call.T(p.InputToCellMult), "input_to_cell_shift", call.T(p.InputToCellShift),
		"cell_clip", call.T(p.CellClip), "cell_scale_power", call.T(p.CellScalePower),
		"output_multiplier", call.T(p.OutputMult), "output_shift", call.T(p.OutputShift),
		"output_offset", call.T(p.OutputOffset), "forget_gate", lstmGate("forget", &p.Forget),
		"input_gate", lstmGate("input", &p.Input), "cell_gate", lstmGate("cell", &p.Cell),
		"output_gate", lstmGate("output", &p.Output))}
}

func lstmGate(name string, g *qref.LSTMGate) call.Nested {
	act := call.Lit("ARM_SIGMOID")
	if g.Act == qref.Tanh {
		act = "ARM_TANH"
	}
	weights := func(hint string, w []int8) call.Arg {
		return &call.Blob{Hint: name + "_" + hint, CType: "int8_t", Data: tensor.Of([]int{len(w)}, w).Bytes(), Align: 4,
			Pad: 16, NoCast: true}
	}
	bias := func(hint string, v []int32) call.Arg {
		b := i32Blob(name+"_"+hint, v)
		b.NoCast = true
		return b
	}
	return call.Nested{Fields: call.Ints("input_multiplier", call.T(g.InputMult), "input_shift", call.T(g.InputShift),
		"input_weights", weights("weights", g.InputWeights), "input_effective_bias", bias("bias", g.InputBias),
		"hidden_multiplier", call.T(g.HiddenMult), "hidden_shift", call.T(g.HiddenShift),
		"hidden_weights", weights("recurrence", g.HiddenWeights),
		"hidden_effective_bias", bias("recurrence_bias", g.HiddenBias), "bias", call.Null{}, "activation_type", act)}
}

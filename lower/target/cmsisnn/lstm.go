package cmsisnn

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/target"
	"github.com/nncc/nncc/lower/target/cmsisnn/kb"
)

// lstm is arm_lstm_unidirectional_s8, time major. The kernel knows one
// direction only: for the other one the rows are turned round into scratch
// memory before it and back after it.
var lstm = &target.Kernel{
	Name: "arm_lstm_unidirectional_s8", Library: Library, Doc: "int8 LSTM, int16 cell state", Ops: []*ir.OpDef{op.QLSTM},
	Layout: func(*ir.Node) target.Layout { return target.Layout{Kind: target.Natural} },
	Rules: []target.Rule{
		{Code: "CMSIS-LSTM-01", Doc: "constant weights and biases", Check: func(n *ir.Node, _ *target.Options) string {
			for i := 1; i <= 3; i++ {
				if v := n.Input(i); v != nil && v.Const == nil {
					return fmt.Sprintf("%s is computed at run time, want a constant", v)
				}
			}
			return ""
		}},
		{Code: "CMSIS-LSTM-02", Doc: "the quantisation that the operator describes", Check: func(n *ir.Node, _ *target.Options) string {
			for i := 1; i <= 3; i++ {
				if v := n.Input(i); v != nil && v.Const == nil {
					return target.Unread
				}
			}
			_, why := op.QLSTMParams(n)
			return why
		}},
	},
	Lower: lowerLSTM,
}

func lowerLSTM(n *ir.Node, _ *target.Options) (*target.Lowered, error) {
	p, why := op.QLSTMParams(n)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	low := &target.Lowered{Unused: []int{1, 2, 3}, Kernel: "arm_lstm_unidirectional_s8"}
	scratch := func(bytes int, ctype string) target.Scratch {
		s := target.Scratch{Off: low.Scratch, CType: ctype}
		low.Scratch += roundUp(bytes, 16)
		return s
	}
	size := p.Batch * p.HiddenSize
	temp := kb.Size("arm_lstm_unidirectional_s8", &kb.Query{Build: PlainC, In: kb.Dims{N: p.Batch}, Out: kb.Dims{C: p.HiddenSize}})
	temp1, temp2 := scratch(temp, "void"), scratch(temp, "void")

	var list []target.Call
	copyTo := func(from, to target.Arg, bytes int) {
		list = append(list, target.Call{Func: "arm_reshape_s8", Args: []target.Arg{from, to, target.I32(bytes)}})
	}
	// The cell state lives in its output, the hidden one in its own. Without
	// initial values the kernel starts both at zero when there is no hidden
	// buffer, and the last row of Y is the last hidden state.
	reverse := n.Str("direction") == "reverse"
	in, out := target.Arg(i8In(0)), target.Arg(i8Out(0))
	if reverse {
		in, out = scratch(p.Time*p.Batch*p.InputSize, "int8_t"), scratch(p.Time*size, "int8_t")
		list = append(list, turned(p.Time, p.Batch*p.InputSize, i8In(0), in))
	}
	var cell target.Arg
	if len(n.Out) > 2 {
		cell = target.Out{I: 2, CType: "void"}
	} else {
		cell = scratch(temp, "void")
	}
	hidden := target.Arg(target.Null{})
	given := n.Input(4) != nil || n.Input(5) != nil
	if given {
		if len(n.Out) > 1 {
			hidden = target.Out{I: 1, CType: "void"}
		} else {
			hidden = scratch(size, "void")
		}
		zeroPoint := make([]int8, size)
		for i := range zeroPoint {
			zeroPoint[i] = int8(p.OutputOffset)
		}
		copyTo(state(n, 4, tensor.Of([]int{size}, zeroPoint)), bytesOf(hidden), size)
		copyTo(state(n, 5, tensor.New(tensor.I16, []int{size})), bytesOf(cell), 2*size)
	}
	list = append(list, target.Call{Func: "arm_lstm_unidirectional_s8", Status: target.CMSISStatus, Args: []target.Arg{
		in, out, lstmParams(p),
		&target.Struct{Type: "cmsis_nn_lstm_context", Mutable: true, Fields: []target.Field{
			target.F("temp1", temp1), target.F("temp2", temp2), target.F("cell_state", cell), target.F("hidden_state", hidden)}},
	}})
	if !given && len(n.Out) > 1 {
		last := (p.Time - 1) * size
		switch o := out.(type) {
		case target.Out:
			o.Off += last
			copyTo(o, i8Out(1), size)
		case target.Scratch:
			o.Off += last
			copyTo(o, i8Out(1), size)
		}
	}
	if reverse {
		list = append(list, turned(p.Time, size, out, i8Out(0)))
	}
	return calls(low, list...)
}

// state is initial state i as bytes, or the constant that stands for zero.
func state(n *ir.Node, i int, zero *tensor.Dense) target.Arg {
	switch v := n.Input(i); {
	case v == nil:
		return &target.Blob{Hint: "zero", CType: "int8_t", Data: zero.Bytes(), Align: 4, NoCast: true}
	case v.Const != nil:
		return &target.Blob{Hint: "state", CType: "int8_t", Data: v.Const.Bytes(), Align: 4, NoCast: true}
	}
	return i8In(i)
}

// bytesOf is a buffer as arm_reshape_s8 writes it.
func bytesOf(a target.Arg) target.Arg {
	switch a := a.(type) {
	case target.Out:
		a.CType = "int8_t"
		return a
	case target.Scratch:
		a.CType = "int8_t"
		return a
	}
	panic(fmt.Sprintf("BUG: a state in %T", a))
}

// turned copies rows of the given size in the opposite order.
func turned(rows, size int, x, y target.Arg) target.Call {
	f := []target.Field{target.FI("elem", 1), target.FI("rank", 2), target.FI("x_offset", (rows-1)*size), target.FI("y_offset", 0),
		target.F("dims", target.IntArray([]int{rows, size})), target.F("x_stride", target.IntArray([]int{-size, 1})), target.F("y_stride", target.IntArray([]int{size, 1}))}
	return target.Call{Func: "nncc_copy_nd", Args: []target.Arg{&target.Struct{Type: "nncc_copy_nd_params", Fields: f}, x, y}}
}

func lstmParams(p *qref.LSTMParams) *target.Struct {
	major := 0
	if p.TimeMajor {
		major = 1
	}
	n := func(name string, v int32) target.Field { return target.FI(name, int(v)) }
	return &target.Struct{Type: "cmsis_nn_lstm_params", Fields: []target.Field{
		target.FI("time_major", major), target.FI("batch_size", p.Batch), target.FI("time_steps", p.Time),
		target.FI("input_size", p.InputSize), target.FI("hidden_size", p.HiddenSize), target.FI("input_offset", 0), // in the biases
		n("forget_to_cell_multiplier", p.ForgetToCellMult), n("forget_to_cell_shift", p.ForgetToCellShift),
		n("input_to_cell_multiplier", p.InputToCellMult), n("input_to_cell_shift", p.InputToCellShift),
		n("cell_clip", p.CellClip), n("cell_scale_power", p.CellScalePower),
		n("output_multiplier", p.OutputMult), n("output_shift", p.OutputShift), n("output_offset", p.OutputOffset),
		target.F("forget_gate", lstmGate("forget", &p.Forget)), target.F("input_gate", lstmGate("input", &p.Input)),
		target.F("cell_gate", lstmGate("cell", &p.Cell)), target.F("output_gate", lstmGate("output", &p.Output)),
	}}
}

func lstmGate(name string, g *qref.LSTMGate) target.Nested {
	act := target.Lit("ARM_SIGMOID")
	if g.Act == qref.Tanh {
		act = "ARM_TANH"
	}
	weights := func(hint string, w []int8) target.Arg {
		return &target.Blob{Hint: name + "_" + hint, CType: "int8_t", Data: tensor.Of([]int{len(w)}, w).Bytes(), Align: 4, Pad: 16, NoCast: true}
	}
	bias := func(hint string, v []int32) target.Arg {
		b := i32Blob(name+"_"+hint, v)
		b.NoCast = true
		return b
	}
	n := func(field string, v int32) target.Field { return target.FI(field, int(v)) }
	return target.Nested{Fields: []target.Field{
		n("input_multiplier", g.InputMult), n("input_shift", g.InputShift),
		target.F("input_weights", weights("weights", g.InputWeights)), target.F("input_effective_bias", bias("bias", g.InputBias)),
		n("hidden_multiplier", g.HiddenMult), n("hidden_shift", g.HiddenShift),
		target.F("hidden_weights", weights("recurrence", g.HiddenWeights)), target.F("hidden_effective_bias", bias("recurrence_bias", g.HiddenBias)),
		target.F("bias", target.Null{}), target.F("activation_type", act),
	}}
}

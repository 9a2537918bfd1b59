package quantised

import (
	"encoding/binary"
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// LSTMs is the arithmetic of a QLSTM with constant weights and biases.
var LSTMs = kernel.NewFact(func(n *kernel.Node) (*qref.LSTMParams, string) {
	if computedParameter(n) != nil {
		return nil, kernel.Unread
	}
	return op.QLSTMParams(n.Node)
})

// computedParameter is the first of weights and biases that is not constant.
func computedParameter(n *kernel.Node) *ir.Value {
	for i := 1; i <= 3; i++ {
		if v := n.Input(i); v != nil && v.Const == nil {
			return v
		}
	}
	return nil
}

// LSTMRules are the conditions on a QLSTM.
func LSTMRules(code string) []kernel.Rule {
	return []kernel.Rule{
		{Code: code + "-01", Doc: "constant weights and biases", Check: func(n *kernel.Node) string {
			if v := computedParameter(n); v != nil {
				return fmt.Sprintf("%s is computed at run time, want a constant", v)
			}
			return ""
		}},
		LSTMs.Exists(code+"-02", "the quantisation that the operator describes"),
	}
}

// OwnLSTMRules are those of nncc's own kernels.
func OwnLSTMRules(code string) []kernel.Rule {
	return append(LSTMRules(code), LSTMs.Rule(code+"-03", "the output's scale is above 2^-30",
		func(_ *kernel.Node, p *qref.LSTMParams) string {
			if p.OutputShift >= 0 {
				return fmt.Sprintf("the output is shifted by %d, want to the right", p.OutputShift)
			}
			return ""
		}))
}

// Gate are the weights [units][inputs] of a gate for one of its two products, and
// the biases with the zero points of the data.
type Gate struct {
	Weights []int8
	Bias    []int32
	Mult    int32
	Shift   int32
}

// LSTMGates are the products of the gates with X and with the hidden state, in the
// operator's order.
func LSTMGates(p *qref.LSTMParams) (input, hidden []Gate) {
	for _, g := range []*qref.LSTMGate{&p.Input, &p.Output, &p.Forget, &p.Cell} {
		input = append(input, Gate{g.InputWeights, g.InputBias, g.InputMult, g.InputShift})
		hidden = append(hidden, Gate{g.HiddenWeights, g.HiddenBias, g.HiddenMult, g.HiddenShift})
	}
	return input, hidden
}

// blockBytes are the bytes of inputs in a block of packed weights.
const blockBytes = 16

// PackGates are gates as nncc_recurrent.h has them: four units at a time, inputs
// in blocks.
func PackGates(gates []Gate) *call.Blob {
	var data []byte
	block := blockBytes
	for _, g := range gates {
		units := len(g.Bias)
		size := len(g.Weights) / units
		weight := func(unit, input int) byte {
			if unit >= units {
				return 0
			}
			return byte(g.Weights[unit*size+input])
		}
		for u := 0; u < units; u += 4 {
			for i := u; i < u+4; i++ {
				b := int32(0)
				if i < units {
					b = g.Bias[i]
				}
				data = binary.LittleEndian.AppendUint32(data, uint32(b))
			}
			for from := 0; from < size; from += block {
				for i := u; i < u+4; i++ {
					for k := from; k < min(from+block, size); k++ {
						data = append(data, weight(i, k))
					}
				}
			}
		}
	}
	return &call.Blob{Hint: "packed", CType: "int8_t", Data: data, Align: 4, Pad: 16, NoCast: true}
}

// scales is an array of nncc_gate_scale.
func scales(gates []Gate) call.Arg {
	var f []call.Field
	for _, g := range gates {
		f = append(f, call.Field{Value: scale(g.Mult, g.Shift)})
	}
	return call.Nested{Fields: f}
}

func scale(mult, shift int32) call.Nested {
	return call.Nested{Fields: call.Ints("multiplier", int(mult), "shift", int(shift))}
}

// BlockLSTM is the call of an own kernel that takes weights packed by PackGates.
func BlockLSTM(n *kernel.Node, fn string) *call.Lowered {
	input, hidden := LSTMGates(LSTMs.Must(n))
	return CallLSTM(n, fn, 0, PackGates(input), PackGates(hidden))
}

// CallLSTM is the call of an own kernel, that of nncc_recurrent.h, with packed
// weights; extra are bytes of scratch behind what all need.
func CallLSTM(n *kernel.Node, fn string, extra int, w, r *call.Blob) *call.Lowered {
	p := LSTMs.Must(n)
	input, hidden := LSTMGates(p)
	reverse := 0
	if ir.AttrsOf[op.DirectionAttr](n.Node).Direction == "reverse" {
		reverse = 1
	}
	params := &call.Struct{Type: "nncc_recurrent_params", Fields: append([]call.Field{
		call.F("input", scales(input)), call.F("hidden", scales(hidden)),
		call.F("output", scale(p.OutputMult, p.OutputShift))},
		call.Ints("steps", p.Time, "batch", p.Batch, "inputs", p.InputSize, "units", p.HiddenSize, "reverse", reverse,
			"zero", int(p.OutputOffset), "state_power", int(p.CellScalePower))...)}
	args := []call.Arg{params, call.In{I: 0, CType: "int8_t"}, w, r, stateIn(n, 4),
		stateIn(n, 5)}
	for i := range 3 {
		args = append(args, stateOut(n, i))
	}
	args = append(args, call.Scratch{CType: "int16_t"})
	return &call.Lowered{Unused: []int{1, 2, 3}, Kernel: fn, Scratch: 12*((p.HiddenSize+3)&^3) + extra,
		Calls: []call.Call{{Func: fn, Args: args}}, Headers: []string{"nncc_recurrent.h"}}
}

// stateIn is initial state i; NULL stands for zeros.
func stateIn(n *kernel.Node, i int) call.Arg {
	v := n.Input(i)
	switch {
	case v == nil:
		return call.Null{}
	case v.Const != nil:
		return &call.Blob{Hint: "state", CType: call.CType(v.Type.DType), Data: v.Const.Bytes(), Align: 4, NoCast: true}
	}
	return call.In{I: i, CType: call.CType(v.Type.DType)}
}

func stateOut(n *kernel.Node, i int) call.Arg {
	if i >= len(n.Out) || n.Out[i] == nil {
		return call.Null{}
	}
	dt := n.Out[i].Type.DType
	if i == 2 {
		dt = tensor.I16
	}
	return call.Out{I: i, CType: call.CType(dt)}
}

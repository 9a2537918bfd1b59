// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// Gate are the weights [units][inputs] of a gate for one of its two products, and
// the biases with the zero points of the data.
type Gate struct {
	Weights     []int8
	Bias        []int32
	Mult, Shift int32
}

// Recurrent is a QLSTM or QGRU with constant weights.
type Recurrent struct {
	Input, Hidden               []Gate // of the products with X and with the hidden state
	Steps, Batch, Inputs, Units int
	outMult, outShift, zero     int32
	statePower                  int32
	stateLeast, stateMost       int32
	linearBeforeReset           bool
	perUnit                     int // bytes of scratch
	hiddenIn, stateIn           int // inputs; 0: none
}

// LSTMs is the arithmetic of a QLSTM with constant weights and biases.
var LSTMs = kernel.NewFact(func(n *kernel.Node) (*qref.LSTMParams, string) {
	if computedParameter(n) != nil {
		return nil, kernel.Unread
	}
	return op.QLSTMParams(n.Node)
})

// Recurrents are the products and scales of a recurrent node.
var Recurrents = kernel.NewFact(func(n *kernel.Node) (*Recurrent, string) {
	if n.Op == op.QLSTM {
		p, why := LSTMs.Of(n)
		if why != "" {
			return nil, why
		}
		r := &Recurrent{Steps: p.Time, Batch: p.Batch, Inputs: p.InputSize, Units: p.HiddenSize, outMult: p.OutputMult,
			outShift: p.OutputShift, zero: p.OutputOffset, statePower: p.CellScalePower,
			stateLeast: math.MinInt16, stateMost: math.MaxInt16, perUnit: 12, hiddenIn: 4, stateIn: 5}
		if p.CellClip > 0 {
			r.stateLeast, r.stateMost = -p.CellClip, p.CellClip
		}
		return r.with(&p.Input, &p.Output, &p.Forget, &p.Cell), ""
	}
	if computedParameter(n) != nil {
		return nil, kernel.Unread
	}
	p, why := op.QGRUParams(n.Node)
	if why != "" {
		return nil, why
	}
	r := &Recurrent{Steps: p.Time, Batch: p.Batch, Inputs: p.InputSize, Units: p.HiddenSize, outMult: p.OutputMult,
		outShift: p.OutputShift, zero: p.OutputOffset, statePower: p.StatePower, perUnit: 16, stateIn: 5,
		linearBeforeReset: p.LinearBeforeReset}
	return r.with(&p.Update, &p.Reset, &p.New), ""
})

// with adds the gates in the operator's order.
func (r *Recurrent) with(gates ...*qref.LSTMGate) *Recurrent {
	for _, g := range gates {
		r.Input = append(r.Input, Gate{g.InputWeights, g.InputBias, g.InputMult, g.InputShift})
		r.Hidden = append(r.Hidden, Gate{g.HiddenWeights, g.HiddenBias, g.HiddenMult, g.HiddenShift})
	}
	return r
}

// computedParameter is the first of weights and biases that is not constant.
func computedParameter(n *kernel.Node) *ir.Value {
	last := 3
	if n.Op == op.QGRU {
		last = 4
	}
	for i := 1; i <= last; i++ {
		if v := n.Input(i); v != nil && v.Const == nil {
			return v
		}
	}
	return nil
}

// RecurrentRules are the conditions on a QLSTM or QGRU.
func RecurrentRules() kernel.Rules {
	return kernel.Rules{
		cond.New("WEIGHTS", "constant weights and biases", func(n *kernel.Node) string {
			v := computedParameter(n)
			return cond.If(v != nil, "%s is computed at run time, want a constant", v)
		}), Recurrents.Exists("RECURRENT", "the quantisation that the operator describes"),
	}
}

// RecurrentKind is a function of nncc_recurrent.h without its prefix.
type RecurrentKind struct {
	Op   *ir.OpDef
	Name string // lstm, gru
	Elem tensor.DType
}

// RecurrentKinds are all of them.
var RecurrentKinds = []RecurrentKind{{op.QLSTM, "lstm", tensor.I8}, {op.QLSTM, "lstm", tensor.I16},
	{op.QGRU, "gru", tensor.I8}, {op.QGRU, "gru", tensor.I16}}

// Suffix is the end of the function's name.
func (k RecurrentKind) Suffix() string { return fmt.Sprintf("%s_s%d", k.Name, k.Elem.Bits()) }

// Was is a part of the codes that rows had.
func (k RecurrentKind) Was() string {
	c := map[string]string{"lstm": "LSTM", "gru": "GRU"}[k.Name]
	if k.Elem == tensor.I16 {
		c += "16"
	}
	return c
}

// Doc is the description of a row.
func (k RecurrentKind) Doc() string {
	return fmt.Sprintf("%s %s of one direction, packed weights", k.Elem, map[string]string{"lstm": "LSTM",
		"gru": "GRU"}[k.Name])
}

// Rules are the conditions of own kernels of this kind.
func (k RecurrentKind) Rules() kernel.Rules {
	return append(RecurrentRules(), cond.New("DATA-TYPE", "data in "+k.Elem.String(), func(n *kernel.Node) string {
		t := n.In[0].Type.DType
		return cond.If(t != k.Elem, "the data is %s, want %s", t, k.Elem)
	}))
}

// packGates are gates as nncc_recurrent.h has them: four units at a time, their
// weights for block inputs side by side; 0: for all of them.
func packGates(gates []Gate, block int) *call.Blob {
	var data []byte
	for _, g := range gates {
		units := len(g.Bias)
		size := len(g.Weights) / units
		block := block
		if block == 0 {
			block = size
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
					for c := from; c < min(from+block, size); c++ {
						w := byte(0)
						if i < units {
							w = byte(g.Weights[i*size+c])
						}
						data = append(data, w)
					}
				}
			}
		}
	}
	return &call.Blob{Hint: "packed", CType: "int8_t", Data: data, Align: 4, Pad: 16, NoCast: true}
}

// scales is an array of nncc_gate_scale.
func scales(gates []Gate) call.Arg {
	f := lists.Map(gates, func(g Gate) call.Field { return call.Field{Value: scale(g.Mult, g.Shift)} })
	return call.Nested{Fields: f}
}

func scale(mult, shift int32) call.Nested {
	return call.Nested{Fields: call.Ints("multiplier", call.T(mult), "shift", call.T(shift))}
}

// CallRecurrent is the call of an own kernel that takes weights four units at a
// time, in blocks of so many inputs; 0: whole rows.
func CallRecurrent(n *kernel.Node, fn, library string, block int) *call.Lowered {
	r := Recurrents.Must(n)
	return r.Call(n, fn, library, 0, packGates(r.Input, block), packGates(r.Hidden, block))
}

// Call is the call of an own kernel of nncc_recurrent.h with packed weights;
// extra are bytes of scratch behind what all need.
func (r *Recurrent) Call(n *kernel.Node, fn, library string, extra int, w, rec *call.Blob) *call.Lowered {
	elem := call.CType(n.In[0].Type.DType)
	params := &call.Struct{Type: "nncc_recurrent_params", Fields: append([]call.Field{
		call.F("input", scales(r.Input)), call.F("hidden", scales(r.Hidden)),
		call.F("output", scale(r.outMult, r.outShift))},
		call.Ints("steps", r.Steps, "batch", r.Batch, "inputs", r.Inputs, "units", r.Units,
			"reverse", Flag(ir.AttrsOf[op.DirectionAttr](n.Node).Direction == "reverse"),
			"zero", call.T(r.zero), "state_power", call.T(r.statePower),
			"state_least", call.T(r.stateLeast), "state_most", call.T(r.stateMost),
			"linear_before_reset", Flag(r.linearBeforeReset))...)}
	args := []call.Arg{params, call.In{I: 0, CType: elem}, w, rec}
	if r.hiddenIn > 0 {
		args = append(args, givenState(n, r.hiddenIn))
	}
	args = append(args, givenState(n, r.stateIn))
	for i, t := range []string{elem, elem, "int16_t"} {
		var out call.Arg = call.Null{}
		if i < len(n.Out) && n.Out[i] != nil {
			out = call.Out{I: i, CType: t}
		}
		args = append(args, out)
	}
	unused := []int{1, 2, 3}
	if n.Op == op.QGRU {
		unused = append(unused, 4)
	}
	return &call.Lowered{Unused: unused, Kernel: fn, Library: library, Scratch: r.perUnit*((r.Units+3)&^3) + extra,
		Calls:   []call.Call{{Func: fn, Args: append(args, call.Scratch{CType: "int16_t"})}},
		Headers: []string{"nncc_recurrent.h"}}
}

// givenState is an initial state; NULL means zeros.
func givenState(n *kernel.Node, i int) call.Arg {
	v := n.Input(i)
	switch {
	case v == nil:
		return call.Null{}
	case v.Const != nil:
		return &call.Blob{Hint: "state", CType: call.CType(v.Type.DType), Data: v.Const.Bytes(), Align: 4, NoCast: true}
	}
	return call.In{I: i, CType: call.CType(v.Type.DType)}
}

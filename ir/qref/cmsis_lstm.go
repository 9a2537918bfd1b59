// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"

	"github.com/nncc/nncc/ir/fixp"
)

// LSTMGate holds the weights and scales of one gate. Weights are [hidden][size];
// the effective biases, one per hidden unit, contain the weight sums times the
// offset of the data (minus its zero point), and InputBias the gate's bias too.
type LSTMGate struct {
	InputMult, InputShift   int32
	InputWeights            []int8
	InputBias               []int32
	HiddenMult, HiddenShift int32
	HiddenWeights           []int8
	HiddenBias              []int32
	Act                     Activation
}

// LSTMParams describes an LSTM with the arguments of arm_lstm_unidirectional_s8: int8 (or,
// in nncc's own kernels, int16) data and hidden state, gates in Q3.12 before and Q0.15 after the activation,
// int16 cell state with 15+CellScalePower integer bits below the sign.
type LSTMParams struct {
	Batch, Time, InputSize, HiddenSize  int
	ForgetToCellMult, ForgetToCellShift int32 // forget gate times old state
	InputToCellMult, InputToCellShift   int32 // input gate times cell gate
	CellClip                            int32 // limit of the state's magnitude, 0 for none
	CellScalePower                      int32 // the state's scale is 2^CellScalePower
	OutputMult, OutputShift             int32 // output gate times tanh of the state
	OutputOffset                        int32
	Forget, Input, Cell, Output         LSTMGate
	Rounding                            fixp.Rounding // of the library: twice unless it was built otherwise
}

// LSTM runs all time steps of in [Time][Batch][InputSize] to out
// [Time][Batch][HiddenSize]. cell [Batch][HiddenSize] is the cell state and hidden
// [Batch][HiddenSize] the hidden one; both are read first and hold the final states
// afterwards. Source: TensorFlow Lite Micro's LstmStep. It limits the product with the
// hidden state to int16 before it adds it; arm_lstm_unidirectional_s8 limits the sum
// only, see HiddenInt16.
func LSTM[T int8 | int16](p *LSTMParams, in, out []T, cell []int16, hidden []T) {
	for b := range p.Batch {
		h := hidden[b*p.HiddenSize:][:p.HiddenSize]
		for t := range p.Time {
			at := t*p.Batch + b
			dst := out[at*p.HiddenSize:][:p.HiddenSize]
			lstmStep(p, in[at*p.InputSize:][:p.InputSize], h, cell[b*p.HiddenSize:][:p.HiddenSize], dst)
			h = dst
		}
		copy(hidden[b*p.HiddenSize:], h)
	}
}

func lstmStep[T int8 | int16](p *LSTMParams, data, hidden []T, state []int16, out []T) {
	for u := range state {
		forget := gateValue(p.Rounding, &p.Forget, data, hidden, u)
		input := gateValue(p.Rounding, &p.Input, data, hidden, u)
		update := gateValue(p.Rounding, &p.Cell, data, hidden, u)
		output := gateValue(p.Rounding, &p.Output, data, hidden, u)
		c := int32(fixp.SatS16(p.Rounding.Requantize(forget*int32(state[u]), p.ForgetToCellMult, p.ForgetToCellShift)))
		c += p.Rounding.Requantize(input*update, p.InputToCellMult, p.InputToCellShift)
		if p.CellClip > 0 {
			c = fixp.Clamp(c, -p.CellClip, p.CellClip)
		}
		state[u] = fixp.SatS16(c)
		squashed := int32(activate(state[u], p.CellScalePower+12, Tanh))
		out[u] = hiddenValue[T](p.Rounding, output*squashed, p.OutputMult, p.OutputShift, p.OutputOffset)
	}
}

// HiddenInt16 reports whether no product with an int8 hidden state leaves int16. Then
// TensorFlow Lite Micro and CMSIS-NN, which limits only the sum of both products, agree.
func (p *LSTMParams) HiddenInt16() bool {
	for _, g := range []*LSTMGate{&p.Forget, &p.Input, &p.Cell, &p.Output} {
		for u, bias := range g.HiddenBias {
			least, most := int64(bias), int64(bias)
			for _, w := range g.HiddenWeights[u*p.HiddenSize:][:p.HiddenSize] {
				a, b := math.MinInt8*int64(w), math.MaxInt8*int64(w)
				least, most = least+min(a, b), most+max(a, b)
			}
			for _, sum := range []int64{least, most} {
				v := int32(sum)
				if int64(v) != sum || !isInt16(p.Rounding.Requantize(v, g.HiddenMult, g.HiddenShift)) {
					return false
				}
			}
		}
	}
	return true
}

func isInt16(v int32) bool { return int32(int16(v)) == v }

// gateValue is one gate of one hidden unit in Q0.15: two scaled sums and what they
// add up to, each saturated to int16, then the activation.
func gateValue[T int8 | int16](r fixp.Rounding, g *LSTMGate, data, hidden []T, u int) int32 {
	v := fixp.SatS16(scaledDot(r, data, g.InputWeights, g.InputBias, u, g.InputMult, g.InputShift))
	h := fixp.SatS16(scaledDot(r, hidden, g.HiddenWeights, g.HiddenBias, u, g.HiddenMult, g.HiddenShift))
	return int32(activate(fixp.SatS16(int32(v)+int32(h)), 0, g.Act))
}

// hiddenValue is a value of the hidden state.
func hiddenValue[T int8 | int16](r fixp.Rounding, v, mult, shift, offset int32) T {
	var z T
	lo, hi := int32(math.MinInt8), int32(math.MaxInt8)
	if _, wide := any(z).(int16); wide {
		lo, hi = math.MinInt16, math.MaxInt16
	}
	return T(fixp.Clamp(r.Requantize(v, mult, shift)+offset, lo, hi))
}

func scaledDot[T int8 | int16](r fixp.Rounding, data []T, weights []int8, bias []int32, u int,
	mult, shift int32) int32 {
	acc := bias[u]
	w := weights[u*len(data):][:len(data)]
	for i, v := range data {
		acc += int32(v) * int32(w[i])
	}
	return r.Requantize(acc, mult, shift)
}

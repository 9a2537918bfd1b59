// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"github.com/nncc/nncc/ir/fixp"
)

// GRUParams describes a GRU of one direction: int8 or int16 data and hidden
// state, gates in Q3.12 before and Q0.15 after the activation, a state in int16
// with the scale 2^StatePower. What the recurrence multiplies is the hidden
// state, the state in the scale of the output; the state itself is not rounded to
// it, so that small updates are not lost.
type GRUParams struct {
	Batch, Time, InputSize, HiddenSize int
	LinearBeforeReset                  bool
	StatePower                         int32
	OutputMult, OutputShift            int32 // state to hidden state
	OutputOffset                       int32
	Update, Reset, New                 LSTMGate // Act is that of the first two, sigmoid
}

// GRU runs all time steps of in [Time][Batch][InputSize] to out
// [Time][Batch][HiddenSize]. state [Batch][HiddenSize] is read first and holds the
// final state afterwards; the result is the final hidden state.
func GRU[T int8 | int16](p *GRUParams, in, out []T, state []int16) []T {
	last := make([]T, p.Batch*p.HiddenSize)
	for b := range p.Batch {
		s, h := state[b*p.HiddenSize:][:p.HiddenSize], last[b*p.HiddenSize:][:p.HiddenSize]
		hide := func() {
			for u, v := range s {
				h[u] = hiddenValue[T](fixp.DoubleRounding, int32(v), p.OutputMult, p.OutputShift, p.OutputOffset)
			}
		}
		hide()
		for t := range p.Time {
			at := t*p.Batch + b
			gruStep(p, in[at*p.InputSize:][:p.InputSize], h, s)
			hide()
			copy(out[at*p.HiddenSize:], h)
		}
	}
	return last
}

func gruStep[T int8 | int16](p *GRUParams, data, hidden []T, state []int16) {
	const r = fixp.DoubleRounding
	recurrent := func(g *LSTMGate, h []T, u int) int32 {
		return int32(fixp.SatS16(scaledDot(r, h, g.HiddenWeights, g.HiddenBias, u, g.HiddenMult, g.HiddenShift)))
	}
	n := len(state)
	reset, kept, next := make([]int32, n), make([]T, n), make([]int16, n)
	for u := range n {
		reset[u] = gateValue(r, &p.Reset, data, hidden, u)
		kept[u] = T(halfUp(reset[u]*(int32(hidden[u])-p.OutputOffset), 15) + p.OutputOffset)
	}
	for u, s := range state {
		z := gateValue(r, &p.Update, data, hidden, u)
		g := &p.New
		v := int32(fixp.SatS16(scaledDot(r, data, g.InputWeights, g.InputBias, u, g.InputMult, g.InputShift)))
		if p.LinearBeforeReset {
			v += halfUp(reset[u]*recurrent(g, hidden, u), 15)
		} else {
			v += recurrent(g, kept, u)
		}
		fresh := int32(activate(fixp.SatS16(v), 0, Tanh))
		sum := z*int32(s) + halfUp((1<<15-z)*fresh, 15+p.StatePower)
		next[u] = fixp.SatS16(halfUp(sum, 15))
	}
	copy(state, next)
}

// halfUp divides by 2^exponent and rounds, ties up.
func halfUp(v, exponent int32) int32 {
	if exponent == 0 {
		return v
	}
	return (v + 1<<uint(exponent-1)) >> uint(exponent)
}

// SVDFParams is a layer of TensorFlow Lite's SVDF in integers: every filter is a product
// with the input, and a product with the last results of that.
type SVDFParams struct {
	Batch, Inputs, Units, Rank, Memory int // Units*Rank filters
	Features                           []int8
	// FeatureBias is that of a filter, the input's zero point folded in; Bias that of a
	// unit, the state's zero point folded in.
	FeatureBias, Bias         []int32
	FeatureMult, FeatureShift int32 // to the state
	OutputMult, OutputShift   int32
	StateZero, OutputZero     int32
}

// SVDF computes a step with the weights over time [filters, memory]: y [batch, units] and
// the next state [batch, filters, memory].
// Accumulators wrap modulo 2^32, and states
// with a zero point modulo 2^8.
// Source: TensorFlow Lite Micro, EvalIntegerSvdfReference.
func SVDF[T int8 | int16](p *SVDFParams, time []T, x []int8, state []T) (y []int8, next []T) {
	lo, hi := int32(-1<<7), int32(1<<7-1)
	if _, wide := any(time).([]int16); wide {
		lo, hi = -1<<15, 1<<15-1
	}
	filters := p.Units * p.Rank
	next = make([]T, len(state))
	for b := range p.Batch {
		for u := range p.Units {
			sum := p.Bias[u]
			for f := u * p.Rank; f < (u+1)*p.Rank; f++ {
				acc := p.FeatureBias[f]
				for i := range p.Inputs {
					acc += int32(x[b*p.Inputs+i]) * int32(p.Features[f*p.Inputs+i])
				}
				at := (b*filters + f) * p.Memory
				row := next[at:][:p.Memory]
				copy(row, state[at+1:at+p.Memory])
				v := fixp.Clamp(fixp.Requantize(acc, p.FeatureMult, p.FeatureShift), lo, hi)
				row[p.Memory-1] = T(p.StateZero + v)
				for j, v := range row {
					sum += int32(v) * int32(time[f*p.Memory+j])
				}
			}
			v := fixp.Requantize(sum, p.OutputMult, p.OutputShift) + p.OutputZero
			y = append(y, int8(fixp.Clamp(v, -128, 127)))
		}
	}
	return y, next
}

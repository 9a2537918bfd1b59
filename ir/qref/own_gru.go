// SPDX-License-Identifier: Apache-2.0

package qref

import "github.com/nncc/nncc/ir/fixp"

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

// SPDX-License-Identifier: Apache-2.0

package qref

import "github.com/nncc/nncc/ir/fixp"

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

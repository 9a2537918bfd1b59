// SPDX-License-Identifier: Apache-2.0

package qref

import "math"

// BuildScaleShift builds the Affine of y = x*scale + shift for one channel,
// all in float64 and in this order.
func BuildScaleShift(in, out QP, scale, shift float64, lo, hi int32) (Affine, bool) {
	return BuildAffine(float64(in.Scale)*scale/float64(out.Scale), math.MinInt8, math.MaxInt8, lo, hi,
		func(q int32) int32 {
			return out.Quantise(float64(in.Real(q)*scale)+shift, lo, hi)
		})
}

// BuildPRelu builds the function of a PRelu for positive inputs (slope 1) or,
// with its slope, for negative ones.
func BuildPRelu(in, out QP, slope float64, negative bool, lo, hi int32) (Affine, bool) {
	from, to := in.Zero, int32(math.MaxInt8)
	if negative {
		from, to = math.MinInt8, in.Zero-1
	}
	if from > to { // no such input
		return Affine{}, true
	}
	return BuildAffine(float64(in.Scale)*slope/float64(out.Scale), from, to, lo, hi, func(q int32) int32 {
		return out.Quantise(in.Real(q)*slope, lo, hi)
	})
}

// RowsParams is nncc_rows_params.
type RowsParams struct {
	Rows, Channels int32
	ActMin, ActMax int32
}

// ScaleShift applies one Affine per channel: nncc_scale_shift_s8.
func ScaleShift(p *RowsParams, x []int8, affine []Affine, y []int8) error {
	const name = "ScaleShift"
	n := int(p.Rows) * int(p.Channels)
	if err := firstErr(checkClamp(name, p.ActMin, p.ActMax), checkLen(name, "input", len(x), n),
		checkLen(name, "output", len(y), n), checkLen(name, "functions", len(affine), int(p.Channels))); err != nil {
		return err
	}
	for i, v := range x {
		y[i] = affine[i%len(affine)].Apply(v, p.ActMin, p.ActMax)
	}
	return nil
}

// PReluParams is nncc_prelu_s8_params.
type PReluParams struct {
	Rows, Channels int32
	InZero         int32
	ActMin, ActMax int32
}

// PRelu applies positive to inputs from the zero point up and the channel's
// negative function to the others: nncc_prelu_s8.
func PRelu(p *PReluParams, x []int8, positive *Affine, negative []Affine, y []int8) error {
	const name = "PRelu"
	n := int(p.Rows) * int(p.Channels)
	if err := firstErr(checkClamp(name, p.ActMin, p.ActMax), checkLen(name, "input", len(x), n),
		checkLen(name, "output", len(y), n), checkLen(name, "functions", len(negative), int(p.Channels))); err != nil {
		return err
	}
	for i, v := range x {
		f := positive
		if int32(v) < p.InZero {
			f = &negative[i%len(negative)]
		}
		y[i] = f.Apply(v, p.ActMin, p.ActMax)
	}
	return nil
}

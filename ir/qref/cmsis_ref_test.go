// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
)

// ActivationS16 computes sigmoid or tanh of values in Q(3+leftShift).(12-leftShift)
// to Q0.15, by linear interpolation in a table; in and out may be the same
// slice. Source: arm_nn_activation_s16.
func ActivationS16(in, out []int16, leftShift int32, kind Activation) {
	for i, v := range in {
		out[i] = activate(v, leftShift, kind)
	}
}

// Minimum is the element-wise minimum of two int8 tensors of equal scale and
// zero point; dimensions of 1 broadcast. Source: arm_minimum_s8 (see README for
// the shapes that the library itself gets wrong).
func Minimum(ad, bd Dims, a, b, out []int8) error {
	return broadcast("Minimum", ad, bd, a, b, out, func(x, y int8) int8 { return min(x, y) })
}

// Maximum is the element-wise maximum. Source: arm_maximum_s8.
func Maximum(ad, bd Dims, a, b, out []int8) error {
	return broadcast("Maximum", ad, bd, a, b, out, func(x, y int8) int8 { return max(x, y) })
}

func broadcast(name string, ad, bd Dims, a, b, out []int8, f func(x, y int8) int8) error {
	if err := firstErr(checkDims(name, "first input", ad), checkDims(name, "second input", bd)); err != nil {
		return err
	}
	o := Dims{max(ad.N, bd.N), max(ad.H, bd.H), max(ad.W, bd.W), max(ad.C, bd.C)}
	for _, d := range []Dims{ad, bd} {
		if !broadcasts(d.N, o.N) || !broadcasts(d.H, o.H) || !broadcasts(d.W, o.W) || !broadcasts(d.C, o.C) {
			return badArgs(name, "inputs %v and %v do not broadcast", ad, bd)
		}
	}
	if err := firstErr(checkLen(name, "first input", len(a), ad.Size()), checkLen(name, "second input", len(b),
		bd.Size()),
		checkLen(name, "output", len(out), o.Size())); err != nil {
		return err
	}
	i := 0
	for n := range o.N {
		for h := range o.H {
			for w := range o.W {
				ai := ((n%ad.N*ad.H+h%ad.H)*ad.W + w%ad.W) * ad.C
				bi := ((n%bd.N*bd.H+h%bd.H)*bd.W + w%bd.W) * bd.C
				for c := range o.C {
					out[i] = f(a[ai+c%ad.C], b[bi+c%bd.C])
					i++
				}
			}
		}
	}
	return nil
}

// BatchMatMul16 multiplies two batches of int16 matrices, the right ones
// transposed. Source: arm_batch_matmul_s16.
func BatchMatMul16(p *BatchMatMulParams, left, right, out []int16) error {
	if err := p.check("BatchMatMul16", len(left), len(right), len(out)); err != nil {
		return err
	}
	fc := FCParams{Rows: p.Left.W, Depth: p.Left.C, Cols: p.Right.W, ActMin: p.ActMin, ActMax: p.ActMax,
		Mult: []int32{p.Mult}, Shift: []int32{p.Shift}}
	return p.each(func(l, r, o int) error {
		return FullyConnected16(&fc, left[l:][:fc.Rows*fc.Depth], right[r:][:fc.Cols*fc.Depth], nil,
			out[o:][:fc.Rows*fc.Cols])
	})
}

// SoftmaxS16 computes a softmax of int8 values to int16 with scale 1/65536 and
// zero point -32768. Source: arm_softmax_s8_s16.
func SoftmaxS16(p *SoftmaxParams, in []int8, out []int16) error {
	return softmaxRows("SoftmaxS16", p, in, len(out), 15, math.MinInt16, math.MaxInt16,
		func(i int, v int32) { out[i] = int16(v) })
}

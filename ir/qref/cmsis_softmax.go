// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"

	"github.com/nncc/nncc/ir/fixp"
)

// SoftmaxParams describes an int8 softmax over the last axis; Mult, Shift and
// DiffMin come from fixp.SoftmaxScale.
type SoftmaxParams struct {
	Rows, Size           int
	Mult, Shift, DiffMin int32
}

// softmaxAccumBits makes room for the sum of exponentials.
const softmaxAccumBits = 12

// Softmax computes an int8 softmax with output scale 1/256 and zero point -128.
// Source: arm_softmax_s8 (gemmlowp's fixed-point exponential and reciprocal).
func Softmax(p *SoftmaxParams, in, out []int8) error {
	return softmaxRows("Softmax", p, in, len(out), 23, math.MinInt8, math.MaxInt8,
		func(i int, v int32) { out[i] = int8(v) })
}

// SoftmaxTerms are the exponentials (Q0.31) of all values that may lie below
// the largest one of their row, the largest difference first; 0 beyond diffMin.
func SoftmaxTerms(mult, shift, diffMin int32) (terms [256]int32) {
	for d := range int32(256) {
		if -d >= diffMin {
			terms[255-d] = fixp.ExpOnNegativeValues(fixp.DoublingHighMult(-d<<uint(shift), mult))
		}
	}
	return terms
}

func softmaxRows(name string, p *SoftmaxParams, in []int8, outLen int, unitBits, lo, hi int32,
	put func(i int, v int32)) error {
	if p.Rows < 1 || p.Size < 1 || p.Shift < 0 || p.Shift > 31 {
		return badArgs(name, "rows %d and size %d must be positive, shift %d in [0, 31]", p.Rows, p.Size, p.Shift)
	}
	if err := firstErr(checkLen(name, "input", len(in), p.Rows*p.Size),
		checkLen(name, "output", outLen, p.Rows*p.Size)); err != nil {
		return err
	}
	terms := SoftmaxTerms(p.Mult, p.Shift, p.DiffMin)
	for r := range p.Rows {
		row := in[r*p.Size:][:p.Size]
		top := row[0]
		for _, v := range row {
			top = max(top, v)
		}
		var sum int32
		for _, v := range row {
			sum += fixp.DivideByPowerOfTwo(terms[255+int32(v)-int32(top)], softmaxAccumBits)
		}
		headroom := fixp.LeadingZeros(sum)
		var norm int32
		if sum > 0 {
			norm = sum << uint(headroom)
		}
		scale := fixp.OneOverOnePlusX(norm + math.MinInt32)
		shift := softmaxAccumBits - headroom + unitBits
		for i, v := range row {
			term := terms[255+int32(v)-int32(top)]
			put(r*p.Size+i, fixp.Clamp(fixp.DivideByPowerOfTwo(fixp.DoublingHighMult(scale, term), shift)+lo, lo, hi))
		}
	}
	return nil
}

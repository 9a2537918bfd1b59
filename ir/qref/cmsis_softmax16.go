// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"

	"github.com/nncc/nncc/ir/fixp"
)

// The tables of arm_softmax_s16, as TensorFlow Lite fills them: exp(x) for x in [-10, 0],
// and 1/(1+x) for x in [0, 1], both with results in Q0.15.
var (
	SoftmaxExp16 = fixp.InterpolatedLUT16Of(10./65535, math.MaxInt16, 2./65535, 0,
		func(x float32) float32 { return float32(math.Exp(float64(x))) })
	SoftmaxReciprocal16 = fixp.InterpolatedLUT16Of(1./65535, math.MinInt16, 2./65535, 0,
		func(x float32) float32 { return 1 / (1 + x) })
)

// Softmax16Params describes an int16 softmax over the last axis. Mult and
// Shift bring differences to steps of 10/65535, see fixp.Softmax16Scale.
type Softmax16Params struct {
	Rows, Size  int
	Mult, Shift int32
	Rounding    fixp.Rounding // of the library: twice unless it was built otherwise
}

// Softmax16 computes an int16 softmax with output scale 1/32768 and zero point
// 0. Source: arm_softmax_s16, with the two tables above.
func Softmax16(p *Softmax16Params, in, out []int16) error {
	const name = "Softmax16"
	if p.Rows < 1 || p.Size < 1 || p.Size > 1<<16 {
		return badArgs(name, "rows %d and size %d must be positive, size at most 65536", p.Rows, p.Size)
	}
	if err := firstErr(checkLen(name, "input", len(in), p.Rows*p.Size), checkLen(name, "output", len(out),
		p.Rows*p.Size)); err != nil {
		return err
	}
	for r := range p.Rows {
		row, y := in[r*p.Size:][:p.Size], out[r*p.Size:][:p.Size]
		top := row[0]
		for _, v := range row {
			top = max(top, v)
		}
		var sum int32
		for i, v := range row {
			d := p.Rounding.Requantize(int32(v)-int32(top), p.Mult, p.Shift) + math.MaxInt16
			y[i] = SoftmaxExp16.At(fixp.SatS16(d))
			sum += int32(y[i])
		}
		headroom := fixp.LeadingZeros(sum)
		// sum scaled to [1, 2) in Q16, less 1.5: the table's argument
		x := (sum<<uint(headroom-1)+1<<13)>>14 - 98304
		scale := int32(SoftmaxReciprocal16.At(int16(x)))
		for i, v := range y {
			y[i] = int16((int32(v)*scale>>uint(30-headroom) + 1) >> 1)
		}
	}
	return nil
}

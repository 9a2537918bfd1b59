// SPDX-License-Identifier: Apache-2.0

package qref

import "github.com/nncc/nncc/ir/fixp"

// FCParams describes an int8 fully connected layer, as
// arm_fully_connected_wrapper_s8 takes it.
type FCParams struct {
	Rows           int // batches
	Depth          int // accumulation depth
	Cols           int // outputs per row
	InputOffset    int32
	FilterOffset   int32 // minus the filter zero point
	OutputOffset   int32
	ActMin, ActMax int32
	Mult, Shift    []int32       // one element, or Cols of them for per-channel quantisation
	Rounding       fixp.Rounding // of the library: twice unless it was built otherwise
}

// FullyConnected computes out[r][j] from in [Rows][Depth], filter [Cols][Depth]
// and bias [Cols] (nil for none). Source: arm_fully_connected_s8 and
// arm_fully_connected_per_channel_s8.
func FullyConnected(p *FCParams, in, filter []int8, bias []int32, out []int8) error {
	if err := checkFC("FullyConnected", p, len(in), len(filter), len(bias), len(out)); err != nil {
		return err
	}
	matMul(p, in, filter, bias, out)
	return nil
}

func checkFC(name string, p *FCParams, in, filter, bias, out int) error {
	if p.Rows < 1 || p.Depth < 1 || p.Cols < 1 {
		return badArgs(name, "rows %d, depth %d and outputs %d must be positive", p.Rows, p.Depth, p.Cols)
	}
	if len(p.Mult) != len(p.Shift) || len(p.Mult) != 1 && len(p.Mult) != p.Cols {
		return badArgs(name, "%d multipliers and %d shifts, want 1 or %d of each", len(p.Mult), len(p.Shift), p.Cols)
	}
	return firstErr(checkLen(name, "input", in, p.Rows*p.Depth), checkLen(name, "filter", filter, p.Cols*p.Depth),
		checkOptional(name, "bias", bias, p.Cols), checkLen(name, "output", out, p.Rows*p.Cols))
}

// matMul is FullyConnected on checked arguments.
func matMul(p *FCParams, in, filter []int8, bias []int32, out []int8) {
	if len(bias) == 0 {
		bias = nil
	}
	step := 1
	if len(p.Mult) == 1 {
		step = 0
	}
	parallel(p.Rows, p.Rows*p.Cols*p.Depth, func(from, to int) {
		x := make([]int32, p.Depth)
		var folded []int32
		for r := from; r < to; r++ {
			widen(x, in[r*p.Depth:], p.InputOffset)
			b := bias
			if p.FilterOffset != 0 {
				// sum x*(w+o) = sum x*w + o*sum x, modulo 2^32 in either order
				var sum int32
				for _, v := range x {
					sum += v
				}
				if folded == nil {
					folded = make([]int32, p.Cols)
				}
				clear(folded)
				copy(folded, bias)
				for j := range folded {
					folded[j] += sum * p.FilterOffset
				}
				b = folded
			}
			matRow(p.Rounding, x, filter, b, p.Mult, p.Shift, step, p.OutputOffset, p.ActMin, p.ActMax,
				out[r*p.Cols:(r+1)*p.Cols])
		}
	})
}

// KernelSums are the values that the MVE build of CMSIS-NN wants in the context
// buffer of a fully connected layer: for each of "cols" filter rows, the row's
// sum (with the filter offset) times the input offset, plus the bias. They are
// constants of the model. Source: arm_vector_sum_s8.
func KernelSums(cols, depth int, filter []int8, inputOffset, filterOffset int32, bias []int32) []int32 {
	sums := make([]int32, cols)
	copy(sums, bias)
	for j := range sums {
		s := int32(depth) * filterOffset
		for _, v := range filter[j*depth:][:depth] {
			s += int32(v)
		}
		sums[j] += s * inputOffset
	}
	return sums
}

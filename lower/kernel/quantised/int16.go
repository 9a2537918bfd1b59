// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/lower/kernel"
)

// int16 data and int8 weights whose sums stay in 32 bits.

// Int16 is the rule that the given inputs and output 0 are int16 with one scale
// and zero point 0.
func Int16(in ...int) kernel.Rule {
	return Activations("INT16", "activations are int16, quantised per tensor with zero point 0, not empty", NotInt16,
		in...)
}

// wide gives a layer on int16 data the biases of a node, and says why sums or
// results do not stay in 32 bits.
func (l *Layer) wide(n *kernel.Node) string {
	l.Bias = make([]int32, len(l.Rows))
	b := n.Input(2)
	for c, row := range l.Rows {
		start := int64(0)
		if b != nil {
			start = b.Const.Int(c % b.Const.Len())
		}
		lo, hi := start, start
		for _, v := range row {
			x, y := math.MinInt16*int64(v), math.MaxInt16*int64(v)
			lo, hi = lo+min(x, y), hi+max(x, y)
		}
		if lo < math.MinInt32 || hi > math.MaxInt32 {
			return fmt.Sprintf("channel %d: sums reach from %d to %d, want 32 bits", c, lo, hi)
		}
		l.Bias[c] = int32(start)
		mult, shift := l.Scale16(c)
		if (max(hi, -lo)*int64(mult))>>uint(14-shift) >= math.MaxInt32 {
			return fmt.Sprintf("channel %d: results reach beyond 32 bits before they are clamped", c)
		}
	}
	return ""
}

// Scale16 is the Q15 multiplier of channel c on int16 data, and its shift.
func (l *Layer) Scale16(c int) (mult, shift int32) {
	_, mult, shift = l.Channel(c)
	return fixp.ReduceMultiplier(mult), shift
}

// Shifts16 is the rule of a requantisation by a product whose upper half is shifted
// to the right, by one bit at least; halves is 1 where the product is not doubled.
func (l *Layer) Shifts16(halves int32) string {
	for c := range l.Rows {
		if _, s := l.Scale16(c); s > -1-halves {
			return fmt.Sprintf("channel %d is requantised by a shift of %d, want %d or less", c, s, -1-halves)
		}
	}
	return ""
}

// Shifted16 are the numbers of that requantisation for channel c, (sum * mult >>
// (31 + halves) + half a step) >> shift, both rounded down; shift is 1 to 31.
func (l *Layer) Shifted16(c int, halves int32) (mult, shift int32) {
	if mult, shift = l.Scale16(c); shift < -31 {
		return 0, 31 // nothing is left
	}
	return mult << 16, -shift - halves
}

// FixedPoint16 and Product16 are the conditions on the arithmetic of layers of int16 data.
var (
	FixedPoint16 = MAC16Params.Exists("FIXED-POINT",
		"scales have a fixed-point form, the int64 bias counts their product")
	Product16 = Products16.Exists("PRODUCT", "a plain product with fixed-point scales and an int64 bias")
)

// ConvRules16 are the conditions on a convolution of int16 data with constant weights;
// sums is the fact that they stay in 32 bits.
func ConvRules16[T any](sums *kernel.Fact[T]) kernel.Rules {
	return append(rules16(FixedPoint16, sums), ConvSpatialRule)
}

// ProductRules16 are those on a fully connected layer.
func ProductRules16() kernel.Rules { return rules16(Product16, ConvOf16) }

func rules16[T any](params kernel.Rule, sums *kernel.Fact[T]) kernel.Rules {
	return kernel.Rules{Int16(0), int8Weights("the weights %s are computed at run time, want a constant", nil), params,
		sums.Exists("SUMS", "sums that 32 bits hold, whatever the input")}
}

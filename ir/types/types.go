// SPDX-License-Identifier: Apache-2.0

// Package types has the types of values: element type, shape, memory order and
// quantisation. It is a leaf, for those who know values but no graphs.
package types

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// Quant maps integers q to reals: real = Scale * (q - Zero). One
// scale for the tensor (Axis -1, length 1), or one for every index of the
// logical dimension Axis.
type Quant struct {
	Axis  int
	Scale []float32
	Zero  []int32
}

// PerTensor is a Quant with one scale and zero point.
func PerTensor(scale float32, zero int32) *Quant {
	return &Quant{Axis: -1, Scale: []float32{scale}, Zero: []int32{zero}}
}

// Equal reports the same axis, scales (bit for bit) and zero points.
func (q *Quant) Equal(o *Quant) bool {
	if q == nil || o == nil {
		return q == o
	}
	return q.Axis == o.Axis && slices.Equal(q.Scale, o.Scale) && slices.Equal(q.Zero, o.Zero)
}

// PerAxis reports a quantisation with one scale per channel.
func (q *Quant) PerAxis() bool { return q != nil && q.Axis >= 0 }

// Text says what integers stand for.
func (q *Quant) Text() string {
	if q.PerAxis() {
		return fmt.Sprintf("a scale and a zero point for each index of dimension %d", q.Axis)
	}
	return fmt.Sprintf("scale %g, zero point %d", q.Scale[0], q.Zero[0])
}

// ScaleAt is the scale of channel c (any c when per tensor).
func (q *Quant) ScaleAt(c int) float32 {
	if q.Axis < 0 {
		return q.Scale[0]
	}
	return q.Scale[c]
}

// ZeroAt is the zero point of channel c (any c when per tensor).
func (q *Quant) ZeroAt(c int) int32 {
	if q.Axis < 0 {
		return q.Zero[0]
	}
	return q.Zero[c]
}

// Take is the quantisation of some indices of a dimension, in the order given.
func (q *Quant) Take(axis int, indices []int) *Quant {
	if !q.PerAxis() || q.Axis != axis {
		return q
	}
	out := &Quant{Axis: axis}
	for _, i := range indices {
		out.Scale, out.Zero = append(out.Scale, q.Scale[i]), append(out.Zero, q.Zero[i])
	}
	return out
}

// Type is the type of a value. Shape is always the logical ONNX shape. Order
// is the memory order: the logical dimensions from outermost to innermost;
// nil is the logical order itself. Quant is nil for values that are not
// quantised. Types are replaced, never edited in place.
type Type struct {
	DType tensor.DType
	Shape []int
	Order []int
	Quant *Quant
}

// T is a type in logical order without quantisation.
func T(d tensor.DType, shape ...int) Type { return Type{DType: d, Shape: shape} }

// Rank is the number of logical dimensions.
func (t Type) Rank() int { return len(t.Shape) }

// Elems is the number of elements.
func (t Type) Elems() int { return tensor.Count(t.Shape) }

// Bytes is the memory the value takes in emitted C.
func (t Type) Bytes() int { return t.Elems() * t.DType.Size() }

// Quantised reports whether integers stand for reals here.
func (t Type) Quantised() bool { return t.Quant != nil }

// WithQuant is a copy with another element type and quantisation.
func (t Type) WithQuant(d tensor.DType, q *Quant) Type {
	t.DType, t.Quant = d, q
	return t
}

// WithShape is a copy with another logical shape, in logical order.
func (t Type) WithShape(shape []int) Type {
	t.Shape, t.Order = shape, nil
	return t
}

// WithOrder is a copy with another memory order.
func (t Type) WithOrder(o []int) Type {
	t.Order = o
	return t
}

// OrderOrIdentity is Order, spelled out when it is nil.
func (t Type) OrderOrIdentity() []int {
	if t.Order != nil {
		return t.Order
	}
	return Identity(len(t.Shape))
}

// Phys is the shape in memory order, outermost first.
func (t Type) Phys() []int {
	o := t.OrderOrIdentity()
	return lists.Each(o, func(d int) int { return t.Shape[d] })
}

// SameMemory reports whether two orders of the same shape put every element
// in the same place: dimensions of size 1 do not count, and of nothing all
// orders are the same.
func (t Type) SameMemory(order []int) bool {
	if slices.Contains(t.Shape, 0) {
		return true
	}
	i, j := -1, -1
	for {
		a, b := t.nextWide(t.Order, &i), t.nextWide(order, &j)
		if a != b || a < 0 {
			return a == b
		}
	}
}

// nextWide is the next dimension of a memory order, nil for the logical one, that is not 1; -1 at the end.
func (t Type) nextWide(order []int, at *int) int {
	for *at++; *at < len(t.Shape); *at++ {
		d := *at
		if order != nil {
			d = order[d]
		}
		if t.Shape[d] != 1 {
			return d
		}
	}
	return -1
}

// Identity is 0, 1, ..., n-1.
func Identity(n int) []int {
	o := make([]int, n)
	for i := range o {
		o[i] = i
	}
	return o
}

// NHWC is the channels-last memory order of a rank-n [N, C, spatial...] value.
func NHWC(rank int) []int {
	if rank < 3 {
		return nil
	}
	o := []int{0}
	for d := 2; d < rank; d++ {
		o = append(o, d)
	}
	return append(o, 1)
}

// Equal compares element type, shape, memory order and quantisation.
func (t Type) Equal(o Type) bool {
	return t.DType == o.DType && slices.Equal(t.Shape, o.Shape) && slices.Equal(t.OrderOrIdentity(),
		o.OrderOrIdentity()) && t.Quant.Equal(o.Quant)
}

// String is the text form: i8[1,64,25,5]@0.2.3.1 q(0.0235:-128).
func (t Type) String() string {
	var b strings.Builder
	b.WriteString(t.DType.String())
	b.WriteByte('[')
	for i, d := range t.Shape {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, d)
	}
	b.WriteByte(']')
	if t.Order != nil {
		b.WriteByte('@')
		for i, d := range t.Order {
			if i > 0 {
				b.WriteByte('.')
			}
			fmt.Fprint(&b, d)
		}
	}
	if q := t.Quant; q != nil {
		b.WriteString(" q(")
		if q.Axis >= 0 {
			fmt.Fprintf(&b, "axis=%d,", q.Axis)
		}
		for i := range q.Scale {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%v:%d", q.Scale[i], q.Zero[i])
		}
		b.WriteByte(')')
	}
	return b.String()
}

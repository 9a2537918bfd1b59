// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// pairShapes are two shapes that broadcast to a third: same shapes, scalars, rows,
// columns, channels, both sides repeated; sizes around those of vectors and of
// blocks; at most so many elements.
func pairShapes(r *rand.Rand, most int) (a, b, y []int) {
	rank := 1 + r.IntN(4)
	size := func() int {
		return []int{1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 1 + r.IntN(70)}[r.IntN(13)]
	}
	left := most
	for range rank {
		d := min(size(), left)
		if r.IntN(12) == 0 && left > 1000 {
			d = 100 + r.IntN(200)
		}
		left /= d
		y = append(y, d)
	}
	a, b = append([]int{}, y...), append([]int{}, y...)
	for d := range y {
		switch r.IntN(8) {
		case 0, 1:
			b[d] = 1
		case 2:
			a[d] = 1
		}
	}
	switch r.IntN(5) {
	case 0:
		copy(a, y)
		copy(b, y)
	case 1:
		for d := range b {
			a[d], b[d] = y[d], 1
		}
	case 2:
		copy(a, y)
		b = b[r.IntN(rank):] // fewer dimensions
	}
	for d := range y { // a result is as large as its operands
		k := d - (rank - len(b))
		y[d] = a[d]
		if k >= 0 {
			y[d] = max(a[d], b[k])
		}
	}
	return a, b, y
}

// Limit writes a Relu.
func (b *Writer) Limit(shape ...int) {
	s, q := commas(shape...), fmt.Sprintf("q(%g:%d)", float32(0.01+0.1*b.Float64()), b.Zero())
	b.layer("in %%x# : i8[%s] %s\n%%y# : i8[%s] %s = Relu(%%x#)", s, q, s, q)
}

// Add writes an addition of two activations.
func (b *Writer) Add(shape ...int) {
	s := commas(shape...)
	x, y := 0.01+0.1*b.Float64(), 0.01+0.1*b.Float64()
	z := (x + y) * (0.2 + b.Float64())
	act := strings.TrimPrefix(b.act(z), ", ")
	b.layer("in %%x# : i8[%s] q(%g:%d)\nin %%v# : i8[%s] q(%g:%d)\n%%y# : i8[%s] q(%g:%d) = Add(%%x#, %%v#) {%s}", s,
		float32(x), b.Zero(), s, float32(y), b.Zero(), s, float32(z), b.Zero(), act)
}

// Mul writes a product of two activations.
func (b *Writer) Mul(shape ...int) {
	s := commas(shape...)
	x, y := 0.01+0.1*b.Float64(), 0.01+0.1*b.Float64()
	b.layer("in %%x# : i8[%s] q(%g:%d)\nin %%v# : i8[%s] q(%g:%d)\n%%y# : i8[%s] q(%g:%d) = Mul(%%x#, %%v#)", s,
		float32(x), b.Zero(), s, float32(y), b.Zero(), s, float32(x*y*float64(b.In(30, 100))), b.Zero())
}

// Pair writes an operator on two int8 tensors with broadcasting.
func (b *Writer) Pair() {
	ops := strings.Fields("Add Add Sub Sub Mul Mul Div Max Min Less LessOrEqual Greater GreaterOrEqual")
	op := ops[b.IntN(len(ops))]
	x, y := 0.01+0.1*b.Float64(), 0.01+0.1*b.Float64()
	if b.Chance(20) {
		y = x
	}
	z := 0.0
	switch op {
	case "Add", "Sub":
		z = (x + y) * (0.2 + b.Float64())
		if b.Chance(20) {
			z = x + y
		}
	case "Mul":
		z = x * y * float64(b.In(2, 300))
	case "Div":
		z = x / y / float64(b.One(1, 2, 5, 30, 100))
	case "Max", "Min":
		y, z = x, x
	}
	zx, zy, zo := b.Zero(), b.Zero(), b.Zero()
	if op == "Max" || op == "Min" {
		zy, zo = zx, zx
	}
	sa, sb, sy := pairShapes(b.Rand, 6000)
	b.binary(op, [3]float64{x, y, z}, [3]int{zx, zy, zo}, [3][]int{sa, sb, sy})
}

// Sum writes an addition of two int8 tensors with broadcasting that is too small for
// tables. Most have ratios of steps without a linear function.
func (b *Writer) Sum() {
	x := 0.01 + 0.1*b.Float64()
	y, z, zeros := x*(0.8+0.4*b.Float64()), 1.7*x, [3]int{b.In(-9, 9), b.In(-9, 9), b.In(-9, 9)}
	if b.Chance(85) {
		y, z, zeros = 0.8731807*x, 1.6534649*x, [3]int{-3, 29, 13}
	}
	sa, sb, sy := pairShapes(b.Rand, 500)
	for slices.Equal(sa, sb) {
		sa, sb, sy = pairShapes(b.Rand, 500)
	}
	b.binary("Add", [3]float64{x, y, z}, zeros, [3][]int{sa, sb, sy})
}

// binary writes an operator on operands in the first two steps, the result in those
// of the third, or bool where that is 0.
func (b *Writer) binary(op string, steps [3]float64, zeros [3]int, shapes [3][]int) {
	act := ""
	if steps[2] > 0 && steps[0] != steps[2] {
		act = strings.TrimPrefix(b.act(steps[2]), ", ")
	}
	if op == "Div" {
		act = ""
	}
	q := func(i int) string {
		return fmt.Sprintf("i8[%s] q(%g:%d)", commas(shapes[i]...), float32(steps[i]), zeros[i])
	}
	out := q(2)
	if steps[2] == 0 {
		out, act = fmt.Sprintf("bool[%s]", commas(shapes[2]...)), ""
	}
	second := "in %v# : " + q(1)
	if b.Chance(25) {
		second = "const %v# : " + q(1) + " = rand #"
	}
	b.either(b.Chance(30), op, q(0), second, out, act)
}

// either writes an operator on x# and a second operand v#, or the other way round.
func (b *Writer) either(swapped bool, op, x, second, y, act string) {
	args := "%x#, %v#"
	if swapped {
		args = "%v#, %x#"
	}
	b.layer("in %%x# : %s\n%s\n%%y# : %s = %s(%s) {%s}", x, second, y, op, args, act)
}

// WideKind makes layers on int16 data for a row that every family has.
type WideKind struct {
	Row   string
	Build func(b *Writer)
}

// WideKinds are the element-wise operators and pools on int16 data.
var WideKinds = []WideKind{{"nncc_pairs_s16", (*Writer).WidePair}, {"nncc_lines_s16", (*Writer).WideLine},
	{"nncc_avg_pool_s16", widePool("AveragePool")}, {"nncc_max_pool_s16", widePool("MaxPool")},
	{"nncc_interpolated_lut_s16", (*Writer).WideTable}}

// scale16 is a scale of int16 data.
func (b *Writer) scale16() float64 { return math.Exp2(b.Float64()*12-9) / 256 }

// second is an operand v#: an input, constants, or extreme ones.
func (b *Writer) second(typ string) string {
	switch {
	case b.Chance(75):
		return "in %v# : " + typ
	case b.Chance(30):
		return fmt.Sprintf("const %%v# : %s = splat %d", typ, b.One(-32768, -32767, -1, 1, 32767))
	}
	return "const %v# : " + typ + " = rand #"
}

// WidePair writes an operator on two int16 tensors with broadcasting.
func (b *Writer) WidePair() {
	sa, sb, sy := pairShapes(b.Rand, 6000)
	ops := strings.Fields("Add Add Sub Sub Mul Mul Max Min")
	op := ops[b.IntN(len(ops))]
	x, y := b.scale16(), b.scale16()
	if b.Chance(30) {
		y = x
	}
	z, act := max(x, y)*(0.3+2*b.Float64()), ""
	switch op {
	case "Mul":
		z = x * y * math.Exp2(b.Float64()*18)
	case "Max", "Min":
		y, z = x, x
	}
	if op != "Max" && op != "Min" {
		act = strings.TrimPrefix(b.act(z*256), ", ")
	}
	q := func(shape []int, s float64) string {
		return fmt.Sprintf("i16[%s] q(%g:0)", commas(shape...), float32(s))
	}
	b.either(b.Chance(30), op, q(sa, x), b.second(q(sb, y)), q(sy, z), act)
}

// WideLine writes a straight function of int16 values, or a change of their scale.
func (b *Writer) WideLine() {
	s, x := commas(b.In(1, 3), b.In(1, 40)), b.scale16()
	y := x * math.Exp2(b.Float64()*6-3)
	if b.Chance(40) {
		y = x
	}
	limits, f := "", ""
	switch b.IntN(6) {
	case 0:
		f = "Relu(%x#)"
	case 1:
		f = fmt.Sprintf("LeakyRelu(%%x#) {alpha=%f}", b.Float64()*2-0.5)
	case 2:
		limits = fmt.Sprintf("const %%l# : f32[] = {%f}\nconst %%h# : f32[] = {%f}\n", -x*float64(b.In(0, 40000)),
			x*float64(b.In(0, 40000)))
		f = "Clip(%x#, %l#, %h#)"
	case 3:
		f = "Abs(%x#)"
	case 4:
		f = "Neg(%x#)"
	default:
		f = "nncc.Requantize(%x#)"
	}
	b.layer("in %%x# : i16[%s] q(%g:0)\n%s%%y# : i16[%s] q(%g:0) = %s", s, float32(x), limits, s, float32(y), f)
}

// WideTable writes a function of int16 values that is interpolated.
func (b *Writer) WideTable() {
	s, ops := commas(b.In(1, 3), b.In(1, 40)), strings.Fields("Sigmoid Tanh Exp HardSwish Erf")
	op := ops[b.IntN(len(ops))]
	b.layer("in %%x# : i16[%s] q(%g:0)\n%%y# : i16[%s] q(%g:0) = %s(%%x#)", s, float32(math.Exp2(b.Float64()*4-14)), s,
		float32(math.Exp2(b.Float64()*4-15)), op)
}

// widePool is a pooling of int16 maps.
func widePool(kind string) func(b *Writer) {
	return func(b *Writer) {
		rank := b.One(1, 2, 2)
		size, kernel, stride := make([]int, rank), make([]int, rank), make([]int, rank)
		for d := range rank {
			size[d] = b.In(1, 9)
			kernel[d], stride[d] = min(b.In(1, 5), size[d]), b.In(1, 3)
		}
		if b.Chance(20) {
			copy(kernel, size)
		}
		b.pool("i16", kind, b.One(1, 1, 2), b.One(1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 24), size, kernel, stride, nil)
	}
}

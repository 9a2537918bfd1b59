// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"fmt"
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
	b.n++
	n, s, q := b.n, commas(shape...), fmt.Sprintf("q(%g:%d)", float32(0.01+0.1*b.Float64()), b.Zero())
	fmt.Fprintf(&b.text, "in %%x%d : i8[%s] %s\n%%y%d : i8[%s] %s = Relu(%%x%d)\n", n, s, q, n, s, q, n)
	b.outs = append(b.outs, fmt.Sprintf("y%d", n))
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
	b.n++
	n := b.n
	sa, sb, sy := shapes[0], shapes[1], shapes[2]
	x, y, z, zx, zy, zo := steps[0], steps[1], steps[2], zeros[0], zeros[1], zeros[2]
	act := ""
	if z > 0 && x != z {
		act = strings.TrimPrefix(b.act(z), ", ")
	}
	if op == "Div" {
		act = ""
	}
	out := fmt.Sprintf("i8[%s] q(%g:%d)", commas(sy...), float32(z), zo)
	if z == 0 {
		out, act = fmt.Sprintf("bool[%s]", commas(sy...)), ""
	}
	second := fmt.Sprintf("in %%v%d : i8[%s] q(%g:%d)", n, commas(sb...), float32(y), zy)
	if b.Chance(25) {
		second = fmt.Sprintf("const %%v%d : i8[%s] q(%g:%d) = rand %d", n, commas(sb...), float32(y), zy, n)
	}
	first, last := "x", "v"
	if b.Chance(30) {
		first, last = last, first
	}
	fmt.Fprintf(&b.text, "in %%x%d : i8[%s] q(%g:%d)\n%s\n%%y%d : %s = %s(%%%s%d, %%%s%d) {%s}\n", n, commas(sa...),
		float32(x), zx, second, n, out, op, first, n, last, n, act)
	b.outs = append(b.outs, fmt.Sprintf("y%d", n))
}

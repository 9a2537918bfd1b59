// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"fmt"
	"math"
	"strings"
)

// BatchMatMul16 writes products of two int16 activations, as BatchMatMul does.
func (b *Writer) BatchMatMul16() {
	k := b.One(1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 64, b.In(1, 140))
	left, right, out := b.matrices(b.One(1, 2, 3, b.In(1, 9)), k, b.One(1, 2, 3, 4, 5, 8, b.In(1, 20)))
	b.n++
	x, y := float64(float32(b.scale16())), float64(float32(b.scale16()))
	// Results from far inside of the range to far outside.
	scale := x * y * math.Sqrt(float64(k)) * 20000 * (0.3 + 2*b.Float64()) *
		math.Exp2(float64(b.One(0, 0, 0, -3, 9, 18)))
	left16 := b.turned("i16", fmt.Sprintf("a%d", b.n), left, x, 0)
	right16 := b.turned("i16", fmt.Sprintf("b%d", b.n), right, y, 0)
	q := fmt.Sprintf("q(%g:0)", float32(scale))
	fmt.Fprintf(&b.text, "%%p%d : i16[%s] %s = MatMul(%%%s, %%%s)%s\n", b.n, commas(out...), q, left16, right16,
		[]string{"", " {act_min=0.0}"}[b.IntN(2)])
	if b.Chance(50) {
		b.outs = append(b.outs, fmt.Sprintf("p%d", b.n))
		return
	}
	fmt.Fprintf(&b.text, "%%y%d : i16[%s] %s = Transpose(%%p%d) {perm=[0,2,1,3]}\n", b.n, commas(out[0], out[2], out[1],
		out[3]), q, b.n)
	b.outs = append(b.outs, fmt.Sprintf("y%d", b.n))
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

// second is an operand: an input, constants, or extreme ones.
func (b *Writer) second(name, typ string) string {
	switch {
	case b.Chance(75):
		return fmt.Sprintf("in %%%s : %s", name, typ)
	case b.Chance(30):
		return fmt.Sprintf("const %%%s : %s = splat %d", name, typ, b.One(-32768, -32767, -1, 1, 32767))
	}
	return fmt.Sprintf("const %%%s : %s = rand %d", name, typ, b.n)
}

// WidePair writes an operator on two int16 tensors with broadcasting.
func (b *Writer) WidePair() {
	b.n++
	n := b.n
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
	first, last := "x", "v"
	if b.Chance(30) {
		first, last = last, first
	}
	fmt.Fprintf(&b.text, "in %%x%d : %s\n%s\n%%y%d : %s = %s(%%%s%d, %%%s%d) {%s}\n", n, q(sa, x),
		b.second(fmt.Sprintf("v%d", n), q(sb, y)), n, q(sy, z), op, first, n, last, n, act)
	b.outs = append(b.outs, fmt.Sprintf("y%d", n))
}

// WideLine writes a straight function of int16 values, or a change of their scale.
func (b *Writer) WideLine() {
	b.n++
	n, s, x := b.n, commas(b.In(1, 3), b.In(1, 40)), b.scale16()
	y := x * math.Exp2(b.Float64()*6-3)
	if b.Chance(40) {
		y = x
	}
	q := fmt.Sprintf("i16[%s] q(%g:0)", s, float32(y))
	fmt.Fprintf(&b.text, "in %%x%d : i16[%s] q(%g:0)\n", n, s, float32(x))
	switch b.IntN(6) {
	case 0:
		fmt.Fprintf(&b.text, "%%y%d : %s = Relu(%%x%d)\n", n, q, n)
	case 1:
		fmt.Fprintf(&b.text, "%%y%d : %s = LeakyRelu(%%x%d) {alpha=%f}\n", n, q, n, b.Float64()*2-0.5)
	case 2:
		fmt.Fprintf(&b.text, "const %%l%d : f32[] = {%f}\nconst %%h%d : f32[] = {%f}\n%%y%d : %s = "+
			"Clip(%%x%d, %%l%d, %%h%d)\n", n, -x*float64(b.In(0, 40000)), n, x*float64(b.In(0, 40000)), n, q, n, n, n)
	case 3:
		fmt.Fprintf(&b.text, "%%y%d : %s = Abs(%%x%d)\n", n, q, n)
	case 4:
		fmt.Fprintf(&b.text, "%%y%d : %s = Neg(%%x%d)\n", n, q, n)
	default:
		fmt.Fprintf(&b.text, "%%y%d : %s = nncc.Requantize(%%x%d)\n", n, q, n)
	}
	b.outs = append(b.outs, fmt.Sprintf("y%d", n))
}

// WideTable writes a function of int16 values that is interpolated.
func (b *Writer) WideTable() {
	b.n++
	n, s := b.n, commas(b.In(1, 3), b.In(1, 40))
	ops := strings.Fields("Sigmoid Tanh Exp HardSwish Erf")
	op := ops[b.IntN(len(ops))]
	fmt.Fprintf(&b.text, "in %%x%d : i16[%s] q(%g:0)\n%%y%d : i16[%s] q(%g:0) = %s(%%x%d)\n", n, s,
		float32(math.Exp2(b.Float64()*4-14)), n, s, float32(math.Exp2(b.Float64()*4-15)), op, n)
	b.outs = append(b.outs, fmt.Sprintf("y%d", n))
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

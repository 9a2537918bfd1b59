// SPDX-License-Identifier: Apache-2.0

// Package kerneltest drives kernels by random layers: it compiles graphs with a
// table of kernels, runs the emitted C on the host under the sanitizers, on QEMU
// and on an installed CMSIS-NN, and compares with the interpreter.
package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// Writer writes random layers as IR text: inputs, constants and one operator
// each, all results outputs.
type Writer struct {
	*rand.Rand
	// Int4 makes weights of convolutions and products int4, one layer in three.
	Int4 bool
	// Symmetric keeps weights of Gemm from -128, as quantisers do.
	Symmetric bool
	// Fine is by how many powers of two, at most, steps of results of convolutions
	// and products are finer than usual.
	Fine int
	text strings.Builder
	outs []string
	n    int
}

// weightType is the type of a layer's weights, and how much smaller than int8 they
// are. What is drawn does not depend on it.
func (b *Writer) weightType() (string, float64) {
	if b.Int4 && b.n%3 == 0 {
		return "i4", 1.0 / 16
	}
	return "i8", 1
}

// NewWriter starts a graph of layers.
func NewWriter(seed uint64) *Writer {
	return &Writer{Rand: rand.New(rand.NewPCG(seed, 77))}
}

// In is a number in [lo, hi], One one of v, Chance true in pct of 100 cases.
func (b *Writer) In(lo, hi int) int { return lo + b.IntN(hi-lo+1) }

// One draws one of the values.
func (b *Writer) One(v ...int) int { return v[b.IntN(len(v))] }

// Chance is true in so many percent of draws.
func (b *Writer) Chance(pct int) bool { return b.IntN(100) < pct }

// Graph parses what was written.
func (b *Writer) Graph(t testing.TB) *ir.Graph {
	t.Helper()
	text := "graph \"layers\" {\n" + b.text.String()
	for _, o := range b.outs {
		text += fmt.Sprintf("out %q = %%%s\n", o, o)
	}
	g, err := ir.Parse(text+"}\n", op.Get)
	if err != nil {
		t.Fatalf("%v\n%.4000s", err, text)
	}
	return g
}

// Zero is a zero point, often an extreme one.
func (b *Writer) Zero() int { return b.One(-128, -128, 127, 0, b.In(-128, 127)) }

// commas is comma separated.
func commas(v ...int) string {
	s := make([]string, len(v))
	for i, x := range v {
		s[i] = fmt.Sprint(x)
	}
	return strings.Join(s, ",")
}

// act is an absorbed activation: none, Relu, Relu6 or a clamp of both sides.
func (b *Writer) act(scale float64) string {
	switch b.IntN(5) {
	case 0, 1:
		return ", act_min=0.0"
	case 2:
		return fmt.Sprintf(", act_min=0.0, act_max=%f", scale*float64(b.In(1, 300)))
	case 3:
		return fmt.Sprintf(", act_min=%f, act_max=%f", -scale*float64(b.In(0, 100)), scale*float64(b.In(0, 100)))
	}
	return ""
}

// step is what steps of results are multiplied by, a power of two from Fine on.
func (b *Writer) step() float64 {
	if b.Fine == 0 {
		return 1
	}
	return math.Ldexp(1, -b.In(1, b.Fine))
}

// ConvCase is a convolution; zero fields are drawn.
type ConvCase struct {
	Batch, CIn, COut, Group int
	Size, Kernel            []int
	Stride, Dil             []int
	Pads                    []int  // begin..., end...; nil: drawn
	Plain                   bool   // Relu on zero point -128, as networks have it
	Signed                  bool   // no activation
	Then                    string // an operator of each result, fused with the convolution
	Plus                    bool   // another tensor is added at the end, fused, too
	Wide                    bool   // int16 data and an int64 bias
}

// types are those of data and biases, and the least step of a bias.
func (c *ConvCase) types() (data, bias string, unit int) {
	if c.Wide {
		return "i16", "i64", 256
	}
	return "i8", "i32", 1
}

// ends are an activation and the zero points of output and input.
func (b *Writer) ends(c *ConvCase, scale float64) (act string, yz, xz int) {
	act, yz, xz = b.act(scale), b.Zero(), b.Zero()
	if c.Signed {
		act = ""
	}
	switch {
	case c.Wide:
		return act, 0, 0
	case c.Plain:
		return ", act_min=0.0", -128, -128
	}
	return act, yz, xz
}

// Conv writes a convolution.
func (b *Writer) Conv(c ConvCase) {
	b.n++
	n, rank := b.n, len(c.Size)
	out := make([]int, rank)
	depth := c.CIn / c.Group
	if c.Pads == nil {
		c.Pads = make([]int, 2*rank)
		for d := range rank {
			if b.Chance(60) {
				c.Pads[d], c.Pads[rank+d] = b.In(0, (c.Kernel[d]-1)*c.Dil[d]), b.In(0, (c.Kernel[d]-1)*c.Dil[d])
			}
		}
	}
	for d := range rank {
		span := (c.Kernel[d]-1)*c.Dil[d] + 1
		for c.Size[d]+c.Pads[d]+c.Pads[rank+d] < span {
			c.Pads[b.One(d, rank+d)]++
		}
		out[d] = (c.Size[d]+c.Pads[d]+c.Pads[rank+d]-span)/c.Stride[d] + 1
		depth *= c.Kernel[d]
	}
	xs := 0.01 + 0.1*b.Float64()
	ws, wq := b.weightScales(c.COut)
	weight, part := b.weightType()
	ys := b.step() * part * xs * ws * math.Sqrt(float64(depth)) * 74 * 74 / 50 * (0.3 + 2*b.Float64())
	data, sums, unit := c.types()
	if c.Wide {
		xs, ys = xs/256, ys*50/74/256
	}
	act, yz, xz := b.ends(&c, ys*float64(unit))
	bias, biasArg := "", ""
	if b.Chance(70) {
		v := make([]int, c.COut)
		for i := range v {
			v[i] = b.In(-4000, 4000) * unit
		}
		bias, biasArg = fmt.Sprintf("const %%b%d : %s[%d] = {%s}\n", n, sums, c.COut, commas(v...)),
			fmt.Sprintf(", %%b%d", n)
	}
	in := fmt.Sprintf("in %%x%d : %s[%d,%d,%s] q(%g:%d)\n", n, data, c.Batch, c.CIn, commas(c.Size...), float32(xs), xz)
	values := fmt.Sprintf("rand %d", b.In(1, 1<<30))
	if c.Then != "" && !c.Plus { // the kernel that takes it on small cores knows no -128 beside another one
		v := make([]int, c.COut*depth)
		for i := range v {
			v[i] = b.In(-127, 127)
		}
		if weight == "i8" {
			values = "{" + commas(v...) + "}"
		}
	}
	if b.Symmetric && weight == "i8" {
		values = "{" + commas(narrow(b.n, c.COut*depth)...) + "}"
	}
	weights := fmt.Sprintf("const %%w%d : %s[%d,%d,%s] %s = %s\n%s", n, weight, c.COut, c.CIn/c.Group,
		commas(c.Kernel...), wq, values, bias)
	shape := fmt.Sprintf("%s[%d,%d,%s]", data, c.Batch, c.COut, commas(out...))
	conv := func(name string) string {
		return fmt.Sprintf("%%%s%d : %s q(%g:%d) = Conv(%%x%d, %%w%d%s) {group=%d, strides=[%s], dilations=[%s], "+
			"pads=[%s]%s}\n", name, n, shape,
			float32(ys), yz, n, n, biasArg, c.Group, commas(c.Stride...), commas(c.Dil...), commas(c.Pads...), act)
	}
	if c.Then == "" && !c.Plus {
		b.text.WriteString(in + weights + conv("y"))
	} else {
		b.fused(c, shape, ys, in, weights+conv("c"))
	}
	b.outs = append(b.outs, fmt.Sprintf("y%d", n))
}

// Line appends a factor and a summand for each channel: a depthwise convolution of single elements.
func (b *Writer) Line() { b.line(1, 1) }

func (b *Writer) line(strides ...int) {
	c := b.One(2, 3, 4, 5, 8, 11, 16, 33)
	b.Conv(ConvCase{Batch: b.One(1, 1, 2), CIn: c, COut: c, Group: c, Size: []int{b.In(1, 9), b.In(1, 9)},
		Kernel: []int{1, 1}, Stride: strides, Dil: []int{1, 1}})
}

// ConvTranspose writes a transposed convolution with padding on every side, now
// and then more of it than the kernel has.
func (b *Writer) ConvTranspose() { b.convTranspose(false) }

// ConvTranspose16 is ConvTranspose on int16 data.
func (b *Writer) ConvTranspose16() { b.convTranspose(true) }

func (b *Writer) convTranspose(wide bool) {
	b.n++
	n, rank, group := b.n, b.One(1, 2, 2, 2), b.One(1, 1, 1, 1, 2, 3)
	ci, co := group*b.One(1, 2, 3, 4, 5, 8, 12, 16, 19), group*b.One(1, 2, 3, 4, 5, 7, 8, 9, 16)
	if b.Chance(25) { // depthwise
		group = b.One(2, 3, 4, 7, 8, 16, 21)
		ci, co = group, group*b.One(1, 1, 1, 2)
	}
	g, batch := DrawTransposed(rank, b.In), b.One(1, 1, 2)
	xs := 0.01 + 0.1*b.Float64()
	ws := 0.002 + 0.01*b.Float64()
	ys := xs * ws * math.Sqrt(float64(ci*g.Kernel[0])) * 74 * 74 / 50 * (0.3 + 2*b.Float64())
	v := make([]int, co)
	for i := range v {
		v[i] = b.In(-4000, 4000)
	}
	x, bias, xz, scales := "i8", "i32", b.Zero(), fmt.Sprintf("%g:0", float32(ws))
	if wide {
		x, bias, xz = "i16", "i64", 0
		if group == 1 && b.Chance(60) {
			scales = "axis=1"
			for range co {
				scales += fmt.Sprintf(",%g:0", float32(ws*(0.3+b.Float64())))
			}
		}
	}
	fmt.Fprintf(&b.text, "in %%x%d : %s[%d,%d,%s] q(%g:%d)\nconst %%w%d : i8[%d,%d,%s] q(%s) = rand %d\n"+
		"const %%b%d : %s[%d] = {%s}\n", n, x, batch, ci, commas(g.Size...), float32(xs), xz, n, ci,
		co/group, commas(g.Kernel...), scales, b.In(1, 1<<30), n, bias, co, commas(v...))
	yz := b.Zero()
	if wide {
		yz = 0
	}
	fmt.Fprintf(&b.text, "%%y%d : %s[%d,%d,%s] q(%g:%d) = ConvTranspose(%%x%d, %%w%d, %%b%d) {group=%d, strides=[%s], "+
		"dilations=[%s], pads=[%s], output_padding=[%s]%s}\n", n, x, batch, co, commas(g.Out...), float32(ys), yz, n,
		n, n, group,
		commas(g.Strides...), commas(g.Dilations...), commas(g.Pads...), commas(g.Extra...), b.act(ys))
	b.outs = append(b.outs, fmt.Sprintf("y%d", n))
}

// Transposed is the geometry of a transposed convolution; Extra is its output padding.
type Transposed struct{ Size, Kernel, Strides, Dilations, Pads, Extra, Out []int }

// DrawTransposed draws one with the help of a number in [lo, hi].
func DrawTransposed(rank int, in func(lo, hi int) int) *Transposed {
	g := &Transposed{Pads: make([]int, 2*rank)}
	for d := range rank {
		size, kernel, stride, dilation := in(1, 9), in(1, 5), in(1, 3), max(1, in(0, 2))
		span := (kernel-1)*dilation + 1
		extra := in(0, max(stride, dilation)-1)
		full := (size-1)*stride + span + extra
		first := min(in(0, span+1), full-1)
		last := min(in(0, span-1), full-1-first)
		g.Size, g.Kernel, g.Strides = append(g.Size, size), append(g.Kernel, kernel), append(g.Strides, stride)
		g.Dilations, g.Extra = append(g.Dilations, dilation), append(g.Extra, extra)
		g.Pads[d], g.Pads[rank+d], g.Out = first, last, append(g.Out, full-first-last)
	}
	return g
}

// fused writes a node of the convolution %c, of the scale cs, and what follows it.
func (b *Writer) fused(c ConvCase, shape string, cs float64, in, conv string) {
	n := b.n
	q := fmt.Sprintf("q(%g:%d)", float32(0.01+0.05*b.Float64()), b.Zero())
	args, last := fmt.Sprintf("%%x%d", n), fmt.Sprintf("%%c%d", n)
	if c.Then != "" {
		next := fmt.Sprintf("%%y%d", n)
		if c.Plus {
			next = fmt.Sprintf("%%t%d", n)
		}
		conv += fmt.Sprintf("%s : %s %s = %s(%s)\n", next, shape, q, c.Then, last)
		last, cs = next, 0.03
	}
	if c.Plus {
		other := cs * (0.3 + 2*b.Float64())
		in += fmt.Sprintf("in %%v%d : %s q(%g:%d)\n", n, shape, float32(other), b.Zero())
		args += fmt.Sprintf(", %%v%d", n)
		q = fmt.Sprintf("q(%g:%d)", float32((cs+other)*(0.3+b.Float64())), b.Zero())
		sum := []string{last, fmt.Sprintf("%%v%d", n)}
		if b.Chance(50) {
			sum[0], sum[1] = sum[1], sum[0]
		}
		conv += fmt.Sprintf("%%y%d : %s %s = Add(%s, %s) {%s}\n", n, shape, q, sum[0], sum[1],
			strings.TrimPrefix(b.act(cs), ", "))
	}
	fmt.Fprintf(&b.text, "%s%%y%d : %s %s = nncc.Fused(%s) body \"b\" {\n%s%sout \"y\" = %%y%d\n}\n", in, n, shape, q,
		args, in, conv, n)
}

// weightScales are a typical weight scale and the quantisation of n channels;
// some channels have scales far from it.
func (b *Writer) weightScales(n int) (float64, string) {
	s := 0.002 + 0.01*b.Float64()
	if b.Chance(30) {
		return s, fmt.Sprintf("q(%g:0)", float32(s))
	}
	var q []string
	for range n {
		x := s * (0.4 + 1.2*b.Float64())
		if b.Chance(4) {
			x *= math.Pow(2, -20*b.Float64())
		}
		q = append(q, fmt.Sprintf("%g:0", float32(x)))
	}
	return s, "q(axis=0," + strings.Join(q, ",") + ")"
}

// Gemm writes a fully connected layer with weights [n,k].
func (b *Writer) Gemm(m, k, n int) {
	b.n++
	i := b.n
	xs := 0.01 + 0.1*b.Float64()
	ws, wq := b.weightScales(n)
	weight, part := b.weightType()
	ys := b.step() * part * xs * ws * math.Sqrt(float64(k)) * 74 * 74 / 50 * (0.3 + 2*b.Float64())
	v := make([]int, n)
	for c := range v {
		v[c] = b.In(-9000, 9000)
	}
	zero, seed := b.Zero(), b.In(1, 1<<30)
	w := fmt.Sprintf("rand %d", seed)
	if b.Symmetric && weight == "i8" {
		w = "{" + commas(narrow(seed, n*k)...) + "}"
	}
	fmt.Fprintf(&b.text, "in %%x%d : i8[%d,%d] q(%g:%d)\nconst %%w%d : %s[%d,%d] %s = %s\nconst %%b%d : "+
		"i32[%d] = {%s}\n", i, m, k, float32(xs), zero, i, weight, n, k, wq, w, i, n, commas(v...))
	fmt.Fprintf(&b.text, "%%y%d : i8[%d,%d] q(%g:%d) = Gemm(%%x%d, %%w%d, %%b%d) {transB=1%s}\n", i, m, n, float32(ys),
		b.Zero(), i, i, i, b.act(ys))
	b.outs = append(b.outs, fmt.Sprintf("y%d", i))
}

// narrow are n weights of int8 without -128.
func narrow(seed, n int) []int {
	r, v := rand.New(rand.NewPCG(uint64(seed), 0)), make([]int, n)
	for i := range v {
		v[i] = r.IntN(255) - 127
	}
	return v
}

// Gemm16 writes a fully connected layer on int16 data.
func (b *Writer) Gemm16(m, k, n int) {
	b.n++
	i := b.n
	xs := (0.01 + 0.1*b.Float64()) / 256
	ws, wq := b.weightScales(n)
	ys := xs * ws * math.Sqrt(float64(k)) * 74 * (0.3 + 2*b.Float64())
	v := make([]int, n)
	for c := range v {
		v[c] = b.In(-1<<20, 1<<20)
	}
	fmt.Fprintf(&b.text, "in %%x%d : i16[%d,%d] q(%g:0)\nconst %%w%d : i8[%d,%d] %s = rand %d\nconst %%b%d : "+
		"i64[%d] = {%s}\n", i, m, k, float32(xs), i, n, k, wq, b.In(1, 1<<30), i, n, commas(v...))
	fmt.Fprintf(&b.text, "%%y%d : i16[%d,%d] q(%g:0) = Gemm(%%x%d, %%w%d, %%b%d) {transB=1%s}\n", i, m, n, float32(ys),
		i, i, i, b.act(ys*256))
	b.outs = append(b.outs, fmt.Sprintf("y%d", i))
}

// Add writes an addition of two activations.
func (b *Writer) Add(shape ...int) {
	b.n++
	n, s := b.n, commas(shape...)
	x, y := 0.01+0.1*b.Float64(), 0.01+0.1*b.Float64()
	z := (x + y) * (0.2 + b.Float64())
	act := strings.TrimPrefix(b.act(z), ", ")
	fmt.Fprintf(&b.text, "in %%x%d : i8[%s] q(%g:%d)\nin %%v%d : i8[%s] q(%g:%d)\n%%y%d : i8[%s] q(%g:%d) = "+
		"Add(%%x%d, %%v%d) {%s}\n", n, s, float32(x), b.Zero(),
		n, s, float32(y), b.Zero(), n, s, float32(z), b.Zero(), n, n, act)
	b.outs = append(b.outs, fmt.Sprintf("y%d", n))
}

// Mul writes a product of two activations.
func (b *Writer) Mul(shape ...int) {
	b.n++
	n, s := b.n, commas(shape...)
	x, y := 0.01+0.1*b.Float64(), 0.01+0.1*b.Float64()
	fmt.Fprintf(&b.text, "in %%x%d : i8[%s] q(%g:%d)\nin %%v%d : i8[%s] q(%g:%d)\n%%y%d : i8[%s] q(%g:%d) = "+
		"Mul(%%x%d, %%v%d)\n", n, s, float32(x), b.Zero(),
		n, s, float32(y), b.Zero(), n, s, float32(x*y*float64(b.In(30, 100))), b.Zero(), n, n)
	b.outs = append(b.outs, fmt.Sprintf("y%d", n))
}

// Softmax writes a softmax of rows, with scales from flat to steep.
func (b *Writer) Softmax(rows, size int) {
	b.n++
	fmt.Fprintf(&b.text, "in %%x%d : i8[%d,%d] q(%g:%d)\n%%y%d : i8[%d,%d] q(0.00390625:-128) = Softmax(%%x%d)\n", b.n,
		rows, size, float32(math.Exp2(float64(b.In(-8, 1)))*(0.5+b.Float64())), b.Zero(), b.n, rows, size, b.n)
	b.outs = append(b.outs, fmt.Sprintf("y%d", b.n))
}

// turned writes a transposed input whose result has the shape: its name.
func (b *Writer) turned(elem, name string, shape []int, scale float64, zero int) string {
	perm := [][]int{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 2, 1, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {3, 1, 0, 2}}[b.IntN(6)]
	from := make([]int, len(shape))
	for i, d := range perm {
		from[d] = shape[i]
	}
	fmt.Fprintf(&b.text, "in %%%s.x : %s[%s] q(%g:%d)\n%%%s : %s[%s] q(%g:%d) = Transpose(%%%s.x) {perm=[%s]}\n", name,
		elem, commas(from...), scale, zero, name, elem, commas(shape...), scale, zero, name, commas(perm...))
	return name
}

// BatchMatMul writes products of two activations, in any memory order, now and
// then broadcast.
func (b *Writer) BatchMatMul() {
	k := b.One(1, 3, 8, 15, 16, 17, 31, 32, 33, 48, 64, b.In(1, 140))
	b.batchMatMul(b.In(1, 9), k, b.One(1, 2, 3, 4, 5, 8, b.In(1, 20)))
}

// matrices are the shapes of batches of matrices and of their products, now and
// then broadcast.
func (b *Writer) matrices(m, k, n int) (left, right, out []int) {
	batch := []int{b.In(1, 2), b.In(1, 3)}
	left, right = []int{batch[0], batch[1], m, k}, []int{batch[0], batch[1], k, n}
	for i := range batch {
		switch b.IntN(5) {
		case 0:
			left[i] = 1
		case 1:
			right[i] = 1
		}
	}
	return left, right, []int{max(left[0], right[0]), max(left[1], right[1]), m, n}
}

func (b *Writer) batchMatMul(m, k, n int) {
	b.n++
	left, right, out := b.matrices(m, k, n)
	x, y := float64(float32(0.01+0.1*b.Float64())), float64(float32(0.01+0.1*b.Float64()))
	scale := x * y * math.Sqrt(float64(k)) * 74 * 74 / 50 * (0.3 + 2*b.Float64()) *
		math.Exp2(float64(b.One(0, 0, 0, -4, 9)))
	a := b.turned("i8", fmt.Sprintf("a%d", b.n), left, x, b.Zero())
	if k > 1 && b.Chance(20) { // attention: rows that are 256 in all
		fmt.Fprintf(&b.text, "%%s%d : i8[%s] q(0.00390625:-128) = Softmax(%%%s) {axis=3}\n", b.n, commas(left...), a)
		a, x, scale = fmt.Sprintf("s%d", b.n), 1.0/256, y*(0.3+2*b.Float64())
	}
	c := b.turned("i8", fmt.Sprintf("b%d", b.n), right, y, b.Zero())
	q := fmt.Sprintf("q(%g:%d)", max(float32(scale), float32(2.1*x*y)), b.Zero())
	fmt.Fprintf(&b.text, "%%p%d : i8[%s] %s = MatMul(%%%s, %%%s)%s\n", b.n, commas(out...), q, a, c,
		[]string{"", " {act_min=0.0}"}[b.IntN(2)])
	if b.Chance(50) {
		b.outs = append(b.outs, fmt.Sprintf("p%d", b.n))
		return
	}
	fmt.Fprintf(&b.text, "%%y%d : i8[%s] %s = Transpose(%%p%d) {perm=[0,2,1,3]}\n", b.n, commas(out[0], out[2], out[1],
		out[3]), q, b.n)
	b.outs = append(b.outs, fmt.Sprintf("y%d", b.n))
}

// Pool writes a pooling of kind MaxPool or AveragePool; pads nil: drawn.
func (b *Writer) Pool(kind string, batch, channels int, size, kernel, stride, pads []int) {
	b.pool("i8", kind, batch, channels, size, kernel, stride, pads)
}

// pool is Pool for elements of a type.
func (b *Writer) pool(elem, kind string, batch, channels int, size, kernel, stride, pads []int) {
	b.n++
	n, rank := b.n, len(size)
	out, drawn := make([]int, rank), pads == nil
	if drawn {
		pads = make([]int, 2*rank)
	}
	for d := range rank {
		if drawn {
			pads[d], pads[rank+d] = b.In(0, kernel[d]-1), b.In(0, kernel[d]-1)
		}
		out[d] = (size[d]+pads[d]+pads[rank+d]-kernel[d])/stride[d] + 1
		if (out[d]-1)*stride[d]-pads[d] >= size[d] { // a window in the padding alone
			pads[rank+d] = 0
			out[d] = (size[d]+pads[d]-kernel[d])/stride[d] + 1
		}
	}
	scale, zero, unit := 0.01+b.Float64(), b.Zero(), 0.05
	if elem == "i16" {
		zero, unit = 0, 256*scale
	}
	q := fmt.Sprintf("q(%g:%d)", float32(scale), zero)
	fmt.Fprintf(&b.text, "in %%x%d : %s[%d,%d,%s] %s\n%%y%d : %s[%d,%d,%s] %s = %s(%%x%d) {kernel_shape=[%s], "+
		"strides=[%s], pads=[%s]%s}\n", n, elem, batch, channels, commas(size...), q, n, elem, batch, channels,
		commas(out...), q, kind, n, commas(kernel...), commas(stride...), commas(pads...), b.act(unit))
	b.outs = append(b.outs, fmt.Sprintf("y%d", n))
}

// Relayout writes a change of memory order from the logical one.
func (b *Writer) Relayout(shape, order []int) {
	b.n++
	at := make([]string, len(order))
	for i, d := range order {
		at[i] = fmt.Sprint(d)
	}
	fmt.Fprintf(&b.text, "in %%x%d : i8[%s] q(0.5:3)\n%%y%d : i8[%s]@%s q(0.5:3) = nncc.Relayout(%%x%d)\n", b.n,
		commas(shape...), b.n, commas(shape...), strings.Join(at, "."), b.n)
	b.outs = append(b.outs, fmt.Sprintf("y%d", b.n))
}

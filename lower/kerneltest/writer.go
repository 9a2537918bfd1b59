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
	if b.Int4 && (b.n+1)%3 == 0 {
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

// numbers are n of them, up to most times unit on either side of 0.
func (b *Writer) numbers(n, most, unit int) string {
	v := make([]int, n)
	for i := range v {
		v[i] = b.In(-most, most) * unit
	}
	return "{" + commas(v...) + "}"
}

// Text writes a layer as it stands in text, # for its number, which names of values and results end in.
func (b *Writer) Text(text string, outs ...string) {
	b.n++
	n := fmt.Sprint(b.n)
	b.text.WriteString(strings.ReplaceAll(text, "#", n) + "\n")
	for _, o := range outs {
		b.outs = append(b.outs, strings.ReplaceAll(o, "#", n))
	}
}

// layer writes a layer with the result y#.
func (b *Writer) layer(format string, args ...any) { b.Text(fmt.Sprintf(format, args...), "y#") }

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

// outputs draws the padding that is not given, as much as windows need, and gives the size of the result and the
// products of a sum.
func (b *Writer) outputs(c *ConvCase) (out []int, depth int) {
	rank := len(c.Size)
	if c.Pads == nil {
		c.Pads = make([]int, 2*rank)
		for d := range rank {
			if b.Chance(60) {
				c.Pads[d], c.Pads[rank+d] = b.In(0, (c.Kernel[d]-1)*c.Dil[d]), b.In(0, (c.Kernel[d]-1)*c.Dil[d])
			}
		}
	}
	depth = c.CIn / c.Group
	for d := range rank {
		span := (c.Kernel[d]-1)*c.Dil[d] + 1
		for c.Size[d]+c.Pads[d]+c.Pads[rank+d] < span {
			c.Pads[b.One(d, rank+d)]++
		}
		out = append(out, (c.Size[d]+c.Pads[d]+c.Pads[rank+d]-span)/c.Stride[d]+1)
		depth *= c.Kernel[d]
	}
	return out, depth
}

// Conv writes a convolution.
func (b *Writer) Conv(c ConvCase) {
	out, depth := b.outputs(&c)
	xs := 0.01 + 0.1*b.Float64()
	ws, wq := b.weightScales(c.COut)
	weight, part := b.weightType()
	ys := b.step() * part * xs * ws * math.Sqrt(float64(depth)) * 74 * 74 / 50 * (0.3 + 2*b.Float64())
	data, sums, unit := "i8", "i32", 1
	if c.Wide {
		data, sums, unit = "i16", "i64", 256
		xs, ys = xs/256, ys*50/74/256
	}
	act, yz, xz := b.ends(&c, ys*float64(unit))
	bias, biasArg := "", ""
	if b.Chance(70) {
		bias, biasArg = fmt.Sprintf("const %%b# : %s[%d] = %s\n", sums, c.COut, b.numbers(c.COut, 4000, unit)), ", %b#"
	}
	in := fmt.Sprintf("in %%x# : %s[%d,%d,%s] q(%g:%d)\n", data, c.Batch, c.CIn, commas(c.Size...), float32(xs), xz)
	values := fmt.Sprintf("rand %d", b.In(1, 1<<30))
	if c.Then != "" && !c.Plus { // the kernel that takes it on small cores knows no -128 beside another one
		if v := b.numbers(c.COut*depth, 127, 1); weight == "i8" {
			values = v
		}
	}
	if b.Symmetric && weight == "i8" {
		values = narrow(b.n+1, c.COut*depth)
	}
	weights := fmt.Sprintf("const %%w# : %s[%d,%d,%s] %s = %s\n%s", weight, c.COut, c.CIn/c.Group,
		commas(c.Kernel...), wq, values, bias)
	shape := fmt.Sprintf("%s[%d,%d,%s]", data, c.Batch, c.COut, commas(out...))
	conv := fmt.Sprintf(" : %s q(%g:%d) = Conv(%%x#, %%w#%s) {group=%d, strides=[%s], dilations=[%s], pads=[%s]%s}\n",
		shape, float32(ys), yz, biasArg, c.Group, commas(c.Stride...), commas(c.Dil...), commas(c.Pads...), act)
	if c.Then == "" && !c.Plus {
		b.layer("%s%s%%y#%s", in, weights, conv)
	} else {
		b.fused(c, shape, ys, in, weights+"%c#"+conv)
	}
}

// Line appends a factor and a summand for each channel: a depthwise convolution of single elements.
func (b *Writer) Line() {
	c := b.One(2, 3, 4, 5, 8, 11, 16, 33)
	b.Conv(ConvCase{Batch: b.One(1, 1, 2), CIn: c, COut: c, Group: c, Size: []int{b.In(1, 9), b.In(1, 9)},
		Kernel: []int{1, 1}, Stride: []int{1, 1}, Dil: []int{1, 1}})
}

// ConvTranspose writes a transposed convolution with padding on every side, now
// and then more of it than the kernel has.
func (b *Writer) ConvTranspose() { b.convTranspose(false) }

// ConvTranspose16 is ConvTranspose on int16 data.
func (b *Writer) ConvTranspose16() { b.convTranspose(true) }

func (b *Writer) convTranspose(wide bool) {
	rank, group := b.One(1, 2, 2, 2), b.One(1, 1, 1, 1, 2, 3)
	ci, co := group*b.One(1, 2, 3, 4, 5, 8, 12, 16, 19), group*b.One(1, 2, 3, 4, 5, 7, 8, 9, 16)
	if b.Chance(25) { // depthwise
		group = b.One(2, 3, 4, 7, 8, 16, 21)
		ci, co = group, group*b.One(1, 1, 1, 2)
	}
	g := b.transposed(rank)
	batch := b.One(1, 1, 2)
	xs := 0.01 + 0.1*b.Float64()
	ws := 0.002 + 0.01*b.Float64()
	ys := xs * ws * math.Sqrt(float64(ci*g.kernel[0])) * 74 * 74 / 50 * (0.3 + 2*b.Float64())
	biases := b.numbers(co, 4000, 1)
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
	seed, yz := b.In(1, 1<<30), b.Zero()
	if wide {
		yz = 0
	}
	b.layer("in %%x# : %s[%d,%d,%s] q(%g:%d)\nconst %%w# : i8[%d,%d,%s] q(%s) = rand %d\nconst %%b# : %s[%d] = %s\n"+
		"%%y# : %s[%d,%d,%s] q(%g:%d) = ConvTranspose(%%x#, %%w#, %%b#) {group=%d, strides=[%s], dilations=[%s], "+
		"pads=[%s], output_padding=[%s]%s}", x, batch, ci, commas(g.size...), float32(xs), xz, ci, co/group,
		commas(g.kernel...), scales, seed, bias, co, biases, x, batch, co, commas(g.out...), float32(ys), yz, group,
		commas(g.strides...), commas(g.dilations...), commas(g.pads...), commas(g.extra...), b.act(ys))
}

// transposed is the geometry of a transposed convolution; extra is its output padding.
type transposed struct{ size, kernel, strides, dilations, pads, extra, out []int }

func (b *Writer) transposed(rank int) *transposed {
	g := &transposed{pads: make([]int, 2*rank)}
	for d := range rank {
		size, kernel, stride, dilation := b.In(1, 9), b.In(1, 5), b.In(1, 3), max(1, b.In(0, 2))
		span := (kernel-1)*dilation + 1
		extra := b.In(0, max(stride, dilation)-1)
		full := (size-1)*stride + span + extra
		first := min(b.In(0, span+1), full-1)
		last := min(b.In(0, span-1), full-1-first)
		g.size, g.kernel, g.strides = append(g.size, size), append(g.kernel, kernel), append(g.strides, stride)
		g.dilations, g.extra = append(g.dilations, dilation), append(g.extra, extra)
		g.pads[d], g.pads[rank+d], g.out = first, last, append(g.out, full-first-last)
	}
	return g
}

// fused writes a node of the convolution %c#, of the scale cs, and what follows it.
func (b *Writer) fused(c ConvCase, shape string, cs float64, in, conv string) {
	q := fmt.Sprintf("q(%g:%d)", float32(0.01+0.05*b.Float64()), b.Zero())
	args, last := "%x#", "%c#"
	if c.Then != "" {
		next := "%y#"
		if c.Plus {
			next = "%t#"
		}
		conv += fmt.Sprintf("%s : %s %s = %s(%s)\n", next, shape, q, c.Then, last)
		last, cs = next, 0.03
	}
	if c.Plus {
		other := cs * (0.3 + 2*b.Float64())
		in += fmt.Sprintf("in %%v# : %s q(%g:%d)\n", shape, float32(other), b.Zero())
		args += ", %v#"
		q = fmt.Sprintf("q(%g:%d)", float32((cs+other)*(0.3+b.Float64())), b.Zero())
		sum := []string{last, "%v#"}
		if b.Chance(50) {
			sum[0], sum[1] = sum[1], sum[0]
		}
		conv += fmt.Sprintf("%%y# : %s %s = Add(%s, %s) {%s}\n", shape, q, sum[0], sum[1],
			strings.TrimPrefix(b.act(cs), ", "))
	}
	b.layer("%s%%y# : %s %s = nncc.Fused(%s) body \"b\" {\n%s%sout \"y\" = %%y#\n}", in, shape, q, args, in, conv)
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
	xs := 0.01 + 0.1*b.Float64()
	ws, wq := b.weightScales(n)
	weight, part := b.weightType()
	ys := b.step() * part * xs * ws * math.Sqrt(float64(k)) * 74 * 74 / 50 * (0.3 + 2*b.Float64())
	bias, zero, seed := b.numbers(n, 9000, 1), b.Zero(), b.In(1, 1<<30)
	w := fmt.Sprintf("rand %d", seed)
	if b.Symmetric && weight == "i8" {
		w = narrow(seed, n*k)
	}
	b.layer("in %%x# : i8[%d,%d] q(%g:%d)\nconst %%w# : %s[%d,%d] %s = %s\nconst %%b# : i32[%d] = %s\n"+
		"%%y# : i8[%d,%d] q(%g:%d) = Gemm(%%x#, %%w#, %%b#) {transB=1%s}", m, k, float32(xs), zero, weight, n, k, wq, w,
		n, bias, m, n, float32(ys), b.Zero(), b.act(ys))
}

// narrow are n weights of int8 without -128.
func narrow(seed, n int) string {
	r, v := rand.New(rand.NewPCG(uint64(seed), 0)), make([]int, n)
	for i := range v {
		v[i] = r.IntN(255) - 127
	}
	return "{" + commas(v...) + "}"
}

// Gemm16 writes a fully connected layer on int16 data.
func (b *Writer) Gemm16(m, k, n int) {
	xs := (0.01 + 0.1*b.Float64()) / 256
	ws, wq := b.weightScales(n)
	ys := xs * ws * math.Sqrt(float64(k)) * 74 * (0.3 + 2*b.Float64())
	bias := b.numbers(n, 1<<20, 1)
	b.layer("in %%x# : i16[%d,%d] q(%g:0)\nconst %%w# : i8[%d,%d] %s = rand %d\nconst %%b# : i64[%d] = %s\n"+
		"%%y# : i16[%d,%d] q(%g:0) = Gemm(%%x#, %%w#, %%b#) {transB=1%s}", m, k, float32(xs), n, k, wq, b.In(1, 1<<30),
		n, bias, m, n, float32(ys), b.act(ys*256))
}

// Softmax writes a softmax of rows, with scales from flat to steep.
func (b *Writer) Softmax(rows, size int) {
	b.layer("in %%x# : i8[%d,%d] q(%g:%d)\n%%y# : i8[%d,%d] q(0.00390625:-128) = Softmax(%%x#)", rows, size,
		float32(math.Exp2(float64(b.In(-8, 1)))*(0.5+b.Float64())), b.Zero(), rows, size)
}

// turned is a transposed input whose result has the name and the shape.
func (b *Writer) turned(elem, name string, shape []int, scale float64, zero int) string {
	perm := [][]int{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 2, 1, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {3, 1, 0, 2}}[b.IntN(6)]
	from := make([]int, len(shape))
	for i, d := range perm {
		from[d] = shape[i]
	}
	return fmt.Sprintf("in %%%s.x : %s[%s] q(%g:%d)\n%%%s : %s[%s] q(%g:%d) = Transpose(%%%s.x) {perm=[%s]}\n", name,
		elem, commas(from...), scale, zero, name, elem, commas(shape...), scale, zero, name, commas(perm...))
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

// BatchMatMul writes products of two activations, in any memory order, now and
// then broadcast.
func (b *Writer) BatchMatMul() {
	k := b.One(1, 3, 8, 15, 16, 17, 31, 32, 33, 48, 64, b.In(1, 140))
	left, right, out := b.matrices(b.In(1, 9), k, b.One(1, 2, 3, 4, 5, 8, b.In(1, 20)))
	x, y := float64(float32(0.01+0.1*b.Float64())), float64(float32(0.01+0.1*b.Float64()))
	scale := x * y * math.Sqrt(float64(k)) * 74 * 74 / 50 * (0.3 + 2*b.Float64()) *
		math.Exp2(float64(b.One(0, 0, 0, -4, 9)))
	a, text := "a#", b.turned("i8", "a#", left, x, b.Zero())
	if k > 1 && b.Chance(20) { // attention: rows that are 256 in all
		text += fmt.Sprintf("%%s# : i8[%s] q(0.00390625:-128) = Softmax(%%a#) {axis=3}\n", commas(left...))
		a, x, scale = "s#", 1.0/256, y*(0.3+2*b.Float64())
	}
	text += b.turned("i8", "b#", right, y, b.Zero())
	b.product(text, "i8", fmt.Sprintf("q(%g:%d)", max(float32(scale), float32(2.1*x*y)), b.Zero()), a, out)
}

// BatchMatMul16 writes products of two int16 activations, as BatchMatMul does.
func (b *Writer) BatchMatMul16() {
	k := b.One(1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 64, b.In(1, 140))
	left, right, out := b.matrices(b.One(1, 2, 3, b.In(1, 9)), k, b.One(1, 2, 3, 4, 5, 8, b.In(1, 20)))
	x, y := float64(float32(b.scale16())), float64(float32(b.scale16()))
	// Results from far inside of the range to far outside.
	scale := x * y * math.Sqrt(float64(k)) * 20000 * (0.3 + 2*b.Float64()) *
		math.Exp2(float64(b.One(0, 0, 0, -3, 9, 18)))
	text := b.turned("i16", "a#", left, x, 0) + b.turned("i16", "b#", right, y, 0)
	b.product(text, "i16", fmt.Sprintf("q(%g:0)", float32(scale)), "a#", out)
}

// product writes the product of a and b#, transposed in half of the cases, behind the text.
func (b *Writer) product(text, elem, q, a string, out []int) {
	text += fmt.Sprintf("%%p# : %s[%s] %s = MatMul(%%%s, %%b#)%s\n", elem, commas(out...), q, a,
		[]string{"", " {act_min=0.0}"}[b.IntN(2)])
	if b.Chance(50) {
		b.Text(text, "p#")
		return
	}
	b.layer("%s%%y# : %s[%s] %s = Transpose(%%p#) {perm=[0,2,1,3]}", text, elem, commas(out[0], out[2], out[1],
		out[3]), q)
}

// Pool writes a pooling of kind MaxPool or AveragePool; pads nil: drawn.
func (b *Writer) Pool(kind string, batch, channels int, size, kernel, stride, pads []int) {
	b.pool("i8", kind, batch, channels, size, kernel, stride, pads)
}

// pool is Pool for elements of a type.
func (b *Writer) pool(elem, kind string, batch, channels int, size, kernel, stride, pads []int) {
	rank := len(size)
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
	b.layer("in %%x# : %s[%d,%d,%s] %s\n"+
		"%%y# : %s[%d,%d,%s] %s = %s(%%x#) {kernel_shape=[%s], strides=[%s], pads=[%s]%s}",
		elem, batch, channels, commas(size...), q, elem, batch, channels, commas(out...), q, kind, commas(kernel...),
		commas(stride...), commas(pads...), b.act(unit))
}

// Relayout writes a change of memory order from the logical one.
func (b *Writer) Relayout(shape, order []int) {
	b.layer("in %%x# : i8[%s] q(0.5:3)\n%%y# : i8[%s]@%s q(0.5:3) = nncc.Relayout(%%x#)", commas(shape...),
		commas(shape...), strings.ReplaceAll(commas(order...), ",", "."))
}

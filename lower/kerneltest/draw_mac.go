// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
)

// channels are counts below, at and beside the widths of vectors and records.
func (w *drawer) channels() int {
	if w.Chance(8) {
		return 8 * w.In(1, 30)
	}
	return w.One(1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16, 16, 17, 20, 24, w.In(1, 40))
}

// weights are constant weights (seldom: computed at run time) with a scale for
// every index of axis, or one for all.
func (w *drawer) weights(axis int, shape ...int) (name string, scale float64) {
	dt, q := "i8", ""
	switch {
	case w.p == Float:
		dt = "f32"
	case w.p == Plain:
		dt = w.plain
	case w.p == Int4 || w.p == Int16x8 && w.Chance(25):
		dt = "i4"
	case w.p == Uint8 && w.Chance(50):
		dt = "u8"
	}
	scale = 0.002 + 0.01*w.Float64()
	if dt == "i4" {
		scale *= 16
	}
	if w.quantised() {
		zero := 0
		if w.Chance(8) {
			zero = w.One(1, 3)
		}
		if w.Chance(30) {
			q = fmt.Sprintf(" q(%g:%d)", float32(scale), zero)
			w.scales = []float32{float32(scale)}
		} else {
			var s []string
			for range shape[axis] {
				x := scale * (0.4 + 1.2*w.Float64())
				if w.Chance(4) {
					x *= math.Pow(2, -16*w.Float64())
				}
				s = append(s, fmt.Sprintf("%g:%d", float32(x), zero))
				w.scales = append(w.scales, float32(x))
			}
			q = fmt.Sprintf(" q(axis=%d,%s)", axis, strings.Join(s, ","))
		}
	}
	data := w.rand()
	if w.Chance(5) {
		data = ""
	}
	return w.value(dt+shapeText(shape)+q, data), scale
}

// bias is one for n channels, "-" for none.
func (w *drawer) bias(n int) string {
	if w.Chance(35) {
		return "-"
	}
	if w.p == Float || w.p == Plain {
		return w.value(w.data()+shapeText([]int{n}), w.rand())
	}
	v := lists.Make(n, func(int) int { return w.In(-4000, 4000) })
	dt := "i32"
	if w.p == Int16x8 {
		dt = "i64"
	}
	if len(w.scales) > 0 && w.Chance(70) { // counts the products' scales
		var s []string
		for c := range n {
			s = append(s, fmt.Sprintf("%g:0", float32(w.scale)*w.scales[c%len(w.scales)]))
		}
		dt += shapeText([]int{n}) + " q(axis=0," + strings.Join(s, ",") + ")"
		return w.value(dt, "{"+commas(v...)+"}")
	}
	return w.value(dt+shapeText([]int{n}), "{"+commas(v...)+"}")
}

// sums quantises the result of adding up depth products, and sometimes clamps
// it by an absorbed activation.
func (w *drawer) sums(scale float64, depth int) (act string) {
	s := w.scale * scale * math.Sqrt(float64(depth)) * 100 * (0.3 + 2*w.Float64())
	reach := 128.0
	switch {
	case !w.quantised():
		s, reach = 1, 1
	case w.p == Int16x8:
		s, reach = s/2, 32768
		w.out = fmt.Sprintf(" q(%g:0)", float32(s))
	case w.p == Uint8:
		w.out = fmt.Sprintf(" q(%g:%d)", float32(s), w.In(0, 255))
	default:
		if w.p == Int4 {
			s /= 16
		}
		w.out = fmt.Sprintf(" q(%g:%d)", float32(s), w.One(-128, 127, w.In(-128, 127)))
	}
	switch w.IntN(6) {
	case 0, 1:
		if i := strings.IndexByte(w.out, ':'); i > 0 && w.p != Int16x8 && w.p != Uint8 && w.Chance(50) {
			w.out = w.out[:i] + ":-128)"
		}
		return ", act_min=0.0"
	case 2:
		return fmt.Sprintf(", act_min=0.0, act_max=%f", s*reach*w.Float64())
	case 3:
		return fmt.Sprintf(", act_min=%f, act_max=%f", -s*reach*w.Float64(), s*reach*w.Float64())
	}
	return ""
}

func (w *drawer) list(n int, f func() int) []int {
	return lists.Make(n, func(int) int { return f() })
}

func repeat(n, v int) []int { return slices.Repeat([]int{v}, n) }

// geometry is a window over space: the text of its attributes, the sizes of the
// data and of the kernel.
func (w *drawer) geometry(rank int, dilate bool) (attrs string, size, kernel []int) {
	k := w.One(1, 2, 3, 3, 3, 4, 5, 7)
	kernel = w.list(rank, func() int { return w.One(k, k, k, 1, w.In(1, 5)) })
	s := w.One(1, 1, 1, 2, 2, 3)
	stride := w.list(rank, func() int { return w.One(s, s, s, w.In(1, 3)) })
	d := 1
	if dilate && w.Chance(20) {
		d = 2
	}
	dil := w.list(rank, func() int { return w.One(d, d, 1) })
	if k == 3 && s == 1 && d == 1 { // what networks have most of
		kernel, stride, dil = repeat(rank, 3), repeat(rank, 1), repeat(rank, 1)
	}
	pads := w.list(2*rank, func() int { return 0 })
	size = w.list(rank, func() int { return w.In(1, 11) })
	for i := range rank {
		span := (kernel[i]-1)*dil[i] + 1
		if w.Chance(60) {
			pads[i], pads[rank+i] = w.In(0, span-1), w.In(0, span-1)
			if w.Chance(60) { // as trainers have it
				pads[i] = span / 2
				pads[rank+i] = span / 2
			}
		}
		size[i] = max(size[i], span-pads[i]-pads[rank+i], 1)
	}
	attrs = fmt.Sprintf("strides=[%s], pads=[%s]", commas(stride...), commas(pads...))
	if dilate {
		attrs += fmt.Sprintf(", dilations=[%s]", commas(dil...))
	}
	return attrs, size, kernel
}

// windows are the geometry of a convolution, with the text of its attributes.
type windows struct {
	attrs         string
	size, kernel  []int
	group, ci, co int
}

// windows draws any.
func (w *drawer) windows(rank int, transposed bool) (g windows) {
	g.attrs, g.size, g.kernel = w.geometry(rank, true)
	if transposed && w.Chance(50) { // kernels of the size of the strides
		g.attrs = fmt.Sprintf("strides=[%s]", commas(g.kernel...))
	}
	g.group, g.ci, g.co = 1, w.channels(), w.channels()
	switch w.IntN(5) {
	case 0, 1: // depthwise
		g.group = max(2, g.ci)
		g.ci, g.co = g.group, g.group*w.One(1, 1, 1, 2, 3)
	case 2:
		g.group = w.In(2, 4)
		g.ci, g.co = g.group*w.In(1, 9), g.group*w.In(1, 9)
	}
	return g
}

// own draws windows that have kernels of their own.
func (w *drawer) own() windows {
	h, v := w.In(2, 4), w.In(2, 4)
	switch {
	case w.block: // of many outputs
		k := w.One(1, 3, 3)
		h, v = w.In(5, 9), w.In(5, 11)
		return windows{fmt.Sprintf("pads=[%s]", commas(repeat(4, k/2)...)), []int{h, v}, []int{k, k}, 1, 4 * w.In(1, 5),
			1024/(h*v) + w.In(1, 9)}
	case w.Chance(50): // rows of whole vectors, and of some elements less or more
		inputs := 16*w.One(w.In(1, 9), w.In(1, 9), w.In(10, 18)) + w.One(0, 0, 0, -3, -15)
		if w.p == Int16x8 {
			inputs = 8*w.One(w.In(1, 5), w.In(1, 5), w.In(6, 18)) + w.One(0, 0, 1, 2, -3, -7)
		}
		return windows{"", []int{h, v}, []int{1, 1}, 1, inputs, w.One(8, 16) + w.One(0, 0, 1, 2)}
	}
	k, s, c := w.One(2, 3, 3, 4, 5, 7), w.One(1, 1, 2), w.One(3, 4, 5, 8, 10, 12, 16, 20, 24)
	return windows{fmt.Sprintf("strides=[%d,%d], pads=[%s]", s, s, commas(repeat(4, k/2)...)),
		[]int{9, w.One(9, 9, w.In(7, 12))}, []int{k, k}, c, c, c * w.One(1, 1, 1, 2)}
}

func (w *drawer) conv() *ir.Graph {
	w.plain = []string{"f16", "f64", "bf16"}[w.IntN(3)]
	rank, transposed := w.One(1, 2, 2, 2, 2, 3), w.op == op.ConvTranspose
	g := w.windows(rank, transposed)
	if w.block || rank == 2 && !transposed && w.Chance(50) {
		g = w.own()
	}
	group, ci, co, kernel := g.group, g.ci, g.co, g.kernel
	x := w.input(append([]int{w.One(1, 1, 1, 2, 3), ci}, g.size...)...)
	shape, axis := append([]int{co, ci / group}, kernel...), 0
	if transposed {
		shape, axis = append([]int{ci, co / group}, kernel...), 1
		if group > 1 {
			axis = 0
		}
	}
	f, scale := w.weights(axis, shape...)
	b := w.bias(co)
	depth := ci / group
	for _, k := range kernel {
		depth *= k
	}
	attrs := fmt.Sprintf("%sgroup=%d%s", strings.TrimPrefix(g.attrs+", ", ", "), group, w.sums(scale, depth))
	return w.node(w.op.Name, attrs, 1, x, f, b)
}

func (w *drawer) gemm() *ir.Graph {
	w.plain = "f64"
	m, k, n := w.One(1, 1, 2, 3, 5), w.One(w.In(1, 70), 16*w.In(1, 5)), w.channels()
	axis, attrs := 0, "transB=1"
	shape := []int{n, k}
	if w.Chance(30) {
		axis, shape, attrs = 1, []int{k, n}, "transB=0"
	}
	x := ""
	if w.Chance(10) {
		x, attrs = w.input(k, m), attrs+", transA=1"
	} else {
		x = w.input(m, k)
	}
	f, scale := w.weights(axis, shape...)
	if w.Chance(8) {
		attrs += fmt.Sprintf(", alpha=%.1f", 0.5*float64(w.In(1, 3)))
	}
	return w.node("Gemm", attrs+w.sums(scale, k), 1, x, f, w.bias(n))
}

func (w *drawer) matMul() *ir.Graph {
	w.plain = []string{"f16", "f64", "i32"}[w.IntN(3)]
	m, k, n := w.One(1, 1, 2, 3, 5), w.One(w.In(1, 70), 16*w.In(1, 5)), w.channels()
	lead := w.list(w.One(0, 0, 1, 2), func() int { return w.In(1, 3) })
	x := w.input(append(lead, m, k)...)
	if w.Chance(40) {
		if w.Chance(30) {
			lead = nil
		}
		y := w.input(append(lead, k, n)...)
		w.sums(w.scale, k)
		return w.node("MatMul", "", 1, x, y)
	}
	f, scale := w.weights(1, k, n)
	return w.node("MatMul", strings.TrimPrefix(w.sums(scale, k), ", "), 1, x, f)
}

func (w *drawer) pool() *ir.Graph {
	w.plain = []string{"f16", "f64", "bf16"}[w.IntN(3)]
	attrs, size, kernel := w.geometry(w.One(1, 2, 2, 2, 3), w.Chance(20))
	attrs += fmt.Sprintf(", kernel_shape=[%s]", commas(kernel...))
	if w.Chance(20) {
		attrs += ", ceil_mode=1"
	}
	if w.op == op.AveragePool && w.Chance(30) {
		attrs += ", count_include_pad=1"
	}
	results := 1
	if w.op == op.MaxPool && w.Chance(8) {
		results = 2
	}
	if w.quantised() && w.Chance(30) {
		attrs += ", act_min=0.0"
	}
	x := w.input(append([]int{w.One(1, 1, 2), w.channels()}, size...)...)
	if w.Chance(85) {
		w.out = w.first
	}
	return w.node(w.op.Name, attrs, results, x)
}

func (w *drawer) relayout() *ir.Graph {
	w.plain = []string{"f16", "i32", "i64", "bool", "u8"}[w.IntN(5)]
	rank := w.In(2, 5)
	x := w.input(w.list(rank, func() int { return w.One(1, w.In(1, 9), w.In(0, 18)) })...)
	w.out = w.first
	g := w.node("nncc.Relayout", "", 1, x)
	if g == nil {
		return nil
	}
	order := w.Perm(rank)
	if w.Chance(60) {
		order = ir.NHWC(rank)
	}
	g.Nodes[0].Out[0].Type.Order = order
	return g
}

// constant has a result that is known at compile time.
func (w *drawer) constant() *ir.Graph {
	return w.node("Constant", fmt.Sprintf("value=f32[%d] {%s}", 2, "1,-2.5"), 1)
}

// fused is a convolution with a function of its results, an addition behind
// it, or both, or a chain of element-wise operators, as one node.
func (w *drawer) fused() *ir.Graph {
	inner := &drawer{dice: w.dice, op: op.Conv, p: w.p, prefix: w.prefix, block: w.Chance(15)}
	var nodes []*ir.Node
	var g *ir.Graph
	if w.Chance(25) {
		inner.op = op.Abs
		inner.plain = "f16"
		g = inner.node("Abs", "", 1, inner.input(w.list(w.In(1, 4), func() int { return w.In(1, 5) })...))
	} else {
		g = inner.conv()
	}
	if g == nil {
		return nil
	}
	g.ClearOutputs()
	nodes = append(nodes, g.Nodes[0])
	v := nodes[0].Out[0]
	add := func(d *ir.OpDef, a ir.Attrs, in ...*ir.Value) bool {
		n, err := g.Add(d, fmt.Sprintf("%s_f%d", w.prefix, len(nodes)), a, 1, in...)
		if err != nil {
			return false
		}
		inner.out = ""
		inner.quantise(n, n.Out[0])
		v, nodes = n.Out[0], append(nodes, n)
		return true
	}
	function := w.IntN(3)
	if function != 1 && !add([]*ir.OpDef{op.Get("", "Sigmoid"), op.Get("", "Swish"), op.Get("", "Abs"),
		op.Get("", "Tanh")}[w.IntN(4)], nil, v) {
		return nil
	}
	if function != 0 {
		t := v.Type.WithOrder(nil)
		if q, err := parseType("i8[]" + inner.first); err == nil && inner.p == Int8 && t.Quant != nil {
			t.Quant = q.Quant
		}
		other := g.AddInput(w.prefix+"_other", t)
		if nodes[0].In[0].Type.Rank() == v.Type.Rank() && w.Chance(20) {
			other = nodes[0].In[0]
		}
		in := []*ir.Value{v, other}
		if w.Chance(50) {
			in[0], in[1] = in[1], in[0]
		}
		a := ir.Attrs{}
		if w.Chance(40) {
			a["act_min"] = ir.Float(0)
		}
		if !add(op.Add, a, in...) {
			return nil
		}
	}
	g.AddOutput(w.prefix+"_o0", v)
	if len(g.Verify()) > 0 {
		return nil
	}
	f, results, err := ir.Outline(g, nodes, op.Fused, w.prefix+"_n", nil)
	if err != nil || g.Replace(f, nodes, results) != nil {
		return nil
	}
	return g
}

// gateWeights are weights for size values of the units of all gates, with a scale
// for every unit where the data are quantised.
func (w *drawer) gateWeights(gates, units, size, zero int) string {
	shape := shapeText([]int{gates * units, size})
	if !w.quantised() {
		return w.value(w.data()+shape, w.rand())
	}
	var s []string
	for u := range gates * units {
		s = append(s, fmt.Sprintf("%g:%d", 0.003+0.001*float32(u/units), zero))
	}
	return w.value("i8"+shape+" q(axis=0,"+strings.Join(s, ",")+")", w.rand())
}

// hiddenQuant is the quantisation of a hidden state.
func (w *drawer) hiddenQuant() string {
	q := fmt.Sprintf(" q(0.0078125:%d)", w.In(-20, 20))
	if w.p == Int16x8 {
		return " q(0.000030517578125:0)"
	}
	return q
}

// recurrent is a QLSTM or QGRU, now and then with weights that its kernel refuses.
func (w *drawer) recurrent() *ir.Graph {
	if w.p != Int8 && w.p != Int4 && w.p != Int16x8 {
		w.plain = "f32"
	}
	gates, gru := 4, w.op.Name == "QGRU"
	if gru {
		gates = 3
	}
	T, B, I, H := w.In(1, 5), w.In(1, 3), w.In(1, 20), w.In(1, 9)
	if w.Chance(10) {
		T, I, H = w.In(1, 50), w.In(1, 130), w.In(1, 70)
	}
	x := w.input(T, B, I)
	zero := map[bool]int{true: 1}[w.Chance(10)]
	weights := func(size int) string { return w.gateWeights(gates, H, size, zero) }
	in := []string{x, weights(I), weights(H), "-", "-", "-"}
	hidden := w.hiddenQuant()
	if w.quantised() {
		in[3], w.out = w.bias(gates*H), hidden
		switch {
		case gru && w.Chance(60):
			in[4] = w.value(fmt.Sprintf("i32[%d]", gates*H), w.rand())
		case !gru && w.Chance(40):
			in[4] = w.value(w.data()+shapeText([]int{B, H})+hidden, "")
		}
	}
	power := w.In(-12, -9)
	attrs := fmt.Sprintf("cell_scale_power=%d", power)
	if gru {
		attrs = fmt.Sprintf("state_scale_power=%d, linear_before_reset=%d", power, w.IntN(2))
	}
	for in[len(in)-1] == "-" {
		in = in[:len(in)-1]
	}
	g := w.node("nncc."+w.op.Name, fmt.Sprintf("%s, direction=\"%s\"", attrs,
		[]string{"forward", "reverse"}[w.IntN(2)]), w.In(1, 3), in...)
	if g != nil && len(g.Nodes[0].Out) > 2 && w.quantised() {
		t, _ := parseType(fmt.Sprintf("i16[] q(%g:0)", math.Ldexp(1, power)))
		v := g.Nodes[0].Out[2]
		v.Type = v.Type.WithQuant(t.DType, t.Quant)
	}
	return g
}

// svdf is an SVDF with its state in int8, with a zero point, or in int16; now and then
// with weights that its kernel refuses.
func (w *drawer) svdf() *ir.Graph {
	batch, inputs, units, rank, memory := w.In(1, 2), w.In(1, 20), w.In(1, 6), w.In(1, 3), w.In(1, 9)
	filters := units * rank
	x := w.input(batch, inputs)
	if !w.quantised() {
		t := w.data()
		operand := func(shape ...int) string { return w.value(t+shapeText(shape), w.rand()) }
		return w.node("nncc.SVDF", fmt.Sprintf("rank=%d", rank), 2, x, operand(filters, inputs),
			operand(filters, memory), operand(units), operand(batch, filters, memory))
	}
	elem, state := "i8", fmt.Sprintf("q(0.25:%d)", w.In(-40, 40))
	if w.Chance(50) {
		elem, state = "i16", "q(0.002:0)"
	}
	zero := map[bool]int{true: 3}[w.Chance(10)]
	features := w.value(fmt.Sprintf("i8[%d,%d] q(0.01:%d)", filters, inputs, zero), w.rand())
	time := w.value(fmt.Sprintf("%s[%d,%d] q(0.02:0)", elem, filters, memory), w.rand())
	bias := w.value(fmt.Sprintf("i32[%d]", units), w.rand())
	kept := w.value(fmt.Sprintf("%s[%d,%d,%d] %s", elem, batch, filters, memory, state), "")
	w.out = " q(0.5:-7)"
	g := w.node("nncc.SVDF", fmt.Sprintf("rank=%d", rank), 2, x, features, time, bias, kept)
	if g != nil {
		n := g.Nodes[0]
		n.Out[1].Type = n.In[4].Type
	}
	return g
}

// some is how many images or rows there are, now and then none, which kernels refuse.
func (w *drawer) some() int {
	if w.Chance(10) {
		return 0
	}
	return w.In(1, 3)
}

// resizeFixed is a bilinear resize of plain int8, up or down, at corners or centres.
func (w *drawer) resizeFixed() *ir.Graph {
	if w.quantised() {
		return nil // of numbers, not of what they stand for
	}
	x := w.value(fmt.Sprintf("i8[%d,%d,%d,%d]", w.some(), w.In(1, 7), w.In(1, 7), w.In(1, 5)), "")
	at := w.One(0, 1, 2)
	return w.node("nncc.ResizeFixed", fmt.Sprintf("height=%d, width=%d, align_corners=%d, half_pixel_centers=%d",
		w.In(1, 12), w.In(1, 12), at&1, at>>1), 1, x)
}

// signalFFT is a Fourier transform of rows of int16 or int32, there or back.
func (w *drawer) signalFFT() *ir.Graph {
	if w.quantised() {
		return nil
	}
	length, inverse := 1<<w.In(2, 7), w.In(0, 1)
	size := length + 2
	if inverse == 0 {
		size = w.In(1, length)
	}
	t := "i16"
	if w.Chance(50) {
		t = "i32"
	}
	x := w.value(fmt.Sprintf("%s[%d,%d]", t, w.some(), size), "")
	return w.node("nncc.SignalFFT", fmt.Sprintf("length=%d, inverse=%d", length, inverse), 1, x)
}

package cmsisnn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// layer is one random operator with int8 operands: the graph input and output
// names begin with its own, so that layers can stand side by side in a graph.
type layer struct {
	name  string
	seed  uint64
	build func(b *builder)
	// row is the kernel that must take it.
	row string
}

// builder adds a layer to a graph.
type builder struct {
	*rand.Rand
	t    testing.TB
	g    *ir.Graph
	name string
	n    int
}

func (l layer) add(t testing.TB, g *ir.Graph) {
	b := &builder{rand.New(rand.NewPCG(l.seed, 77)), t, g, l.name, 0}
	l.build(b)
}

func (b *builder) in(lo, hi int) int   { return lo + b.IntN(hi-lo+1) }
func (b *builder) one(v ...int) int    { return v[b.IntN(len(v))] }
func (b *builder) chance(pct int) bool { return b.IntN(100) < pct }

// quant is a random quantisation of an activation.
func (b *builder) quant() *ir.Quant {
	return ir.PerTensor(float32(0.01+0.1*b.Float64()), int32(b.in(-128, 127)))
}

func (b *builder) input(q *ir.Quant, shape ...int) *ir.Value {
	b.n++
	return b.g.AddInput(fmt.Sprintf("%s_i%d", b.name, b.n), ir.T(tensor.I8, slices.Clone(shape)...).WithQuant(tensor.I8, q))
}

// bytes are random int8 data.
func (b *builder) bytes(shape ...int) *tensor.Dense {
	v := make([]int8, tensor.Count(shape))
	for i := range v {
		v[i] = int8(b.in(-128, 127))
	}
	return tensor.Of(slices.Clone(shape), v)
}

func (b *builder) constant(q *ir.Quant, d *tensor.Dense) *ir.Value {
	b.n++
	v := b.g.AddConst(fmt.Sprintf("%s_c%d", b.name, b.n), d)
	v.Type.Quant = q
	return v
}

// weights are int8 with one scale, or one for every element along axis.
func (b *builder) weights(perChannel bool, axis int, shape ...int) *ir.Value {
	q := ir.PerTensor(float32(0.002+0.01*b.Float64()), 0)
	if perChannel {
		q = &ir.Quant{Axis: axis}
		for range shape[axis] {
			q.Scale, q.Zero = append(q.Scale, float32(0.002+0.01*b.Float64())), append(q.Zero, 0)
		}
	}
	return b.constant(q, b.bytes(shape...))
}

// bias is int32 with the scale of x times w, for n channels.
func (b *builder) bias(x, w *ir.Quant, n int) *ir.Value {
	q := &ir.Quant{Axis: 0}
	v := make([]int32, n)
	for c := range v {
		v[c] = int32(b.in(-20000, 20000))
		q.Scale, q.Zero = append(q.Scale, x.Scale[0]*w.ScaleAt(c%len(w.Scale))), append(q.Zero, 0)
	}
	return b.constant(q, tensor.Of([]int{n}, v))
}

// accQuant is a quantisation of sums of depth products that uses the range.
func (b *builder) accQuant(x, w *ir.Quant, depth int) *ir.Quant {
	s := float64(x.Scale[0]) * float64(w.Scale[0]) * math.Sqrt(float64(depth)) * 70 * 70 / 50 * (0.5 + b.Float64())
	return ir.PerTensor(float32(s), int32(b.in(-100, 100)))
}

// node adds the operator and makes its results outputs.
func (b *builder) node(name string, a ir.Attrs, q *ir.Quant, in ...*ir.Value) *ir.Node {
	b.t.Helper()
	n := b.inner(name, a, q, in...)
	b.output(n.Out...)
	return n
}

func (b *builder) output(vs ...*ir.Value) {
	for i, v := range vs {
		b.g.Out = append(b.g.Out, v)
		b.g.OutNames = append(b.g.OutNames, fmt.Sprintf("%s_o%d", b.name, i))
	}
}

// inner is node without making its result an output.
func (b *builder) inner(name string, a ir.Attrs, q *ir.Quant, in ...*ir.Value) *ir.Node {
	b.t.Helper()
	domain := ""
	if rest, ok := strings.CutPrefix(name, "nncc."); ok {
		domain, name = "nncc", rest
	}
	b.n++
	n, err := b.g.Add(op.Get(domain, name), fmt.Sprintf("%s_n%d", b.name, b.n), a, 1, in...)
	if err != nil {
		b.t.Fatalf("%s: %v", b.name, err)
	}
	n.Out[0].Type = n.Out[0].Type.WithQuant(tensor.I8, q)
	return n
}

// clamp sometimes absorbs an activation.
func (b *builder) clamp(a ir.Attrs) ir.Attrs {
	if b.chance(40) {
		a["act_min"] = ir.Float(0)
		if b.chance(50) {
			a["act_max"] = ir.Float(6)
		}
	}
	return a
}

func ints(v ...int) ir.Attr { return ir.Ints(v...) }

// shape is [n, c, spatial...].
func shape(n, c int, spatial []int) []int { return append([]int{n, c}, spatial...) }

// spatialAttrs are random strides, dilations and pads that fit the input.
func (b *builder) spatialAttrs(size, kernel []int, dilate bool) ir.Attrs {
	r := len(size)
	st, dl, pads := make([]int, r), make([]int, r), make([]int, 2*r)
	for d := range st {
		st[d], dl[d] = b.in(1, 3), 1
		if dilate && b.chance(30) {
			dl[d] = 2
		}
		for span := dl[d]*(kernel[d]-1) + 1; size[d]+pads[d]+pads[r+d] < span; {
			pads[b.one(d, r+d)]++
		}
		if b.chance(60) {
			pads[d] = max(pads[d], b.in(0, (kernel[d]-1)*dl[d]))
			pads[r+d] = max(pads[r+d], b.in(0, (kernel[d]-1)*dl[d]))
		}
	}
	a := ir.Attrs{"strides": ints(st...), "pads": ints(pads...)}
	if dilate {
		a["dilations"] = ints(dl...)
	}
	return a
}

// sizes are random spatial sizes of rank r.
func (b *builder) sizes(r, hi int) []int {
	s := make([]int, r)
	for d := range s {
		s[d] = b.in(1, hi)
	}
	return s
}

func conv(b *builder) {
	group := b.one(1, 1, 1, 2, 3)
	ci, co := b.one(1, 2, 3, 4, 5, 8, 17), b.one(1, 2, 3, 4, 8, 11)
	if group > 1 {
		ci, co = b.one(2, 3), b.one(1, 2, 3)
	}
	convOf(b, b.one(1, 2, 2), b.one(1, 1, 2), group, group*ci, group*co, b.one(1, 2, 3, 3, 5), 9)
}

func convOf(b *builder, rank, batch, group, ci, co, k, hi int) {
	size, kernel := b.sizes(rank, hi), make([]int, rank)
	for d := range kernel {
		kernel[d] = b.one(k, k, 1)
	}
	xq := b.quant()
	x := b.input(xq, shape(batch, ci, size)...)
	w := b.weights(b.chance(70), 0, shape(co, ci/group, kernel)...)
	in := []*ir.Value{x, w}
	if b.chance(60) {
		in = append(in, b.bias(xq, w.Type.Quant, co))
	}
	a := b.spatialAttrs(size, kernel, true)
	a["group"] = ir.Int(group)
	depth := ci / group
	for _, k := range kernel {
		depth *= k
	}
	b.node("Conv", b.clamp(a), b.accQuant(xq, w.Type.Quant, depth), in...)
}

// conv1xN has inputs of height 1, where the MVE build has a kernel of its own.
func conv1xN(b *builder) {
	k, s, w := b.in(2, 9), b.in(1, 4), b.in(9, 24)
	ci, co := b.one(1, 2, 4, 4, 8), b.in(1, 5)
	xq := b.quant()
	x, f := b.input(xq, 1, ci, w), b.weights(true, 0, co, ci, k)
	pad, end := b.in(0, k-1), 0
	if b.chance(50) {
		end = pad
	} else {
		end = b.in(0, k-1)
	}
	b.node("Conv", ir.Attrs{"strides": ints(s), "pads": ints(pad, end)}, b.accQuant(xq, f.Type.Quant, ci*k), x, f)
}

func depthwise(b *builder) {
	c, m := b.one(2, 3, 4, 7, 16), b.one(1, 1, 1, 2, 3)
	if b.chance(15) {
		c, m = 130, 1
	}
	convOf(b, b.one(1, 2, 2, 2), b.one(1, 1, 2), c, c, c*m, b.one(1, 2, 3, 3, 3, 5), 8)
}

// depthwise3x3 covers windows that hang over the right side by two columns.
func depthwise3x3(b *builder) {
	c, h, w := b.one(2, 4, 6), b.in(2, 6), b.in(2, 6)
	xq := b.quant()
	x, f := b.input(xq, 1, c, h, w), b.weights(true, 0, c, 1, 3, 3)
	b.node("Conv", ir.Attrs{"group": ir.Int(c), "strides": ints(1, b.in(1, 2)), "pads": ints(1, 1, 1, b.in(0, 2))}, b.accQuant(xq, f.Type.Quant, 9), x, f)
}

func transposedConv(b *builder) {
	rank, ci, co := b.one(1, 2, 2), b.one(1, 3, 8, 17, 20), b.one(1, 2, 4, 5)
	size := b.sizes(rank, 5)
	kernel, st, pads, out := make([]int, rank), make([]int, rank), make([]int, 2*rank), make([]int, rank)
	for d := range kernel {
		kernel[d], st[d] = b.in(1, 4), b.in(1, 3)
		pads[d], pads[rank+d] = b.in(0, kernel[d]-1), b.in(0, kernel[d]-1)
		if b.chance(30) {
			out[d] = b.in(0, st[d]-1)
		}
		if (size[d]-1)*st[d]+kernel[d]+out[d]-pads[d]-pads[rank+d] < 1 {
			pads[d], pads[rank+d] = 0, 0
		}
	}
	xq := b.quant()
	x, w := b.input(xq, shape(b.one(1, 1, 2), ci, size)...), b.weights(b.chance(70), 1, shape(ci, co, kernel)...)
	in := []*ir.Value{x, w}
	if b.chance(60) {
		in = append(in, b.bias(xq, w.Type.Quant, co))
	}
	b.node("ConvTranspose", b.clamp(ir.Attrs{"strides": ints(st...), "pads": ints(pads...), "output_padding": ints(out...)}),
		b.accQuant(xq, w.Type.Quant, ci*2), in...)
}

// upscaled has what the library's transposed convolution does not take.
func upscaled(b *builder) {
	rank, group := b.one(1, 2), b.one(1, 2, 3)
	ci, co := group*b.in(1, 3), b.in(1, 3)
	size := b.sizes(rank, 5)
	kernel, st, dl, pads, out := make([]int, rank), make([]int, rank), make([]int, rank), make([]int, 2*rank), make([]int, rank)
	for d := range kernel {
		kernel[d], st[d], dl[d] = b.in(1, 3), b.in(1, 3), b.in(1, 2)
		full := (size[d]-1)*st[d] + dl[d]*(kernel[d]-1) + 1
		pads[d] = b.in(0, full-1)
		pads[rank+d] = b.in(0, full-1-pads[d])
		out[d] = b.in(0, max(st[d], dl[d])-1)
	}
	xq := b.quant()
	x, w := b.input(xq, shape(b.one(1, 2), ci, size)...), b.weights(b.chance(70), 1, shape(ci, co, kernel)...)
	in := []*ir.Value{x, w}
	if b.chance(60) {
		in = append(in, b.bias(xq, w.Type.Quant, co*group))
	}
	b.node("ConvTranspose", ir.Attrs{"strides": ints(st...), "pads": ints(pads...), "output_padding": ints(out...), "dilations": ints(dl...), "group": ir.Int(group)},
		b.accQuant(xq, w.Type.Quant, ci*2), in...)
}

func gemm(b *builder) {
	m, k, n := b.in(1, 3), b.one(1, 5, 16, 33), b.one(1, 2, 4, 7, 12)
	xq, trans := b.quant(), b.IntN(2)
	x := b.input(xq, m, k)
	s, axis := []int{k, n}, 1
	if trans == 1 {
		s, axis = []int{n, k}, 0
	}
	w := b.weights(b.chance(50), axis, s...)
	if !w.Type.Quant.PerAxis() && b.chance(40) {
		w.Type.Quant = ir.PerTensor(w.Type.Quant.Scale[0], int32(b.in(-20, 20)))
	}
	in := []*ir.Value{x, w}
	if b.chance(60) {
		in = append(in, b.bias(xq, w.Type.Quant, n))
	}
	b.node("Gemm", b.clamp(ir.Attrs{"transB": ir.Int(trans)}), b.accQuant(xq, w.Type.Quant, k), in...)
}

func matmulConst(b *builder) {
	k, n := b.one(3, 16, 21), b.one(1, 4, 6)
	xq := b.quant()
	x, w := b.input(xq, b.in(1, 2), b.in(1, 3), k), b.weights(b.chance(50), 1, k, n)
	b.node("MatMul", nil, b.accQuant(xq, w.Type.Quant, k), x, w)
}

func matmul(b *builder) {
	m, k, n := b.in(1, 4), b.one(1, 5, 17), b.in(1, 6)
	h, o := b.in(1, 3), b.in(1, 2)
	lead := func() []int {
		switch b.IntN(3) {
		case 0:
			return nil
		case 1:
			return []int{b.one(1, h)}
		}
		return []int{b.one(1, o), b.one(1, h)}
	}
	xq, wq := b.quant(), b.quant()
	x, w := b.input(xq, append(lead(), m, k)...), b.input(wq, append(lead(), k, n)...)
	b.node("MatMul", nil, b.accQuant(xq, wq, k), x, w)
}

// two are operands of an element-wise operator; one of them may be constant
// and smaller.
func (b *builder) two(qa, qb *ir.Quant) (x, y *ir.Value) {
	s := []int{1, b.in(1, 5), b.in(1, 4), b.in(1, 7)}[b.IntN(3):]
	x = b.input(qa, s...)
	switch b.IntN(4) {
	case 0:
		y = b.constant(qb, b.bytes(s[len(s)-1]))
	case 1:
		y = b.constant(qb, b.bytes(s...))
	default:
		return x, b.input(qb, s...)
	}
	if b.chance(50) {
		x, y = y, x
	}
	return x, y
}

func add(b *builder) {
	qa, qb := b.quant(), b.quant()
	x, y := b.two(qa, qb)
	b.node("Add", b.clamp(ir.Attrs{}), ir.PerTensor(qa.Scale[0]+qb.Scale[0], int32(b.in(-128, 127))), x, y)
}

func mul(b *builder) {
	qa, qb := b.quant(), b.quant()
	x, y := b.two(qa, qb)
	b.node("Mul", b.clamp(ir.Attrs{}), ir.PerTensor(qa.Scale[0]*qb.Scale[0]*100, int32(b.in(-128, 127))), x, y)
}

// minMax broadcasts every dimension of either operand now and then.
func minMax(name string) func(b *builder) {
	return func(b *builder) {
		q := b.quant()
		r := b.in(1, 4)
		sa, sb := make([]int, r), make([]int, r)
		for d := range sa {
			sa[d] = b.in(1, 5)
			sb[d] = sa[d]
			if b.chance(35) {
				*[]*int{&sa[d], &sb[d]}[b.IntN(2)] = 1
			}
		}
		x := b.input(q, sa...)
		y := b.constant(q, b.bytes(sb[b.IntN(r):]...))
		if b.chance(70) {
			y = b.input(q, sb...)
		}
		b.node(name, nil, q, x, y)
	}
}

func pool(name string) func(b *builder) {
	return func(b *builder) {
		q := b.quant()
		rank := b.one(1, 2, 2)
		size, kernel := b.sizes(rank, 9), make([]int, rank)
		for d := range kernel {
			kernel[d] = b.in(1, min(4, size[d]))
		}
		x := b.input(q, shape(b.one(1, 1, 2), b.one(1, 3, 8, 17, 20), size)...)
		if strings.HasPrefix(name, "Global") {
			b.node(name, nil, q, x)
			return
		}
		st, pads := make([]int, rank), make([]int, 2*rank)
		for d := range kernel {
			st[d] = b.in(1, kernel[d])
			pads[d], pads[rank+d] = b.in(0, kernel[d]-1), b.in(0, kernel[d]-1)
		}
		a := ir.Attrs{"kernel_shape": ints(kernel...), "strides": ints(st...), "pads": ints(pads...)}
		if b.chance(40) {
			a["ceil_mode"] = ir.Int(1)
			a["pads"] = ints(make([]int, 2*rank)...)
		}
		b.node(name, a, q, x)
	}
}

func softmax(b *builder) {
	r := b.in(1, 4)
	s := make([]int, r)
	for d := range s {
		s[d] = b.in(1, 6)
	}
	b.node("Softmax", ir.Attrs{"axis": ir.Int(b.IntN(r))}, ir.PerTensor(1.0/256, -128), b.input(b.quant(), s...))
}

// disguised is v after a chain that leaves it in another memory order: a max
// pool of 1x1 wants channels last.
func (b *builder) disguised(v *ir.Value) *ir.Value {
	if v.Type.Rank() != 4 || b.chance(50) {
		return v
	}
	return b.inner("MaxPool", ir.Attrs{"kernel_shape": ints(1, 1)}, v.Type.Quant, v).Out[0]
}

func concat(b *builder) {
	r := b.one(1, 2, 3, 4, 4, 4, 5, 6)
	q, axis := b.quant(), b.IntN(r)
	s := make([]int, r)
	for d := range s {
		s[d] = b.in(1, 4)
	}
	var in []*ir.Value
	for range b.in(1, 4) {
		s[axis] = b.in(1, 5)
		if b.chance(20) {
			in = append(in, b.constant(q, b.bytes(s...)))
		} else {
			in = append(in, b.disguised(b.input(q, s...)))
		}
	}
	in[0] = b.disguised(b.input(q, s...))
	b.node("Concat", ir.Attrs{"axis": ir.Int(axis)}, q, in...)
}

func pad(b *builder) {
	r := b.in(1, 4)
	s, p := make([]int, r), make([]int, 2*r)
	for d := range s {
		s[d] = b.in(1, 5)
		if b.chance(60) {
			p[d], p[r+d] = b.in(0, 3), b.in(0, 3)
		}
	}
	q := b.quant()
	in := []*ir.Value{b.disguised(b.input(q, s...)), b.constant(nil, tensor.Ints(p...))}
	if b.chance(50) {
		in = append(in, b.constant(nil, tensor.Scalar(float32(b.Float64()*4-2))))
	}
	b.node("Pad", nil, q, in...)
}

// reordered goes through a random memory order and back.
func reordered(b *builder) {
	r := b.in(2, 5)
	s := make([]int, r)
	for d := range s {
		s[d] = b.in(1, 9)
	}
	order := b.Perm(r)
	if r == 5 { // keep two together
		order = append([]int{4}, b.Perm(4)...)
		s[b.IntN(4)] = 1
	}
	q := b.quant()
	x := b.input(q, s...)
	n := b.node("nncc.Relayout", nil, q, x)
	n.Out[0].Type.Order = order
}

// clip has bounds on both sides of the range, in and out of it.
func clip(b *builder) {
	q := b.quant()
	x := b.disguised(b.input(q, b.in(1, 3), b.in(1, 5), b.in(1, 5), b.in(1, 5)))
	if b.chance(30) {
		b.node("Relu", nil, q, x)
		return
	}
	in := []*ir.Value{x, nil, nil}
	span := float64(q.Scale[0]) * 200
	lo := b.Float64() * span
	if b.chance(70) {
		in[1] = b.constant(nil, tensor.Scalar(float32(-lo)))
	}
	if b.chance(70) {
		in[2] = b.constant(nil, tensor.Scalar(float32(b.Float64()*span-lo/2)))
	}
	for in[len(in)-1] == nil {
		in = in[:len(in)-1]
	}
	b.node("Clip", nil, q, in...)
}

func lstm(b *builder) {
	T, B, I, H := b.in(1, 5), b.in(1, 3), b.in(1, 20), b.in(1, 9)
	q := ir.PerTensor(1.0/128, int32(b.in(-20, 20)))
	xq := b.quant()
	gates := func(size int) *ir.Value {
		w := b.weights(false, 0, 4*H, size)
		k := &ir.Quant{Axis: 0}
		for u := range 4 * H {
			k.Scale, k.Zero = append(k.Scale, 0.003+0.001*float32(u/H)), append(k.Zero, 0)
		}
		w.Type.Quant = k
		return w
	}
	x, w, rec := b.input(xq, T, B, I), gates(I), gates(H)
	in := []*ir.Value{x, w, rec, nil, nil, nil}
	if b.chance(60) {
		in[3] = b.bias(xq, w.Type.Quant, 4*H)
	}
	power := b.in(-12, -9)
	cell := ir.PerTensor(float32(math.Ldexp(1, power)), 0)
	if b.chance(40) {
		in[4] = b.input(q, B, H)
	}
	if b.chance(40) {
		in[5] = b.g.AddInput(b.name+"_cell", ir.T(tensor.I16, B, H).WithQuant(tensor.I16, cell))
	}
	for in[len(in)-1] == nil {
		in = in[:len(in)-1]
	}
	dir := []string{"forward", "reverse"}[b.IntN(2)]
	n, err := b.g.Add(op.QLSTM, b.name, ir.Attrs{"cell_scale_power": ir.Int(power), "direction": ir.Str(dir)}, b.in(1, 3), in...)
	if err != nil {
		b.t.Fatal(err)
	}
	for i, v := range n.Out {
		v.Type = v.Type.WithQuant(tensor.I8, q)
		if i == 2 {
			v.Type = v.Type.WithQuant(tensor.I16, cell)
		}
	}
	b.output(n.Out...)
}

// generator makes layers for a row.
type generator struct {
	row   string
	build func(b *builder)
}

// generators are all rows with what makes layers for them.
var generators = []generator{
	{"arm_convolve_wrapper_s8", conv}, {"arm_convolve_wrapper_s8", conv1xN}, {"arm_depthwise_conv_wrapper_s8", depthwise}, {"arm_depthwise_conv_wrapper_s8", depthwise3x3},
	{"arm_transpose_conv_wrapper_s8", transposedConv}, {"arm_convolve_s8", upscaled}, {"arm_fully_connected_wrapper_s8", gemm}, {"arm_fully_connected_wrapper_s8", matmulConst},
	{"arm_batch_matmul_s8", matmul}, {"arm_elementwise_add_s8", add}, {"arm_elementwise_mul_s8", mul}, {"arm_minimum_s8", minMax("Min")}, {"arm_maximum_s8", minMax("Max")},
	{"arm_avgpool_s8", pool("AveragePool")}, {"arm_avgpool_s8", pool("GlobalAveragePool")}, {"arm_max_pool_s8", pool("MaxPool")}, {"arm_max_pool_s8", pool("GlobalMaxPool")},
	{"arm_softmax_s8", softmax}, {"arm_concatenation_s8", concat}, {"arm_pad_s8", pad}, {"arm_transpose_s8", reordered}, {"arm_maximum_s8", clip}, {"arm_lstm_unidirectional_s8", lstm},
}

// layers are count random layers of every generator.
func layers(count int, seed uint64) []layer {
	var out []layer
	for i, g := range slices.Concat(generators, kinds16) {
		for k := range count {
			out = append(out, layer{name: fmt.Sprintf("l%d_%d", i, k), seed: seed + uint64(1000*i+k), build: g.build, row: g.row})
		}
	}
	return out
}

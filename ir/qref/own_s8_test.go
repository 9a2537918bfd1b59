package qref

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/fixp"
)

// The tests of the int8 kernels run the C kernel and its Go reference on
// seeded cases and want equal bytes.

func randS8(r *rand.Rand, n int32) []int8 {
	x := make([]int8, n)
	wide := r.IntN(2) == 0
	for i := range x {
		x[i] = int8(r.IntN(256))
		if !wide {
			x[i] /= 16
		}
	}
	return x
}

func randI32(r *rand.Rand, n int32, lo, hi int) []int32 {
	x := make([]int32, n)
	for i := range x {
		x[i] = between(r, lo, hi)
	}
	return x
}

// randQP draws a quantisation; one in three has a scale of few bits, for which
// ties are frequent.
func randQP(r *rand.Rand) QP {
	s := float32(math.Exp(r.NormFloat64()) / 50)
	switch r.IntN(6) {
	case 0:
		s = float32(math.Ldexp(float64(between(r, 1, 7)), -int(between(r, 4, 8))))
	case 1:
		s = 1.0 / 128
	}
	z := between(r, -128, 127)
	if r.IntN(3) == 0 {
		z = 0
	}
	return QP{s, z}
}

// randAct draws the clamp of an output: the whole range, or a fused Relu.
func randAct(r *rand.Rand, out QP) (lo, hi int32) {
	switch r.IntN(4) {
	case 0:
		return out.Zero, 127
	case 1:
		return max(out.Zero, -100), max(out.Zero, 90)
	}
	return -128, 127
}

// same checks a kernel's output against its reference.
func same[T comparable](t *testing.T, what string, p any, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%s: element %d is %v in C, %v in Go\n%+v", what, i, got[i], want[i], p)
			}
		}
		t.Fatalf("%s: %d elements in C, %d in Go\n%+v", what, len(got), len(want), p)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOwnQuantise(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(50)
	for range 100 {
		p := axisParams{between(r, 1, 3), between(r, 1, 4), between(r, 1, 9)}
		x := randF32(r, p.count(), math.Exp(r.NormFloat64()*3))
		x[0] = []float32{float32(math.NaN()), inf32, -inf32, 1e30, 0, -0.25}[r.IntN(6)]
		scale, zero := make([]float32, p.Axis), make([]int32, p.Axis)
		kinds := []struct {
			name   string
			lo, hi int32
		}{{"s8", -128, 127}, {"u8", 0, 255}, {"s16", -32768, 32767}}
		k := kinds[r.IntN(3)]
		for c := range scale {
			scale[c], zero[c] = randQP(r).Scale, between(r, int(k.lo), int(k.hi))
		}
		for i := range x { // some exact ties
			if r.IntN(3) == 0 {
				x[i] = (float32(r.IntN(300)-150) + 0.5) * scale[int32(i)/p.Inner%p.Axis]
			}
		}
		want, back := make([]int32, len(x)), make([]float32, len(x))
		for i, v := range x {
			c := int32(i) / p.Inner % p.Axis
			want[i] = fixp.QuantizeLinear(v, scale[c], zero[c], k.lo, k.hi)
			back[i] = float32(want[i]-zero[c]) * scale[c]
		}
		var y any
		got := make([]int32, len(x))
		switch k.name {
		case "s8":
			q := make([]int8, len(x))
			d.call(t, "nncc_quantize_f32_s8", p, x, scale, zero, q)
			for i, v := range q {
				got[i] = int32(v)
			}
			y = q
		case "u8":
			q := make([]uint8, len(x))
			d.call(t, "nncc_quantize_f32_u8", p, x, scale, zero, q)
			for i, v := range q {
				got[i] = int32(v)
			}
			y = q
		case "s16":
			q := make([]int16, len(x))
			d.call(t, "nncc_quantize_f32_s16", p, x, scale, zero, q)
			for i, v := range q {
				got[i] = int32(v)
			}
			y = q
		}
		same(t, "quantize "+k.name, p, got, want)
		f := poisonF32(int32(len(x)))
		d.call(t, "nncc_dequantize_"+k.name+"_f32", p, y, scale, zero, f)
		same(t, "dequantize "+k.name, p, f, back)
		wide := randI32(r, p.count(), -1<<30, 1<<30)
		for i := range zero {
			zero[i] = 0
		}
		for i := range back {
			back[i] = float32(wide[i]) * scale[int32(i)/p.Inner%p.Axis]
		}
		d.call(t, "nncc_dequantize_s32_f32", p, wide, scale, zero, f)
		same(t, "dequantize s32", p, f, back)
	}
}

func TestOwnTables(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(51)
	for range 20 {
		n := between(r, 1, 300)
		x, y, want := numbered(r, n, 1), make([]byte, n), make([]byte, n)
		var table [256]uint8
		copy(table[:], numbered(r, 256, 1))
		must(t, Table256(&table, x, want))
		d.call(t, "nncc_table256", n, x, table[:], y)
		same(t, "table256", n, y, want)
		for i, v := range x {
			want[i] = v ^ 0x80
		}
		d.call(t, "nncc_xor80", n, x, y)
		same(t, "xor80", n, y, want)
	}
}

// randOperands draws two int8 operands and their broadcast.
func randOperands(r *rand.Rand) (p Broadcast, a, b []int8, n int) {
	q, na, nb := randBcast(r, int(between(r, 1, 4)), 1, 1)
	p = Broadcast{q.Rank, q.Dims, q.AStride, q.BStride}
	return p, randS8(r, na), randS8(r, nb), p.size()
}

// allPairs is the broadcast of a column of all int8 values and a row of them.
func allPairs() (p Broadcast, a, b []int8) {
	p = Broadcast{Rank: 2}
	p.Dims[0], p.Dims[1], p.AStride[0], p.BStride[1] = 256, 256, 1, 1
	for q := -128; q <= 127; q++ {
		a = append(a, int8(q))
	}
	return p, a, a
}

// TestOwnBinaryS8 compares the definition in C and Go, and the proven integer
// kernels with the definition, over all pairs of values.
func TestOwnBinaryS8(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(52)
	sub, div := 0, 0
	const cases = 60
	for range cases {
		pa, pb, po := randQP(r), randQP(r), randQP(r)
		p := BinaryParams{AScale: float64(pa.Scale), BScale: float64(pb.Scale), OutScale: float64(po.Scale), AZero: pa.Zero, BZero: pb.Zero, OutZero: po.Zero}
		p.ActMin, p.ActMax = randAct(r, po)
		var a, b []int8
		p.Bcast, a, b = allPairs()
		run := func() []int8 {
			want, y := make([]int8, p.Bcast.size()), make([]int8, p.Bcast.size())
			must(t, Binary(&p, a, b, want))
			d.call(t, "nncc_binary_s8", p, a, b, y)
			same(t, "binary_s8", p, y, want)
			return want
		}
		p.Op = BinaryOp(r.IntN(7))
		run()
		p.Op = BinarySub
		want := run()
		if tab, ok := BuildSub(pa, pb, po, p.ActMin, p.ActMax); ok {
			sub++
			q := SumParams{p.Bcast, tab.Shift, p.ActMin, p.ActMax}
			y := make([]int8, len(want))
			d.call(t, "nncc_sum_s8", q, a, b, tab.A[:], tab.B[:], y)
			same(t, "sum_s8", q, y, want)
			must(t, Sum(&q, tab, a, b, y))
			same(t, "Sum", q, y, want)
		}
		p.Op = BinaryDiv
		want = run()
		if rec, ok := BuildDiv(pa, pb, po, p.ActMin, p.ActMax); ok {
			div++
			q := DivParams{p.Bcast, pa.Zero, po.Zero, p.ActMin, p.ActMax}
			y := make([]int8, len(want))
			d.call(t, "nncc_div_s8", q, a, b, rec[:], y)
			same(t, "div_s8", q, y, want)
			must(t, Div(&q, rec, a, b, y))
			same(t, "Div", q, y, want)
		}
		p.Op = BinaryMul
		p.Bcast, a, b, _ = randOperands(r)
		want = run()
		tab := BuildTable2(func(a, b uint8) uint8 {
			v := p.Op.Eval(float64(int32(int8(a))-p.AZero)*p.AScale, float64(int32(int8(b))-p.BZero)*p.BScale)
			return uint8(roundAway(v/p.OutScale, p.OutZero, p.ActMin, p.ActMax))
		}, func(v uint8) bool { return slices.Contains(b, int8(v)) })
		ua, ub, y, u := bits(a), bits(b), make([]uint8, len(want)), bits(want)
		d.call(t, "nncc_table2", p.Bcast, ua, ub, tab.RowOf[:], tab.Rows, y)
		same(t, "table2", p.Bcast, y, u)
		must(t, Table2(&p.Bcast, tab, ua, ub, y))
		same(t, "Table2", p.Bcast, y, u)
	}
	t.Logf("of %d cases, Sub has tables in %d, Div reciprocals in %d", cases, sub, div)
	if sub < cases*9/10 || div < cases*9/10 {
		t.Errorf("of %d cases, Sub has tables in %d, Div reciprocals in %d; want 90%%", cases, sub, div)
	}
}

func bits(x []int8) []uint8 {
	u := make([]uint8, len(x))
	for i, v := range x {
		u[i] = uint8(v)
	}
	return u
}

// Comparisons and CMSIS-NN's Add are functions of a sum too.
func TestOwnBuildSum(t *testing.T) {
	r := ownRand(53)
	added := 0
	const cases = 10
	for range cases {
		a, b, o := randQP(r), randQP(r), QP{1, 0}
		_, ok := BuildSum(func(q int32) float64 { return a.Real(q) / float64(a.Scale) }, func(q int32) float64 { return -b.Real(q) / float64(a.Scale) }, 0, 1,
			func(x, y int32) int32 { return boolInt(a.Real(x) > b.Real(y)) })
		if !ok {
			t.Errorf("no tables for %+v > %+v", a, b)
		}
		o = QP{max(a.Scale, b.Scale) * 1.5, 3}
		add := &AddParams{Offset1: -a.Zero, Offset2: -b.Zero, OutputOffset: o.Zero, ActMin: -128, ActMax: 127, Scales: fixp.NewAddScales(a.Scale, b.Scale, o.Scale)}
		_, ok = BuildSum(func(q int32) float64 { return a.Real(q)/float64(o.Scale) + 3 }, func(q int32) float64 { return b.Real(q) / float64(o.Scale) }, -128, 127,
			func(x, y int32) int32 {
				out := make([]int8, 1)
				must(t, Add(add, []int8{int8(x)}, []int8{int8(y)}, out))
				return int32(out[0])
			})
		if ok {
			added++
		}
	}
	t.Logf("%d of %d additions of CMSIS-NN have tables", added, cases)
}

func TestOwnAffine(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(54)
	built, tried := 0, 0
	for range 60 {
		in, out := randQP(r), randQP(r)
		lo, hi := randAct(r, out)
		p := RowsParams{between(r, 1, 3), between(r, 1, 6), lo, hi}
		var f, neg []Affine
		pos, ok := BuildPRelu(in, out, 1, false, lo, hi)
		tried++
		if !ok {
			continue
		}
		for range p.Channels {
			scale, shift := r.NormFloat64()*2, r.NormFloat64()
			if r.IntN(4) == 0 {
				scale, shift = 0.5, 0
			}
			a, ok1 := BuildScaleShift(in, out, scale, shift, lo, hi)
			b, ok2 := BuildPRelu(in, out, scale, true, lo, hi)
			tried += 2
			if ok1 && ok2 {
				built += 2
				f, neg = append(f, a), append(neg, b)
			}
		}
		built++
		p.Channels = int32(len(f))
		if p.Channels == 0 {
			continue
		}
		x := randS8(r, p.Rows*p.Channels)
		y, want := make([]int8, len(x)), make([]int8, len(x))
		must(t, ScaleShift(&p, x, f, want))
		d.call(t, "nncc_scale_shift_s8", p, x, f, y)
		same(t, "scale_shift_s8", p, y, want)
		q := PReluParams{p.Rows, p.Channels, in.Zero, lo, hi}
		must(t, PRelu(&q, x, &pos, neg, want))
		d.call(t, "nncc_prelu_s8", q, x, []Affine{pos}, neg, y)
		same(t, "prelu_s8", q, y, want)
	}
	t.Logf("%d of %d linear functions have constants", built, tried)
	if built < tried*9/10 {
		t.Errorf("%d of %d linear functions have constants, want 90%%", built, tried)
	}
}

func randConsts(r *rand.Rand, n int32) *ChannelConsts {
	c := &ChannelConsts{Zero: randI32(r, n, -128, 127)}
	for range n {
		m, s := fixp.QuantizeMultiplier(math.Exp(r.NormFloat64()*2) / 200)
		c.Mult, c.Shift = append(c.Mult, m), append(c.Shift, s)
	}
	return c
}

func maybeI32(r *rand.Rand, n int32) []int32 {
	if r.IntN(4) == 0 {
		return nil
	}
	return randI32(r, n, -5000, 5000)
}

func TestOwnConvWZP(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(55)
	for range 200 {
		g := randConv(r)
		p := Conv2dWZPParams{g.Batch, g.InH, g.InW, g.InC, g.OutH, g.OutW, g.OutC, g.KernelH, g.KernelW, g.StrideH, g.StrideW,
			g.DilationH, g.DilationW, g.PadTop, g.PadLeft, g.Groups, between(r, -127, 128), between(r, -128, 127), -128, 127}
		x, w := randS8(r, p.Batch*p.InH*p.InW*p.InC), randS8(r, p.OutC*p.KernelH*p.KernelW*p.InC/p.Groups)
		b, c := maybeI32(r, p.OutC), randConsts(r, p.OutC)
		y, want := make([]int8, p.Batch*p.OutH*p.OutW*p.OutC), make([]int8, p.Batch*p.OutH*p.OutW*p.OutC)
		must(t, Conv2dWZP(&p, x, w, b, c, want))
		d.call(t, "nncc_conv2d_wzp_s8", p, x, w, b, c.Zero, c.Mult, c.Shift, y)
		same(t, "conv2d_wzp_s8", p, y, want)
		// With all weight zero points 0 this is CMSIS-NN's convolution.
		clear(c.Zero)
		must(t, Conv2dWZP(&p, x, w, b, c, want))
		cp := &ConvParams{In: Dims{int(p.Batch), int(p.InH), int(p.InW), int(p.InC)}, Filter: Dims{int(p.OutC), int(p.KernelH), int(p.KernelW), int(p.InC / p.Groups)},
			Out: Dims{int(p.Batch), int(p.OutH), int(p.OutW), int(p.OutC)}, Stride: Tile{int(p.StrideH), int(p.StrideW)}, Pad: Tile{int(p.PadTop), int(p.PadLeft)},
			Dilation: Tile{int(p.DilationH), int(p.DilationW)}, InputOffset: p.InOffset, OutputOffset: p.OutOffset, ActMin: -128, ActMax: 127, Mult: c.Mult, Shift: c.Shift}
		must(t, Conv(cp, x, w, b, y))
		same(t, "Conv", p, y, want)

		q := DepthwiseWZPParams{g.Batch, g.InH, g.InW, between(r, 1, 5), g.OutH, g.OutW, between(r, 1, 3), g.KernelH, g.KernelW, g.StrideH, g.StrideW,
			g.DilationH, g.DilationW, g.PadTop, g.PadLeft, p.InOffset, p.OutOffset, -100, 100}
		outC := q.InC * q.MultC
		x, w, b, c = randS8(r, q.Batch*q.InH*q.InW*q.InC), randS8(r, q.KernelH*q.KernelW*outC), maybeI32(r, outC), randConsts(r, outC)
		y, want = make([]int8, q.Batch*q.OutH*q.OutW*outC), make([]int8, q.Batch*q.OutH*q.OutW*outC)
		must(t, DepthwiseWZP(&q, x, w, b, c, want))
		d.call(t, "nncc_depthwise_conv2d_wzp_s8", q, x, w, b, c.Zero, c.Mult, c.Shift, y)
		same(t, "depthwise_conv2d_wzp_s8", q, y, want)

		f := FullyConnectedWZPParams{between(r, 1, 3), between(r, 1, 30), between(r, 1, 9), p.InOffset, p.OutOffset, -128, 127}
		x, w, b, c = randS8(r, f.Batch*f.InN), randS8(r, f.OutN*f.InN), maybeI32(r, f.OutN), randConsts(r, f.OutN)
		y, want = make([]int8, f.Batch*f.OutN), make([]int8, f.Batch*f.OutN)
		must(t, FullyConnectedWZP(&f, x, w, b, c, want))
		d.call(t, "nncc_fully_connected_wzp_s8", f, x, w, b, c.Zero, c.Mult, c.Shift, y)
		same(t, "fully_connected_wzp_s8", f, y, want)
	}
}

func TestOwnPoolS8(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(56)
	for range 300 {
		g := randPool(r)
		in, out := randQP(r), randQP(r)
		if r.IntN(2) == 0 {
			out = in
		}
		p := Pool2dParams{Batch: g.Batch, InH: g.InH, InW: g.InW, InC: g.InC, OutH: g.OutH, OutW: g.OutW, KernelH: g.KernelH, KernelW: g.KernelW,
			StrideH: g.StrideH, StrideW: g.StrideW, DilationH: g.DilationH, DilationW: g.DilationW, PadTop: g.PadTop, PadLeft: g.PadLeft,
			PadBottom: g.PadBottom, PadRight: g.PadRight, CountIncludePad: g.CountIncludePad}
		raw := r.IntN(2) == 0
		p.SetQuant(in, out, raw)
		p.ActMin, p.ActMax = randAct(r, out)
		x := randS8(r, p.Batch*p.InH*p.InW*p.InC)
		n := p.Batch * p.OutH * p.OutW * p.InC
		y, want := make([]int8, n), make([]int8, n)
		must(t, AvgPool2d(&p, x, want))
		d.call(t, "nncc_avg_pool2d_s8", p, x, y)
		same(t, "avg_pool2d_s8", p, y, want)
		if !(raw && in == out) { // the definition, literally in float64
			var def []int8
			g.windows(func(taps []int32, count int) {
				for c := range p.InC {
					sum := 0.0
					for _, at := range taps {
						sum += in.Real(int32(x[at*p.InC+c]))
					}
					def = append(def, int8(out.Quantise(sum/float64(max(count, 1)), p.ActMin, p.ActMax)))
				}
			})
			same(t, "definition of avg_pool2d_s8", p, y, def)
		}
		must(t, MaxPool2d(&p, x, want))
		d.call(t, "nncc_max_pool2d_s8", p, x, y)
		same(t, "max_pool2d_s8", p, y, want)
	}
}

func TestOwnAxisS8(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(57)
	for range 200 {
		a := randAxis(r)
		p := AxisParams(a)
		x := randS8(r, a.count())
		n := p.Outer * p.Inner
		in, out := randQP(r), randQP(r)
		if r.IntN(2) == 0 {
			out = in
		}
		q := ReduceParams{Outer: p.Outer, Axis: p.Axis, Inner: p.Inner, Divisor: 1}
		if r.IntN(2) == 0 {
			q.Divisor = p.Axis
		}
		q.SetQuant(in, out)
		q.ActMin, q.ActMax = randAct(r, out)
		y, want := make([]int8, n), make([]int8, n)
		must(t, ReduceSum(&q, x, want))
		d.call(t, "nncc_reduce_sum_s8", q, x, y)
		same(t, "reduce_sum_s8", q, y, want)
		var def []int8 // the definition, literally in float64
		a.lines(func(at []int32) {
			sum := 0.0
			for _, k := range at {
				sum += in.Real(int32(x[k]))
			}
			def = append(def, int8(out.Quantise(sum/float64(q.Divisor), q.ActMin, q.ActMax)))
		})
		same(t, "definition of reduce_sum_s8", q, y, def)

		must(t, ReduceMax(&p, x, want))
		d.call(t, "nncc_reduce_max_s8", p, x, y)
		same(t, "reduce_max_s8", p, y, want)
		must(t, ReduceMin(&p, x, want))
		d.call(t, "nncc_reduce_min_s8", p, x, y)
		same(t, "reduce_min_s8", p, y, want)

		g := ArgParams{p.Outer, p.Axis, p.Inner, between(r, 0, 1)}
		at, wantAt := make([]int64, n), make([]int64, n)
		must(t, ArgMax(&g, x, wantAt))
		d.call(t, "nncc_argmax_s8", g, x, at)
		same(t, "argmax_s8", g, at, wantAt)
		must(t, ArgMin(&g, x, wantAt))
		d.call(t, "nncc_argmin_s8", g, x, at)
		same(t, "argmin_s8", g, at, wantAt)

		s := SoftmaxAxisParams{Outer: p.Outer, Axis: p.Axis, Inner: p.Inner}
		if r.IntN(8) == 0 { // long lines of equal values: large sums
			s.Axis = between(r, 300, 700)
			x = make([]int8, s.Outer*s.Axis*s.Inner)
		}
		s.Mult, s.Shift, s.DiffMin = fixp.SoftmaxScale(1, randQP(r).Scale)
		soft, wantSoft := make([]int8, len(x)), make([]int8, len(x))
		must(t, SoftmaxAxis(&s, x, wantSoft))
		d.call(t, "nncc_softmax_s8", s, x, soft)
		same(t, "softmax_s8", s, soft, wantSoft)
	}
}

func randF64(r *rand.Rand, n int32) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(float32(r.NormFloat64()))
	}
	return x
}

func TestOwnNormS8(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(58)
	for range 200 {
		in, out := randQP(r), randQP(r)
		out.Scale += 0.01
		p := LayerNormParams{InScale: float64(in.Scale), OutScale: float64(out.Scale), Epsilon: []float64{1e-5, 1e-3, 0}[r.IntN(3)],
			Rows: between(r, 1, 4), Len: between(r, 1, 40), InZero: in.Zero, OutZero: out.Zero}
		p.ActMin, p.ActMax = randAct(r, out)
		x := randS8(r, p.Rows*p.Len)
		if r.IntN(5) == 0 { // variance 0
			x = make([]int8, len(x))
		}
		scale, bias := randF64(r, p.Len), randF64(r, p.Len)
		if r.IntN(4) == 0 {
			bias = nil
		}
		y, want := make([]int8, len(x)), make([]int8, len(x))
		must(t, LayerNorm(&p, x, scale, bias, want))
		d.call(t, "nncc_layer_norm_s8", p, x, scale, bias, y)
		same(t, "layer_norm_s8", p, y, want)
		if p.Epsilon > 0 {
			nearLayerNorm(t, &p, x, scale, bias, want)
		}
		groups := between(r, 1, 3)
		q := GroupNormParams{InScale: p.InScale, OutScale: p.OutScale, Epsilon: p.Epsilon, Batch: between(r, 1, 2), Spatial: between(r, 1, 20),
			Channels: groups * between(r, 1, 4), Groups: groups, InZero: in.Zero, OutZero: out.Zero, ActMin: p.ActMin, ActMax: p.ActMax}
		x = randS8(r, q.Batch*q.Spatial*q.Channels)
		scale, bias = randF64(r, q.Channels), randF64(r, q.Channels)
		y, want = make([]int8, len(x)), make([]int8, len(x))
		must(t, GroupNorm(&q, x, scale, bias, want))
		d.call(t, "nncc_group_norm_s8", q, x, scale, bias, y)
		same(t, "group_norm_s8", q, y, want)
	}
}

// nearLayerNorm checks the reference against the textbook formula: values away
// from a tie must agree exactly.
func nearLayerNorm(t *testing.T, p *LayerNormParams, x []int8, scale, bias []float64, y []int8) {
	t.Helper()
	n := int(p.Len)
	for i, got := range y {
		row := x[i/n*n:][:n]
		mean, sq := 0.0, 0.0
		for _, v := range row {
			mean += float64(v) * p.InScale / float64(n)
		}
		for _, v := range row {
			sq += (float64(v)*p.InScale - mean) * (float64(v)*p.InScale - mean)
		}
		v := (float64(x[i])*p.InScale - mean) / math.Sqrt(sq/float64(n)+p.Epsilon) * scale[i%n]
		if bias != nil {
			v += bias[i%n]
		}
		v /= p.OutScale
		lo, hi := roundAway(v-1e-6, p.OutZero, p.ActMin, p.ActMax), roundAway(v+1e-6, p.OutZero, p.ActMin, p.ActMax)
		if int32(got) < lo || int32(got) > hi {
			t.Fatalf("LayerNorm: element %d is %d, want %g + %d\n%+v", i, got, v, p.OutZero, *p)
		}
	}
}

// linearAxis gives the tables of linear interpolation with half-pixel centres.
func linearAxis(t *testing.T, in, out int32) (*ResizeAxis, []float64) {
	var index []int32
	var weight []float64
	for o := range out {
		c := (float64(o)+0.5)*float64(in)/float64(out) - 0.5
		lo := math.Floor(c)
		frac := c - lo
		i0, i1 := min(max(int32(lo), 0), in-1), min(max(int32(lo)+1, 0), in-1)
		index, weight = append(index, i0, i1), append(weight, 1-frac, frac)
	}
	a, err := NewResizeAxis(2, index, weight)
	must(t, err)
	return a, weight
}

func TestOwnResizeS8(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(59)
	for range 150 {
		in, out := randQP(r), randQP(r)
		if r.IntN(2) == 0 {
			out = in
		}
		p := ResizeParams{Batch: between(r, 1, 2), InH: between(r, 1, 5), InW: between(r, 1, 5), Channels: between(r, 1, 4)}
		h, wh := linearAxis(t, p.InH, between(r, 1, 9))
		w, ww := linearAxis(t, p.InW, between(r, 1, 9))
		outside := r.IntN(5) == 0
		if outside {
			h.Index[0] = -1
		}
		p.SetAxes(h, w, in, out, 0.5)
		x := randS8(r, p.Batch*p.InH*p.InW*p.Channels)
		n := p.Batch * p.OutH * p.OutW * p.Channels
		y, want := make([]int8, n), make([]int8, n)
		must(t, Resize(&p, x, h, w, want))
		d.call(t, "nncc_resize_s8", p, x, h.Index, h.Weight, w.Index, w.Weight, y)
		same(t, "resize_s8", p, y, want)
		if outside {
			continue
		}
		for i, got := range y { // exact wherever no tie is near
			c, ox := int32(i)%p.Channels, int32(i)/p.Channels%p.OutW
			oy, b := int32(i)/p.Channels/p.OutW%p.OutH, int32(i)/p.Channels/p.OutW/p.OutH
			v := 0.0
			for s := range int32(2) {
				for u := range int32(2) {
					v += in.Real(int32(x[((b*p.InH+h.Index[2*oy+s])*p.InW+w.Index[2*ox+u])*p.Channels+c])) * wh[2*oy+s] * ww[2*ox+u]
				}
			}
			lo, hi := out.Quantise(v-1e-9, -128, 127), out.Quantise(v+1e-9, -128, 127)
			if int32(got) < lo || int32(got) > hi {
				t.Fatalf("resize_s8: element %d is %d, want %g + %d\n%+v", i, got, v/float64(out.Scale), out.Zero, p)
			}
		}
	}
}

func TestOwnBroadcast(t *testing.T) {
	for _, c := range []struct {
		a, b, shape []int
		rank        int32
	}{
		{[]int{2, 3, 4}, []int{2, 3, 4}, []int{2, 3, 4}, 1},
		{[]int{2, 3, 4}, nil, []int{2, 3, 4}, 1},
		{[]int{2, 3, 4}, []int{4}, []int{2, 3, 4}, 2},
		{[]int{2, 3, 4}, []int{3, 1}, []int{2, 3, 4}, 3},
		{[]int{1}, []int{1, 1}, []int{1, 1}, 1},
	} {
		p, shape, err := NewBroadcast(c.a, c.b)
		if err != nil || p.Rank != c.rank || !slices.Equal(shape, c.shape) {
			t.Errorf("NewBroadcast(%v, %v) = %+v, %v, %v", c.a, c.b, p, shape, err)
		}
	}
	if _, _, err := NewBroadcast([]int{2, 3}, []int{2, 4}); err == nil {
		t.Error("[2 3] and [2 4] broadcast")
	}
	r := ownRand(60)
	for range 100 { // positions against index arithmetic
		rank := r.IntN(5)
		var a, b, full []int
		for range rank {
			n := 1 + r.IntN(3)
			da, db := n, n
			switch r.IntN(3) {
			case 0:
				da = 1
			case 1:
				db = 1
			}
			a, b, full = append(a, da), append(b, db), append(full, n)
		}
		p, shape, err := NewBroadcast(a, b)
		must(t, err)
		pos := func(s []int, i int) int {
			at, step := 0, 1
			for k := rank - 1; k >= 0; k-- {
				at += i % shape[k] % s[k] * step
				i, step = i/shape[k], step*s[k]
			}
			return at
		}
		p.each(func(i, ia, ib int) {
			if ia != pos(a, i) || ib != pos(b, i) {
				t.Fatalf("%v, %v: element %d reads %d and %d, want %d and %d", a, b, i, ia, ib, pos(a, i), pos(b, i))
			}
		})
	}
}

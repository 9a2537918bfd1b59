// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// setQ quantises a value of a test node in place.
func setQ(v *ir.Value, q *ir.Quant) { v.Type = v.Type.WithQuant(v.Type.DType, q) }

func TestMatrixProductsQuantisedAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for i := range 200 {
		m, k, c := 1+r.Intn(4), 1+r.Intn(9), 1+r.Intn(6)
		gemm, transB, perAxis := i%2 == 0, i%4 == 0, i%3 == 0
		a, b := randInt8(r, m, k), randInt8(r, k, c)
		wq := &ir.Quant{Axis: 1}
		if transB {
			b, wq.Axis = randInt8(r, c, k), 0
		}
		for range c {
			wq.Scale, wq.Zero = append(wq.Scale, 0.01+0.01*r.Float32()), append(wq.Zero, int32(i%5/4*r.Intn(5)))
		}
		if !perAxis {
			wq = ir.PerTensor(wq.Scale[0], wq.Zero[0])
		}
		aq, yq := ir.PerTensor(0.02, int32(r.Intn(200)-100)), ir.PerTensor(0.03, int32(r.Intn(100)-50))
		args := []*tensor.Dense{a, b}
		name, attrs := "MatMul", ir.Attrs(nil)
		in := []any{ir.T(tensor.I8, m, k), ir.T(tensor.I8, b.Shape...)}
		var bias *tensor.Dense
		if gemm {
			name, attrs = "Gemm", ir.Attrs(nil)
			if transB {
				attrs = ir.Attrs{"transB": ir.Int(1)}
			}
			bias = tensor.New(tensor.I32, [][]int{{c}, {1, c}, {1}, {}}[i/2%4])
			for k := range bias.Len() {
				bias.SetInt(k, int64(r.Intn(4000)-2000))
			}
			args, in = append(args, bias), append(in, bias)
			bias = expand(bias, []int{m, c})
		}
		g := ir.New("t")
		var vs []*ir.Value
		for j, x := range in {
			switch x := x.(type) {
			case ir.Type:
				q := aq
				if j == 1 {
					q = wq
				}
				vs = append(vs, g.AddInput("x", x.WithQuant(tensor.I8, q)))
			case *tensor.Dense:
				vs = append(vs, g.AddConst("b", x))
			}
		}
		n := testenv.Must(g.Add(Get("", name), name, attrs, 1, vs...))(t)
		setQ(n.Out[0], yq)
		y := testenv.Must(ir.EvalNode(n, args))(t)
		for o := range m * c {
			row, col := o/c, o%c
			acc := int64(0)
			if bias != nil {
				acc = bias.Int(o)
			}
			for l := range k {
				w := b.Data.([]int8)[l*c+col%c]
				if transB {
					w = b.Data.([]int8)[col*k+l]
				}
				acc += (a.Int(row*k+l) - int64(aq.Zero[0])) * (int64(w) - int64(wq.ZeroAt(col)))
			}
			eff := float64(aq.Scale[0]) * float64(wq.ScaleAt(col)) / float64(yq.Scale[0])
			if !perAxis {
				eff = float64(aq.Scale[0]*wq.Scale[0]) / float64(yq.Scale[0])
			}
			mult, shift := fixp.QuantizeMultiplier(eff)
			want := fixp.Clamp(fixp.Requantize(int32(acc), mult, shift)+yq.Zero[0], -128, 127)
			testenv.Require(t, y[0].Int(o) == int64(want),
				"case %d %s: element %d is %d, want %d", i, name, o, y[0].Int(o), want)
		}
		asUint8(t, n, args, y[0])
	}
}

func TestBatchedMatMulQuantised(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	a, b := randInt8(r, 2, 1, 3, 4), randInt8(r, 5, 4, 2)
	g := ir.New("t")
	n := testenv.Must(g.Add(Get("", "MatMul"), "mm", nil, 1,
		g.AddInput("a", ir.T(tensor.I8, a.Shape...).WithQuant(tensor.I8, ir.PerTensor(0.1, 3))),
		g.AddInput("b", ir.T(tensor.I8, b.Shape...).WithQuant(tensor.I8, ir.PerTensor(0.1, -7)))))(t)
	setQ(n.Out[0], ir.PerTensor(2, 1))
	got := testenv.Must(ir.EvalNode(n, []*tensor.Dense{a, b}))(t)
	// one step at most from the product in float64
	ref := testenv.Must(ir.EvalDequantised(n, []*tensor.Dense{a, b}))(t)
	testenv.Require(t, sameShape(got[0].Shape, []int{2, 5, 3, 2}), "shape %v", got[0].Shape)
	for i := range got[0].Len() {
		if d := got[0].Int(i) - ref[0].Int(i); d < -1 || d > 1 {
			t.Fatalf("element %d is %d, the float product %d", i, got[0].Int(i), ref[0].Int(i))
		}
	}
}

// TestQuantParamReasons: what keeps integer arithmetic away is said, and
// evaluation then still gives the general rule's numbers.
func TestQuantParamReasons(t *testing.T) {
	x, w := ir.T(tensor.I8, 1, 2, 5, 5).WithQuant(tensor.I8, ir.PerTensor(0.02, 0)),
		tensor.New(tensor.I8, []int{3, 2, 3, 3})
	for _, c := range []struct {
		change func(n *ir.Node)
		want   string
	}{
		{func(n *ir.Node) {}, ""},
		{func(n *ir.Node) { n.In[0].Type.Quant = nil }, "not quantised"},
		{func(n *ir.Node) { n.Out[0].Type.DType = tensor.I16 }, "output"},
		{func(n *ir.Node) {
			n.In[1].Type.Quant = &ir.Quant{Axis: 1, Scale: []float32{1, 1}, Zero: []int32{0, 0}}
		}, "along dimension 1"},
		{func(n *ir.Node) { setQ(n.In[2], ir.PerTensor(0.5, 0)) }, "scale 0.5"},
		{func(n *ir.Node) { setQ(n.In[2], ir.PerTensor(0.02*0.01, 1)) }, "zero point"},
		{func(n *ir.Node) { n.In[2].Type.DType = tensor.F32 }, "want int32"},
	} {
		n := node(t, "Conv", nil, 1, x, w, tensor.New(tensor.I32, []int{3}))
		setQ(n.In[0], ir.PerTensor(0.02, 0))
		setQ(n.In[1], ir.PerTensor(0.01, 0))
		setQ(n.Out[0], ir.PerTensor(0.05, 0))
		c.change(n)
		_, why := MAC8Params(n)
		testenv.Check(t, (why == "") == (c.want == "") && strings.Contains(why, c.want), "reason %q, want %q", why,
			c.want)
	}
}

func TestPoolingQuantised(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	for i := range 200 {
		dims := 1 + i%3
		x := []int{1 + r.Intn(2), 1 + r.Intn(3)}
		var k, s, dl, pads []int
		for range dims {
			k, s, dl = append(k, 1+r.Intn(3)), append(s, 1+r.Intn(3)), append(dl, 1)
		}
		name := []string{"AveragePool", "MaxPool"}[i/3%2]
		if name == "MaxPool" && i%5 == 0 {
			dl[0] = 2
		}
		for d := range dims {
			x = append(x, (k[d]-1)*dl[d]+1+r.Intn(5))
			pads = append(pads, r.Intn(k[d]))
		}
		for d := range dims {
			pads = append(pads, r.Intn(k[d]))
		}
		attrs := ir.Attrs{"kernel_shape": ir.Ints(k...), "strides": ir.Ints(s...), "pads": ir.Ints(pads...),
			"dilations": ir.Ints(dl...), "ceil_mode": ir.Int(i % 2)}
		n, err := tryNode(name, attrs, 1, ir.T(tensor.I8, x...).WithQuant(tensor.I8, ir.PerTensor(0.1, 5)))
		if err != nil {
			if strings.Contains(err.Error(), "wholly in the padding") {
				continue
			}
			t.Fatal(err)
		}
		setQ(n.Out[0], ir.PerTensor(0.1, 5))
		data := randInt8(r, x...)
		got := testenv.Must(ir.EvalNode(n, []*tensor.Dense{data}))(t)
		// the same window in float64, by the float evaluation
		f := testenv.Must(n.Op.Eval(n, []*tensor.Dense{data.Cast(tensor.F64)}))(t)
		for o := range got[0].Len() {
			if want := math.Round(f[0].Float(o)); got[0].Float(o) != want {
				t.Fatalf("case %d %s %v of %v: element %d is %d, want %v", i, name, attrs, x, o, got[0].Int(o), want)
			}
		}
		asUint8(t, n, []*tensor.Dense{data}, got[0])
	}
}

// TestPoolingRequantised: with another output scale the rule of the contract
// holds, sum over count in float64, ties away from zero.
func TestPoolingRequantised(t *testing.T) {
	n := node(t, "GlobalAveragePool", nil, 1, ir.T(tensor.I8, 1, 1, 2, 2).WithQuant(tensor.I8, ir.PerTensor(0.5, 1)))
	setQ(n.Out[0], ir.PerTensor(0.25, -3))
	_, _, why := PoolQuantClamp(n)
	testenv.Check(t, strings.Contains(why, "differ in scale"), "reason %q", why)
	y := testenv.Must(ir.EvalNode(n, []*tensor.Dense{tensor.Of([]int{1, 1, 2, 2}, []int8{1, 2, 3, 5})}))(t)
	// (0+1+2+4)*0.5/4 = 0.875; /0.25 = 3.5, away from zero 4; -3
	testenv.Equal(t, y[0].Int(0), 1)
}

func TestQLSTMFollowsFloat(t *testing.T) {
	r := rand.New(rand.NewSource(6))
	const steps, batch, input, hidden = 7, 2, 5, 6
	xq, yq := ir.PerTensor(0.02, 10), ir.PerTensor(1.0/128, -3)
	wq, rq := &ir.Quant{Axis: 0}, &ir.Quant{Axis: 0}
	for u := range 4 * hidden {
		wq.Scale, wq.Zero = append(wq.Scale, 0.004+0.001*float32(u/hidden)), append(wq.Zero, 0)
		rq.Scale, rq.Zero = append(rq.Scale, 0.005-0.001*float32(u/hidden)), append(rq.Zero, 0)
	}
	w, rec, b := randInt8(r, 4*hidden, input), randInt8(r, 4*hidden, hidden), tensor.New(tensor.I32, []int{4 * hidden})
	bq := &ir.Quant{Axis: 0, Zero: wq.Zero}
	for u := range 4 * hidden {
		b.SetInt(u, int64(r.Intn(8000)-4000))
		bq.Scale = append(bq.Scale, xq.Scale[0]*wq.Scale[u])
	}
	data := randInt8(r, steps, batch, input)
	run := func(dir string, data *tensor.Dense) ([]*tensor.Dense, *ir.Node) {
		g := ir.New("t")
		in := []*ir.Value{g.AddInput("x", ir.T(tensor.I8, steps, batch, input).WithQuant(tensor.I8, xq)),
			g.AddConst("w", w), g.AddConst("r", rec), g.AddConst("b", b)}
		setQ(in[1], wq)
		setQ(in[2], rq)
		setQ(in[3], bq)
		n, err := g.Add(Get("nncc", "QLSTM"), "l", ir.Attrs{"cell_scale_power": ir.Int(-11), "direction": ir.Str(dir)},
			3, in...)
		testenv.OK(t, err)
		setQ(n.Out[0], yq)
		setQ(n.Out[1], yq)
		setQ(n.Out[2], ir.PerTensor(1.0/2048, 0))
		_, why := QLSTMParams(n)
		testenv.Require(t, why == "", "%v", why)
		out := testenv.Must(ir.EvalNode(n, []*tensor.Dense{data, w, rec, b}))(t)
		return out, n
	}
	fwd, n := run("forward", data)
	ref := testenv.Must(ir.EvalDequantised(n, []*tensor.Dense{data, w, rec, b}))(t)
	for k, limit := range []float64{4, 4, 64} { // steps of 1/128, 1/128, 1/2048
		for i := range fwd[k].Len() {
			if d := math.Abs(fwd[k].Float(i) - ref[k].Float(i)); d > limit {
				t.Errorf("output %d element %d is %d, in float %d", k, i, fwd[k].Int(i), ref[k].Int(i))
			}
		}
	}
	flip := func(d *tensor.Dense) *tensor.Dense { return tensor.Of(d.Shape, reverseRows(d.Data.([]int8), steps)) }
	back, _ := run("reverse", flip(data))
	testenv.Check(t, tensor.Equal(flip(back[0]), fwd[0]) && tensor.Equal(back[2], fwd[2]),
		"reverse on reversed data is not forward")
}

// TestMoveQuantised: where data movement makes elements, they stand for the
// right reals.
func TestMoveQuantised(t *testing.T) {
	q := ir.PerTensor(0.5, -7)
	x := tensor.Of([]int{2, 2}, []int8{1, 2, 3, 4})
	for _, c := range []struct {
		name  string
		attrs ir.Attrs
		rest  []any
		want  []int8
	}{
		{"Pad", nil, []any{tensor.Ints(0, 1, 0, 0)}, []int8{-7, 1, 2, -7, 3, 4}},
		{"Pad", nil, []any{tensor.Ints(0, 1, 0, 0), tensor.Scalar(float32(1))}, []int8{-5, 1, 2, -5, 3, 4}},
		{"Pad", nil, []any{tensor.Ints(0, 1, 0, 0), tensor.Scalar(int8(9))}, []int8{9, 1, 2, 9, 3, 4}},
		{"Pad", nil, []any{tensor.Ints(0, 1, 0, -1)}, []int8{-7, 1, -7, 3}},
		{"Pad", ir.Attrs{"mode": ir.Str("reflect")}, []any{tensor.Ints(0, 1, 0, 0)}, []int8{2, 1, 2, 4, 3, 4}},
		{"Trilu", nil, nil, []int8{1, 2, -7, 4}},
		{"CenterCropPad", nil, []any{tensor.Ints(3, 1)}, []int8{1, 3, -7}},
		{"Tile", nil, []any{tensor.Ints(1, 2)}, []int8{1, 2, 1, 2, 3, 4, 3, 4}},
		{"Expand", nil, []any{tensor.Ints(2, 1, 1)}, []int8{1, 2, 3, 4, 1, 2, 3, 4}},
		{"Resize", nil, []any{nil, tensor.Of([]int{2}, []float32{1, 2})}, []int8{1, 1, 2, 2, 3, 3, 4, 4}},
		{"Resize", ir.Attrs{"mode": ir.Str("linear"), "coordinate_transformation_mode": ir.Str("align_corners")},
			[]any{nil, nil, tensor.Ints(2, 3)}, []int8{1, 2, 2, 3, 4, 4}},
	} {
		in := append([]any{ir.T(tensor.I8, 2, 2).WithQuant(tensor.I8, q)}, c.rest...)
		n := node(t, c.name, c.attrs, 1, in...)
		setQ(n.Out[0], q)
		args := []*tensor.Dense{x}
		for _, r := range c.rest {
			d, _ := r.(*tensor.Dense)
			args = append(args, d)
		}
		y, err := ir.EvalNode(n, args[:len(n.In)])
		if err != nil {
			t.Errorf("%s %v: %v", c.name, c.attrs, err)
			continue
		}
		if !tensor.Equal(y[0], tensor.Of(n.Out[0].Type.Shape, c.want)) {
			t.Errorf("%s %v gives %v, want %v", c.name, c.attrs, y[0].Data, c.want)
		}
	}
}

// TestResizeQuantised: integer weights stay within a step of float64, and are
// exact where the weights are multiples of a small fraction.
func TestResizeQuantised(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	for i := range 120 {
		s := []int{1 + r.Intn(2), 1 + r.Intn(3), 1 + r.Intn(6), 1 + r.Intn(6)}[:3+i%2]
		size := append([]int(nil), s[:2]...)
		exact := i%3 == 0
		for _, d := range s[2:] {
			if exact {
				size = append(size, 2*d)
			} else {
				size = append(size, 1+r.Intn(12))
			}
		}
		attrs := ir.Attrs{"mode": ir.Str([]string{"linear", "nearest", "cubic"}[i/6%3]),
			"coordinate_transformation_mode": ir.Str([]string{"half_pixel", "asymmetric", "align_corners"}[i/2%3])}
		exact = exact && i/2%3 != 2 && i/6%3 != 2
		n := node(t, "Resize", attrs, 1, ir.T(tensor.I8, s...).WithQuant(tensor.I8, ir.PerTensor(0.1, 3)), nil, nil,
			tensor.Ints(size...))
		setQ(n.Out[0], ir.PerTensor([]float32{0.1, 0.17}[i%2], -9))
		x := randInt8(r, s...)
		args := []*tensor.Dense{x, nil, nil, n.In[3].Const}
		got := testenv.Must(ir.EvalNode(n, args))(t)
		want := testenv.Must(ir.EvalDequantised(n, args))(t)
		for k := range got[0].Len() {
			if d := got[0].Int(k) - want[0].Int(k); d < -1 || d > 1 || exact && d != 0 {
				t.Fatalf("case %d %v to %v %v: element %d is %d, in float64 %d", i, s, size, attrs, k, got[0].Int(k),
					want[0].Int(k))
			}
		}
		asUint8(t, n, args, got[0])
	}
}

func TestShapeErrors(t *testing.T) {
	x := ir.T(tensor.F32, 2, 6)
	type a = ir.Attrs
	for _, c := range []struct {
		name  string
		attrs a
		nout  int
		in    []any
		want  string
	}{
		{"Reshape", nil, 1, []any{x, tensor.Ints(5, -1)}, "12 is no multiple of 5"},
		{"Reshape", nil, 1, []any{x, tensor.Ints(-1, -1)}, "more than one -1"},
		{"Reshape", nil, 1, []any{x, tensor.Ints(3, 3)}, "another number"},
		{"Reshape", nil, 1, []any{x, tensor.Ints(1<<40, 1<<40)}, "too large"},
		{"Reshape", nil, 1, []any{x, ir.T(tensor.I64, 2)}, "must be known at compile time"},
		{"Transpose", a{"perm": ir.Ints(0, 0)}, 1, []any{x}, "perm is [0 0]"},
		{"Split", a{"axis": ir.Int(1)}, 2, []any{x, tensor.Ints(3, 4)}, "sum of the sizes [3 4] is 7"},
		{"Split", a{"axis": ir.Int(1)}, 4, []any{x}, "cannot be split into 4 parts"},
		{"Concat", a{"axis": ir.Int(0)}, 1, []any{x, ir.T(tensor.F32, 2, 5)}, "may differ in dimension 0 only"},
		{"Concat", a{"axis": ir.Int(2)}, 1, []any{x}, "axis 2 is out of range"},
		{"Gather", nil, 1, []any{x, tensor.Ints(2)}, "index 2 is out of range"},
		{"Squeeze", nil, 1, []any{x, tensor.Ints(0)}, "it is not 1"},
		{"Unsqueeze", nil, 1, []any{x, tensor.Ints(0, 0)}, "twice"},
		{"Slice", nil, 1, []any{x, tensor.Ints(0), tensor.Ints(2), tensor.Ints(0), tensor.Ints(0)},
			"step of dimension 0 is 0"},
		{"Pad", nil, 1, []any{x, tensor.Ints(0, 0, 0)}, "want 4 values"},
		{"Pad", nil, 1, []any{x, tensor.Ints(0, 0, -3, 0)}, "crop more"},
		{"Pad", nil, 1, []any{x, tensor.Ints(1<<30, 1<<30, 0, 0)}, "too large"},
		{"Tile", nil, 1, []any{x, tensor.Ints(1<<30, 1<<30)}, "too large"},
		{"Gemm", nil, 1, []any{x, ir.T(tensor.F32, 6, 3), ir.T(tensor.F32, 4)}, "bias"},
		{"Gemm", nil, 1, []any{x, ir.T(tensor.F32, 5, 3)}, "inner dimensions are 6 and 5"},
		{"MatMul", nil, 1, []any{x, ir.T(tensor.F32, 5, 3)}, "inner dimensions are 6 and 5"},
		{"MatMul", nil, 1, []any{ir.T(tensor.F32, 3, 2, 6), ir.T(tensor.F32, 2, 6, 3)}, "broadcast"},
		{"DepthToSpace", a{"blocksize": ir.Int(2)}, 1, []any{ir.T(tensor.F32, 1, 3, 2, 2)}, "no multiple"},
		{"Resize", nil, 1, []any{x, nil, nil, tensor.Ints(1<<29, 1<<29)}, "too large"},
		{"Resize", nil, 1, []any{x}, "either scales"},
		{"Einsum", a{"equation": ir.Str("ij,jk->iz")}, 1, []any{x, ir.T(tensor.F32, 6, 2)}, "which no term has"},
		{"Einsum", a{"equation": ir.Str("a,b,c->")}, 1, []any{ir.T(tensor.F32, 1<<14), ir.T(tensor.F32, 1<<14),
			ir.T(tensor.F32, 1<<14)}, "too large"},
		{"MatMul", nil, 1, []any{ir.T(tensor.F32, 1<<12, 1, 1, 1), ir.T(tensor.F32, 1<<12, 1, 1)}, "too large"},
		{"MaxPool", a{"kernel_shape": ir.Ints(1<<29, 1<<29), "pads": ir.Ints(1<<29, 1<<29, 1, 1)}, 1,
			[]any{ir.T(tensor.F32, 1, 1, 4, 4)}, "too large"},
		{"NonZero", nil, 1, []any{x}, "only constants"},
		{"TopK", nil, 1, []any{x, tensor.Ints(7)}, "from 0 to 6"},
		{"LSTM", nil, 1, []any{ir.T(tensor.F32, 3, 1, 2), ir.T(tensor.F32, 1, 16, 2), ir.T(tensor.F32, 1, 12, 4)},
			"want [1 16 4]"},
		{"LSTM", a{"activations": ir.Strings("Sigmoid")}, 1,
			[]any{ir.T(tensor.F32, 3, 1, 2), ir.T(tensor.F32, 1, 16, 2), ir.T(tensor.F32, 1, 16, 4)}, "want 3 names"},
	} {
		_, err := tryNode(c.name, c.attrs, c.nout, c.in...)
		testenv.Refused(t, err, c.want, c.name)
	}
}

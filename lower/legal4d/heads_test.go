// SPDX-License-Identifier: Apache-2.0

package legal4d_test

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/legal4d"
)

// all4D checks a graph and that nothing in it keeps a logical form.
func (m *maker) all4D() {
	m.t.Helper()
	if l := m.check(false); len(l) > 0 {
		m.t.Errorf("not 4-D: %v in\n%s", l, brief(m.g))
	}
}

// attention writes multi-head attention on x [1, T, E] the way `how` says.
func (m *maker) attention(x *ir.Value, heads int, how string, mask *ir.Value) *ir.Value {
	s := x.Type.Shape
	b, t, e := s[0], s[1], s[2]
	d := e / heads
	var q, k, v *ir.Value // [B, H, T, D]
	switch how {
	case "gather":
		y := m.transpose(m.reshape(m.linear(x, 3*e), b, t, 3, heads, d), 2, 0, 3, 1, 4)
		q, k, v = m.take(y, 0, 0), m.take(y, 0, 1), m.take(y, 0, 2)
	case "split":
		y := m.split(m.linear(x, 3*e), 2, e, e, e)
		f := func(v *ir.Value) *ir.Value { return m.transpose(m.reshape(v, b, t, heads, d), 0, 2, 1, 3) }
		q, k, v = f(y[0]), f(y[1]), f(y[2])
	case "split-squeeze":
		y := m.split(m.transpose(m.reshape(m.linear(x, 3*e), b, t, 3, heads, d), 2, 0, 3, 1, 4), 0, 1, 1, 1)
		f := func(v *ir.Value) *ir.Value { return m.op(op.Squeeze, nil, v, m.ints(0)) }
		q, k, v = f(y[0]), f(y[1]), f(y[2])
	case "separate", "bmm":
		f := func() *ir.Value { return m.transpose(m.reshape(m.linear(x, e), b, t, heads, d), 0, 2, 1, 3) }
		q, k, v = f(), f(), f()
	case "interleaved": // [.., H, 3*D]
		y := m.split(m.transpose(m.reshape(m.linear(x, 3*e), b, t, heads, 3*d), 0, 2, 1, 3), 3, d, d, d)
		q, k, v = y[0], y[1], y[2]
	}
	if how == "bmm" {
		f := func(v *ir.Value) *ir.Value { return m.reshape(v, b*heads, t, d) }
		q, k, v = f(q), f(k), f(v)
		a := m.softmax(m.op(op.MatMul, nil, q, m.transpose(m.op(op.Mul, nil, k, m.k(0.3)), 0, 2, 1)), -1)
		o := m.reshape(m.op(op.MatMul, nil, a, v), b, heads, t, d)
		return m.linear(m.reshape(m.transpose(o, 0, 2, 1, 3), b, t, e), e)
	}
	a := m.op(op.Div, nil, m.op(op.MatMul, nil, q, m.transpose(k, 0, 1, 3, 2)), m.k(3))
	if mask != nil {
		a = m.op(op.Add, nil, a, mask)
	}
	o := m.op(op.MatMul, nil, m.softmax(a, 3), v)
	return m.linear(m.reshape(m.transpose(o, 0, 2, 1, 3), b, t, e), e)
}

func (m *maker) block(x *ir.Value, heads int, how string, mask *ir.Value) *ir.Value {
	x = m.op(op.Add, nil, x, m.attention(m.norm(x), heads, how, mask))
	e := x.Type.Shape[2]
	h := m.linear(m.norm(x), 2*e)
	h = m.op(op.Gelu, nil, h)
	return m.op(op.Add, nil, x, m.linear(h, e))
}

func TestTransformers(t *testing.T) {
	for i, how := range []string{"gather", "split", "split-squeeze", "separate", "interleaved", "bmm"} {
		for _, tokens := range []int{0, 1, 2} { // class and distillation tokens
			t.Run(fmt.Sprint(how, tokens), func(t *testing.T) {
				m := newMaker(t, uint64(10*i+tokens))
				e, heads := 12, 3
				x := m.conv(m.in(1, 3, 12, 18), e, 5, 6) // [1, e, h, w]
				n := x.Type.Shape[2] * x.Type.Shape[3]
				x = m.transpose(m.reshape(x, 1, e, n), 0, 2, 1)
				for range tokens {
					x = m.concat(1, m.c(1, 1, e), x)
				}
				x = m.op(op.Add, nil, x, m.c(1, n+tokens, e))
				var mask *ir.Value
				if tokens == 1 {
					mask = m.c(1, 1, n+tokens, n+tokens)
				} else if tokens == 2 {
					mask = m.c(1, heads, n+tokens, n+tokens)
				}
				x = m.norm(m.block(m.block(x, heads, how, mask), heads, how, nil))
				if tokens > 0 {
					x = m.take(x, 1, 0)
				} else {
					x = m.op(op.ReduceMean, ir.Attrs{"keepdims": ir.Int(0)}, x, m.ints(1))
				}
				m.out(m.op(op.Gemm, nil, x, m.c(e, 7), m.c(7)))
				m.all4D()
			})
		}
	}
}

// TestWindows is attention in shifted windows with a bias and a mask, and the
// merging of patches.
func TestWindows(t *testing.T) {
	m := newMaker(t, 77)
	h, w, e, k, heads := 6, 4, 8, 2, 2
	x := m.conv(m.in(1, 3, 12, 8), e, 3, 2)
	x = m.norm(m.transpose(m.reshape(x, 1, e, h*w), 0, 2, 1))
	for shift := range 2 {
		y := m.reshape(m.norm(x), 1, h, w, e)
		roll := func(v *ir.Value, by int) *ir.Value {
			for _, ax := range []int{1, 2} {
				n := v.Type.Shape[ax]
				at := (by + n) % n
				v = m.concat(ax, m.slice(v, ax, at, n, 1), m.slice(v, ax, 0, at, 1))
			}
			return v
		}
		if shift > 0 {
			y = roll(y, 1)
		}
		nw := h / k * w / k
		y = m.reshape(m.transpose(m.reshape(y, 1, h/k, k, w/k, k, e), 0, 1, 3, 2, 4, 5), nw, k*k, e)
		y = m.attention(y, heads, "gather", m.c(1, heads, k*k, k*k))
		y = m.transpose(m.reshape(y, 1, h/k, w/k, k, k, e), 0, 1, 3, 2, 4, 5)
		y = m.reshape(y, 1, h, w, e)
		if shift > 0 {
			y = roll(y, -1)
		}
		x = m.op(op.Add, nil, x, m.reshape(y, 1, h*w, e))
	}
	y := m.reshape(x, 1, h, w, e)
	var q []*ir.Value
	for i := range 4 {
		q = append(q, m.slice(m.slice(y, 1, i%2, h, 2), 2, i/2, w, 2))
	}
	y = m.reshape(m.concat(3, q...), 1, h*w/4, 4*e)
	y = m.op(op.MatMul, nil, m.norm(y), m.c(4*e, 2*e))
	y = m.op(op.GlobalAveragePool, nil, m.transpose(y, 0, 2, 1))
	m.out(m.linear(m.op(op.Flatten, nil, y), 5))
	m.all4D()
}

// TestMixer mixes tokens by products along the rows.
func TestMixer(t *testing.T) {
	m := newMaker(t, 5)
	x := m.transpose(m.reshape(m.conv(m.in(1, 3, 8, 8), 6, 3, 2), 1, 6, 16), 0, 2, 1)
	y := m.transpose(m.norm(x), 0, 2, 1)
	y = m.linear(m.op(op.Gelu, nil, m.linear(y, 10)), 16)
	x = m.op(op.Add, nil, x, m.transpose(y, 0, 2, 1))
	x = m.op(op.ReduceMean, ir.Attrs{"keepdims": ir.Int(0)}, m.norm(x), m.ints(1))
	m.out(m.linear(x, 4))
	m.all4D()
}

// dfl is the distribution head of YOLOv8 on [1, 4*16+classes, A].
func (m *maker) dfl(box *ir.Value, how string) *ir.Value {
	a := box.Type.Shape[2]
	r := box.Type.Shape[1] / 4
	y := m.reshape(box, 1, 4, r, a)
	ar := m.c(1, r, 1, 1)
	switch how {
	case "conv":
		y = m.softmax(m.transpose(y, 0, 2, 1, 3), 1)
		return m.reshape(m.op(op.Conv, nil, y, ar), 1, 4, a)
	case "transpose": // softmax behind another transposition
		y = m.transpose(m.softmax(m.transpose(y, 0, 3, 1, 2), 3), 0, 3, 2, 1)
		return m.reshape(m.op(op.Conv, nil, y, ar), 1, 4, a)
	case "matmul":
		y = m.softmax(m.transpose(y, 0, 3, 1, 2), 3)
		y = m.op(op.MatMul, nil, y, m.reshape2(ar, r, 1))
		return m.transpose(m.reshape(y, 1, a, 4), 0, 2, 1)
	}
	y = m.op(op.Mul, nil, m.softmax(y, 2), m.reshape2(ar, 1, 1, r, 1))
	return m.op(op.ReduceSum, ir.Attrs{"keepdims": ir.Int(0)}, y, m.ints(2))
}

// reshape2 is a constant in another shape.
func (m *maker) reshape2(v *ir.Value, s ...int) *ir.Value {
	return m.g.AddConst("r", v.Const.Reshaped(s))
}

func TestDFLHeads(t *testing.T) {
	for i, how := range []string{"conv", "transpose", "matmul", "sum"} {
		for _, coef := range []int{0, 6} {
			t.Run(fmt.Sprint(how, coef), func(t *testing.T) {
				m := newMaker(t, uint64(30+10*i+coef))
				x := m.in(1, 3, 24, 32)
				classes, r := 20, 4
				var flat, cf []*ir.Value
				a := 0
				for range 3 {
					x = m.op(op.Relu, nil, m.conv(x, 8, 3, 2))
					k := x.Type.Shape[2] * x.Type.Shape[3]
					a += k
					flat = append(flat, m.reshape(m.concat(1, m.conv(x, 4*r, 1, 1), m.conv(x, classes, 1, 1)), 1,
						4*r+classes, k))
					if coef > 0 {
						cf = append(cf, m.reshape(m.conv(x, coef, 1, 1), 1, coef, k))
					}
				}
				y := m.split(m.concat(2, flat...), 1, 4*r, classes)
				d := m.dfl(y[0], how)
				anchors := m.c(1, 2, a)
				lt := m.op(op.Sub, nil, anchors, m.slice(d, 1, 0, 2, 1))
				rb := m.op(op.Add, nil, anchors, m.slice(d, 1, 2, 4, 1))
				xy := m.op(op.Div, nil, m.op(op.Add, nil, lt, rb), m.k(2))
				box := m.op(op.Mul, nil, m.concat(1, xy, m.op(op.Sub, nil, rb, lt)), m.c(1, a))
				out := []*ir.Value{box, m.op(op.Sigmoid, nil, y[1])}
				if coef > 0 {
					out = append(out, m.concat(2, cf...))
				}
				m.out(m.concat(1, out...))
				m.all4D()
				native := must(t, m.g).Native
				want := 6
				if coef > 0 {
					want = 9
				}
				testenv.Check(t, len(native.Out) == want,
					"%d native outputs, want %d: boxes, classes, coefficients of each scale", len(native.Out), want)
				for i, v := range native.Out {
					if c := v.Type.Shape[1]; c != []int{4, classes, coef}[i/3] {
						t.Errorf("native output %d has %d channels", i, c)
					}
				}
			})
		}
	}
}

// TestAnchorHeads are heads with anchors: [1, A*(5+C), H, W] taken apart, with
// grids and anchor sizes as constants, scales side by side.
func TestAnchorHeads(t *testing.T) {
	for _, how := range []string{"yolov5", "yolox", "ssd"} {
		t.Run(how, func(t *testing.T) {
			m := newMaker(t, 91)
			x := m.in(1, 3, 16, 24)
			na, no := 3, 9
			var scales, conf []*ir.Value
			for range 2 {
				x = m.op(op.Relu, nil, m.conv(x, 8, 3, 2))
				h, w := x.Type.Shape[2], x.Type.Shape[3]
				switch how {
				case "yolov5":
					y := m.transpose(m.reshape(m.conv(x, na*no, 1, 1), 1, na, no, h, w), 0, 1, 3, 4, 2)
					p := m.split(m.op(op.Sigmoid, nil, y), 4, 2, 2, no-4)
					xy := m.op(op.Mul, nil, m.op(op.Add, nil, m.op(op.Mul, nil, p[0], m.k(2)), m.c(1, na, h, w, 2)),
						m.k(8))
					wh := m.op(op.Mul, nil, m.op(op.Pow, nil, m.op(op.Mul, nil, p[1], m.k(2)), m.k(2)),
						m.c(1, na, h, w, 2))
					scales = append(scales, m.reshape(m.concat(4, xy, wh, p[2]), 1, na*h*w, no))
				case "yolox":
					y := m.concat(1, m.conv(x, 4, 1, 1), m.op(op.Sigmoid, nil, m.conv(x, 1, 1, 1)),
						m.op(op.Sigmoid, nil, m.conv(x, no-5, 1, 1)))
					scales = append(scales, m.reshape(y, 1, no, h*w))
				case "ssd":
					b := m.reshape(m.transpose(m.conv(x, na*4, 3, 1), 0, 2, 3, 1), 1, na*h*w, 4)
					c := m.reshape(m.transpose(m.conv(x, na*no, 3, 1), 0, 2, 3, 1), 1, na*h*w, no)
					scales, conf = append(scales, b), append(conf, c)
				}
			}
			switch how {
			case "yolov5":
				m.out(m.concat(1, scales...))
			case "yolox":
				y := m.transpose(m.concat(2, scales...), 0, 2, 1)
				a := y.Type.Shape[1]
				xy := m.op(op.Mul, nil, m.op(op.Add, nil, m.slice(y, 2, 0, 2, 1), m.c(1, a, 2)), m.c(1, a, 1))
				wh := m.op(op.Mul, nil, m.op(op.Exp, nil, m.slice(y, 2, 2, 4, 1)), m.c(1, a, 1))
				m.out(m.concat(2, xy, wh, m.slice(y, 2, 4, no, 1)))
			case "ssd":
				m.out(m.concat(1, scales...))
				m.out(m.softmax(m.concat(1, conf...), 2))
			}
			m.all4D()
		})
	}
}

// TestFlattenHeads: Flatten or Reshape and Gemm, slices of the result.
func TestFlattenHeads(t *testing.T) {
	for seed := range uint64(8) {
		m := newMaker(t, 200+seed)
		x := m.op(op.Relu, nil, m.conv(m.in(1, 2, 5+int(seed), 7), 4, 3, 1))
		if seed%2 == 0 {
			x = m.op(op.Flatten, nil, x)
		} else {
			x = m.reshape(x, 1, -1)
		}
		k := x.Type.Shape[1]
		if seed%3 == 0 {
			x = m.op(op.Gemm, ir.Attrs{"transB": ir.Int(1), "alpha": ir.Float(0.5)}, x, m.c(12, k), m.c(12))
		} else {
			x = m.linear(x, 12)
		}
		x = m.op(op.Relu, nil, x)
		x = m.op(op.Gemm, nil, x, m.c(12, 30), m.c(30))
		m.out(m.reshape(m.slice(x, 1, 0, 20, 1), 1, 5, 2, 2))
		m.out(m.reshape(m.slice(x, 1, 20, 30, 1), 1, 5, 2))
		m.all4D()
		r := must(t, m.g)
		for _, n := range r.Native.Nodes {
			testenv.Check(t, n.Op != op.Slice && n.Op != op.Reshape, "%s stays in front of the outputs", n)
		}
	}
}

// TestBlocks: reshapes and transpositions of rank 5 and 6 that are
// SpaceToDepth, DepthToSpace, channel shuffles.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name  string
		in    []int
		mid   []int
		perm  []int
		out   []int
		nodes int
	}{
		{"space-to-depth", []int{1, 3, 4, 6}, []int{1, 3, 2, 2, 3, 2}, []int{0, 3, 5, 1, 2, 4}, []int{1, 12, 2, 3}, 1},
		{"pixel-unshuffle", []int{1, 3, 4, 6}, []int{1, 3, 2, 2, 3, 2}, []int{0, 1, 3, 5, 2, 4}, []int{1, 12, 2, 3}, 4},
		{"depth-to-space", []int{1, 12, 2, 3}, []int{1, 2, 2, 3, 2, 3}, []int{0, 3, 4, 1, 5, 2}, []int{1, 3, 4, 6}, 1},
		{"pixel-shuffle", []int{1, 12, 2, 3}, []int{1, 3, 2, 2, 2, 3}, []int{0, 1, 4, 2, 5, 3}, []int{1, 3, 4, 6}, 1},
		{"channel-shuffle", []int{1, 12, 2, 3}, []int{1, 3, 4, 2, 3}, []int{0, 2, 1, 3, 4}, []int{1, 12, 2, 3}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker(t, 3)
			y := m.reshape(m.transpose(m.reshape(m.op(op.Relu, nil, m.in(c.in...)), c.mid...), c.perm...), c.out...)
			m.out(m.conv(y, 2, 3, 1))
			m.all4D()
			if k := len(must(t, m.g).Native.Nodes) - 2; k > c.nodes {
				t.Errorf("%d nodes of data movement, want %d\n%s", k, c.nodes, brief(must(t, m.g).Native))
			}
			m = newMaker(t, 3)
			m.out(m.reshape(m.transpose(m.reshape(m.in(c.in...), c.mid...), c.perm...), c.out...))
			m.check(true)
		})
	}
}

// TestPhases: transposed convolutions along a line with strides of 3 and more.
func TestPhases(t *testing.T) {
	i := uint64(0)
	for _, s := range []int{3, 5, 6, 7} {
		for _, k := range []int{2, s, 2 * s, 2*s + 1} {
			for _, pad := range [][2]int{{0, 0}, {1, 0}, {(s + 1) / 2, (s + 1) / 2}} {
				i++
				m := newMaker(t, 400+i)
				attrs := ir.Attrs{"strides": ir.Ints(s), "pads": ir.Ints(pad[0], pad[1]),
					"output_padding": ir.Ints(s % 2)}
				x := m.in(1, 4, 6)
				out, err := m.try(op.ConvTranspose, attrs, 1, x, m.c(4, 3, k), m.c(3))
				if err != nil || out[0].Type.Elems() == 0 {
					continue
				}
				m.out(m.op(op.Relu, nil, out[0]))
				m.check(false)
				r := must(t, m.g)
				for _, n := range r.Native.Nodes {
					testenv.Check(t, n.Op != op.ConvTranspose,
						"stride %d, kernel %d, pads %v: %s stays", s, k, pad, n)
				}
			}
		}
	}
}

// TestKeeps: what has no 4-D form stays, with a reason; the rest around it is
// rewritten.
func TestKeeps(t *testing.T) {
	m := newMaker(t, 9)
	x := m.reshape(m.conv(m.in(1, 3, 4, 4), 4, 3, 1), 1, 4, 16)
	out := testenv.Must(m.try(op.CumSum, nil, 1, x, m.g.AddConst("axis", m.ints(1).Const)))(t)
	m.out(m.linear(out[0], 3))
	m.check(false)
	topk := newMaker(t, 10)
	y := topk.transpose(topk.reshape(topk.conv(topk.in(1, 3, 4, 4), 6, 3, 1), 1, 6, 16), 0, 2, 1)
	score := topk.op(op.ReduceMax, ir.Attrs{"keepdims": ir.Int(0)}, topk.op(op.Sigmoid, nil, topk.slice(y, 2, 4, 6, 1)),
		topk.ints(2))
	best := testenv.Must(topk.try(op.TopK, nil, 2, score, topk.ints(5)))(t)
	index := topk.op(op.Expand, nil, topk.reshape(best[1], 1, 5, 1), topk.ints(1, 5, 4))
	topk.out(topk.op(op.GatherElements, ir.Attrs{"axis": ir.Int(1)}, topk.slice(y, 2, 0, 4, 1), index))
	topk.out(best[0])
	topk.check(false)
	r := testenv.Must(legal4d.Run(m.g, legal4d.Options{}))(t)
	testenv.Check(t, len(r.Left) == 1 && r.Left[0].Op == "CumSum" && r.Left[0].Reason != "", "left: %+v", r.Left)
}

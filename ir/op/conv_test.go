// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// node makes a graph with one node; the inputs are graph inputs of the given
// types, or constants where a tensor is given.
func node(t testing.TB, name string, attrs ir.Attrs, nout int, in ...any) *ir.Node {
	t.Helper()
	n := testenv.Must(tryNode(name, attrs, nout, in...))(t)
	return n
}

func tryNode(name string, attrs ir.Attrs, nout int, in ...any) (*ir.Node, error) {
	g := ir.New("test")
	var vs []*ir.Value
	for i, x := range in {
		switch x := x.(type) {
		case nil:
			vs = append(vs, nil)
		case ir.Type:
			vs = append(vs, g.AddInput(fmt.Sprint("in", i), x))
		case *tensor.Dense:
			vs = append(vs, g.AddConst(fmt.Sprint("in", i), x))
		}
	}
	return g.Add(Get("", name), strings.ToLower(name), attrs, nout, vs...)
}

func randInt8(r *rand.Rand, shape ...int) *tensor.Dense {
	d := tensor.New(tensor.I8, shape)
	for i := range d.Len() {
		d.SetInt(i, int64(r.Intn(256)-128))
	}
	return d
}

// convCase is a random but valid geometry of Conv or ConvTranspose.
type convCase struct {
	op          string
	x, w        []int
	k           int
	attrs       ir.Attrs
	st, dl      []int
	pads        []int
	group, cout int
}

func randomConv(r *rand.Rand, op string, dims int) convCase {
	c := convCase{op: op, k: dims, group: 1 + r.Intn(3)}
	ci, co := 1+r.Intn(3), 1+r.Intn(3)
	if r.Intn(3) == 0 {
		ci = 1 // depthwise
	}
	c.x = []int{1 + r.Intn(2), ci * c.group}
	c.cout = co * c.group
	c.w = []int{c.cout, ci}
	if op == "ConvTranspose" {
		c.w = []int{ci * c.group, co}
	}
	opad := make([]int, dims)
	c.pads = make([]int, 2*dims)
	for d := range dims {
		k, s, dl := 1+r.Intn(3), 1+r.Intn(3), 1+r.Intn(2)
		reach := (k-1)*dl + 1
		c.x = append(c.x, reach+r.Intn(5))
		c.w = append(c.w, k)
		c.st, c.dl = append(c.st, s), append(c.dl, dl)
		c.pads[d], c.pads[dims+d] = r.Intn(reach), r.Intn(reach)
		if m := max(s, dl); r.Intn(2) == 0 {
			opad[d] = r.Intn(m)
		}
	}
	c.attrs = ir.Attrs{"strides": ir.Ints(c.st...), "dilations": ir.Ints(c.dl...), "pads": ir.Ints(c.pads...),
		"group": ir.Int(c.group)}
	if op == "ConvTranspose" {
		c.attrs["output_padding"] = ir.Ints(opad...)
	}
	return c
}

// naive computes the sums by visiting every (input, output, tap) triple.
func (c convCase) naive(out []int, x, w func(i int) float64, bias func(c int) float64) []float64 {
	k := c.k
	xs, ys := c.x, append([]int{c.x[0], c.cout}, out...)
	y := make([]float64, product(ys))
	ystr, xstr, wstr := tensor.Strides(ys), tensor.Strides(xs), tensor.Strides(c.w)
	for p := newIndex(ys); ; {
		o := p.dot(ystr)
		y[o] = bias(p.at[1])
		ci, co := c.x[1]/c.group, c.cout/c.group
		g := p.at[1] / co
		taps := newIndex(c.w[2:])
		for more := true; more; more = taps.next() {
			for i := range ci {
				at := p.at[0]*xstr[0] + (g*ci+i)*xstr[1]
				ok := true
				for d := range k {
					var q int
					if c.op == "Conv" {
						q = p.at[2+d]*c.st[d] + taps.at[d]*c.dl[d] - c.pads[d]
					} else {
						q = p.at[2+d] + c.pads[d] - taps.at[d]*c.dl[d]
						ok = ok && q%c.st[d] == 0
						q /= c.st[d]
					}
					ok = ok && q >= 0 && q < c.x[2+d]
					at += q * xstr[2+d]
				}
				if !ok {
					continue
				}
				wi := p.at[1]*wstr[0] + i*wstr[1]
				if c.op != "Conv" {
					wi = (g*ci+i)*wstr[0] + p.at[1]%co*wstr[1]
				}
				for d := range k {
					wi += taps.at[d] * wstr[2+d]
				}
				y[o] += x(at) * w(wi)
			}
		}
		if !p.next() {
			return y
		}
	}
}

func TestConvFloatAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for i := range 300 {
		c := randomConv(r, []string{"Conv", "ConvTranspose"}[i%2], 1+i/2%3)
		x, w, b := tensor.New(tensor.F64, c.x), tensor.New(tensor.F64, c.w), tensor.New(tensor.F64, []int{c.cout})
		for _, d := range []*tensor.Dense{x, w, b} {
			for i := range d.Len() {
				d.SetFloat(i, r.NormFloat64())
			}
		}
		n, err := tryNode(c.op, c.attrs, 1, ir.T(tensor.F64, c.x...), w, b)
		if err != nil {
			if strings.Contains(err.Error(), "no output") {
				continue // the pads of a transposed convolution may take everything away
			}
			t.Fatal(err)
		}
		want := c.naive(n.Out[0].Type.Shape[2:], x.Float, w.Float, b.Float)
		for _, dt := range []tensor.DType{tensor.F64, tensor.F32, tensor.F16} {
			out := testenv.Must(n.Op.Eval(n, []*tensor.Dense{x.Cast(dt), w.Cast(dt), b.Cast(dt)}))(t)
			tol := map[tensor.DType]float64{tensor.F64: 1e-12, tensor.F32: 2e-5, tensor.F16: 0.05}[dt]
			for k, v := range want {
				if got := out[0].Float(k); math.Abs(got-v) > tol {
					t.Fatalf("case %d %s %s: element %d is %v, want %v (%+v)", i, c.op, dt, k, got, v, c)
				}
			}
		}
	}
}

func TestConvQuantisedAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for i := range 400 {
		c := randomConv(r, []string{"Conv", "ConvTranspose"}[i%2], 1+i/2%3)
		x, w := randInt8(r, c.x...), randInt8(r, c.w...)
		axis := 0
		channels := c.w[0]
		if c.op == "ConvTranspose" {
			axis, channels = 1, c.w[1]
		}
		xq := ir.PerTensor(0.02*(1+r.Float32()), int32(r.Intn(256)-128))
		yq := ir.PerTensor(0.05*(1+r.Float32()), int32(r.Intn(256)-128))
		wq := &ir.Quant{Axis: axis}
		for range channels {
			z := int32(0)
			if i%5 == 0 {
				z = int32(r.Intn(7) - 3)
			}
			wq.Scale, wq.Zero = append(wq.Scale, 0.01*(1+r.Float32())), append(wq.Zero, z)
		}
		if i%3 == 0 {
			wq = ir.PerTensor(wq.Scale[0], wq.Zero[0])
		}
		in := []any{ir.T(tensor.I8, c.x...).WithQuant(tensor.I8, xq), w}
		args := []*tensor.Dense{x, w}
		var b *tensor.Dense
		if i%4 != 0 {
			b = tensor.New(tensor.I32, []int{c.cout})
			for k := range c.cout {
				b.SetInt(k, int64(r.Intn(2000)-1000))
			}
			in, args = append(in, b), append(args, b)
		}
		n, err := tryNode(c.op, c.attrs, 1, in...)
		if err != nil {
			if strings.Contains(err.Error(), "no output") {
				continue
			}
			t.Fatal(err)
		}
		n.In[1].Type.Quant = wq
		n.Out[0].Type = n.Out[0].Type.WithQuant(tensor.I8, yq)
		if i%7 == 0 {
			n.SetAttr("act_min", ir.Float(-0.5))
			n.SetAttr("act_max", ir.Float(2))
		}
		got := testenv.Must(ir.EvalNode(n, args))(t)
		shape := n.Out[0].Type.Shape
		wstr := tensor.Strides(c.w)
		sums := c.naive(shape[2:], func(i int) float64 { return float64(x.Int(i) - int64(xq.Zero[0])) },
			func(i int) float64 { return float64(w.Int(i) - int64(wq.ZeroAt(i/wstr[axis]%c.w[axis]))) },
			func(k int) float64 {
				if b == nil {
					return 0
				}
				return b.Float(k)
			})
		lo, hi := ActRange(n, n.Out[0].Type)
		for k, v := range sums {
			ch := k / product(shape[2:]) % c.cout
			if c.op == "ConvTranspose" {
				ch %= c.w[1]
			}
			m, s := fixp.QuantizeMultiplier(float64(xq.Scale[0]) * float64(wq.ScaleAt(ch)) / float64(yq.Scale[0]))
			want := fixp.Clamp(fixp.Requantize(int32(v), m, s)+yq.Zero[0], lo, hi)
			if got[0].Int(k) != int64(want) {
				t.Fatalf("case %d %s: element %d is %d, want %d (%+v)", i, c.op, k, got[0].Int(k), want, c)
			}
		}
		asUint8(t, n, args, got[0])
	}
}

// asUint8 evaluates the node with uint8 data in place of int8, zero points
// moved by 128: the results must stand for the same reals.
func asUint8(t *testing.T, n *ir.Node, args []*tensor.Dense, want *tensor.Dense) {
	t.Helper()
	shift := func(d *tensor.Dense) *tensor.Dense {
		u := tensor.New(tensor.U8, d.Shape)
		for i := range d.Len() {
			u.SetInt(i, d.Int(i)+128)
		}
		return u
	}
	args = append([]*tensor.Dense(nil), args...)
	moved := append([]*ir.Value{n.Out[0]}, n.In...)
	for i, v := range moved {
		if v == nil || v.Type.DType != tensor.I8 {
			continue
		}
		q := *v.Type.Quant
		q.Zero = append([]int32(nil), q.Zero...)
		for k := range q.Zero {
			q.Zero[k] += 128
		}
		v.Type = v.Type.WithQuant(tensor.U8, &q)
		if i > 0 {
			args[i-1] = shift(args[i-1])
		}
	}
	got := testenv.Must(ir.EvalNode(n, args))(t)
	testenv.Require(t, tensor.Equal(got[0], shift(want)), "%s on uint8 data differs from int8", n)
}

func TestConvGeometry(t *testing.T) {
	type a = ir.Attrs
	for _, c := range []struct {
		name  string
		op    string
		attrs a
		x, w  []int
		want  string // out and pads
	}{
		{"plain", "Conv", nil, []int{1, 3, 8, 8}, []int{4, 3, 3, 3}, "[6 6] [0 0] [0 0]"},
		{"pads", "Conv", a{"pads": ir.Ints(1, 0, 2, 1)}, []int{1, 3, 8, 8}, []int{4, 3, 3, 3}, "[9 7] [1 0] [2 1]"},
		{"same upper, even kernel", "Conv", a{"auto_pad": ir.Str("SAME_UPPER"), "strides": ir.Ints(2, 2)},
			[]int{1, 1, 49, 10}, []int{64, 1, 10, 4}, "[25 5] [4 1] [5 1]"},
		{"same lower", "Conv", a{"auto_pad": ir.Str("SAME_LOWER"), "strides": ir.Ints(2, 2)}, []int{1, 1, 49, 10},
			[]int{64, 1, 10, 4}, "[25 5] [5 1] [4 1]"},
		{"valid overrides pads", "Conv", a{"auto_pad": ir.Str("VALID"), "pads": ir.Ints(1, 1, 1, 1)}, []int{1, 1, 5, 5},
			[]int{1, 1, 3, 3}, "[3 3] [0 0] [0 0]"},
		{"dilated", "Conv", a{"dilations": ir.Ints(2, 3)}, []int{1, 1, 9, 9}, []int{1, 1, 3, 3}, "[5 3] [0 0] [0 0]"},
		{"one dimension", "Conv", a{"strides": ir.Ints(3)}, []int{2, 4, 10}, []int{6, 2, 4}, ""}, // group is missing
		{"one dimension, groups", "Conv", a{"strides": ir.Ints(3), "group": ir.Int(2)}, []int{2, 4, 10}, []int{6, 2, 4},
			"[3] [0] [0]"},
		{"three dimensions", "Conv", nil, []int{1, 1, 4, 5, 6}, []int{1, 1, 2, 2, 2}, "[3 4 5] [0 0 0] [0 0 0]"},
		{"transposed", "ConvTranspose", a{"strides": ir.Ints(2, 2), "pads": ir.Ints(1, 1, 1, 1),
			"output_padding": ir.Ints(1, 1)}, []int{1, 3, 4, 4}, []int{3, 5, 3, 3}, "[8 8] [1 1] [1 1]"},
		{"transposed, output_shape", "ConvTranspose", a{"strides": ir.Ints(3, 2), "output_shape": ir.Ints(10, 8)},
			[]int{1, 1, 3, 3}, []int{1, 2, 3, 3}, "[10 8] [0 0] [0 0]"},
		{"transposed, output_shape crops", "ConvTranspose", a{"output_shape": ir.Ints(4, 4)}, []int{1, 1, 3, 3},
			[]int{1, 2, 3, 4}, "[4 4] [1 1] [0 1]"},
		{"transposed, same", "ConvTranspose", a{"strides": ir.Ints(2, 2), "auto_pad": ir.Str("SAME_UPPER")},
			[]int{1, 1, 3, 3}, []int{1, 2, 3, 3}, "[6 6] [0 0] [1 1]"},
	} {
		n, err := tryNode(c.op, c.attrs, 1, ir.T(tensor.F32, c.x...), ir.T(tensor.F32, c.w...))
		if err != nil {
			testenv.Equal(t, c.want, "", "%s: %v", c.name, err)
			continue
		}
		g, err := ConvGeometry(n)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		testenv.Equal(t, fmt.Sprint(g.Out, g.PadBegin, g.PadEnd), c.want, c.name)
	}
}

// TestSingleElements: a window's axis of one element has dilation 1, whatever the attribute says.
func TestSingleElements(t *testing.T) {
	f32 := func(shape ...int) ir.Type { return ir.T(tensor.F32, shape...) }
	dilated := ir.Attrs{"dilations": ir.Ints(4, 2)}
	for _, name := range []string{"Conv", "ConvTranspose"} {
		n := testenv.Must(tryNode(name, dilated, 1, f32(1, 3, 8, 8), f32(3, 3, 1, 3)))(t)
		if g, err := ConvGeometry(n); err != nil || fmt.Sprint(g.Dilations) != "[1 2]" {
			t.Errorf("%s: %v, %v, want dilations [1 2]", name, g, err)
		}
	}
	n := testenv.Must(tryNode("MaxPool", ir.Attrs{"dilations": ir.Ints(4, 2), "kernel_shape": ir.Ints(1, 3)}, 1,
		f32(1, 3, 8, 8)))(t)
	if g, err := PoolGeometry(n); err != nil || fmt.Sprint(g.Dilations) != "[1 2]" {
		t.Errorf("MaxPool: %v, %v, want dilations [1 2]", g, err)
	}
}

func TestWindowErrors(t *testing.T) {
	type a = ir.Attrs
	x, w := []int{1, 3, 8, 8}, []int{4, 3, 3, 3}
	for _, c := range []struct {
		op    string
		attrs a
		x, w  []int
		b     []int
		want  string
	}{
		{"Conv", a{"group": ir.Int(2)}, x, w, nil, "group 2 does not divide the 3 input channels"},
		{"Conv", a{"group": ir.Int(0)}, x, w, nil, "group is 0"},
		{"Conv", a{"group": ir.Int(3)}, x, []int{4, 1, 3, 3}, nil, "group 3 does not divide the 4 output channels"},
		{"Conv", a{"strides": ir.Ints(0, 1)}, x, w, nil, "strides is [0 1]"},
		{"Conv", a{"strides": ir.Ints(1)}, x, w, nil, "want 2 values"},
		{"Conv", a{"dilations": ir.Ints(1, -1)}, x, w, nil, "dilations is [1 -1]"},
		{"Conv", a{"pads": ir.Ints(1, 1)}, x, w, nil, "pads is [1 1], want 4 values"},
		{"Conv", a{"pads": ir.Ints(-1, 0, 0, 0)}, x, w, nil, "negative padding"},
		{"Conv", a{"pads": ir.Ints(1<<31, 0, 0, 0)}, x, w, nil, "padding is too large"},
		{"Conv", a{"pads": ir.Ints(1<<29, 0, 0, 0)}, x, w, nil, "too large"},
		{"Conv", a{"kernel_shape": ir.Ints(5, 5)}, x, w, nil, "kernel_shape is [5 5]"},
		{"Conv", a{"auto_pad": ir.Str("SOMEHOW")}, x, w, nil, "autopad"},
		{"Conv", nil, []int{1, 3, 2, 2}, w, nil, "spans 3 in spatial dimension 0"},
		{"Conv", nil, x, []int{4, 2, 3, 3}, nil, "2 channels, want 3"},
		{"Conv", nil, x, []int{4, 3, 3}, nil, "want rank 4"},
		{"Conv", nil, []int{1, 3}, []int{4, 3}, nil, "spatial"},
		{"Conv", nil, x, w, []int{3}, "bias %in2"},
		{"Conv", nil, x, w, []int{1, 4}, "bias"},
		{"Conv", nil, x, []int{4, 3, 0, 3}, nil, "kernel"},
		{"ConvTranspose", nil, x, w, nil, "4 input channels, the input has 3"},
		{"ConvTranspose", a{"pads": ir.Ints(9, 9, 9, 9)}, x, []int{3, 4, 3, 3}, nil, "leave no output"},
		{"ConvTranspose", a{"output_padding": ir.Ints(1, 0)}, x, []int{3, 4, 3, 3}, nil, "output_padding"},
		{"ConvTranspose", a{"output_shape": ir.Ints(1<<40, 4)}, x, []int{3, 4, 3, 3}, nil, "too large"},
		{"AveragePool", a{"kernel_shape": ir.Ints(9, 1)}, x, nil, nil, "spans 9"},
		{"AveragePool", a{"kernel_shape": ir.Ints(2)}, x, nil, nil, "kernel_shape is [2]"},
		{"AveragePool", a{"kernel_shape": ir.Ints(2, 2), "pads": ir.Ints(2, 0, 0, 0)}, x, nil, nil,
			"wholly in the padding"},
		{"MaxPool", a{"kernel_shape": ir.Ints(2, 2), "pads": ir.Ints(0, 0, 0, 3)}, x, nil, nil,
			"wholly in the padding"},
		{"MaxPool", a{"kernel_shape": ir.Ints(2, 2), "strides": ir.Ints(2, 0)}, x, nil, nil, "strides"},
		{"MaxPool", nil, x, nil, nil, "kernel_shape is required"},
	} {
		in := []any{ir.T(tensor.F32, c.x...)}
		if c.w != nil {
			in = append(in, ir.T(tensor.F32, c.w...))
		}
		if c.b != nil {
			in = append(in, ir.T(tensor.F32, c.b...))
		}
		_, err := tryNode(c.op, c.attrs, 1, in...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v %v %v: error %v, want one with %q", c.op, c.attrs, c.x, c.w, err, c.want)
		} else if !strings.Contains(err.Error(), c.op) {
			t.Errorf("error %q does not name the operator", err)
		}
	}
}

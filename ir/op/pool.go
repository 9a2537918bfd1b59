// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// PoolWindow is a window that slides.
type PoolWindow struct {
	AutoPad     string `default:"NOTSET"`
	CeilMode    int    `default:"0"`
	Dilations   []int
	KernelShape []int `attr:",required"`
	Pads        []int
	Strides     []int
}

// AveragePoolAttrs are the attributes of AveragePool.
type AveragePoolAttrs struct {
	PoolWindow
	CountIncludePad int `default:"0"`
	Act
}

// AveragePool is the mean over windows of [N, C, spatial...]. Without
// count_include_pad the divisor counts the real elements of each window.
var AveragePool = def(ir.OpDef{
	Name: "AveragePool", Doc: "mean over sliding windows",
	Attrs: ir.Declare[AveragePoolAttrs](), MinIn: 1,
	Window: ir.Pooled, Spread: ir.Averages, Monotone: true, Homogeneous: true,
	Infer: inferPool, Eval: evalPool, EvalQ: evalAveragePoolQ, Quant: ir.QInt, Pattern: ir.OutFusable, MACs: poolMACs,
})

// GlobalAveragePool is the mean over all spatial dimensions, kept as ones.
var GlobalAveragePool = def(ir.OpDef{
	Name: "GlobalAveragePool", Doc: "mean over all spatial dimensions",
	Attrs: ir.Declare[Act](), MinIn: 1,
	Window: ir.PooledWhole, Spread: ir.Averages, Monotone: true, Homogeneous: true,
	Infer: inferPool, Eval: evalPool, EvalQ: evalAveragePoolQ, Quant: ir.QInt, Pattern: ir.OutFusable, MACs: poolMACs,
})

// MaxPoolAttrs are the attributes of MaxPool.
type MaxPoolAttrs struct {
	PoolWindow
	StorageOrder int `default:"0"`
	Act
}

// MaxPool is the maximum over windows of [N, C, spatial...]; padding never
// wins. The optional second output holds the flat index of each maximum in the
// whole input, with the spatial part in column-major order when storage_order
// is 1.
var MaxPool = def(ir.OpDef{
	Name: "MaxPool", Doc: "maximum over sliding windows, with indices on request",
	Attrs: ir.Declare[MaxPoolAttrs](), MinIn: 1, MaxOut: 2,
	Window: ir.Pooled, Spread: ir.Selects, Monotone: true, Homogeneous: true,
	Infer: inferMaxPool, Eval: evalMaxPool, EvalQ: evalMaxPoolQ, Quant: ir.QInt, Pattern: ir.OutFusable, MACs: poolMACs,
})

// GlobalMaxPool is the maximum over all spatial dimensions, kept as ones.
var GlobalMaxPool = def(ir.OpDef{
	Name: "GlobalMaxPool", Doc: "maximum over all spatial dimensions",
	Attrs: ir.Declare[Act](), MinIn: 1,
	Window: ir.PooledWhole, Spread: ir.Selects, Monotone: true, Homogeneous: true,
	Infer: inferMaxPool, Eval: evalMaxPool, EvalQ: evalMaxPoolQ, Quant: ir.QInt, Pattern: ir.OutFusable, MACs: poolMACs,
})

// LpPool is the p-norm over windows; padding counts as zero.
var LpPool = def(ir.OpDef{
	Name: "LpPool", Doc: "p-norm over sliding windows",
	Attrs: ir.Declare[struct {
		PoolWindow
		P int `default:"2"`
	}](), MinIn: 1,
	Window: ir.Pooled, Homogeneous: true,
	Infer: inferPool, Eval: evalPool, Pattern: ir.OutFusable, MACs: poolMACs,
})

// GlobalLpPool is the p-norm over all spatial dimensions, kept as ones.
var GlobalLpPool = def(ir.OpDef{
	Name: "GlobalLpPool", Doc: "p-norm over all spatial dimensions",
	Attrs: ir.Declare[struct {
		P int `default:"2"`
	}](), MinIn: 1,
	Window: ir.PooledWhole, Homogeneous: true,
	Infer: inferPool, Eval: evalPool, Pattern: ir.OutFusable, MACs: poolMACs,
})

// MaxUnpool puts the values of input 0 at the flat positions in input 1
// (int64) of a zero tensor, whose shape is input 2 where given.
var MaxUnpool = def(ir.OpDef{
	Name: "MaxUnpool", Doc: "inverse of MaxPool by its indices",
	Attrs: ir.Declare[struct {
		KernelShape []int `attr:",required"`
		Pads        []int
		Strides     []int
	}](), MinIn: 2, MaxIn: 3,
	Infer: inferMaxUnpool,
	Limits: func(n *ir.Node) []ir.Limit {
		from := unpoolShape(n)
		return []ir.Limit{ir.Counts(1, "position", product(from)-1)}
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		types := fail.Must(inferMaxUnpool(n))
		y := tensor.New(in[0].DType, types[0].Shape)
		idx := make([]int, in[1].Len())
		// indices count within the pooled input's planes; when output_shape
		// enlarges the planes, they still count in the inferred shape
		from := unpoolShape(n)
		fs, ts := tensor.Strides(from), tensor.Strides(y.Shape)
		for i := range idx {
			p := int(in[1].Int(i))
			for d := range from {
				idx[i] += p / fs[d] % from[d] * ts[d]
			}
		}
		y.Put(idx, in[0])
		return outs(y)
	},
	Pattern: ir.Opaque, Quant: ir.QFloat,
})

func unpoolShape(n *ir.Node) []int {
	x := n.In[0].Type.Shape
	refuse(n, len(x) < 3 || len(x) > 5 || !sameShape(x, n.In[1].Type.Shape), "shape",
		"values of shape %v with indices of shape %v, want one shape [N, C, spatial...]", x, n.In[1].Type.Shape)
	k := len(x) - 2
	kernel, st, pads := ir.AttrsOf[KernelShapeAttr](n).KernelShape, ir.AttrsOf[StridesAttr](n).Strides,
		ir.AttrsOf[PadsAttr](n).Pads
	if st == nil {
		st = ones(k)
	}
	if pads == nil {
		pads = make([]int, 2*k)
	}
	refuse(n, len(kernel) != k || len(st) != k || len(pads) != 2*k, "kernel-shape",
		"kernel_shape %v, strides %v, pads %v: want %d, %d and %d values", kernel, st, pads, k, k, 2*k)
	out := append([]int(nil), x...)
	for i := range kernel {
		refuse(n, kernel[i] < 1 || kernel[i] > maxExtent || st[i] < 1 || st[i] > maxExtent || pads[i] < 0 ||
			pads[k+i] < 0, "kernel-shape", "kernel_shape %v, strides %v, pads %v: out of range", kernel, st, pads)
		out[2+i] = (x[2+i]-1)*st[i] + kernel[i] - pads[i] - pads[k+i]
		refuse(n, out[2+i] < 1, "pads", "the pads %v leave no output", pads)
	}
	return out
}

func inferMaxUnpool(n *ir.Node) ([]ir.Type, error) {
	out := unpoolShape(n)
	indexInput(n, 1)
	want := fail.Must(ConstInts(n, 2, "the output shape"))
	if want != nil {
		refuse(n, len(want) != len(out), "shape", "output_shape is %v, want %d values", want, len(out))
		for i := range out {
			refuse(n, want[i] < out[i], "shape", "output_shape is %v, smaller than the %v that pooling leaves", want,
				out)
		}
		out = want
	}
	return one(ir.T(n.In[0].Type.DType, out...))
}

func poolMACs(n *ir.Node) int64 {
	g := fail.Must(PoolGeometry(n))
	return work(append([]int{g.N, g.C, product(g.Out)}, g.Kernel...)...)
}

func inferPool(n *ir.Node) ([]ir.Type, error) {
	wantType(n, 0, floatTypes)
	if n.Op.Declares("p") {
		p := ir.AttrsOf[PAttr](n).P
		refuse(n, p < 1, "p", "attribute p is %d, want at least 1", p)
	}
	g := fail.Must(PoolGeometry(n))
	return one(ir.T(n.In[0].Type.DType, append([]int{g.N, g.C}, g.Out...)...))
}

func inferMaxPool(n *ir.Node) ([]ir.Type, error) {
	wantType(n, 0, numTypes)
	g := fail.Must(PoolGeometry(n))
	shape := append([]int{g.N, g.C}, g.Out...)
	return []ir.Type{ir.T(n.In[0].Type.DType, shape...), ir.T(tensor.I64, shape...)}, nil
}

func evalPool(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(PoolGeometry(n))
	return inFloat(in, poolFloat(n, g)), nil
}

func poolFloat(n *ir.Node, g *PoolGeom) func(in []*tensor.Dense) []*tensor.Dense {
	// a window's real elements are folded into one value; taps is the divisor that the geometry gives
	add, done := plus[float64], func(acc float64, taps int) float64 { return acc / float64(taps) }
	if n.Op.Declares("p") {
		p := float64(ir.AttrsOf[PAttr](n).P)
		add = func(acc, x float64) float64 { return acc + math.Pow(math.Abs(x), p) }
		done = func(acc float64, _ int) float64 { return math.Pow(acc, 1/p) }
		if p == 2 { // as emitted C computes it
			add = plusSquare[float64]
			done = func(acc float64, _ int) float64 { return math.Sqrt(acc) }
		}
	}
	return func(in []*tensor.Dense) []*tensor.Dense {
		x := tensor.As[float64](in[0])
		y := make([]float64, g.N*g.C*product(g.Out))
		g.windows(func(plane, at int, win []int, taps int) {
			acc := 0.0
			for _, p := range win {
				acc = add(acc, x[plane+p])
			}
			y[at] = done(acc, taps)
		})
		return []*tensor.Dense{ClampAct(n, tensor.Of(append([]int{g.N, g.C}, g.Out...), y))}
	}
}

// windows calls f for every output element: plane is the offset of the
// element's input plane, at its own offset, win the offsets within the plane
// of the window's real elements in order, and taps the divisor of an average.
// Planes are visited in parallel; win is only valid during the call.
func (g *PoolGeom) windows(f func(plane, at int, win []int, taps int)) {
	in, out := pad3(g.In, 1), pad3(g.Out, 1)
	kn, st, dl, pb, pe := pad3(g.Kernel, 1), pad3(g.Strides, 1), pad3(g.Dilations, 1), pad3(g.PadBegin, 0),
		pad3(g.PadEnd, 0)
	ip, op := product(g.In), product(g.Out)
	type span struct{ start, lo, hi, counted int }
	spans := [3][]span{}
	for d := range spans {
		spans[d] = make([]span, out[d])
		for o := range spans[d] {
			start := o*st[d] - pb[d]
			lo, hi := tapRange(start, dl[d], kn[d], in[d])
			s := span{start, lo, hi, hi - lo}
			if g.CountPad { // padding counts, what hangs over its end does not
				a, z := tapRange(start+pb[d], dl[d], kn[d], in[d]+pb[d]+pe[d])
				s.counted = z - a
			}
			spans[d][o] = s
		}
	}
	parallel(g.N*g.C, func(job int) {
		win := make([]int, 0, min(g.Taps(), ip))
		at := job * op
		for _, z := range spans[0] {
			for _, y := range spans[1] {
				for _, x := range spans[2] {
					win = win[:0]
					for kz := z.lo; kz < z.hi; kz++ {
						for ky := y.lo; ky < y.hi; ky++ {
							row := ((z.start+kz*dl[0])*in[1] + y.start + ky*dl[1]) * in[2]
							for kx := x.lo; kx < x.hi; kx++ {
								win = append(win, row+x.start+kx*dl[2])
							}
						}
					}
					f(job*ip, at, win, z.counted*y.counted*x.counted)
					at++
				}
			}
		}
	})
}

// evalMaxPool works on any ordered type through float64 comparisons of small
// integers and floats; 64-bit integers are compared as integers.
func evalMaxPool(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(PoolGeometry(n))
	x := in[0]
	shape := append([]int{g.N, g.C}, g.Out...)
	pick := make([]int, tensor.Count(shape))
	greater := greaterOf(x)
	g.windows(func(plane, at int, win []int, _ int) {
		best := plane + win[0]
		for _, p := range win[1:] {
			if greater(plane+p, best) {
				best = plane + p
			}
		}
		pick[at] = best
	})
	y := x.Pick(shape, pick)
	if x.DType.IsFloat() {
		ClampAct(n, y)
	}
	if len(n.Out) < 2 {
		return outs(y)
	}
	idx := make([]int64, len(pick))
	plane := product(g.In)
	for i, p := range pick {
		if n.Op.Declares("storage_order") && ir.AttrsOf[MaxPoolAttrs](n).StorageOrder == 1 {
			p = p/plane*plane + columnMajor(p%plane, g.In)
		}
		idx[i] = int64(p)
	}
	return outs(y, tensor.Of(shape, idx))
}

// columnMajor converts a row-major offset of shape to a column-major one.
func columnMajor(p int, shape []int) int {
	q, mul := 0, product(shape)
	for i := len(shape) - 1; i >= 0; i-- {
		mul /= shape[i]
		q += p % shape[i] * mul
		p /= shape[i]
	}
	return q
}

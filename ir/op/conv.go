// SPDX-License-Identifier: Apache-2.0

package op

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
)

// ConvAttrs are the attributes of Conv.
type ConvAttrs struct {
	AutoPad     string `default:"NOTSET"`
	Dilations   []int
	FcScale     int `default:"0"`
	Group       int `default:"1"`
	KernelShape []int
	Pads        []int
	Strides     []int
	Act
}

// Conv is the convolution over 1 to 3 spatial dimensions. Input [N, C,
// spatial...], weights [COut, C/group, kernel...], optional bias [COut];
// output [N, COut, spatial...]. Quantised: exactly CMSIS-NN's convolution and
// depthwise convolution, see mac.go.
var Conv = def(ir.OpDef{
	Name: "Conv", Doc: "convolution in 1 to 3 dimensions, with groups and dilation",
	// fc_scale is nncc's own: quantised per tensor, the scales of data and weights
	// multiply in float32, as those of the Gemm or MatMul that the Conv was.
	Attrs: ir.Declare[ConvAttrs](),
	MinIn: 2, MaxIn: 3,
	Infer:   inferConv,
	Eval:    evalConv(convSum[float64]),
	EvalQ:   evalConvQ,
	Quant:   ir.QInt,
	Pattern: ir.OutFusable,
	Window:  ir.Convolved, WeightAxis: func(*ir.Node) int { return 0 },
	MACs: func(n *ir.Node) int64 {
		g := fail.Must(ConvGeometry(n))
		return work(g.N, product(g.Out), g.COut, g.CIn/g.Group, g.Taps())
	},
})

// ConvTransposeAttrs are the attributes of ConvTranspose.
type ConvTransposeAttrs struct {
	AutoPad       string `default:"NOTSET"`
	Dilations     []int
	Group         int `default:"1"`
	KernelShape   []int
	OutputPadding []int
	OutputShape   []int
	Pads          []int
	Strides       []int
	Act
}

// ConvTranspose is the transposed convolution. Input [N, C, spatial...],
// weights [C, COut/group, kernel...], optional bias [COut].
var ConvTranspose = def(ir.OpDef{
	Name: "ConvTranspose", Doc: "transposed convolution in 1 to 3 dimensions",
	Attrs: ir.Declare[ConvTransposeAttrs](),
	MinIn: 2, MaxIn: 3,
	Infer:   inferConv,
	Eval:    evalConv(convTransposeSum[float64]),
	EvalQ:   evalConvQ,
	Quant:   ir.QInt,
	Pattern: ir.OutFusable,
	Window:  ir.Convolved, WeightAxis: func(*ir.Node) int { return 1 },
	MACs: func(n *ir.Node) int64 {
		g := fail.Must(ConvGeometry(n))
		return work(g.N, product(g.In), g.CIn, g.COut/g.Group, g.Taps())
	},
})

func inferConv(n *ir.Node) ([]ir.Type, error) {
	g := fail.Must(ConvGeometry(n))
	typed := []int{0, 1, 2}
	if b := n.Input(2); b != nil && b.Type.DType == tensor.F32 && n.In[0].Type.DType == tensor.BF16 {
		typed = typed[:2] // sums of bfloat16 products are wider than that: so may the bias be
	}
	floatInputs(n, typed...)
	return one(ir.T(n.In[0].Type.DType, append([]int{g.N, g.COut}, g.Out...)...))
}

// floatInputs checks that the listed inputs are floats of one type, unless
// they are quantised: then parameters are checked where they are derived.
func floatInputs(n *ir.Node, idx ...int) {
	wantType(n, idx[0], floatTypes)
	wantSameTypes(n, idx...)
}

// evalConv computes sums in float64.
func evalConv(sum func(g *ConvGeom, x, w, b, y []float64)) evalFunc {
	return func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g := fail.Must(ConvGeometry(n))
		return inFloat(in, func(in []*tensor.Dense) []*tensor.Dense {
			y := make([]float64, g.N*g.COut*product(g.Out))
			sum(g, tensor.As[float64](in[0]), tensor.As[float64](in[1]), floats[float64](opt(in, 2)), y)
			return []*tensor.Dense{ClampAct(n, tensor.Of(append([]int{g.N, g.COut}, g.Out...), y))}
		}), nil
	}
}

// leastPixels and mostPixels bound the columns of the im2col matrix that is live
// at a time, tileElems its size between them; tiles are also the units of
// parallel work.
const leastPixels, mostPixels, tileElems = 256, 2048, 1 << 18

// convSum computes y = conv(x, w) + b; all arrays in logical order (x
// [N,C,...], w [O,I/g,...], y [N,O,...]).
func convSum[T summable](g *ConvGeom, x, w, b, y []T) {
	in, out := product(g.In), product(g.Out)
	ci, co := g.CIn/g.Group, g.COut/g.Group
	if ci == 1 || !allFinite(w) { // padding is nothing, not zeros: no weight meets it
		convDirect(g, x, w, b, y)
		return
	}
	k := ci * g.Taps()
	direct := g.Taps() == 1 && product(g.Strides) == 1 && in == out // the input is the matrix already
	tilePixels := min(max(tileElems/k, leastPixels), mostPixels)
	tiles := (out + tilePixels - 1) / tilePixels
	body := func(job int) {
		ng, lo := job/tiles, job%tiles*tilePixels
		img, grp, size := ng/g.Group, ng%g.Group, min(tilePixels, out-lo)
		xs := x[(img*g.CIn+grp*ci)*in:][:ci*in]
		ys := y[(img*g.COut+grp*co)*out:][:co*out]
		if b != nil {
			for c := range co {
				fillOf(ys[c*out+lo:][:size], b[grp*co+c])
			}
		}
		ws := w[grp*co*k:][:co*k]
		if direct {
			gemm(false, false, co, size, k, 1, ws, k, xs[lo:], in, 1, ys[lo:], out)
			return
		}
		col := make([]T, k*size)
		im2col(g, xs, lo, lo+size, col)
		gemm(false, false, co, size, k, 1, ws, k, col, size, 1, ys[lo:], out)
	}
	if jobs := g.N * g.Group * tiles; jobs == 1 {
		body(0)
	} else {
		parallel(jobs, body)
	}
}

// im2col fills col, [C*taps][hi-lo], with the input elements under every
// kernel position for the output pixels lo to hi; zero in the padding.
func im2col[T summable](g *ConvGeom, x []T, lo, hi int, col []T) {
	plane, taps := product(g.In), g.Taps()
	for r := range g.CIn / g.Group * taps {
		im2colRow(g, x[r/taps*plane:][:plane], r%taps, lo, hi, col[r*(hi-lo):][:hi-lo])
	}
}

// im2colRow is the row of im2col for one channel and kernel position.
func im2colRow[T summable](g *ConvGeom, src []T, tap, lo, hi int, dst []T) {
	in, out := pad3(g.In, 1), pad3(g.Out, 1)
	kn, st, dl, pb := pad3(g.Kernel, 1), pad3(g.Strides, 1), pad3(g.Dilations, 1), pad3(g.PadBegin, 0)
	kz, ky, kx := tap/(kn[1]*kn[2]), tap/kn[2]%kn[1], tap%kn[2]
	x0 := kx*dl[2] - pb[2]
	oLo, oHi := outRange(x0, st[2], out[2], in[2])
	clear(dst)
	// row by row of the output, cut to [lo, hi)
	for p := lo; p < hi; {
		row := p / out[2]
		from := p % out[2]
		to := min(out[2], from+hi-p)
		seg := dst[p-lo:][:to-from]
		p += to - from
		iz := row/out[1]*st[0] + kz*dl[0] - pb[0]
		iy := row%out[1]*st[1] + ky*dl[1] - pb[1]
		if iz < 0 || iz >= in[0] || iy < 0 || iy >= in[1] {
			continue
		}
		line := src[(iz*in[1]+iy)*in[2]:][:in[2]]
		a, z := max(from, oLo), min(to, oHi)
		if a >= z {
			continue
		}
		if st[2] == 1 {
			copy(seg[a-from:z-from], line[a+x0:])
			continue
		}
		for o := a; o < z; o++ {
			seg[o-from] = line[o*st[2]+x0]
		}
	}
}

// outRange is the range of o with 0 <= o*stride + start < size, in [0, out).
func outRange(start, stride, out, size int) (lo, hi int) {
	if start < 0 {
		lo = (-start + stride - 1) / stride
	}
	if start >= size {
		return 0, 0
	}
	return lo, min(out, (size-1-start)/stride+1)
}

// convDirect is the direct form: every output channel is a sum of shifted copies of input
// planes.
func convDirect[T summable](g *ConvGeom, x, w, b, y []T) {
	in, out := pad3(g.In, 1), pad3(g.Out, 1)
	kn, st, dl, pb := pad3(g.Kernel, 1), pad3(g.Strides, 1), pad3(g.Dilations, 1), pad3(g.PadBegin, 0)
	ip, op, taps, ci, co := product(g.In), product(g.Out), g.Taps(), g.CIn/g.Group, g.COut/g.Group
	parallel(g.N*g.COut, func(job int) {
		img, c := job/g.COut, job%g.COut
		planes := x[(img*g.CIn+c/co*ci)*ip:][:ci*ip]
		dst := y[job*op:][:op]
		if b != nil {
			fillOf(dst, b[c])
		}
		for k, v := range w[c*ci*taps:][:ci*taps] {
			src, t := planes[k/taps*ip:][:ip], k%taps
			kz, ky, kx := t/(kn[1]*kn[2]), t/kn[2]%kn[1], t%kn[2]
			x0 := kx*dl[2] - pb[2]
			lo, hi := outRange(x0, st[2], out[2], in[2])
			zLo, zHi := outRange(kz*dl[0]-pb[0], st[0], out[0], in[0])
			yLo, yHi := outRange(ky*dl[1]-pb[1], st[1], out[1], in[1])
			if lo >= hi {
				continue
			}
			for oz := zLo; oz < zHi; oz++ {
				for oy := yLo; oy < yHi; oy++ {
					line := src[((oz*st[0]+kz*dl[0]-pb[0])*in[1]+oy*st[1]+ky*dl[1]-pb[1])*in[2]:][:in[2]]
					row := dst[(oz*out[1]+oy)*out[2]:][lo:hi]
					if st[2] == 1 {
						line = line[lo+x0:][:len(row)]
						addScaled(v, line, row)
						continue
					}
					p := lo*st[2] + x0
					for i := range row {
						row[i] += v * line[p]
						p += st[2]
					}
				}
			}
		}
	})
}

// convTransposeSum computes the transposed convolution: the columns W' * x
// are added where their kernel position falls. x [N,C,...], w [C,O/g,...].
func convTransposeSum[T summable](g *ConvGeom, x, w, b, y []T) {
	ip, op, taps := product(g.In), product(g.Out), g.Taps()
	ci, co := g.CIn/g.Group, g.COut/g.Group
	in, out := pad3(g.In, 1), pad3(g.Out, 1)
	kn, st, dl, pb := pad3(g.Kernel, 1), pad3(g.Strides, 1), pad3(g.Dilations, 1), pad3(g.PadBegin, 0)
	parallel(g.N*g.Group, func(job int) {
		img, grp := job/g.Group, job%g.Group
		rows := co * taps
		col := make([]T, rows*ip)
		// col[co*taps][ip] = w[ci][co*taps]' * x[ci][ip]
		gemm(true, false, rows, ip, ci, 1, w[grp*ci*rows:][:ci*rows], rows, x[(img*g.CIn+grp*ci)*ip:][:ci*ip], ip, 0,
			col, ip)
		for c := 0; c < co; c++ {
			dst := y[(img*g.COut+grp*co+c)*op:][:op]
			if b != nil {
				fillOf(dst, b[grp*co+c])
			}
			for t := 0; t < taps; t++ {
				kz, ky, kx := t/(kn[1]*kn[2]), t/kn[2]%kn[1], t%kn[2]
				src := col[(c*taps+t)*ip:][:ip]
				x0 := kx*dl[2] - pb[2]
				lo, hi := outRange(x0, st[2], in[2], out[2])
				for iz := 0; iz < in[0]; iz++ {
					oz := iz*st[0] + kz*dl[0] - pb[0]
					if oz < 0 || oz >= out[0] {
						continue
					}
					for iy := 0; iy < in[1]; iy++ {
						oy := iy*st[1] + ky*dl[1] - pb[1]
						if oy < 0 || oy >= out[1] {
							continue
						}
						line := src[(iz*in[1]+iy)*in[2]:][:in[2]]
						row := dst[(oz*out[1]+oy)*out[2]:][:out[2]]
						for i := lo; i < hi; i++ {
							row[i*st[2]+x0] += line[i]
						}
					}
				}
			}
		}
	})
}

// addScaled adds v*x to y.
func addScaled[T summable](v T, x, y []T) {
	if x, ok := any(x).([]float64); ok {
		vec.Axpy(float64(v), x, any(y).([]float64))
		return
	}
	for i, s := range x {
		y[i] += v * s
	}
}
func allFinite[T float | int32 | int64](x []T) bool {
	return !slices.ContainsFunc(x, func(v T) bool { return v-v != 0 })
}

// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"slices"
	"sync"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
)

// Into gives a function that evaluates n, an operator with one result of float32, into
// memory that is there: y, of which it writes every element. Functions and sums are in
// float32, with errors of some millionths of the largest operand, in a defined order: for
// what Approximate is for, beside convolutions and matrix products, which are not here. It
// is nil where there is no such function.
func Into(n *ir.Node) intoFunc {
	if len(n.Out) != 1 || n.Out[0].Type.DType != tensor.F32 || n.Out[0].Type.Elems() == 0 || len(n.In) == 0 ||
		n.In[0] == nil || n.In[0].Type.DType != tensor.F32 || n.In[0].Type.Elems() == 0 {
		return nil
	}
	if form := intoForms[n.Op]; form != nil {
		return form(n)
	}
	if form := intoFunctions[n.Op]; form != nil {
		f := form(n)
		return func(in []*tensor.Dense, y []float32) { f(tensor.As[float32](in[0]), y) }
	}
	return nil
}

// intoFunc is what Into gives.
type intoFunc = func(in []*tensor.Dense, y []float32)

// intoForms make them, nil where a node is not of the usual kind.
var intoForms = map[*ir.OpDef]func(n *ir.Node) intoFunc{
	Reshape: intoCopy, Flatten: intoCopy, Squeeze: intoCopy, Unsqueeze: intoCopy, Identity: intoCopy,
	Transpose: intoTranspose, Concat: intoConcat, Pad: intoPad,
	Add: intoArith(kAdd), Sub: intoArith(kSub), Mul: intoArith(kMul),
	MaxPool: intoPool, AveragePool: intoPool, GlobalMaxPool: intoPool, GlobalAveragePool: intoPool,
	ReduceMean: intoMean, Softmax: intoSoftmax, LayerNormalization: intoLayerNorm,
	Slice: intoMoved, DepthToSpace: intoMoved, SpaceToDepth: intoMoved, Gather: intoMoved, Expand: intoMoved,
	Tile: intoMoved, Resize: intoResize,
}

func intoCopy(*ir.Node) intoFunc {
	return func(in []*tensor.Dense, y []float32) { copy(y, tensor.As[float32](in[0])) }
}

// bounded brings the elements of y to what n's absorbed activation lets through.
func bounded(n *ir.Node) func(y []float32) {
	if !HasAct(n) {
		return func([]float32) {}
	}
	l, h := ActBounds(n)
	lo, hi := float32(l), float32(h)
	return func(y []float32) {
		for i, v := range y {
			if v < lo {
				v = lo
			}
			if v > hi {
				v = hi
			}
			y[i] = v
		}
	}
}

func intoArith(k arithKind) func(n *ir.Node) intoFunc {
	return func(n *ir.Node) intoFunc {
		if n.In[1].Type.DType != tensor.F32 {
			return nil
		}
		out, bound, loop := n.Out[0].Type.Shape, bounded(n), arithLoop[float32](k)
		return func(in []*tensor.Dense, y []float32) {
			a, b := tensor.As[float32](in[0]), tensor.As[float32](in[1])
			if len(a) == len(y) && len(b) == len(y) {
				loop(y, a, b)
			} else {
				zip(out, in[0].Shape, in[1].Shape, y, a, b, loop)
			}
			bound(y)
		}
	}
}

func intoTranspose(n *ir.Node) intoFunc {
	perm, err := Perm(n)
	if err != nil {
		return nil
	}
	st, shape, strides := tensor.Strides(n.In[0].Type.Shape), n.Out[0].Type.Shape, make([]int, len(perm))
	for i, p := range perm {
		strides[i] = st[p]
	}
	return func(in []*tensor.Dense, y []float32) {
		tensor.Gather(tensor.Of(shape, y), in[0], shape, strides, 0)
	}
}

func intoConcat(n *ir.Node) intoFunc {
	axis, err := Axis(n, ir.AttrsOf[AxisAttr](n).Axis, n.In[0].Type.Rank())
	if err != nil {
		return nil
	}
	row := product(n.Out[0].Type.Shape[axis:])
	return func(in []*tensor.Dense, y []float32) {
		at := 0
		for _, d := range in {
			x, size := tensor.As[float32](d), product(d.Shape[axis:])
			for to := at; len(x) > 0; to += row {
				copy(y[to:], x[:size])
				x = x[size:]
			}
			at += size
		}
	}
}

// intoPad is a Pad, one that fills by runs.
func intoPad(n *ir.Node) intoFunc {
	g, err := PadGeometry(n)
	switch {
	case err != nil || len(g.Shape) == 0 || n.Input(2) != nil && n.ConstIn(2) == nil:
		return nil
	case g.Mode != "constant":
		return intoMoved(n)
	}
	fill, err := PadFill(n, n.ConstIn(2))
	if err != nil || fill.DType != tensor.F32 {
		return nil
	}
	value := tensor.As[float32](fill)[0]
	part := g.part(n.In[0].Type.Shape)
	return func(in []*tensor.Dense, y []float32) {
		for i := range y {
			y[i] = value
		}
		x := tensor.As[float32](in[0])
		part(func(from, to, count int) { copy(y[to:][:count], x[from:][:count]) })
	}
}

// mostPlaces bounds the elements of which intoMoved keeps places.
const mostPlaces = 1 << 18

// intoMoved is an operator that moves elements of input 0, whatever they are, by constants: where
// each of its results comes from is what the reference makes of their numbers.
func intoMoved(n *ir.Node) intoFunc {
	if max(n.In[0].Type.Elems(), n.Out[0].Type.Elems()) > mostPlaces {
		return nil
	}
	numbers := tensor.New(tensor.F32, n.In[0].Type.Shape)
	for i := range tensor.As[float32](numbers) {
		tensor.As[float32](numbers)[i] = float32(i)
	}
	in := []*tensor.Dense{numbers}
	for i, v := range n.In[1:] {
		if v != nil && v.Const == nil {
			return nil
		}
		in = append(in, n.ConstIn(i+1))
	}
	moved, err := n.Op.Eval(n, in)
	if err != nil {
		return nil
	}
	from := make([]int32, moved[0].Len())
	for i, f := range tensor.As[float32](moved[0]) {
		from[i] = int32(f)
	}
	return func(in []*tensor.Dense, y []float32) {
		x := tensor.As[float32](in[0])
		y = y[:len(from)]
		for i, k := range from {
			y[i] = x[k]
		}
	}
}

// intoResize is one that takes the nearest elements.
func intoResize(n *ir.Node) intoFunc {
	if g, err := ResizeGeometry(n); err != nil || !g.Nearest || g.Crop {
		return nil
	}
	return intoMoved(n)
}

// tapRun is what one tap of a window sees along an axis: outputs from lo to hi read inputs
// from at on, step apart.
type tapRun struct{ lo, hi, at int }

// tapRuns are those of all taps of axis d, and how many elements each output's window has.
func (g *PoolGeom) tapRuns(d int) (runs []tapRun, counts []float64) {
	for t := range g.Kernel[d] {
		from, st := t*g.Dilations[d]-g.PadBegin[d], g.Strides[d]
		lo := max(0, (st-1-from)/st)
		hi := max(lo, min(g.Out[d], (g.In[d]-1-from+st)/st))
		runs = append(runs, tapRun{lo, hi, lo*st + from})
	}
	for o := range g.Out[d] {
		start := o*g.Strides[d] - g.PadBegin[d]
		lo, hi := tapRange(start, g.Dilations[d], g.Kernel[d], g.In[d])
		if g.CountPad { // padding counts, what hangs over its end does not
			lo, hi = tapRange(start+g.PadBegin[d], g.Dilations[d], g.Kernel[d], g.In[d]+g.PadBegin[d]+g.PadEnd[d])
		}
		counts = append(counts, float64(hi-lo))
	}
	return runs, counts
}

// intoPool is a maximum or mean over windows in up to two dimensions.
func intoPool(n *ir.Node) intoFunc {
	g, err := PoolGeometry(n)
	if err != nil || len(g.In) > 2 || len(g.In) == 0 {
		return nil
	}
	bound, planes, size, out := bounded(n), g.N*g.C, product(g.In), product(g.Out)
	plane := newPlanePool(g, n.Op == MaxPool || n.Op == GlobalMaxPool).eval
	if out == 1 && slices.Equal(g.Kernel, g.In) && !g.Padded() && n.Op != MaxPool && n.Op != GlobalMaxPool {
		plane = func(x, y []float32, _ []float64) { y[0] = float32(vec.Sum(x) / float64(size)) }
	}
	return func(in []*tensor.Dense, y []float32) {
		x := tensor.As[float32](in[0])
		sums := bufferOf[float64](&doublesPool, out)
		defer doublesPool.Put(sums)
		for i := range planes {
			plane(x[i*size:][:size], y[i*out:][:out], *sums)
		}
		bound(y)
	}
}

// doublesPool keeps the memory of sums.
var doublesPool = sync.Pool{New: func() any { return new([]float64) }}

// planePool pools one plane, row by row and tap by tap, in the reference's order.
type planePool struct {
	largest             bool
	rows, cols          []tapRun
	down, across        []float64 // elements of a window
	width, pitch        int       // of the output, of the input
	stepDown, stepRight int
}

func newPlanePool(g *PoolGeom, largest bool) *planePool {
	d := len(g.In) - 1
	p := &planePool{largest: largest, rows: []tapRun{{0, 1, 0}}, down: []float64{1}, width: g.Out[d], pitch: g.In[d],
		stepDown: 1, stepRight: g.Strides[d]}
	p.cols, p.across = g.tapRuns(d)
	if d == 1 {
		p.rows, p.down = g.tapRuns(0)
		p.stepDown = g.Strides[0]
	}
	return p
}

// eval pools x; sums are memory.
func (p *planePool) eval(x, y []float32, sums []float64) {
	if p.largest {
		for i := range y {
			y[i] = float32(negInf)
		}
	} else {
		clear(sums)
	}
	for _, r := range p.rows {
		for o := r.lo; o < r.hi; o++ {
			src := x[(r.at+(o-r.lo)*p.stepDown)*p.pitch:][:p.pitch]
			for _, c := range p.cols {
				switch {
				case c.lo >= c.hi:
				case p.largest:
					raiseStrided(y[o*p.width:][c.lo:c.hi], src[c.at:], p.stepRight)
				default:
					addStrided(sums[o*p.width:][c.lo:c.hi], src[c.at:], p.stepRight)
				}
			}
		}
	}
	if !p.largest {
		for i, s := range sums {
			y[i] = float32(s / (p.down[i/p.width] * p.across[i%p.width]))
		}
	}
}

// addStrided adds elements of x, step apart, to y.
func addStrided(y []float64, x []float32, step int) {
	for i := range y {
		y[i] += float64(x[i*step])
	}
}

// raiseStrided gives y the larger of its elements and those of x, step apart.
func raiseStrided(y, x []float32, step int) {
	if step == 1 {
		for i, v := range x[:len(y)] {
			if v > y[i] {
				y[i] = v
			}
		}
		return
	}
	for i, u := range y {
		if v := x[i*step]; v > u {
			y[i] = v
		}
	}
}

// intoMean is the mean over axes one behind the other.
func intoMean(n *ir.Node) intoFunc {
	axes, err := ReduceAxes(n)
	if err != nil || len(axes) == 0 || axes[len(axes)-1]-axes[0] != len(axes)-1 {
		return nil
	}
	shape := n.In[0].Type.Shape
	count, inner := product(shape[axes[0]:axes[0]+len(axes)]), product(shape[axes[0]+len(axes):])
	return func(in []*tensor.Dense, y []float32) {
		x := tensor.As[float32](in[0])
		if inner == 1 {
			for i := range y {
				y[i] = float32(vec.Sum(x[i*count:][:count]) / float64(count))
			}
			return
		}
		sums := make([]float64, inner)
		for ; len(y) > 0; y = y[inner:] {
			clear(sums)
			for range count {
				vec.Accumulate(x[:inner], sums)
				x = x[inner:]
			}
			for i, s := range sums {
				y[i] = float32(s / float64(count))
			}
		}
	}
}

// intoLSTM is an LSTM with constant weights and the usual activations, in one direction or
// both.
type intoLSTM struct {
	g      *RNNGeom
	w, r   [][]float32 // by direction: [input, 4*H] and [H, 4*H]
	bias   [][]float32 // by direction: of inputs and states together; nil: none
	wAt    []int
	rAt    []int
	inputs *lefts // of all steps
	limit  float32
	logist *smooth
	tanh   *smooth
}

// LSTMInto is Into for an LSTM with weights w, r and biases b, which may be nil: it writes
// all its results, of which cells, unless it is nil, sees the cell state after each step.
// What is made of the weights is kept by the function, which does not look at inputs 1 to 3.
func LSTMInto(n *ir.Node, w, r, b *tensor.Dense) func(in []*tensor.Dense, out [][]float32, cells func(c []float32)) {
	g, err := RNNGeometry(n)
	if err != nil || w == nil || r == nil || w.DType != tensor.F32 || n.Input(3) != nil && b == nil || !usual(n, g) {
		return nil
	}
	l := &intoLSTM{g: g, wAt: rowsFrom(g.Input, 4*g.Hidden), rAt: rowsFrom(g.Hidden, 4*g.Hidden),
		inputs: &lefts{m: g.Seq * g.Batch, k: g.Input, lda: g.Input},
		limit:  float32(g.CellClip), logist: smoothSigmoid(), tanh: smoothTanh()}
	rows := 4 * g.Hidden
	for d := range g.Dirs() {
		l.w = append(l.w, transposed(g.Input, rows, tensor.As[float32](w)[d*rows*g.Input:], g.Input))
		l.r = append(l.r, transposed(g.Hidden, rows, tensor.As[float32](r)[d*rows*g.Hidden:], g.Hidden))
		bias := make([]float32, rows)
		if b != nil {
			for i := range bias {
				bias[i] = tensor.As[float32](b)[d*2*rows+i] + tensor.As[float32](b)[d*2*rows+rows+i]
			}
		}
		l.bias = append(l.bias, bias)
	}
	return l.eval
}

// usual reports an LSTM with the activations that all have, and nothing that few have.
func usual(n *ir.Node, g *RNNGeom) bool {
	for d := range g.Dirs() {
		for k, name := range []string{"sigmoid", "tanh", "tanh"} {
			if g.ActName(d, k) != name {
				return false
			}
		}
	}
	return !g.BatchFirst && g.Seq*g.Batch*g.Input > 0 && n.Input(4) == nil && n.Input(7) == nil &&
		math.IsInf(g.Clip, 1) && ir.AttrsOf[LSTMAttrs](n).InputForget == 0
}

func (l *intoLSTM) eval(in []*tensor.Dense, out [][]float32, cells func(c []float32)) {
	g := l.g
	H, B, D, rows := g.Hidden, g.Batch, g.Dirs(), 4*g.Hidden
	x := tensor.As[float32](in[0])
	memory := singles(g.Seq*B*rows + rows + 2*H)
	defer singlesPool.Put(memory)
	all, z := (*memory)[:g.Seq*B*rows], (*memory)[g.Seq*B*rows:][:rows]
	h, c := (*memory)[(g.Seq*B+1)*rows:][:H], (*memory)[(g.Seq*B+1)*rows+H:][:H]
	left := vec.PackSingle(false, 1, H, h, H)
	for d := range D {
		s := vec.Sums{Col: l.bias[d], Lo: float32(negInf), Hi: float32(posInf)}
		l.inputs.times(rows, x, l.w[d], l.wAt, &s, all)
		for b := range B {
			for i, at := range []int{5, 6} {
				state := [][]float32{h, c}[i]
				clear(state)
				if given := opt(in, at); given != nil {
					copy(state, tensor.As[float32](given)[(d*B+b)*H:])
				}
			}
			for t := range g.Seq {
				if g.Reverse[d] {
					t = g.Seq - 1 - t
				}
				left.Set(false, h, H)
				s.Col = all[(t*B+b)*rows:][:rows]
				left.Times(rows, l.rAt, l.r[d], &s, z, rows)
				l.gates(z, h, c)
				if cells != nil {
					cells(c)
				}
				if out[0] != nil {
					copy(out[0][((t*D+d)*B+b)*H:], h)
				}
			}
			for i, state := range [][]float32{h, c} {
				if i+1 < len(out) && out[i+1] != nil {
					copy(out[i+1][(d*B+b)*H:][:H], state)
				}
			}
		}
	}
}

// gates makes the new state of the sums z of the gates i, o, f, c, which become their functions.
func (l *intoLSTM) gates(z, h, c []float32) {
	H := len(h)
	l.logist.each(z[:3*H], z)
	l.tanh.each(z[3*H:], z[3*H:])
	i, o, f, g := z[:H], z[H:][:H], z[2*H:][:H], z[3*H:][:H]
	c = c[:H]
	for k, v := range c {
		v = float32(f[k]*v) + float32(i[k]*g[k])
		c[k] = min(max(v, -l.limit), l.limit)
	}
	l.tanh.each(c, h)
	for k := range h {
		h[k] *= o[k]
	}
}

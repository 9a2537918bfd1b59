// SPDX-License-Identifier: Apache-2.0

package op

import (
	"slices"
	"sync"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
)

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

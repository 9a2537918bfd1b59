// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"sync"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
)

// Convolutions of float32: the sums of convSum in float64, in the same order,
// rounded once. Values are widened by tiles, so that no tensor exists in float64.

// seriesWork is how many multiplications are too few to share them out.
const seriesWork = 1 << 17

// fewPlanes are too few input planes to share out by planes alone.
const fewPlanes = 4

// convolveSingle is false, with nothing done, where convSum has to: without
// assembly, and where zeros among weights, or infinite ones, could be told apart.
func convolveSingle(n *ir.Node, g *ConvGeom, in []*tensor.Dense) (*tensor.Dense, bool) {
	if !vec.HasAssembly() {
		return nil, false
	}
	x, okX := in[0].Data.([]float32)
	w, okW := in[1].Data.([]float32)
	var b []float32
	okB := true
	if d := opt(in, 2); d != nil {
		b, okB = d.Data.([]float32)
	}
	if !okX || !okW || !okB {
		return nil, false
	}
	out := tensor.New(tensor.F32, append([]int{g.N, g.COut}, g.Out...))
	y := out.Data.([]float32)
	if len(y) == 0 {
		return out, true
	}
	c := &singleConv{ConvGeom: g, x: x, w: w, b: b, y: y, store: storeOf(n)}
	if g.CIn == g.Group {
		return out, c.depthwise()
	}
	return out, c.product()
}

// singleConv is a convolution of float32.
type singleConv struct {
	*ConvGeom
	x, w, b, y []float32
	store      func(dst []float32, src []float64)
}

// start fills sums of output channel c with its bias.
func (s *singleConv) start(c int, sums []float64) {
	if s.b == nil {
		clear(sums)
		return
	}
	v := float64(s.b[c])
	for i := range sums {
		sums[i] = v
	}
}

// share calls f(0) ... f(n-1), on all cores where that pays.
func (s *singleConv) share(n int, f func(i int)) {
	if s.N*product(s.Out)*s.COut/s.Group*s.CIn*s.Taps() < seriesWork {
		for i := range n {
			f(i)
		}
		return
	}
	parallel(n, f)
}

// product computes tiles of output pixels as matrix products.
func (s *singleConv) product() bool {
	in, out := product(s.In), product(s.Out)
	ci, co := s.CIn/s.Group, s.COut/s.Group
	k := ci * s.Taps()
	var left []*vec.Left
	defer func() {
		for _, l := range left {
			l.Release()
		}
	}()
	for grp := range s.Group {
		l, _ := vec.Pack(false, co, k, 1, s.w[grp*co*k:][:co*k], k)
		left = append(left, l)
		if l.Zeros() && !(allFinite(s.x) && noNegativeZero(s.b)) {
			return false
		}
	}
	direct := s.Taps() == 1 && product(s.Strides) == 1 && in == out
	tiles := (out + vec.Columns - 1) / vec.Columns
	s.share(s.N*s.Group*tiles, func(job int) {
		t, img, grp := job%tiles, job/tiles/s.Group, job/tiles%s.Group
		lo := t * vec.Columns
		cols := min(vec.Columns, out-lo)
		xs := s.x[(img*s.CIn+grp*ci)*in:][:ci*in]
		buf := scratch(co * cols)
		sums := (*buf)[:co*cols]
		right := rights.Get().(*vec.Right)
		for c := range co {
			s.start(grp*co+c, sums[c*cols:][:cols])
		}
		var line [vec.Columns]float32
		for k0 := 0; k0 < k; k0 += vec.Depth {
			depth := min(vec.Depth, k-k0)
			for i := range depth {
				row := line[:cols]
				if direct {
					row = xs[(k0+i)*in+lo:][:cols]
				} else {
					s.inputs(xs, k0+i, lo, row)
				}
				right.SetRow(i, depth, row)
			}
			left[grp].AddRight(k0, depth, cols, right, sums, cols)
		}
		for c := range co {
			s.store(s.y[(img*s.COut+grp*co+c)*out+lo:][:cols], sums[c*cols:][:cols])
		}
		rights.Put(right)
		sumsPool.Put(buf)
	})
	return true
}

// inputs fills row with what weight k of a channel sees from output pixel lo on.
func (s *singleConv) inputs(x []float32, k, lo int, row []float32) {
	taps := s.Taps()
	in := pad3(s.In, 1)
	plane := in[0] * in[1] * in[2]
	im2colRow(s.ConvGeom, x[k/taps*plane:][:plane], k%taps, lo, lo+len(row), row)
}

// depthwise sums shifted copies of one input plane for every output channel.
// Planes are padded with zeros: their products leave a sum as it is.
func (s *singleConv) depthwise() bool {
	if len(s.In) > 2 || !allFinite(s.w) || !noNegativeZero(s.b) {
		return false
	}
	in, out := pad3(s.In, 1), pad3(s.Out, 1)
	kn, st, dl, pb := pad3(s.Kernel, 1), pad3(s.Strides, 1), pad3(s.Dilations, 1), pad3(s.PadBegin, 0)
	// The plane is split by what coordinates leave over the strides: steps of one
	// in the output are steps of one in each part.
	rows, pitch := out[1]+(kn[1]-1)*dl[1]/st[1], out[2]+(kn[2]-1)*dl[2]/st[2]
	part := rows * pitch
	var at []int
	for t := range s.Taps() {
		y, x := t/kn[2]*dl[1], t%kn[2]*dl[2]
		at = append(at, (y%st[1]*st[2]+x%st[2])*part+y/st[1]*pitch+x/st[2])
	}
	size, n := part*st[1]*st[2], (out[1]-1)*pitch+out[2]
	mult, ip, taps := s.COut/s.Group, in[1]*in[2], len(at)
	parts := 1 // of the output channels of a plane
	if s.N*s.Group < fewPlanes {
		parts = min(mult, fewPlanes)
	}
	s.share(s.N*s.Group*parts, func(job int) {
		img, grp, share := job/parts/s.Group, job/parts%s.Group, job%parts
		buf := scratch(size + n + taps)
		plane, sums, w := (*buf)[:size], (*buf)[size:][:n], (*buf)[size+n:][:taps]
		src := s.x[job/parts*ip:][:ip]
		for y := range st[1] {
			for x := range st[2] {
				for r := range rows {
					dst := plane[(y*st[2]+x)*part+r*pitch:][:pitch]
					if iy := r*st[1] + y - pb[1]; iy >= 0 && iy < in[1] {
						widenEvery(dst, src[iy*in[2]:][:in[2]], x-pb[2], st[2])
					} else {
						clear(dst)
					}
				}
			}
		}
		for c := grp*mult + share*mult/parts; c < grp*mult+(share+1)*mult/parts; c++ {
			s.start(c, sums)
			vec.Widen(s.w[c*taps:][:taps], w)
			vec.Taps(w, at, plane, sums)
			dst := s.y[(img*s.COut+c)*out[1]*out[2]:]
			for r := range out[1] {
				s.store(dst[r*out[2]:][:out[2]], sums[r*pitch:][:out[2]])
			}
		}
		sumsPool.Put(buf)
	})
	return true
}

// widenEvery fills dst with src[from], src[from+step], ..., zeros outside of src.
func widenEvery(dst []float64, src []float32, from, step int) {
	lo, hi := outRange(from, step, len(dst), len(src))
	if lo >= hi {
		clear(dst)
		return
	}
	clear(dst[:lo])
	clear(dst[hi:])
	if step == 1 {
		vec.Widen(src[lo+from:hi+from], dst[lo:])
		return
	}
	p := lo*step + from
	for i := range dst[lo:hi] {
		dst[lo+i] = float64(src[p])
		p += step
	}
}

// rights and sumsPool hold buffers of tiles.
var (
	rights   = sync.Pool{New: func() any { return new(vec.Right) }}
	sumsPool = sync.Pool{New: func() any { return new([]float64) }}
)

// scratch gives a buffer of n numbers, whatever they are, which goes back to sumsPool.
func scratch(n int) *[]float64 {
	b := sumsPool.Get().(*[]float64)
	if cap(*b) < n {
		*b = make([]float64, n)
	}
	*b = (*b)[:n]
	return b
}

// storeOf rounds sums, with the node's absorbed activation.
func storeOf(n *ir.Node) func(dst []float32, src []float64) {
	if !HasAct(n) {
		return func(dst []float32, src []float64) { vec.Narrow(src, dst) }
	}
	lo, hi := ActBounds(n)
	if lo == 0 && !math.Signbit(lo) && hi > 0 {
		return func(dst []float32, src []float64) { vec.NarrowUpTo(float32(hi), src, dst) }
	}
	return func(dst []float32, src []float64) {
		for i, v := range src {
			dst[i] = float32(min(max(v, lo), hi))
		}
	}
}

func allFinite(x []float32) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

func noNegativeZero(x []float32) bool {
	for _, v := range x {
		if v == 0 && math.Signbit(float64(v)) {
			return false
		}
	}
	return true
}

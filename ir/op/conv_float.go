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
	direct     bool    // the input is the right side of the product
	planes     *planes // or its rows come of these, unless nil
}

// bias is that of output channel c.
func (s *singleConv) bias(c int) float64 {
	if s.b == nil {
		return 0
	}
	return float64(s.b[c])
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

// product computes tiles of output pixels as matrix products, in which padding is zeros.
func (s *singleConv) product() bool {
	if !allFinite(s.w) {
		return false
	}
	left, ok := s.pack()
	defer func() {
		for _, l := range left {
			l.Release()
		}
	}()
	if !ok {
		return false
	}
	n := product(s.Out) // sums of an output plane
	s.direct = s.Taps() == 1 && product(s.Strides) == 1 && product(s.In) == n
	if !s.direct && len(s.In) <= 2 {
		if p := newPlanes(s.ConvGeom); p.sums() <= n*mostSpread {
			s.planes, n = p, p.sums()
		}
	}
	tiles := (n + vec.Columns - 1) / vec.Columns
	s.share(s.N*s.Group*tiles, func(job int) {
		lo := job % tiles * vec.Columns
		s.tile(left, job/tiles, lo, min(vec.Columns, n-lo))
	})
	return true
}

// pack gives the weights of every group as left sides of products; ok is false where
// zeros among them make a difference.
func (s *singleConv) pack() (left []*vec.Left, ok bool) {
	co, k := s.COut/s.Group, s.CIn/s.Group*s.Taps()
	for grp := range s.Group {
		l, _ := vec.Pack(false, co, k, 1, s.w[grp*co*k:][:co*k], k)
		left = append(left, l)
		if l.Zeros() && !noNegativeZero(s.b) {
			return left, false
		}
	}
	return left, true
}

// tile computes cols sums from lo on of an image and group, which are counted through.
func (s *singleConv) tile(left []*vec.Left, which, lo, cols int) {
	grp, ci, co := which%s.Group, s.CIn/s.Group, s.COut/s.Group
	k, pitch := ci*s.Taps(), vec.Whole(cols)
	buf := scratch(co * pitch)
	defer sumsPool.Put(buf)
	sums := *buf
	for c := range co {
		vec.Fill(sums[c*pitch:][:pitch], s.bias(grp*co+c))
	}
	right := rights.Get().(*vec.Right)
	defer rights.Put(right)
	in := product(s.In)
	set, done := s.columns(right, s.x[which*ci*in:][:ci*in], lo, cols)
	defer done()
	for k0 := 0; k0 < k; k0 += vec.Depth {
		depth := min(vec.Depth, k-k0)
		for i := range depth {
			set(k0+i, i, depth)
		}
		left[grp].AddRight(k0, depth, cols, right, sums, pitch)
	}
	out := product(s.Out)
	s.round(s.y[which*co*out:][:co*out], sums, pitch, lo, cols)
}

// columns gives the function that sets row i of right, of depth, to what weight k sees of
// channels x from sum lo on; done ends its use.
func (s *singleConv) columns(right *vec.Right, x []float32, lo, cols int) (set func(k, i, depth int), done func()) {
	switch {
	case s.direct:
		in := product(s.In)
		return func(k, i, depth int) { right.SetRow(i, depth, x[k*in+lo:][:cols]) }, func() {}
	case s.planes != nil:
		v := newStrip(s.planes, lo, cols)
		return func(k, i, depth int) { right.SetWide(i, depth, v.seen(x, k)) }, func() { sumsPool.Put(v.buf) }
	}
	line := make([]float32, cols)
	return func(k, i, depth int) {
		s.inputs(x, k, lo, line)
		right.SetRow(i, depth, line)
	}, func() {}
}

// round rounds a tile of sums, its channels pitch apart, to output planes y.
func (s *singleConv) round(y []float32, sums []float64, pitch, lo, cols int) {
	var line [vec.Columns]float32
	list := []stretch{{0, lo, cols}}
	if s.planes != nil {
		list = s.planes.stretches(lo, cols)
	}
	for out := product(s.Out); len(y) > 0; y, sums = y[out:], sums[pitch:] {
		if s.planes == nil && cols == pitch {
			s.store(y[lo:][:cols], sums[:pitch])
			continue
		}
		s.store(line[:pitch], sums[:pitch])
		put(y, line[:], list)
	}
}

// mostSpread bounds the sums of planes, between which there are some that nobody reads, in
// those that are read.
const mostSpread = 2

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
	p := newPlanes(s.ConvGeom)
	rows, n, out := p.out[1], p.sums(), p.out[1]*p.out[2]
	at, list, cuts := p.taps(rows), p.stretches(0, n), p.cuts(0, rows)
	size, mult, ip := p.size(rows), s.COut/s.Group, p.in[1]*p.in[2]
	parts := 1 // of the output channels of a plane
	if s.N*s.Group < fewPlanes {
		parts = min(mult, fewPlanes)
	}
	s.share(s.N*s.Group*parts, func(job int) {
		img, grp, share := job/parts/s.Group, job/parts%s.Group, job%parts
		whole := vec.Whole(n)
		buf := scratch(whole + size + len(at))
		sums, plane, w := (*buf)[:whole], (*buf)[whole:][:size], (*buf)[whole+size:][:len(at)]
		rounded := singles(whole)
		p.fill(plane, s.x[job/parts*ip:][:ip], cuts)
		for c := grp*mult + share*mult/parts; c < grp*mult+(share+1)*mult/parts; c++ {
			vec.Widen(s.w[c*len(at):][:len(at)], w)
			vec.Taps(s.bias(c), w, at, plane, sums[:n])
			s.store(*rounded, sums)
			put(s.y[(img*s.COut+c)*out:][:out], *rounded, list)
		}
		singlesPool.Put(rounded)
		sumsPool.Put(buf)
	})
	return true
}

// rights, sumsPool and singlesPool hold buffers of tiles.
var (
	rights      = sync.Pool{New: func() any { return new(vec.Right) }}
	sumsPool    = sync.Pool{New: func() any { return new([]float64) }}
	singlesPool = sync.Pool{New: func() any { return new([]float32) }}
)

// scratch gives a buffer of n numbers, whatever they are, which goes back to sumsPool.
func scratch(n int) *[]float64 { return bufferOf[float64](&sumsPool, n) }

// singles gives one that goes back to singlesPool.
func singles(n int) *[]float32 { return bufferOf[float32](&singlesPool, n) }

func bufferOf[T float](pool *sync.Pool, n int) *[]T {
	b := pool.Get().(*[]T)
	if cap(*b) < n {
		*b = make([]T, n)
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

func allFinite[T summable](x []T) bool {
	return !slices.ContainsFunc(x, func(v T) bool { return v-v != 0 })
}

func noNegativeZero(x []float32) bool {
	return !slices.ContainsFunc(x, func(v float32) bool { return v == 0 && math.Signbit(float64(v)) })
}

// planes lays an input plane of a float convolution in up to two dimensions out so that
// neighbours in the output are neighbours for every tap: padded with zeros, and split by
// what coordinates leave over the strides, into one part each. Rows of a part, and of the
// sums, are pitch apart; what sums hold between rows is nobody's.
type planes struct {
	in, out, stride, pad [3]int
	pitch                int
	more                 int   // rows of a part beyond those of the output
	parts                int   // of a plane
	rowOf, colOf, partOf []int // by tap: where in which part it begins
}

func newPlanes(g *ConvGeom) *planes {
	p := &planes{in: pad3(g.In, 1), out: pad3(g.Out, 1), stride: pad3(g.Strides, 1), pad: pad3(g.PadBegin, 0)}
	for d, n := range p.out {
		if n == 1 { // nothing is a stride away from a single output
			p.stride[d] = 1
		}
	}
	kn, dl := pad3(g.Kernel, 1), pad3(g.Dilations, 1)
	p.more = (kn[1] - 1) * dl[1] / p.stride[1]
	p.pitch = p.out[2] + (kn[2]-1)*dl[2]/p.stride[2]
	p.parts = p.stride[1] * p.stride[2]
	for t := range g.Taps() {
		y, x := t/kn[2]*dl[1], t%kn[2]*dl[2]
		p.partOf = append(p.partOf, y%p.stride[1]*p.stride[2]+x%p.stride[2])
		p.rowOf, p.colOf = append(p.rowOf, y/p.stride[1]), append(p.colOf, x/p.stride[2])
	}
	return p
}

// sums is how many there are of an output plane.
func (p *planes) sums() int { return (p.out[1]-1)*p.pitch + p.out[2] }

// size is what parts take that hold the inputs of so many rows of sums, with room for
// what is read behind the last.
func (p *planes) size(rows int) int { return (rows+p.more)*p.pitch*p.parts + 2*p.pitch }

// taps are where each tap begins in these parts.
func (p *planes) taps(rows int) []int {
	at := make([]int, len(p.partOf))
	for t := range at {
		at[t] = (p.partOf[t]*(rows+p.more)+p.rowOf[t])*p.pitch + p.colOf[t]
	}
	return at
}

// cut is what a part holds of the input: rows of cols elements, which come from the plane's
// element from on and go to the parts' element to on.
type cut struct{ to, from, rows, cols int }

// cuts are those of the parts that hold the inputs of so many rows of sums from the given one on.
func (p *planes) cuts(first, rows int) (list []cut) {
	rows += p.more
	width, down, step := p.in[2], p.stride[1], p.stride[2]
	for x := range step {
		lo, hi := outRange(x-p.pad[2], step, p.pitch, width)
		for y := range down {
			at := first*down + y - p.pad[1] // of the part's first row
			top, bottom := outRange(at, down, rows, p.in[1])
			if lo < hi && top < bottom {
				list = append(list, cut{((y*step+x)*rows+top)*p.pitch + lo,
					(at+top*down)*width + lo*step + x - p.pad[2], bottom - top, hi - lo})
			}
		}
	}
	return list
}

// apart is how far the rows of a cut are apart in the input.
func (p *planes) apart() int { return p.stride[1] * p.in[2] }

// lay lays src out.
func (p *planes) lay(dst, src []float32, list []cut) {
	clear(dst)
	for _, c := range list {
		copyRows(dst[c.to:], src[c.from:], c.rows, c.cols, p.pitch, p.apart(), p.stride[2])
	}
}

// widened is the length from which on a row is widened as one.
const widened = 8

// fill lays src out as float64.
func (p *planes) fill(dst []float64, src []float32, list []cut) {
	clear(dst)
	step := p.stride[2]
	for _, c := range list {
		for r := range c.rows {
			row, line := dst[c.to+r*p.pitch:][:c.cols], src[c.from+r*p.apart():]
			switch {
			case step > 1:
				for i := range row {
					row[i] = float64(line[i*step])
				}
			case len(row) >= widened:
				vec.Widen(line[:len(row)], row)
			default:
				for i := range row {
					row[i] = float64(line[i])
				}
			}
		}
	}
}

// stretch is a run of outputs among sums.
type stretch struct{ from, to, count int }

// stretches are the outputs among cols sums from lo on: from which sum, behind lo, to which
// place in the output plane.
func (p *planes) stretches(lo, cols int) (list []stretch) {
	for i := lo; i < lo+cols; {
		row, col := i/p.pitch, i%p.pitch
		end := min(lo+cols, (row+1)*p.pitch)
		if n := min(p.out[2]-col, end-i); n > 0 {
			list = append(list, stretch{i - lo, row*p.out[2] + col, n})
		}
		i = end
	}
	return list
}

// copied is the length from which on copy is quicker than a loop.
const copied = 16

// put copies outputs from rounded sums.
func put(dst, src []float32, list []stretch) {
	for _, s := range list {
		d := dst[s.to:][:s.count]
		if s.count >= copied {
			copy(d, src[s.from:])
			continue
		}
		for i, v := range src[s.from:][:s.count] {
			d[i] = v
		}
	}
}

// strip is what the taps of one input channel see of a tile of sums.
type strip struct {
	*planes
	buf     *[]float64
	plane   []float64
	at      []int
	cuts    []cut
	cols    int
	from    int // the tile's first sum, behind the first of its row
	channel int // that plane holds
}

func newStrip(p *planes, lo, cols int) *strip {
	first := lo / p.pitch
	rows := (lo+cols-1)/p.pitch - first + 1
	w := &strip{planes: p, cuts: p.cuts(first, rows), from: lo % p.pitch, cols: cols, channel: -1, at: p.taps(rows)}
	w.buf = scratch(p.size(rows))
	w.plane = *w.buf
	return w
}

// seen is what weight k sees of channels x.
func (w *strip) seen(x []float32, k int) []float64 {
	c, t := k/len(w.at), k%len(w.at)
	if c != w.channel {
		in := w.in[1] * w.in[2]
		w.fill(w.plane, x[c*in:][:in], w.cuts)
		w.channel = c
	}
	return w.plane[w.at[t]+w.from:][:w.cols]
}

// copyRows copies rows of n elements, which are step apart in src, to dst, where they are one behind
// the other. Rows begin pitch apart in dst and apart in src.
func copyRows(dst, src []float32, rows, n, pitch, apart, step int) {
	if n == 0 {
		return
	}
	for r := range rows {
		row, line := dst[r*pitch:][:n], src[r*apart:]
		if step == 1 {
			copy(row, line)
			continue
		}
		for i := range row {
			row[i] = line[i*step]
		}
	}
}

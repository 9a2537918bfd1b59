// SPDX-License-Identifier: Apache-2.0

package op

import "github.com/nncc/nncc/ir/vec"

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

// SPDX-License-Identifier: Apache-2.0

package op

import (
	"sync"

	"github.com/nncc/nncc/ir/lists"
)

// singlesPool keeps buffers.
var singlesPool = sync.Pool{New: func() any { return new([]float32) }}

// singles gives a buffer of n numbers, whatever they are, which goes back to singlesPool.
func singles(n int) *[]float32 {
	b := singlesPool.Get().(*[]float32)
	if cap(*b) < n {
		*b = make([]float32, n)
	}
	*b = (*b)[:n]
	return b
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

// size is what parts take that hold the inputs of so many rows of sums, with room for
// what is read behind the last.
func (p *planes) size(rows int) int { return (rows+p.more)*p.pitch*p.parts + 2*p.pitch }

// taps are where each tap begins in these parts.
func (p *planes) taps(rows int) []int {
	return lists.Make(len(p.partOf), func(t int) int {
		return (p.partOf[t]*(rows+p.more)+p.rowOf[t])*p.pitch + p.colOf[t]
	})
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

// lay lays src out.
func (p *planes) lay(dst, src []float32, list []cut) {
	clear(dst)
	for _, c := range list {
		copyRows(dst[c.to:], src[c.from:], c.rows, c.cols, p.pitch, p.stride[1]*p.in[2], p.stride[2])
	}
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

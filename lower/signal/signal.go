// SPDX-License-Identifier: Apache-2.0

// Package signal finds the front ends of signal networks: Fourier transforms that are
// written as products with constant matrices, on frames of a signal, and the powers of
// their results. They become nncc.Spectrum, which is computed by an FFT.
package signal

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// Pass finds spectra:
//
//	%f = Gather(%x, {0,1,...; 160,161,...})
//	%w = Mul(%f, %window)                     =>   %s = nncc.Spectrum(%x, %window) {power=1}
//	%c = Gemm(%w, cos)                             %y = Reshape(%s)
//	%d = Gemm(%w, sin)
//	%y = Add(Mul(%c, %c), Mul(%d, %d))
var Pass = pass.Pass{
	Name: "fourier", Doc: "Fourier transforms by matrices become FFTs of frames of the signal", Numerics: pass.Reassoc,
	Run: func(c *pass.Ctx, g *ir.Graph) {
		f := &finder{c: c, g: g, made: map[string]*ir.Node{}, bases: map[string]*basis{}}
		c.Each(g, f.transform)
		if len(f.made) == 0 {
			return
		}
		// again: imaginary parts alone, of which the real ones came later
		for _, do := range []func(n *ir.Node){f.transform, f.power, f.product} {
			c.Each(g, do)
			g.RemoveDead()
		}
	},
}

// finder is one run of the pass.
type finder struct {
	c    *pass.Ctx
	g    *ir.Graph
	made map[string]*ir.Node // spectra by what they are computed from
	// bases are those found of real parts, by the frames that are their operand.
	bases map[string]*basis
}

// product is a product of frames with a constant matrix: rows of k samples of the
// operand, a column of the matrix for each result.
type product struct {
	node    *ir.Node
	operand *ir.Value
	matrix  matrix
	rows    int
	// frames of an operand's origin, [rows, k].
	frames func(o origin) origin
	// columnsFirst: the result is [batch, columns, rows], not [rows, columns].
	columnsFirst bool
	batch        int
}

// minWork is the number of products from which an FFT is worth its overhead, for every
// sample and doubling of the length.
const minWork = 8

// worth reports whether the FFT of a basis takes less than its matrix; one of real
// parts has another one of imaginary parts beside it.
func (b *basis) worth(m matrix) bool {
	n := b.length
	return qref.FFTLength(n) && m.k*2*b.bins > minWork*n*bits.Len(uint(n))
}

// transform rewrites a node that is a Fourier transform.
func (f *finder) transform(n *ir.Node) {
	p := productOf(n)
	if p == nil || p.operand.Type.Elems() == 0 || p.operand.Type.Elems() > maxTraced {
		return
	}
	t := &tracer{source: source(p.operand)}
	key := fmt.Sprint(t.source.ID, p.matrix.k, p.rows)
	b, ok := recognise(p.matrix, f.bases[key])
	if !ok || !b.worth(p.matrix) {
		return
	}
	o, ok := t.trace(p.operand)
	if !ok {
		return
	}
	fr, ok := frame(p.frames(o), p.rows, p.matrix.k, t.source.Type.Shape)
	if !ok || p.columnsFirst && p.batch != fr.batch {
		return
	}
	if !b.parts[0].imaginary {
		f.bases[key] = b
	}
	s := f.spectrum(n, t.source, b, fr)
	if s == nil {
		return
	}
	s.Inherit(n)
	f.c.Replace(f.g, n, f.place(p, b, fr, s.Out[0]), "%d bins of a Fourier transform of %d samples instead of a "+
		"matrix [%d, %d], off by at most %.1g of its largest element", b.bins, b.length, p.matrix.k, p.matrix.columns,
		b.worst)
}

// spectrum is the node that computes a basis of frames of a signal; made once.
func (f *finder) spectrum(at *ir.Node, x *ir.Value, b *basis, fr *framing) *ir.Node {
	window := lists.Make(len(b.window), func(j int) float32 { return float32(b.window[j] * fr.factor[j]) })
	first, end := 0, len(window)
	for first < end-1 && window[first] == 0 {
		first++
	}
	for end > first+1 && window[end-1] == 0 {
		end--
	}
	// the frame of the transform begins lead samples before that of the matrix
	attrs := ir.Attrs{"length": ir.Int(b.length), "frames": ir.Int(fr.frames), "step": ir.Int(fr.step),
		"bins": ir.Int(b.bins), "lead": ir.Int(b.lead + first), "pad": ir.Int(fr.pad + b.lead),
		"mode": ir.Str(fr.mode)}
	key := fmt.Sprint(x.ID, attrs, window[first:end])
	if n := f.made[key]; n != nil && f.g.Index(n) < f.g.Index(at) {
		return n
	}
	in := x
	if want := []int{fr.batch, fr.samples}; !slices.Equal(x.Type.Shape, want) {
		in = f.reshape(at, x, want)
	}
	n, err := f.g.InsertBefore(at, op.Spectrum, at.Name+"/spectrum", attrs, 1, in,
		f.g.AddConst(at.Name+"/window", tensor.Of([]int{end - first}, window[first:end])))
	if err != nil {
		return nil
	}
	f.made[key] = n
	return n
}

// place brings a spectrum [batch, frames, bins, 2] into the form of a product's result.
func (f *finder) place(p *product, b *basis, fr *framing, s *ir.Value) *ir.Value {
	n, y := p.node, s
	shape := []int{fr.batch, fr.frames, b.bins, len(b.parts)}
	if len(b.parts) == 1 {
		y = f.insert(n, op.Gather, "part", ir.Attrs{"axis": ir.Int(3)}, y,
			f.g.AddConst(n.Name+"/index", tensor.Ints(map[bool]int{true: 1}[b.parts[0].imaginary])))
	}
	signs := lists.Map(b.parts, func(q part) float32 { return float32(q.sign) })
	if slices.Contains(signs, -1) {
		y = f.insert(n, op.Mul, "signs", nil, y, f.g.AddConst(n.Name+"/sign", tensor.Of([]int{len(signs)}, signs)))
	}
	perm := []int{0, 1, 2, 3}
	if !b.interleaved {
		perm = []int{0, 1, 3, 2}
	}
	if p.columnsFirst { // frames last
		perm = []int{0, perm[2], perm[3], 1}
	}
	if op.Reorders(shape, perm) {
		y = f.insert(n, op.Transpose, "order", ir.Attrs{"perm": ir.Ints(perm...)}, y)
	}
	return f.reshape(n, y, n.Out[0].Type.Shape)
}

func (f *finder) reshape(at *ir.Node, v *ir.Value, shape []int) *ir.Value {
	return f.insert(at, op.Reshape, "shape", nil, v, f.g.AddConst(at.Name+"/to", tensor.Ints(shape...)))
}

// insert adds a well-typed node of one output in front of at.
func (f *finder) insert(at *ir.Node, d *ir.OpDef, name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	n := bug.Must(f.g.InsertBefore(at, d, at.Name+"/"+name, attrs, 1, in...))
	n.Inherit(at)
	return n.Out[0]
}

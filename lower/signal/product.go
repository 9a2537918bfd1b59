// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// productOf reads a node as rows of samples times a constant matrix; nil where it is
// none. A bias must be zero.
func productOf(n *ir.Node) *product {
	if n.Removed() || n.Quantised() || len(n.Out) != 1 || n.Out[0].Type.DType != tensor.F32 || op.HasAct(n) {
		return nil
	}
	if b := n.Input(2); b != nil && (b.Const == nil || !zeros(b.Const)) {
		return nil
	}
	switch n.Op {
	case op.Gemm, op.MatMul:
		return matrixProduct(n)
	case op.Conv:
		return convolution(n)
	}
	return nil
}

func zeros(d *tensor.Dense) bool {
	u, ok := d.Uniform()
	return ok && u.Float(0) == 0
}

// matrixProduct is rows [..., k] times [k, columns], or [columns, k] times [..., k, rows].
func matrixProduct(n *ir.Node) *product {
	a, b := n.In[0], n.In[1]
	if n.Op == op.Gemm {
		at := ir.AttrsOf[op.GemmAttrs](n)
		if at.Alpha != 1 || at.TransA != 0 || b.Const == nil {
			return nil
		}
		k := a.Type.Shape[1]
		return left(n, a, readMatrix(b, k, n.Out[0].Type.Shape[1], at.TransB != 0))
	}
	switch {
	case b.Const != nil && b.Type.Rank() == 2 && a.Type.Rank() >= 2:
		return left(n, a, readMatrix(b, b.Type.Shape[0], b.Type.Shape[1], false))
	case a.Const != nil && a.Type.Rank() == 2 && b.Type.Rank() >= 2:
		k, shape := a.Type.Shape[1], b.Type.Shape
		rows := shape[len(shape)-1]
		return &product{node: n, operand: b, matrix: readMatrix(a, k, a.Type.Shape[0], true),
			rows: b.Type.Elems() / k, columnsFirst: true,
			batch: b.Type.Elems() / (k * rows), frames: func(o origin) origin {
				flat := []int{b.Type.Elems() / (k * rows), k, rows}
				turn := func(d *tensor.Dense) *tensor.Dense { return d.Reshaped(flat).Transpose([]int{0, 2, 1}) }
				return origin{turn(o.at), turn(o.factor)}
			}}
	}
	return nil
}

// left is a product of rows with a matrix behind them.
func left(n *ir.Node, a *ir.Value, m matrix) *product {
	return &product{node: n, operand: a, matrix: m, rows: a.Type.Elems() / m.k,
		frames: func(o origin) origin { return o }}
}

// readMatrix reads a constant [k, columns], or [columns, k] transposed.
func readMatrix(v *ir.Value, k, columns int, transposed bool) matrix {
	d := v.Const
	if transposed {
		return matrix{k, columns, func(j, c int) float64 { return d.Float(c*k + j) }}
	}
	return matrix{k, columns, func(j, c int) float64 { return d.Float(j*columns + c) }}
}

// convolution is one of a single channel along one dimension, of weights [columns, 1,
// 1, k]: a row for every place of the window.
func convolution(n *ir.Node) *product {
	w := n.In[1]
	g := bug.Must(op.ConvGeometry(n))
	if w.Const == nil || g.CIn != 1 || g.Group != 1 {
		return nil
	}
	last := len(g.In) - 1
	if !oneDimension(g) {
		return nil
	}
	k, length, out := g.Kernel[last], g.In[last], g.Out[last]
	return &product{node: n, operand: n.In[0], matrix: readMatrix(w, k, g.COut, true), rows: g.N * out,
		columnsFirst: true, batch: g.N, frames: func(o origin) origin {
			at, factor := tensor.New(tensor.I64, []int{g.N, out, k}), tensor.New(tensor.F32, []int{g.N, out, k})
			for to := range at.Len() {
				b, r, j := to/(out*k), to/k%out, to%k
				if i := r*g.Strides[last] - g.PadBegin[last] + j; i >= 0 && i < length {
					at.CopyElem(to, o.at, b*length+i)
					factor.CopyElem(to, o.factor, b*length+i)
				}
			}
			return origin{at, factor}
		}}
}

// oneDimension reports windows over the last dimension alone, without gaps.
func oneDimension(g *op.ConvGeom) bool {
	for d := range g.In {
		if d != len(g.In)-1 && (g.In[d] != 1 || g.Kernel[d] != 1 || g.Out[d] != 1) || g.Dilations[d] != 1 {
			return false
		}
	}
	return true
}

// product moves a transposition behind a product with a constant matrix in front of its
// operand, which is smaller then:
//
//	%t = Transpose(%p) {perm=[0,2,1]}          %m = MatMul(%p, bank')
//	%y = MatMul(bank, %t)               =>     %y = Transpose(%m) {perm=[0,2,1]}
func (f *finder) product(n *ir.Node) {
	if n.Op != op.MatMul || n.In[0].Const == nil || n.In[0].Type.Rank() != 2 || n.In[1].Type.Rank() < 2 {
		return
	}
	x := n.In[1]
	for x.Def != nil && x.Def.Op.View == ir.Reshaped {
		x = x.Def.In[0]
	}
	if x.Def == nil || x.Def.Op != op.Transpose || source(x) != spectrumOf(x) {
		return
	}
	shape := n.In[1].Type.Shape
	r := len(shape)
	k, rows := shape[r-2], shape[r-1]
	batch := n.In[1].Type.Elems() / (k * rows)
	in := x.Def.In[0]
	if in.Type.Rank() < 2 || !swapsLast(in.Type.Shape, bug.Must(op.Perm(x.Def)), batch, rows, k) {
		return
	}
	columns := n.In[0].Type.Shape[0]
	v := f.reshape(n, in, []int{batch * rows, k})
	w := f.g.AddConst(n.In[0].Name, n.In[0].Const.Transpose([]int{1, 0}))
	y := f.insert(n, op.Gemm, "rows", op.ActAttrs(n), v, w)
	y = f.reshape(n, y, []int{batch, rows, columns})
	if rows != 1 && columns != 1 {
		y = f.insert(n, op.Transpose, "order", ir.Attrs{"perm": ir.Ints(0, 2, 1)}, y)
	}
	y = f.reshape(n, y, n.Out[0].Type.Shape)
	f.c.Replace(f.g, n, y, "a product with rows of a spectrum as they lie")
}

// spectrumOf is the spectrum from which v is moved; nil where there is none.
func spectrumOf(v *ir.Value) *ir.Value {
	if s := source(v); s.Def != nil && s.Def.Op == op.Spectrum {
		return s
	}
	return nil
}

// swapsLast reports that a permutation of a shape exchanges [batch, rows, k] to
// [batch, k, rows], dimensions of 1 left aside.
func swapsLast(shape, perm []int, batch, rows, k int) bool {
	at := tensor.New(tensor.I64, shape)
	for i := range at.Len() {
		at.SetInt(i, int64(i))
	}
	t := tensor.New(tensor.I64, []int{batch, rows, k})
	for i := range t.Len() {
		t.SetInt(i, int64(i))
	}
	flat := []int{at.Len()}
	return tensor.Equal(at.Transpose(perm).Reshaped(flat), t.Transpose([]int{0, 2, 1}).Reshaped(flat))
}

// Fixed computes spectra of integers in fixed point, for cores without an FPU:
//
//	%s = nncc.Spectrum(%x, %w)   =>   %s = nncc.Spectrum(%x, %w) {fixed=1}
var Fixed = pass.Pass{
	Name: "fourier-fixed", Doc: "spectra of integers in fixed point", Numerics: pass.Lossy,
	Run: pass.Each(func(c *pass.Ctx, _ *ir.Graph, n *ir.Node) {
		if n.Op == op.Spectrum && n.In[0].Type.Quant != nil && fits(n) {
			n.SetAttr("fixed", ir.Int(1))
			c.Did(n, "the transform is computed in fixed point")
		}
	}),
}

// fits reports that fixed point has room for the length of a transform, and float32 for
// the squares of its unit.
func fits(n *ir.Node) bool {
	if ir.AttrsOf[op.SpectrumAttrs](n).Length > qref.MaxFixedFFT {
		return false
	}
	unit := float64(op.NewFixedSpectrum(n).Unit)
	return unit > math.Sqrt(math.SmallestNonzeroFloat32)*(1<<24) && unit < math.Sqrt(math.MaxFloat32)/(1<<32)
}

// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

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

// intoForms make them, nil where a node is not of the usual kind. Operators that move elements, add, multiply, pool or
// are straight in pieces are as fast in the reference.
var intoForms = map[*ir.OpDef]func(n *ir.Node) intoFunc{Softmax: intoSoftmax, LayerNormalization: intoLayerNorm}

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

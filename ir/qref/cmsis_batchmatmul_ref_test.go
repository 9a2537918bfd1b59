// SPDX-License-Identifier: Apache-2.0

package qref

import "github.com/nncc/nncc/ir/fixp"

// BatchMatMulParams describes an int8 product of two activations, as
// arm_batch_matmul_s8 takes it: Left {N, H, rows, depth}, Right transposed
// {N, H, columns, depth}; N and H of 1 broadcast.
type BatchMatMulParams struct {
	Left, Right    Dims
	LeftOffset     int32
	RightOffset    int32
	OutputOffset   int32
	ActMin, ActMax int32
	Mult, Shift    int32
	Rounding       fixp.Rounding // of the library: twice unless it was built otherwise
}

// OutDims are the dimensions of the product: {N, H, rows, columns}.
func (p *BatchMatMulParams) OutDims() Dims {
	return Dims{max(p.Left.N, p.Right.N), max(p.Left.H, p.Right.H), p.Left.W, p.Right.W}
}

// BatchMatMul multiplies two batches of matrices. Source: arm_batch_matmul_s8.
func BatchMatMul(p *BatchMatMulParams, left, right, out []int8) error {
	if err := p.check("BatchMatMul", len(left), len(right), len(out)); err != nil {
		return err
	}
	fc := FCParams{Rows: p.Left.W, Depth: p.Left.C, Cols: p.Right.W, InputOffset: p.LeftOffset,
		FilterOffset: p.RightOffset,
		OutputOffset: p.OutputOffset, ActMin: p.ActMin, ActMax: p.ActMax, Mult: []int32{p.Mult},
		Shift: []int32{p.Shift}, Rounding: p.Rounding}
	return p.each(func(l, r, o int) error {
		matMul(&fc, left[l:][:fc.Rows*fc.Depth], right[r:][:fc.Cols*fc.Depth], nil, out[o:][:fc.Rows*fc.Cols])
		return nil
	})
}

func (p *BatchMatMulParams) check(name string, left, right, out int) error {
	if err := firstErr(checkDims(name, "left input", p.Left), checkDims(name, "right input", p.Right)); err != nil {
		return err
	}
	o := p.OutDims()
	if p.Left.C != p.Right.C || !broadcasts(p.Left.N, o.N) || !broadcasts(p.Left.H, o.H) ||
		!broadcasts(p.Right.N, o.N) || !broadcasts(p.Right.H, o.H) {
		return badArgs(name, "left %v and transposed right %v do not fit", p.Left, p.Right)
	}
	return firstErr(checkLen(name, "left input", left, p.Left.Size()), checkLen(name, "right input", right,
		p.Right.Size()),
		checkLen(name, "output", out, o.Size()))
}

// each calls f with the offsets of the matrices of every product.
func (p *BatchMatMulParams) each(f func(left, right, out int) error) error {
	o := p.OutDims()
	ls, rs := p.Left.W*p.Left.C, p.Right.W*p.Right.C
	at := 0
	for n := range o.N {
		for h := range o.H {
			if err := f((n%p.Left.N*p.Left.H+h%p.Left.H)*ls, (n%p.Right.N*p.Right.H+h%p.Right.H)*rs, at); err != nil {
				return err
			}
			at += o.W * o.C
		}
	}
	return nil
}

func broadcasts(d, out int) bool { return d == out || d == 1 }

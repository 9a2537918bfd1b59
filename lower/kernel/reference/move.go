// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"slices"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// move is a copy of a box of elements: y[yOff + i·y] = x[xOff + i·x] for every
// index i of dims, strides in elements.
type move struct {
	elem       int
	dims, x, y []int
	xOff, yOff int
}

// merged is the same copy with as few dimensions as possible.
func (m move) merged() move {
	dims, st := merge(m.dims, m.x, m.y)
	m.dims, m.x, m.y = dims, st[0], st[1]
	return m
}

// ordered is the same copy with its loops in the order that costs least on vectors: the core is not known here.
func (m move) ordered() move {
	order := kernel.LoopOrder(m.elem, true, m.dims, m.x, m.y)
	m.dims, m.x, m.y = permuted(m.dims, order), permuted(m.x, order), permuted(m.y, order)
	return m
}

// identity: the copy changes nothing about the order of the elements.
func (m move) identity() bool {
	m = m.merged()
	return len(m.dims) == 1 && m.x[0] == 1 && m.y[0] == 1 && m.xOff == 0 && m.yOff == 0
}

// move emits the copy by the simplest kernel that can do it: whole blocks of
// bytes, else the strided copy.
func (l *lowering) move(m move, x, y call.Arg) {
	m = m.merged()
	r := len(m.dims)
	if m.x[r-1] == 1 && m.y[r-1] == 1 && r <= 2 && m.xOff == 0 && m.yOff == 0 {
		rows, xp, yp := 1, m.dims[r-1], m.dims[r-1]
		if r == 2 {
			rows, xp, yp = m.dims[0], m.x[0], m.y[0]
		}
		if xp >= 0 && yp >= 0 {
			l.rows(rows, m.dims[r-1]*m.elem, xp*m.elem, yp*m.elem, x, y)
			return
		}
	}
	m = m.ordered()
	f := ints("elem", m.elem, "rank", r, "x_offset", m.xOff, "y_offset", m.yOff)
	f = append(f, list("dims", m.dims), list("x_stride", m.x), list("y_stride", m.y))
	l.call("nncc_copy_nd", params("nncc_copy_nd_params", f...), bytesOf(x), bytesOf(y))
}

// rows emits a copy of blocks of bytes.
func (l *lowering) rows(rows, block, xPitch, yPitch int, x, y call.Arg) {
	l.blocks(rows, block, call.I32(xPitch), call.I32(yPitch), x, y)
}

func (l *lowering) blocks(rows, block int, xPitch, yPitch call.Arg, x, y call.Arg) {
	f := append(ints("rows", rows, "block", block), call.F("x_pitch", xPitch), call.F("y_pitch", yPitch))
	l.call("nncc_copy_rows", params("nncc_copy_rows_params", f...), bytesOf(x), bytesOf(y))
}

// pitch is the distance between the rows of an operand, which may then lie
// apart: of input i, or output i, row bytes each.
func (l *lowering) pitch(output bool, i, row int) call.Arg {
	if !output && l.n.In[i].Const != nil {
		return call.I32(row)
	}
	r := call.Rows{Output: output, I: i, Bytes: row}
	if !slices.Contains(l.low.Rows, r) {
		l.low.Rows = append(l.low.Rows, r)
	}
	return call.Pitch{Output: output, I: i, Row: row}
}

// fill emits a repetition of one element.
func (l *lowering) fill(value *tensor.Dense, count int, y call.Arg) {
	l.call("nncc_fill", params("nncc_fill_params", ints("elem", value.DType.Size(), "count", count)...),
		blob("fill", value), bytesOf(y))
}

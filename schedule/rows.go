// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
)

// Values in rows: some channels of every pixel of a larger tensor. A value may
// lie so where its writer and all who read it take its rows at any distance
// (call.Rows).

// takesRows reports whether the calls of a step take an operand, input i or
// output i, in rows of the given size.
func takesRows(l *call.Lowered, output bool, i, row int) bool {
	return slices.ContainsFunc(l.Rows, func(r call.Rows) bool {
		return r.Output == output && r.I == i && r.Bytes == row
	})
}

// mayLieInRows reports whether value w may lie in rows: nobody outside the program
// sees it, its writer and all who read it by code take rows of that size, and
// those that are not decided yet have it as an operand of node n only.
func (b *builder) mayLieInRows(w, row int, n *ir.Node) bool {
	v := b.of[w]
	if b.values[w].Input || b.values[w].Output || row == 0 {
		return false
	}
	if d := v.Def; d != n && !b.silent[d] && !takesRows(b.low[d], true, v.Index, row) {
		return false
	}
	for _, u := range v.Uses() {
		l := b.low[u.Node]
		if u.Node != n && !b.silent[u.Node] && !slices.Contains(l.Unused, u.Index) &&
			!takesRows(l, false, u.Index, row) {
			return false
		}
	}
	return true
}

// moved is the place of a value when the storage in which it lies, row bytes
// wide, becomes rows at distance pitch from off on.
func (x place) moved(row, off, pitch int) (place, bool) {
	switch {
	case x.pitch == 0 && x.delta == 0:
		return place{delta: off, row: row, pitch: pitch}, true
	case x.pitch == row && x.delta+x.row <= row:
		return place{delta: off + x.delta, row: x.row, pitch: pitch}, true
	}
	return place{}, false
}

// column is a storage as rows inside the rows of another one.
type column struct{ root, row, off int }

// columnOf is the storage of an operand that a concat wants in rows: that of
// the operand, or a wider one of which it is some columns.
func (b *builder) columnOf(p call.Part, n *ir.Node) (column, bool) {
	v := n.In[p.I]
	if v.Const != nil {
		return column{}, false
	}
	x := b.place[b.index[v]]
	c := column{x.root, p.Row, p.Off}
	if x.pitch > 0 {
		if x.row != p.Row {
			return c, false
		}
		c.row, c.off = x.pitch, p.Off-x.delta
	} else if x.delta != 0 {
		return c, false
	}
	size := int(b.values[c.root].Bytes)
	if c.off < 0 || c.off+c.row > p.Pitch || size%c.row != 0 || size/c.row != n.Out[0].Type.Bytes()/p.Pitch {
		return c, false
	}
	return c, b.fitRows(c, p.Pitch, n)
}

// joinRows puts the operands of a concat into its result, each into columns of
// its own, and reports whether that can be done.
func (b *builder) joinRows(n *ir.Node, parts []call.Part) bool {
	to := b.index[n.Out[0]]
	var cols []column
	for _, p := range parts {
		c, ok := b.columnOf(p, n)
		if !ok || c.root == b.place[to].root {
			return false
		}
		again := false
		for _, o := range cols {
			switch {
			case o == c:
				again = true
			case o.root == c.root || overlap(o.off, o.row, c.off, c.row):
				return false
			}
		}
		if !again {
			cols = append(cols, c)
		}
	}
	for _, c := range cols {
		b.moveRows(c, to, parts[0].Pitch)
	}
	return true
}

// moveRows puts a storage, as rows, into columns of the rows of value to.
func (b *builder) moveRows(c column, to, pitch int) {
	at := b.place[to]
	b.values[c.root].AliasOf, b.values[c.root].Delta = to, int64(c.off-at.delta)
	for _, w := range b.within[c.root] {
		x, _ := b.place[w].moved(c.row, c.off, pitch)
		x.root = at.root
		b.place[w] = x
	}
	b.within[at.root] = append(b.within[at.root], b.within[c.root]...)
	b.within[c.root] = nil
}

// fitRows reports whether a storage can become rows, as moveRows makes it, for
// the sake of node n.
func (b *builder) fitRows(c column, pitch int, n *ir.Node) bool {
	size := int(b.values[c.root].Bytes)
	for _, w := range b.within[c.root] {
		to, ok := b.place[w].moved(c.row, c.off, pitch)
		bytes := int(b.values[w].Bytes)
		if !ok || to.row == 0 || bytes%to.row != 0 || bytes/to.row != size/c.row || !b.mayLieInRows(w, to.row, n) {
			return false
		}
	}
	return true
}

// splitRows leaves the results of a split in the columns of its operand, or
// puts the operand where they are already side by side, and reports whether
// that can be done.
func (b *builder) splitRows(n *ir.Node, parts []call.Part) bool {
	from := b.index[n.In[0]]
	at := b.place[from]
	first := b.index[n.Out[parts[0].I]]
	if x := b.place[first]; x.root != first {
		c := column{at.root, parts[0].Pitch, x.delta - parts[0].Off}
		for _, p := range parts {
			y := b.place[b.index[n.Out[p.I]]]
			if y != (place{x.root, c.off + p.Off, p.Row, x.pitch}) || y.pitch == 0 {
				return false
			}
		}
		if at != (place{root: from}) || !covers(parts) || !b.fitRows(c, x.pitch, n) {
			return false
		}
		b.moveRows(c, first, x.pitch)
		return true
	}
	pitch := at.pitch
	if pitch == 0 {
		pitch = parts[0].Pitch
	} else if at.row != parts[0].Pitch {
		return false
	}
	for _, p := range parts {
		w := b.index[n.Out[p.I]]
		if b.place[w] != (place{root: w}) || len(b.within[w]) != 1 || !b.mayLieInRows(w, p.Row, n) {
			return false
		}
	}
	for _, p := range parts {
		w := b.index[n.Out[p.I]]
		b.values[w].AliasOf, b.values[w].Delta = from, int64(p.Off)
		b.place[w] = place{at.root, at.delta + p.Off, p.Row, pitch}
		b.within[at.root] = append(b.within[at.root], w)
		b.within[w] = nil
	}
	return true
}

// covers reports whether parts are all of the rows in which they lie.
func covers(parts []call.Part) bool {
	n := lists.Sum(parts, func(p call.Part) int { return p.Row })
	return n == parts[0].Pitch
}

// overlap reports whether two runs of bytes share any.
func overlap(a, na, b, nb int) bool { return a < b+nb && b < a+na && na > 0 && nb > 0 }

// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"math"

	"github.com/nncc/nncc/ir"
)

// value is what nodes read and write.
type value struct {
	bytes, row  int // of all, and of a row
	rows        int
	first, last int // nodes that compute it, -1 for an input, and read it last
	storage     int // the value that has its bytes, which is read as long as all of its views are
	readers     []int
	turned      bool // it lies in planes, and is brought into rows before it is read
}

// node is what reads and writes values.
type node struct {
	in, out  []int
	rowwise  bool
	window   window
	inPlace  bool // the result may take the place of an operand
	consumes bool // it may lie over what it has read
	kernel   *Kernel
}

// network is a graph in the terms of the account.
type network struct {
	values []value
	nodes  []node
	index  map[*ir.Value]int
	there  []int // bytes of the values that are there before each node, and at the end
}

func newNetwork(g *ir.Graph, native bool) *network {
	w := &network{index: map[*ir.Value]int{}}
	add := func(v *ir.Value, first int) {
		x := value{bytes: v.Type.Bytes(), first: first, last: first, rows: 1, storage: len(w.values)}
		if image(v.Type) {
			x.rows = v.Type.Shape[2]
		}
		x.row = x.bytes / max(x.rows, 1)
		if s, ok := w.index[v.Storage()]; ok {
			x.storage = s
		}
		w.index[v] = len(w.values)
		w.values = append(w.values, x)
	}
	read := func(k, by int) {
		w.values[k].last = by
		w.values[w.values[k].storage].last = by
	}
	for _, v := range g.In {
		add(v, -1)
	}
	for i, n := range g.Nodes {
		var x node
		x.window, x.rowwise = rowwise(n)
		for _, v := range n.In {
			if v == nil || v.Const != nil {
				continue
			}
			k := w.index[v]
			if first(x.in, k) < 0 {
				w.values[k].readers = append(w.values[k].readers, i)
			}
			x.in = append(x.in, k)
			read(k, i)
			if v.IsInput() && x.rowwise && !native && !v.Type.SameMemory(ir.NHWC(4)) {
				w.values[k].turned = true
			}
		}
		for _, v := range n.Out {
			add(v, i)
			x.out = append(x.out, w.index[v])
		}
		x.inPlace = n.Op.Pattern <= ir.Broadcast || n.Op.View.Whole()
		x.consumes = x.inPlace || n.Op.Window == ir.Convolved || n.Op.Window == ir.Pooled
		w.nodes = append(w.nodes, x)
	}
	for _, v := range g.Out {
		if k, ok := w.index[v]; ok {
			read(k, math.MaxInt)
		}
	}
	w.there = make([]int, len(w.nodes)+1)
	for k, v := range w.values {
		if v.storage == k && v.last > v.first {
			w.there[v.first+1] += v.bytes
			if v.last < len(w.nodes) {
				w.there[v.last+1] -= v.bytes
			}
		}
	}
	for i := range w.nodes {
		w.there[i+1] += w.there[i]
	}
	return w
}

// across is the bytes of the values that are there between node i-1 and node i.
func (w *network) across(i int) int { return w.there[i] }

// through is the bytes of the values that are there before node i and after node j, which is not before i.
func (w *network) through(i, j int) int {
	bytes := w.across(j + 1)
	for _, n := range w.nodes[i : j+1] {
		for _, k := range n.out {
			if v := &w.values[k]; v.storage == k && v.last > j {
				bytes -= v.bytes
			}
		}
	}
	return bytes
}

// whole is the bytes that node i takes when it runs at once: what it writes may lie
// over what it has read, but for the rows that it reads again.
func (w *network) whole(i int) int {
	n := &w.nodes[i]
	dying, need, out, over := 0, 0, 0, 0
	for _, v := range n.out {
		if w.values[v].storage == v {
			out += w.values[v].bytes
		}
	}
	for k, v := range n.in {
		x := &w.values[v]
		if first(n.in, v) == k && w.values[x.storage].last == i {
			dying += x.bytes
			over = max(over, n.over(x.bytes, out, (n.window.reach-1)*x.row))
		}
		if x.turned && x.first < 0 {
			need = max(need, x.bytes)
		}
	}
	return w.through(i, i) + dying + max(need, out-over) + n.scratch()
}

func (n *node) scratch() int {
	if n.kernel == nil {
		return 0
	}
	return n.kernel.Scratch
}

// over is how many of the dying bytes of an operand a result of some bytes may take, when a
// window looks back on some.
func (n *node) over(dying, out, back int) int {
	switch {
	case n.kernel != nil:
		back = n.kernel.Apart
	case n.inPlace:
		back = 0
	case !n.consumes || !n.rowwise:
		return 0
	}
	return max(0, min(dying, out)-back)
}

// first is where v stands first in a list.
func first(list []int, v int) int {
	for k, x := range list {
		if x == v {
			return k
		}
	}
	return -1
}

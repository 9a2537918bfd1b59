// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
)

// value is what nodes read and write.
type value struct {
	bytes, row  int // of all, and of a row
	rows        int
	axis        int // along which rows lie; ir.Whole: it has one
	step        int // indices of the axis that are a row
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
	along    ir.Along // of what has no window: how its inputs fall into rows
	whole    []int    // inputs of which every row needs all
	inPlace  bool     // the result may take the place of an operand
	consumes bool     // it may lie over what it has read
	kernel   *Kernel
}

// network is a graph in the terms of the account: its rows are those of images and sequences, or the heads of
// attention.
type network struct {
	values []value
	nodes  []node
	index  map[*ir.Value]int
	there  []int // bytes of the values that are there before each node, and at the end
	heads  bool
}

// newNetworks are the networks of rows and of heads, nil where there are none. Values have the same numbers.
func newNetworks(g *ir.Graph, native bool) (list [2]*network) {
	list[0] = newNetwork(g, native, nil)
	if heads := headsOf(g); len(heads) > 0 {
		list[1] = newNetwork(g, native, heads)
		list[1].index = list[0].index
	}
	return list
}

// lies is where rows of a value lie: so many along an axis.
type lies struct{ axis, rows int }

// inRows is where they lie in a value that nothing computes row by row.
func inRows(t ir.Type) lies {
	switch {
	case image(t):
		return lies{2, t.Shape[2]}
	case t.Rank() == 3 && t.Shape[0] == 1 || t.Rank() == 2:
		return lies{t.Rank() - 2, t.Shape[t.Rank()-2]}
	}
	return lies{ir.Whole, 1}
}

// rowsOf is how a node computes rows of its result from those of its inputs: as windows do, else along the first axis
// that does, the one where rows lie by themselves before others.
func rowsOf(n *ir.Node, at func(v *ir.Value) lies) (x node, y lies) {
	y = inRows(n.Out[0].Type)
	w, known, ok := windowed(n)
	x.window = w
	if known {
		x.rowwise = ok && !slices.ContainsFunc(n.In, func(v *ir.Value) bool {
			return v != nil && v.Const == nil && at(v).axis != 2
		})
		return x, y
	}
	if n.Op.View == ir.Permuted && n.In[0].IsInput() { // the input in the order of kernels, which is a view mostly
		return x, y
	}
	for _, axis := range append([]int{y.axis}, ir.Identity(n.Out[0].Type.Rank())...) {
		if axis < 0 {
			continue
		}
		a := n.Along(axis)
		rows := given(n, a, at)
		if fits(n, a, rows, at) && (rows > 1 || image(n.Out[0].Type) && n.Op.Pattern <= ir.Broadcast) {
			x.rowwise, x.along = true, a
			return x, lies{axis, rows}
		}
	}
	return x, y
}

// operand is an input that falls into parts.
func operand(n *ir.Node, a ir.Along, i int) bool {
	return i < len(a.In) && a.In[i] >= 0 && n.In[i] != nil && n.In[i].Const == nil
}

// given is how many rows the first operand has; 0: there is none.
func given(n *ir.Node, a ir.Along, at func(v *ir.Value) lies) int {
	for i, v := range n.In {
		if operand(n, a, i) && at(v).axis == a.In[i] {
			return at(v).rows
		}
	}
	return 0
}

// fits reports that a node computes rows from inputs that lie so.
func fits(n *ir.Node, a ir.Along, rows int, at func(v *ir.Value) lies) bool {
	if !into(a, rows) {
		return false
	}
	for i, v := range n.In {
		if operand(n, a, i) && at(v) != (lies{a.In[i], rows}) {
			return false
		}
	}
	return true
}

// into reports that something falls into so many rows.
func into(a ir.Along, rows int) bool { return a.Parts > 0 && rows > 0 && a.Parts%rows == 0 }

// products reports several products of values of the run time.
func products(n *ir.Node) bool {
	return n.Op.WeightAxis != nil && n.In[1].Const == nil && n.Op.Window == ir.NoWindow && n.Out[0].Type.Rank() > 2
}

// headsOf is where heads lie in the values of attention: the batches of products of two values, and what they are made
// of and become.
func headsOf(g *ir.Graph) map[*ir.Value]lies {
	heads := map[*ir.Value]lies{}
	var list []*ir.Value
	set := func(v *ir.Value, x lies) {
		if _, ok := heads[v]; !ok && v.Const == nil {
			heads[v] = x
			list = append(list, v)
		}
	}
	for _, n := range g.Nodes {
		if s := n.Out[0].Type.Shape; products(n) && s[len(s)-3] > 1 {
			set(n.Out[0], lies{len(s) - 3, s[len(s)-3]})
		}
	}
	for ; len(list) > 0; list = list[1:] {
		x := heads[list[0]]
		if n := list[0].Def; n != nil {
			if a := n.Along(x.axis); into(a, x.rows) {
				for i, v := range n.In {
					if operand(n, a, i) {
						set(v, lies{a.In[i], x.rows})
					}
				}
			}
		}
		for _, u := range list[0].Uses() {
			for axis := range u.Node.Out[0].Type.Rank() {
				if a := u.Node.Along(axis); into(a, x.rows) && a.In[u.Index] == x.axis {
					set(u.Node.Out[0], lies{axis, x.rows})
				}
			}
		}
	}
	return heads
}

// newNetwork is the network of rows, or that of heads, which lie where the map says.
func newNetwork(g *ir.Graph, native bool, heads map[*ir.Value]lies) *network {
	w := &network{index: map[*ir.Value]int{}, heads: heads != nil}
	at := func(v *ir.Value) lies {
		x := &w.values[w.index[v]]
		return lies{x.axis, x.rows}
	}
	rows := func(v *ir.Value) lies {
		if heads == nil {
			return inRows(v.Type)
		}
		if l, ok := heads[v]; ok {
			return l
		}
		return lies{ir.Whole, 1}
	}
	for _, v := range g.In {
		w.add(v, -1, rows(v))
	}
	for i, n := range g.Nodes {
		var x node
		out := rows(n.Out[0])
		if heads == nil {
			x, out = rowsOf(n, at)
		} else if x.window = (window{1, 1, 0, 1}); out.axis >= 0 {
			x.along = n.Along(out.axis)
			x.rowwise = fits(n, x.along, out.rows, at)
		}
		w.read(&x, n, i, !native)
		for k, v := range n.Out {
			if k > 0 {
				out = rows(v)
			}
			w.add(v, i, out)
			x.out = append(x.out, w.index[v])
		}
		x.inPlace = n.Op.Pattern <= ir.Broadcast || n.Op.View.Whole()
		x.consumes = x.inPlace || n.Op.Window == ir.Convolved || n.Op.Window == ir.Pooled
		w.nodes = append(w.nodes, x)
	}
	for _, v := range g.Out {
		if k, ok := w.index[v]; ok {
			w.use(k, math.MaxInt)
			w.values[k].readers = append(w.values[k].readers, math.MaxInt)
		}
	}
	w.account()
	return w
}

// add enters a value that node first computes.
func (w *network) add(v *ir.Value, first int, l lies) {
	x := value{bytes: v.Type.Bytes(), first: first, last: first, rows: 1, step: 1, axis: l.axis,
		storage: len(w.values)}
	if l.axis >= 0 {
		x.rows, x.step = l.rows, v.Type.Shape[l.axis]/max(l.rows, 1)
	}
	x.row = x.bytes / max(x.rows, 1)
	if s, ok := w.index[v.Storage()]; ok {
		x.storage = s
	}
	w.index[v] = len(w.values)
	w.values = append(w.values, x)
}

// account adds up the bytes that are there before each node.
func (w *network) account() {
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
}

func (w *network) use(k, by int) {
	w.values[k].last = by
	w.values[w.values[k].storage].last = by
}

// read enters the inputs of node n, number i.
func (w *network) read(x *node, n *ir.Node, i int, planes bool) {
	for j, v := range n.In {
		if v == nil || v.Const != nil {
			continue
		}
		k := w.index[v]
		if !slices.Contains(x.in, k) {
			w.values[k].readers = append(w.values[k].readers, i)
		}
		x.in = append(x.in, k)
		w.use(k, i)
		if x.along.Parts > 0 && x.along.In[j] == ir.Whole {
			x.whole = append(x.whole, k)
		}
		if v.IsInput() && x.rowwise && planes && image(v.Type) && !w.heads && !n.Op.View.Whole() &&
			!v.Type.SameMemory(ir.NHWC(4)) {
			w.values[k].turned = true
		}
	}
}

// reads is which rows of value k, which has some, a node reads for rows of its result, and the rows of padding above
// and below them.
func (n *node) reads(k int, out span, rows int) (in span, above, below int) {
	if slices.Contains(n.whole, k) {
		return span{0, rows}, 0, 0
	}
	return n.window.in(out, rows)
}

// view reports a node whose result lies where its operand is, and that runs wherever that does.
func (w *network) view(i int) bool {
	n := &w.nodes[i]
	return n.rowwise && w.values[n.out[0]].storage != n.out[0]
}

// goesOn reports that the nodes from from to i, all but the last of which are one, can be a chain.
func (w *network) goesOn(from, i int) bool { return w.nodes[i].rowwise && !w.waits(from, i) }

// waits reports that node i reads all of a result of the nodes from from on.
func (w *network) waits(from, i int) bool {
	return slices.ContainsFunc(w.nodes[i].whole, func(v int) bool { return w.values[v].first >= from })
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
		if slices.Index(n.in, v) == k && w.values[x.storage].last == i {
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

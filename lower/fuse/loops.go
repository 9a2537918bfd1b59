// SPDX-License-Identifier: Apache-2.0

package fuse

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
)

// Fits says why a node cannot be part of a loop over single elements, ""
// when it can.
type Fits func(n *ir.Node) string

// Loops replaces what remains of groups by Fused nodes that are computed in
// one loop: element-wise nodes of one shape whose results only each other
// read, up to one that is needed in memory, or a reduction of such a value.
// take says whether such a loop pays.
func Loops(g *ir.Graph, fits Fits, take Taker) (done []Fusion, err error) {
	defer fail.Catch(&err)
	for _, group := range Groups(g) {
		if len(group.Nodes) < 2 {
			continue
		}
		l := &looper{g: g, group: group, gone: map[*ir.Node]bool{}, why: map[*ir.Node]string{}}
		for _, n := range group.Nodes {
			if l.why[n] = inLoop(n); l.why[n] == "" || n.Op.Pattern == ir.Reduce {
				l.why[n] = fits(n)
			}
		}
		for _, sink := range slices.Backward(group.Nodes) {
			if l.gone[sink] || inLoop(sink) != "" && sink.Op.Pattern != ir.Reduce {
				continue
			}
			part, refused := l.upstream(sink)
			if len(part) < 2 {
				if refused != nil {
					done = append(done, *refused)
				}
				continue
			}
			for _, n := range part { // taken or refused: not again as a part of something smaller
				l.gone[n] = true
			}
			f, why := fused(g, part, take)
			if f != nil {
				f.Kind = "loop"
			} else {
				f = &Fusion{Kind: "none", Anchor: sink.Name, Nodes: names(part), Why: why}
			}
			done = append(done, *f)
		}
	}
	bug.If(!g.Sort(), "a fused group closes a cycle")
	return done, nil
}

// looper looks for loops in a group.
type looper struct {
	g     *ir.Graph
	group Group
	gone  map[*ir.Node]bool
	why   map[*ir.Node]string // what keeps a node out of loops
}

// upstream are the nodes of the group that end in sink, and in it alone: in
// graph order, sink last. Where nothing is left because of a node that has no
// place in a loop, refused says so.
func (l *looper) upstream(sink *ir.Node) (part []*ir.Node, refused *Fusion) {
	in := map[*ir.Node]bool{}
	for _, n := range slices.Backward(l.group.Nodes) {
		switch {
		case n != sink && (l.gone[n] || !readWithin(l.g, n.Out[0], in) ||
			!slices.Equal(n.Out[0].Type.Shape, over(sink)) || inLoop(n) != ""):
		case l.why[n] != "" && n == sink:
			return nil, nil // the nodes before it are sinks of their own
		case l.why[n] != "":
			if refused == nil {
				refused = &Fusion{Kind: "none", Anchor: sink.Name, Nodes: []string{n.Name, sink.Name}, Why: l.why[n]}
			}
		default:
			in[n] = true
			part = append(part, n)
		}
	}
	slices.Reverse(part)
	return part, refused
}

// over is the shape of the loops that end in sink: that of its result, or of
// what it reduces.
func over(sink *ir.Node) []int {
	if sink.Op.Pattern == ir.Reduce {
		return sink.In[0].Type.Shape
	}
	return sink.Out[0].Type.Shape
}

// inLoop says why a loop over the elements of its result does not compute n
// once for every one of them, "" when it does: it is element-wise. A value of
// fewer elements than the sink's would be computed again and again; it gets a
// step of its own.
func inLoop(n *ir.Node) string {
	if n.Op.Pattern > ir.Broadcast || len(n.Out) != 1 || len(n.Body) > 0 || n.Op.Impure || n.Out[0].Type.Elems() == 0 {
		return "the operator is not element-wise"
	}
	return ""
}

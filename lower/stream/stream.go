// SPDX-License-Identifier: Apache-2.0

// Package stream turns a network over a window of frames into one that is fed
// a few new frames at a time and computes only what they change. What it gives
// is what the network would give for the whole window, bit for bit.
package stream

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Options of Apply.
type Options struct {
	Input int // index of the graph input that slides
	Axis  int // its dimension of frames
	Hop   int // new frames a step; 0: as few as the strides allow
}

// State is what a step leaves to the next one: rows of a value that will be
// needed again. Init is what it holds before the first frame, when the window
// is all zero.
type State struct {
	In, Out string
	Init    *tensor.Dense
}

// Result says what became of the graph.
type Result struct {
	Graph       *ir.Graph
	States      []State
	Window, Hop int
	MACs        int64 // of a window computed as a whole
	StepMACs    int64
}

// flow is how a value moves along with the window. A row is an index of Axis.
// Rows From to To shift: row i of a step is row i+Hop of the step before.
// Rows in front of and behind them depend on the padding at the window's ends
// and are computed anew, as are the last Hop of those that shift.
type flow struct {
	axis     int
	from, to int
	hop      int
	rows     int
}

func flowOf(t ir.Type, axis, from, to, hop int) *flow {
	f := &flow{axis: axis, from: from, to: to, hop: hop, rows: t.Shape[axis]}
	if f.hop < 1 || f.to-f.from < f.hop {
		return nil // nothing is left from step to step
	}
	return f
}

// Apply gives the streaming form of g, whose input becomes Hop frames long.
// What cannot shift (a dense layer over the window, a global pool) is computed
// from the whole window of its operand.
func Apply(g *ir.Graph, o Options) (_ *Result, err error) {
	defer fail.Catch(&err)
	check(g, &o)
	b := newBuilder(g, o)
	b.analyse()
	b.needs()
	b.initial()
	b.build()
	r := &Result{Graph: b.h, States: b.states, Window: g.In[o.Input].Type.Shape[o.Axis], Hop: b.o.Hop, MACs: macs(g),
		StepMACs: macs(b.h)}
	fail.If(len(b.states) == 0, "--stream: no layer behind input %s can be computed from new frames alone",
		g.In[o.Input].Name)
	return r, nil
}

func macs(g *ir.Graph) (n int64) {
	for _, x := range g.Nodes {
		if x.Op.MACs != nil {
			n += x.Op.MACs(x)
		}
	}
	return n
}

// check validates the options; Hop gets its default in analyse.
func check(g *ir.Graph, o *Options) {
	if o.Input < 0 || o.Input >= len(g.In) {
		fail.Check(bug.Errorf("stream input %d of %d", o.Input, len(g.In)))
	}
	v := g.In[o.Input]
	fail.If(o.Axis < 0 || o.Axis >= v.Type.Rank(), "--stream: input %s has dimensions 0 to %d, there is no %d", v.Name,
		v.Type.Rank()-1, o.Axis)
	n := v.Type.Shape[o.Axis]
	fail.If(o.Hop < 0 || o.Hop >= n, "--stream: a step of %d frames; want less than the window of %s, %d", o.Hop,
		v.Name, n)
	for _, n := range g.Nodes {
		if len(n.Body) > 0 {
			fail.Check(ir.Errf(n, "stream-body", "the node has a subgraph, want none in a model that is streamed"))
		}
	}
}

// shape is a type with another number of rows.
func shape(t ir.Type, axis, rows int) ir.Type {
	s := slices.Clone(t.Shape)
	s[axis] = rows
	return t.WithShape(s)
}

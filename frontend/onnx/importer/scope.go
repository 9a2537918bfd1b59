// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"errors"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
)

// entry is what a name stands for: a value; or a sequence of them; or nothing (an
// input of a function that the call leaves out, all fields nil); or an error, which is reported
// only when something reads the name.
type entry struct {
	v   *ir.Value
	seq *build.Sequence
	err error
}

type scope struct {
	outer  *scope
	values map[string]*entry
	prefix string            // of the names of nodes and values within
	names  map[string]string // names that some values carry instead: those of the outer graph
	depth  int
	origin string // what nodes within come from, where it is not themselves
}

var errMissing = errors.New("no such value")

func newScope(outer *scope, prefix string) *scope {
	s := &scope{outer: outer, values: map[string]*entry{}, prefix: prefix, names: map[string]string{}}
	if outer != nil {
		s.depth, s.origin = outer.depth+1, outer.origin
	}
	return s
}

func (s *scope) set(name string, v *ir.Value) { s.values[name] = &entry{v: v} }
func (s *scope) fail(name string, err error)  { s.values[name] = &entry{err: err} }
func (s *scope) poison(names []string, e error) {
	for _, n := range names {
		if n != "" {
			s.fail(n, e)
		}
	}
}

func (s *scope) valueName(name string) string {
	if o := s.names[name]; o != "" {
		return o
	}
	if name == "" {
		return ""
	}
	return joinName(s.prefix, name)
}

func (s *scope) valueNames(names []string) []string {
	return lists.Map(names, func(n string) string { return s.valueName(n) })
}

func joinName(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return model.Shorten(prefix) + model.Shorten(name)
}

// read finds a value. It is nil without an error for one that is left out. An
// error that was not reported yet is returned once, then build.ErrReported.
func (im *importer) read(s *scope, name string) (*ir.Value, error) {
	for ; s != nil; s = s.outer {
		e, ok := s.values[name]
		if !ok {
			continue
		}
		if err := e.err; err != nil {
			e.err = build.ErrReported
			return nil, err
		}
		if e.seq != nil {
			return nil, newSequenceRead(name, *e.seq)
		}
		return e.v, nil
	}
	return nil, errMissing
}

// liveNode is a node that is needed; index is its place in the file, by which
// nodes without a name are called.
type liveNode struct {
	p     *pb.NodeProto
	index int
}

type liveNodes []liveNode

// needed are the nodes from which one of the outputs is reached, in
// topological order.
func needed(nodes []*pb.NodeProto, outputs []string) liveNodes {
	order := model.Topological(nodes)
	want := lists.Set(outputs)
	var live liveNodes
	for i := len(nodes) - 1; i >= 0; i-- {
		k := i
		if order != nil {
			k = order[i]
		}
		if slices.ContainsFunc(nodes[k].GetOutput(), func(o string) bool { return o != "" && want[o] }) {
			model.Reads(nodes[k], want)
			live = append(live, liveNode{nodes[k], k})
		}
	}
	slices.Reverse(live)
	return live
}

// readNames are the names that a graph's nodes and outputs read, in subgraphs
// too, computed once.
func (im *importer) readNames(g *pb.GraphProto) map[string]bool {
	read, ok := im.names[g]
	if !ok {
		read = make(map[string]bool, len(g.GetNode()))
		for _, n := range g.GetNode() {
			model.Reads(n, read)
		}
		for _, o := range g.GetOutput() {
			read[o.GetName()] = true
		}
		for _, i := range g.GetInput() { // whose default it is
			read[i.GetName()] = true
		}
		im.names[g] = read
	}
	return read
}

// liveNodes is needed for a graph, computed once: loops import theirs often.
func (im *importer) liveNodes(g *pb.GraphProto) liveNodes {
	live, ok := im.live[g]
	if !ok {
		outs := lists.Map(g.GetOutput(), (*pb.ValueInfoProto).GetName)
		live = needed(g.GetNode(), outs)
		im.live[g] = live
	}
	return live
}

// sequenceRead is the error of reading a name that stands for a sequence:
// nodes take the sequence from it, everything else wants tensors.
type sequenceRead struct {
	*ir.Diag
	seq build.Sequence
}

// Unwrap is the error for those that want tensors.
func (s sequenceRead) Unwrap() error { return s.Diag }

func newSequenceRead(name string, s build.Sequence) error {
	return sequenceRead{&ir.Diag{Code: "sequence", Node: "value " + model.Quote(name),
		Msg:  "is a sequence of tensors, which cannot leave a graph; want tensors",
		Hint: "join them by ConcatFromSequence"},
		s}
}

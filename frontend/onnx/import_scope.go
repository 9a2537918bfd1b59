package onnx

import (
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
)

// entry is what a name stands for: a value; or a sequence of them; or nothing (an
// input of a function that the call leaves out, all fields nil); or an error, which is reported
// only when something reads the name.
type entry struct {
	v   *ir.Value
	seq *sequence
	err error
}

// scope maps ONNX names to values; outer is the enclosing graph's.
type scope struct {
	outer  *scope
	values map[string]*entry
	prefix string            // of the names of nodes and values within
	names  map[string]string // names that some values carry instead: those of the outer graph
	depth  int
}

var (
	// errPoisoned: what was wrong with the value has been reported.
	errPoisoned = errors.New("an input failed")
	// errMissing: no such name.
	errMissing = errors.New("no such value")
)

func newScope(outer *scope, prefix string) *scope {
	s := &scope{outer: outer, values: map[string]*entry{}, prefix: prefix, names: map[string]string{}}
	if outer != nil {
		s.depth = outer.depth + 1
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

// valueName is the name in the graph for what this scope calls name.
func (s *scope) valueName(name string) string {
	if o := s.names[name]; o != "" {
		return o
	}
	if name == "" {
		return ""
	}
	return joinName(s.prefix, name)
}

// maxName bounds names that are put together: functions and loops repeat their
// prefixes, which a model could make arbitrarily long.
const maxName = 256

func joinName(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return shorten(prefix) + shorten(name)
}

// shorten keeps beginning and end of a long name.
func shorten(s string) string {
	if len(s) <= maxName {
		return s
	}
	a, b := maxName/2, len(s)-maxName/2
	for a > 0 && !utf8.RuneStart(s[a]) {
		a--
	}
	for b < len(s) && !utf8.RuneStart(s[b]) {
		b++
	}
	return s[:a] + "..." + s[b:]
}

// read finds a value. It is nil without an error for one that is left out. An
// error that was not reported yet is returned once, then errPoisoned.
func (im *importer) read(s *scope, name string) (*ir.Value, error) {
	for ; s != nil; s = s.outer {
		e, ok := s.values[name]
		if !ok {
			continue
		}
		if err := e.err; err != nil {
			e.err = errPoisoned
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
	order := topological(nodes)
	want := make(map[string]bool, len(nodes))
	for _, o := range outputs {
		want[o] = true
	}
	var live liveNodes
	for i := len(nodes) - 1; i >= 0; i-- {
		k := i
		if order != nil {
			k = order[i]
		}
		if slices.ContainsFunc(nodes[k].GetOutput(), func(o string) bool { return o != "" && want[o] }) {
			reads(nodes[k], want)
			live = append(live, liveNode{nodes[k], k})
		}
	}
	slices.Reverse(live)
	return live
}

// reads adds every name that a node reads, in its subgraphs too.
func reads(n *pb.NodeProto, want map[string]bool) {
	for _, s := range n.GetInput() {
		want[s] = true
	}
	for _, a := range n.GetAttribute() {
		graphs := a.GetGraphs()
		if a.GetG() != nil {
			graphs = append([]*pb.GraphProto{a.GetG()}, graphs...)
		}
		for _, g := range graphs {
			for _, o := range g.GetOutput() {
				want[o.GetName()] = true
			}
			for _, m := range g.GetNode() {
				reads(m, want)
			}
		}
	}
}

// readNames are the names that a graph's nodes and outputs read, in subgraphs
// too, computed once.
func (im *importer) readNames(g *pb.GraphProto) map[string]bool {
	read, ok := im.names[g]
	if !ok {
		read = make(map[string]bool, len(g.GetNode()))
		for _, n := range g.GetNode() {
			reads(n, read)
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
		var outs []string
		for _, o := range g.GetOutput() {
			outs = append(outs, o.GetName())
		}
		live = needed(g.GetNode(), outs)
		im.live[g] = live
	}
	return live
}

// SPDX-License-Identifier: Apache-2.0

// Package build adds the nodes that one node of an ONNX model becomes to a graph:
// what upgrade, expand and importer have in common. It checks attributes, folds what
// is known, keeps names apart, and takes the work from one budget.
package build

import (
	"fmt"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/tensor"
)

// Builder makes a graph of the nodes of a model.
type Builder struct {
	Graph  *ir.Graph
	Limits model.Limits
	Note   func(*diag.Diag) // warnings and notes for the user
	Rooms  *Rooms           // of results whose size only the data know
	// TooMany says that Limits.Nodes was exceeded and reported: nothing is added
	// any more.
	TooMany bool

	budget    budget
	made      int            // nodes of the graph, of which one of the model may become many
	sequenced int            // lengths of all sequences
	named     map[string]int // how often a name was given to a value
	selected  []string       // If nodes of which both branches are computed
}

// New makes a builder for an empty graph; dims are the sizes that --dim gives.
func New(g *ir.Graph, lim model.Limits, dims map[string]int, note func(*diag.Diag)) *Builder {
	return &Builder{Graph: g, Limits: lim, Note: note, Rooms: newRooms(dims),
		budget: budget{lim.FoldWork, lim.FoldBytes}, named: map[string]int{}}
}

// Const adds a constant under a name like the given one.
func (b *Builder) Const(name string, d *tensor.Dense) *ir.Value {
	return b.Graph.AddConst(b.Unique(name), d)
}

// Unique gives repeated names a number. ir.Graph would, too, but by trying all
// numbers from the first.
func (b *Builder) Unique(name string) string {
	k := b.named[name]
	b.named[name]++
	if k == 0 {
		return name
	}
	return fmt.Sprintf("%s.%d", name, k)
}

// perNode is how many nodes of the graph one of the model makes, in the mean:
// some operators are expanded, and Loops and Scans unrolled.
const perNode = 4

// addedFor counts a node of the graph, on behalf of one of the model.
func (b *Builder) addedFor(name string) error {
	if b.TooMany {
		return ErrReported
	}
	if b.made++; b.made <= perNode*b.Limits.Nodes {
		return nil
	}
	b.TooMany = true
	return &ir.Diag{Code: "too-many-nodes", Node: "graph, in " + model.Quote(name), Hint: model.Raise("nodes"),
		Msg: fmt.Sprintf("too many nodes: more than %d, four times the limit, "+
			"after operators are written as others and loops unrolled", perNode*b.Limits.Nodes)}
}

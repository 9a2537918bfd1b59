// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
)

// subgraph is the graph in an attribute.
func (c *nodeImport) subgraph(attr string) *pb.GraphProto {
	for _, a := range c.p.GetAttribute() {
		if a.GetName() == attr && a.GetG() != nil {
			return a.GetG()
		}
	}
	c.Want(false, "attr-missing", "attribute %s is missing", attr)
	return nil
}

// inline imports the nodes of a subgraph into the surrounding graph. in are the
// values of its formal inputs; names are what its outputs are called outside (nil:
// their own names behind prefix).
func (c *nodeImport) inline(g *pb.GraphProto, prefix string, in []*ir.Value, names []string) []*ir.Value {
	s := newScope(c.scope, model.Shorten(prefix))
	c.Want(s.depth <= c.Limits.Depth, "nesting", "subgraphs are nested deeper than %d", c.Limits.Depth)
	c.Want(len(g.GetInput()) <= len(in), "arity", "the subgraph %s has %d inputs, want at most %d",
		model.Quote(g.GetName()), len(g.GetInput()), len(in))
	c.SpendCopy("a copy of its subgraph "+model.Quote(g.GetName()),
		len(g.GetInput())+len(g.GetOutput())+len(g.GetInitializer()))
	for i, vi := range g.GetOutput() {
		if i < len(names) {
			s.names[vi.GetName()] = names[i]
		}
	}
	before := len(c.im.errs)
	c.im.initializers(g, s)
	for i, vi := range g.GetInput() {
		s.set(vi.GetName(), in[i])
	}
	c.im.body(c.im.liveNodes(g), s, c.opsets)
	if len(c.im.errs) > before || c.TooMany {
		c.Fail(build.ErrReported)
	}
	var out []*ir.Value
	for i, vi := range g.GetOutput() {
		v, err := c.im.read(s, vi.GetName())
		c.Want(err != errMissing && (err != nil || v != nil), "subgraph-output",
			"output %d of the subgraph, %s, is produced by no node", i, model.Quote(vi.GetName()))
		c.Fail(err)
		out = append(out, v)
	}
	return out
}

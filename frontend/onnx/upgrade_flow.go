package onnx

import (
	"strconv"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// maxTrips bounds the iterations of a Loop that are unrolled.
const maxTrips = 4096

func (c *nodeCtx) graphAttr(name string) *pb.GraphProto {
	for _, a := range c.p.GetAttribute() {
		if a.GetName() == name {
			return a.GetG()
		}
	}
	return nil
}

// inlineGraph imports the nodes of a subgraph into the surrounding graph.
// in are the values of its formal inputs.
func (c *nodeCtx) inlineGraph(g *pb.GraphProto, prefix string, in []*ir.Value) ([]*ir.Value, error) {
	s := newScope(c.scope, prefix)
	before := len(c.im.errs)
	c.im.initializers(g, s)
	for i, vi := range g.GetInput() {
		if i < len(in) {
			s.values[vi.GetName()] = in[i]
		}
	}
	if depth(s) > c.im.m.Limits.orDefault().Depth {
		return nil, c.errf("nesting", "subgraphs are nested deeper than %d", c.im.m.Limits.orDefault().Depth)
	}
	c.im.body(g.GetNode(), s, c.opsets)
	if len(c.im.errs) > before {
		return nil, errPoisoned
	}
	var out []*ir.Value
	for _, vi := range g.GetOutput() {
		v, ok := s.find(vi.GetName())
		if !ok {
			return nil, c.errf("subgraph-output", "subgraph output %s is produced by no node", quote(vi.GetName()))
		}
		if v == nil {
			return nil, errPoisoned
		}
		out = append(out, v)
	}
	return out, nil
}

func depth(s *scope) int {
	n := 0
	for ; s != nil; s = s.outer {
		n++
	}
	return n
}

// ifConst takes the branch of an If whose condition is known at compile time.
func ifConst(c *nodeCtx) ([]*ir.Value, error) {
	if len(c.in) != 1 || c.in[0] == nil {
		return nil, c.errf("arity", "has no condition")
	}
	d := c.in[0].Const
	if d == nil {
		return nil, c.errf("flow-dynamic", "the condition of this If (%s) is computed at run time; only conditions known at compile time are supported", quote(c.p.GetInput()[0]))
	}
	if d.Len() != 1 {
		return nil, c.errf("shape", "the condition has shape %v, want one element", d.Shape)
	}
	branch := "else_branch"
	if d.Int(0) != 0 {
		branch = "then_branch"
	}
	g := c.graphAttr(branch)
	if g == nil {
		return nil, c.errf("attr-missing", "attribute %s is missing", branch)
	}
	return c.inlineGraph(g, c.name+"/", nil)
}

// loopConst unrolls a Loop whose trip count is known at compile time and whose
// condition never changes.
func loopConst(c *nodeCtx) ([]*ir.Value, error) {
	g := c.graphAttr("body")
	if g == nil {
		return nil, c.errf("attr-missing", "attribute body is missing")
	}
	in := append([]*ir.Value(nil), c.in...)
	for len(in) < 2 {
		in = append(in, nil)
	}
	if in[0] == nil || in[0].Const == nil || in[0].Const.Len() != 1 {
		return nil, c.errf("flow-dynamic", "the trip count of this Loop is not known at compile time; only constant trip counts are supported")
	}
	trips := in[0].Const.Int(0)
	if trips > maxTrips {
		return nil, c.errf("flow-trips", "this Loop runs %d times, more than the %d that are unrolled", trips, maxTrips)
	}
	cond := int64(1)
	if in[1] != nil {
		if in[1].Const == nil {
			return nil, c.errf("flow-dynamic", "the condition of this Loop (%s) is computed at run time; only conditions known at compile time are supported", quote(c.p.GetInput()[1]))
		}
		cond = in[1].Const.Int(0)
	}
	carried := in[2:]
	nscan := len(g.GetOutput()) - 1 - len(carried)
	if nscan < 0 {
		return nil, c.errf("arity", "the body of this Loop has %d outputs, want at least %d", len(g.GetOutput()), 1+len(carried))
	}
	scans := make([][]*ir.Value, nscan)
	for t := int64(0); t < trips && cond != 0; t++ {
		prefix := c.name + "/" + strconv.FormatInt(t, 10) + "/"
		args := append([]*ir.Value{c.constant(".iteration", tensor.Scalar(t)), c.constant(".condition", tensor.Scalar(true))}, carried...)
		out, err := c.inlineGraph(g, prefix, args)
		if err != nil {
			return nil, err
		}
		if out[0].Const == nil {
			return nil, c.errf("flow-dynamic", "the body of this Loop computes its condition at run time; only conditions known at compile time are supported")
		}
		cond = out[0].Const.Int(0)
		carried = out[1 : 1+len(carried)]
		for k := range scans {
			scans[k] = append(scans[k], out[1+len(carried)+k])
		}
	}
	result := append([]*ir.Value(nil), carried...)
	for k, s := range scans {
		if len(s) == 0 {
			return nil, c.errf("flow-empty", "scan output %d of this Loop is empty: its shape is unknown", k)
		}
		v, err := c.stack(s, k)
		if err != nil {
			return nil, err
		}
		result = append(result, v)
	}
	return result, nil
}

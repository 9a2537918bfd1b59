// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// loop unrolls a Loop, see build.Node.Loop.
func (c *nodeImport) loop() []*ir.Value {
	g := c.subgraph("body")
	count, trips := c.Input(0), int64(-1)
	if count != nil {
		if count.Const == nil || count.Const.Len() != 1 {
			c.Fail(c.Dynamicf("flow-dynamic", count, "the trip count of this Loop (%s) is not known at compile time; "+
				"only constant trip counts are supported", model.Quote(c.InNames[0])))
		}
		trips = max(count.Const.Int(0), 0)
	}
	carried := slices.Clone(c.In[min(2, len(c.In)):])
	for i, v := range carried {
		c.Want(v != nil, "arity", "carried value %d is missing", i)
	}
	k := 1 + len(carried)
	c.Want(len(g.GetOutput()) >= k, "arity", "the body of this Loop has %d outputs, want at least %d",
		len(g.GetOutput()), k)
	u := c.Loop(trips, c.Input(1), carried, func(t int, prefix string, now []*ir.Value) (*ir.Value, []*ir.Value,
		[]*ir.Value) {
		args := append([]*ir.Value{c.Constant(".iteration", tensor.Scalar(int64(t))),
			c.Constant(".condition", tensor.Scalar(true))}, now...)
		out := c.inline(g, prefix, args, nil)
		return out[0], out[1:k], out[k:]
	})
	result := u.Carried
	for s := range len(g.GetOutput()) - k {
		i := len(carried) + s
		if i < len(c.Out) && c.Out[i] != "" && u.On != nil {
			c.Fail(c.Dynamicf("flow-dynamic", u.On, "the length of scan output %d of this Loop (%s) depends on a "+
				"condition that is computed at run time; want carried values only, or a condition known at compile "+
				"time", s, model.Quote(c.p.GetOutput()[i])))
		}
		var parts []*ir.Value
		for _, scanned := range u.Scanned {
			parts = append(parts, scanned[s])
		}
		result = append(result, c.scanOutput(parts, s, 0, i))
	}
	return result
}

// scanOutput joins the values that all iterations have for scan output k along a new
// dimension axis: output i of the node; nil where nothing reads it.
func (c *nodeImport) scanOutput(vs []*ir.Value, k, axis, i int) *ir.Value {
	if i >= len(c.Out) || c.Out[i] == "" {
		return nil
	}
	c.Want(len(vs) > 0, "flow-empty", "scan output %d of this %s (%s) is empty, since it runs 0 times: its shape is "+
		"unknown",
		k, c.Op, model.Quote(c.p.GetOutput()[i]))
	rank := vs[0].Type.Rank() + 1
	c.Want(axis >= -rank && axis < rank, "axis", "output %d: axis %d is out of range for rank %d", i, axis, rank)
	axis = (axis + rank) % rank
	var parts []*ir.Value
	for t, v := range vs {
		c.WantWhole(fmt.Sprintf("iteration %d of scan output %d", t, k), v)
		s := fmt.Sprintf(".out%d.%d", i, t)
		shape := slices.Insert(slices.Clone(v.Type.Shape), axis, 1)
		parts = append(parts, c.Sub("Reshape", s, nil, v, c.Constant(s+".shape", tensor.Ints(shape...))))
	}
	return c.Add(op.Get("", "Concat"), c.Name, []string{c.Out[i]}, ir.Attrs{"axis": ir.Int(axis)}, parts...)[0]
}

// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// running is whether a Loop that is unrolled still runs in an iteration: with a
// condition computed at run time, all iterations of a constant trip count are
// computed, and carried values stay what they are once the condition was false.
type running struct {
	*nodeImport
	bounded bool      // by a trip count
	on      *ir.Value // a bool scalar; nil while it runs for sure
}

// and adds a condition before iteration t: false where it is known to be so.
func (r *running) and(v *ir.Value, what string, t int) bool {
	r.Want(v.Type.Elems() == 1 && v.Type.DType == tensor.Bool, "shape", "the condition %s is %s, want one bool", v,
		v.Type)
	if v.Const != nil {
		return v.Const.Int(0) != 0
	}
	if !r.bounded {
		r.Fail(r.Dynamicf("flow-dynamic", v, "%s; want a condition known at compile time, "+
			"or a constant trip count, the most that is computed then", what))
	}
	if r.on == nil {
		r.Note(diag.Warnf("flow", "", "Loop %s: the condition is computed at run time; all iterations are computed, "+
			"and the results of those that count are kept", model.Quote(r.Name)))
	}
	s := fmt.Sprintf(".on%d", t)
	if v.Type.Rank() > 0 {
		v = r.Sub("Reshape", s+".scalar", nil, v, r.Constant(s+".shape", tensor.Ints()))
	}
	if r.on != nil {
		v = r.Sub("And", s, nil, r.on, v)
	}
	r.on = v
	return true
}

// carry selects between the carried values before and after iteration t.
func (r *running) carry(old, now []*ir.Value, t int) []*ir.Value {
	if r.on == nil {
		return now
	}
	out := make([]*ir.Value, len(now))
	for i, v := range now {
		r.Want(v.Type.Equal(old[i].Type), "flow-types", "carried value %d is %s before iteration %d and %s after it, "+
			"and the condition of this Loop is computed at run time; want the same type and shape", i, old[i].Type, t,
			v.Type)
		out[i] = r.Sub("Where", fmt.Sprintf(".carried%d.%d", i, t), nil, r.on, v, old[i])
	}
	return out
}

// loop unrolls a Loop whose trips are known at compile time: by a constant trip
// count, or by a condition that turns out to be constant in every iteration. A
// condition at run time needs a trip count as well, see running.
func (c *nodeImport) loop() []*ir.Value {
	g := c.subgraph("body")
	count, cond := c.Input(0), c.Input(1)
	trips := int64(math.MaxInt64)
	if count != nil {
		if count.Const == nil || count.Const.Len() != 1 {
			c.Fail(c.Dynamicf("flow-dynamic", count, "the trip count of this Loop (%s) is not known at compile time; "+
				"only constant trip counts are supported", model.Quote(c.InNames[0])))
		}
		trips = count.Const.Int(0)
	}
	r := &running{nodeImport: c, bounded: count != nil}
	on := cond == nil || r.and(cond, "the condition of this Loop ("+model.Quote(c.InNames[1])+
		") is computed at run time", 0)
	carried := slices.Clone(c.In[min(2, len(c.In)):])
	for i, v := range carried {
		c.Want(v != nil, "arity", "carried value %d is missing", i)
	}
	nscan := len(g.GetOutput()) - 1 - len(carried)
	c.Want(nscan >= 0, "arity", "the body of this Loop has %d outputs, want at least %d", len(g.GetOutput()),
		1+len(carried))
	scans := make([][]*ir.Value, nscan)
	for t := 0; int64(t) < trips && on; t++ {
		c.Want(t < c.Limits.Trips, "flow-trips", "this Loop runs more than %d times, the most that is unrolled; %s",
			c.Limits.Trips, model.Raise("trips"))
		args := append([]*ir.Value{c.Constant(".iteration", tensor.Scalar(int64(t))),
			c.Constant(".condition", tensor.Scalar(true))}, carried...)
		out := c.inline(g, c.Name+"/"+strconv.Itoa(t)+"/", args, nil)
		carried = r.carry(carried, out[1:1+len(carried)], t)
		on = r.and(out[0], "the body of this Loop computes its condition at run time", t+1)
		for k := range scans {
			scans[k] = append(scans[k], out[1+len(carried)+k])
		}
	}
	result := slices.Clone(carried)
	for k, s := range scans {
		i := len(carried) + k
		if i < len(c.Out) && c.Out[i] != "" && r.on != nil {
			c.Fail(c.Dynamicf("flow-dynamic", r.on, "the length of scan output %d of this Loop (%s) depends on a "+
				"condition that is computed at run time; want carried values only, or a condition known at compile "+
				"time", k, model.Quote(c.p.GetOutput()[i])))
		}
		result = append(result, c.scanOutput(s, k, 0, i))
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

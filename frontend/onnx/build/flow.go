// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Branch puts a graph in the place of a node and gives its results. Names within begin
// with the prefix; the results have the given names (nil: their own).
type Branch func(prefix string, names []string) []*ir.Value

// If takes the branch of a condition that is known at compile time. Otherwise both
// branches are computed, and the condition selects among their results: nothing that
// nncc compiles has side effects.
func (n *Node) If(cond *ir.Value, then, other Branch) []*ir.Value {
	n.Want(cond.Type.Elems() == 1, "shape", "the condition %s has shape %v, want one element", n.inName(0),
		cond.Type.Shape)
	if d := cond.Const; d != nil {
		if d.Int(0) != 0 {
			return then(n.Name+"/", n.Out)
		}
		return other(n.Name+"/", n.Out)
	}
	a, b := then(n.Name+"/then/", nil), other(n.Name+"/else/", nil)
	n.Want(len(a) == len(b) && len(a) >= len(n.Out), "arity", "the branches have %d and %d outputs, the node %d",
		len(a), len(b), len(n.Out))
	if cond.Type.Rank() > 0 {
		cond = n.Sub("Reshape", ".condition", nil, cond, n.Constant(".scalar", tensor.Ints()))
	}
	n.selected = append(n.selected, n.Name)
	out := make([]*ir.Value, len(n.Out))
	for i, name := range n.Out {
		if name == "" {
			continue
		}
		n.Want(a[i].Type.Equal(b[i].Type), "flow-types", "output %d is %s in one branch and %s in the other, and the "+
			"condition of this If is computed at run time; want the same type and shape", i, a[i].Type, b[i].Type)
		out[i] = n.Add(op.Get("", "Where"), name, []string{name}, nil, cond, a[i], b[i])[0]
	}
	return out
}

func (n *Node) inName(i int) string {
	if i < len(n.InNames) {
		return model.Quote(n.InNames[i])
	}
	return fmt.Sprint("input ", i)
}

// NoteSelected says once which conditions are computed at run time: nested
// ones may be thousands.
func (b *Builder) NoteSelected() {
	const shown = 3
	names := lists.Map(b.selected[:min(shown, len(b.selected))], model.Quote)
	if more := len(b.selected) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		b.Note(diag.Warnf("flow", "", "If %s: the condition is computed at run time; both branches are computed and "+
			"the result is selected", strings.Join(names, ", ")))
	}
}

// Turn makes iteration t of a Loop, its names behind the prefix: whether another one
// follows, the carried values, and those that are joined over all iterations.
type Turn func(t int, prefix string, carried []*ir.Value) (on *ir.Value, next, scanned []*ir.Value)

// Unrolled are the iterations of a Loop.
type Unrolled struct {
	Carried []*ir.Value
	Scanned [][]*ir.Value // by iteration
	// On is whether the last iteration counts; nil where that is known.
	On *ir.Value
}

// running is whether a Loop that is unrolled still runs in an iteration: with a
// condition computed at run time, all iterations of a constant trip count are
// computed, and carried values stay what they are once the condition was false.
type running struct {
	*Node
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
	r.WantKnown(r.bounded, "flow-dynamic", v,
		"%s; want a condition known at compile time, or a constant trip count, the most that is computed then", what)
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

// Loop unrolls a loop whose trips are known at compile time: by a constant trip count
// (trips; negative: none), or by a condition (nil: true) that turns out to be constant
// in every iteration. A condition at run time needs a trip count as well.
func (n *Node) Loop(trips int64, cond *ir.Value, carried []*ir.Value, turn Turn) Unrolled {
	r := &running{Node: n, bounded: trips >= 0}
	on := cond == nil || r.and(cond, "the condition of this Loop ("+n.inName(1)+") is computed at run time", 0)
	var u Unrolled
	for t := 0; on && (!r.bounded || int64(t) < trips); t++ {
		n.Want(t < n.Limits.Trips, "flow-trips", "this Loop runs more than %d times, the most that is unrolled; %s",
			n.Limits.Trips, model.Raise("trips"))
		again, next, scanned := turn(t, n.Name+"/"+strconv.Itoa(t)+"/", carried)
		carried = r.carry(carried, next, t)
		on = r.and(again, "the body of this Loop computes its condition at run time", t+1)
		u.Scanned = append(u.Scanned, scanned)
	}
	u.Carried, u.On = carried, r.on
	return u
}

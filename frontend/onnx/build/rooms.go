// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
)

// Rooms are the results of which only the data know the size: they have room for a
// bound, which --dim gives for the dimension of the result. Behind what was found are
// zeros; how many were found is an output of its own. More than the bound is an index
// out of range, in the interpreter and in C.
type Rooms struct {
	// Symbol is the name that the model has for a dimension of a value; "" for none.
	Symbol func(value string, dim int) string
	// Used are the names by which a bound was found.
	Used map[string]bool

	dims   map[string]int
	values map[*ir.Value]bool
	counts []found
}

// found is the number of elements that were found for a value.
type found struct {
	name string
	v    *ir.Value
}

func newRooms(dims map[string]int) *Rooms {
	return &Rooms{Symbol: func(string, int) string { return "" }, Used: map[string]bool{},
		dims: dims, values: map[*ir.Value]bool{}}
}

// Has reports a value with room for more than the data may have.
func (r *Rooms) Has(v *ir.Value) bool { return r.values[v] }

func (r *Rooms) mark(vs ...*ir.Value) {
	for _, v := range vs {
		r.values[v] = true
	}
}

// Bounded gives a result with room: count is how many elements were found.
func (n *Node) Bounded(result, count *ir.Value) []*ir.Value {
	n.Rooms.mark(result)
	n.Rooms.counts = append(n.Rooms.counts, found{n.Out[0], count})
	return []*ir.Value{result}
}

// AddCounts makes the counts outputs of the graph, behind the model's own.
func (b *Builder) AddCounts() {
	for _, c := range b.Rooms.counts {
		b.Graph.AddOutput(b.Unique(c.name+"_count"), c.v)
	}
}

// Bound is the room for output 0 along a dimension, at most most: the user gives it
// by the name that the model has for the dimension, or by its place (DimName). v
// decides how much is found.
func (n *Node) Bound(v *ir.Value, dim, most int) int {
	keys := []string{DimName(n.Out[0], dim)}
	if s := n.Rooms.Symbol(n.Out[0], dim); s != "" {
		keys = append(keys, s)
	}
	for _, key := range keys {
		if size, ok := n.Rooms.dims[key]; ok {
			n.Want(size >= 1 && size <= most, "dim-value",
				"--dim %s=%d bounds output %s, want 1 to %d", key, size, model.Quote(n.Out[0]), most)
			n.Rooms.Used[key] = true
			return size
		}
	}
	d := n.Dynamicf("dynamic", v, "%s is computed at run time, so that the size of the result is not known", v)
	room := fmt.Sprintf("give the result room for what is found by --dim %s=N, N at most %d", keys[len(keys)-1], most)
	if d.Hint != "" {
		room += "; or " + d.Hint
	}
	d.Hint = room
	fail.Check(d)
	return 0
}

// DimName names a dimension by its place: "value.axis".
func DimName(value string, axis int) string { return fmt.Sprintf("%s.%d", value, axis) }

// WantWhole refuses a value with room where the zeros behind it would be taken for data.
func (n *Node) WantWhole(what string, v *ir.Value) {
	if n.Rooms.Has(v) {
		fail.Check(n.Dynamicf("bounded", v, "%s (%s) has as many elements as the data at run time say, "+
			"kept in shape %v with zeros behind them, which this operator would take for data; "+
			"want operators that compute every element by itself, or the model's output", what, v, v.Type.Shape))
	}
}

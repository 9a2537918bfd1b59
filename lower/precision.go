// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/fuse"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
)

// Layers counts the layers of a program by the precision that they compute in:
// int8, int16x8, int4 (int8 data), or the name of a float type. What moves data,
// converts it or computes indices is no layer.
type Layers map[string]int

// tally is what the values of a program say of its precision.
type tally struct {
	layers        Layers
	data, weights map[tensor.DType]bool // of quantised layers
	float, macs   bool                  // there are real numbers, and float layers multiply and accumulate
}

func (t *tally) add(g *ir.Graph) {
	for _, n := range g.Nodes {
		if n.Op == op.Segment {
			t.add(n.Body[0])
			continue
		}
		name := floatLayer(n)
		t.float = t.float || name != ""
		quantised := len(n.Out) > 0 && n.Out[0].Type.Quant != nil
		if quantised {
			name = quantisedLayer(n)
		}
		if name != "" && n.Op.Quant != ir.QMove && len(n.Out) > 0 && !n.Op.Converts {
			t.layers[name]++
			t.macs = t.macs || n.Op.MACs != nil && !quantised
		}
		if quantised && n.Op != op.Requantize {
			t.data[n.Out[0].Type.DType] = true
			if w := n.Input(1); w != nil && w.Const != nil && w.Type.Quant != nil && n.Op.MACs != nil {
				t.weights[w.Type.DType] = true
			}
		}
	}
}

// floatLayer is the precision of a layer that gives or reads real numbers; "": it does not.
func floatLayer(n *ir.Node) string {
	for _, v := range slices.Concat(n.Out, n.In) {
		switch {
		case v == nil || !v.Type.DType.IsFloat():
		case v.Type.DType == tensor.F32:
			return "float32"
		default:
			return v.Type.DType.ONNXName()
		}
	}
	return ""
}

// quantisedLayer is the precision of a layer with quantised results.
func quantisedLayer(n *ir.Node) string {
	switch w := n.Input(1); {
	case n.Out[0].Type.DType == tensor.I16:
		return "int16x8"
	case w != nil && w.Const != nil && w.Type.DType == tensor.I4 && n.Op.MACs != nil:
		return "int4"
	}
	return "int8"
}

// precisionOf names the precision of the layers of a graph: that of its
// quantised layers; mixed where layers of several precisions multiply and
// accumulate; that of the float layers where none is quantised; integer where
// there is no real number at all.
func precisionOf(g *ir.Graph) (string, Layers) {
	t := tally{Layers{}, map[tensor.DType]bool{}, map[tensor.DType]bool{}, false, false}
	t.add(g)
	names := slices.Sorted(maps.Keys(t.layers))
	quantised := t.layers["int8"]+t.layers["int16x8"]+t.layers["int4"] > 0
	switch {
	case quantised && t.macs, !quantised && len(names) > 1, t.weights[tensor.I4] && t.weights[tensor.I8],
		t.data[tensor.I16] && (t.data[tensor.I8] || t.weights[tensor.I4]):
		return "mixed", t.layers
	case !quantised && len(names) == 1:
		return names[0], t.layers
	case t.data[tensor.I16]:
		return "int16x8", t.layers
	case t.weights[tensor.I4]:
		return "int4", t.layers
	case len(t.data) > 0:
		return "int8", t.layers
	case t.float:
		return "float32", t.layers
	}
	return "integer", t.layers
}

// Text is a precision for people: with the layers that have another one.
func (l Layers) Text(precision string) string {
	var s []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if name != precision && (precision != "int4" || name != "int8") {
			s = append(s, fmt.Sprintf("%d in %s", l[name], name))
		}
	}
	if len(s) == 0 {
		return precision
	}
	return precision + ", layers: " + strings.Join(s, ", ")
}

// Slack gives how far the result of a node of the program may be from that of
// the model by definition, in steps: interpolated functions of int16 values, and
// kernels that say so (ir.OpDef.QError).
func (r *Result) Slack() func(n *ir.Node) float64 {
	interpolated := lists.By(r.interpolated, func(f fuse.Fusion) string { return f.Anchor })
	return func(n *ir.Node) float64 {
		if f, ok := interpolated[n.Name]; ok {
			return f.Error
		}
		return ir.QuantError(n)
	}
}

// floated notes a quantised node that is computed in float, as m: what is quantised behind it
// may be off, by the rounding between two steps and by what the integer form misses.
func (r *Result) floated(n, m *ir.Node) {
	if r.floatSteps == nil {
		r.floatSteps = map[string]int64{}
	}
	note := func(q *ir.Node) {
		if q.Op == op.QuantizeLinear {
			r.floatSteps[q.Name] = 1 + int64(math.Ceil(ir.QuantError(n)))
		}
	}
	note(m)
	for _, v := range m.Out {
		for _, u := range v.Uses() {
			note(u.Node)
		}
	}
}

// FloatSteps gives by how many steps a QuantizeLinear of Reference may be off what Whole has
// there as a node on integers.
func (r *Result) FloatSteps(n *ir.Node) int64 { return r.floatSteps[n.Name] }

// RoundAs makes the interpreter round as an installed CMSIS-NN that is linked in place
// of nncc's kernels, in the layers that its kernels compute. It gives the graph to
// compare with: what was folded into a program for two roundings is folded in the
// reference for one, too; where the program is fed window by window the reference has
// to stay whole.
func (r *Result) RoundAs(installed fixp.Rounding) *ir.Graph {
	if installed == fixp.DoubleRounding {
		return r.Reference
	}
	twin := lists.By(r.Reference.Nodes, func(n *ir.Node) int { return n.ID }) // in the graph before the last rewrites
	for n, l := range r.Low {
		if l.Library != cmsisnn.Library {
			continue
		}
		op.SetRounding(n, installed)
		if m := twin[n.ID]; m != nil && m.Op == n.Op {
			op.SetRounding(m, installed)
		}
		for _, body := range n.Body { // of a fused node
			for _, m := range body.Nodes {
				op.SetRounding(m, installed)
			}
		}
	}
	if r.Streamed == nil {
		return r.Graph
	}
	return r.Reference
}

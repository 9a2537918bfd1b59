// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// Layers counts the layers of a program by the precision that they compute in:
// int8, int16x8, int4 (int8 data), or the name of a float type. What moves data,
// converts it or computes indices is no layer.
type Layers map[string]int

// count adds the layers of g and reports whether float ones multiply and
// accumulate.
func (l Layers) count(g *ir.Graph) (floatMACs bool) {
	for _, n := range g.Nodes {
		if n.Op == op.Segment {
			floatMACs = l.count(n.Body[0]) || floatMACs
			continue
		}
		if n.Op.Quant == ir.QMove || len(n.Out) == 0 || n.Op.Converts {
			continue
		}
		name := ""
		for _, v := range slices.Concat(n.Out, n.In) {
			switch {
			case v == nil || name != "":
			case v.Type.Quant != nil && n.Out[0].Type.Quant != nil:
				name = quantisedLayer(n)
			case v.Type.DType.IsFloat():
				name = v.Type.DType.ONNXName()
				if v.Type.DType == tensor.F32 {
					name = "float32"
				}
			}
		}
		if name != "" {
			l[name]++
			floatMACs = floatMACs || n.Op.MACs != nil && n.Out[0].Type.Quant == nil
		}
	}
	return floatMACs
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
	l := Layers{}
	floatMACs := l.count(g)
	data, weights := map[tensor.DType]bool{}, map[tensor.DType]bool{}
	float := false
	var visit func(g *ir.Graph)
	visit = func(g *ir.Graph) {
		for _, n := range g.Nodes {
			if n.Op == op.Segment {
				visit(n.Body[0])
				continue
			}
			for _, v := range slices.Concat(n.Out, n.In) {
				float = float || v != nil && v.Type.Quant == nil && v.Type.DType.IsFloat()
			}
			if len(n.Out) == 0 || n.Out[0].Type.Quant == nil || n.Op == op.Requantize {
				continue
			}
			data[n.Out[0].Type.DType] = true
			if w := n.Input(1); w != nil && w.Const != nil && w.Type.Quant != nil && n.Op.MACs != nil {
				weights[w.Type.DType] = true
			}
		}
	}
	visit(g)
	quantised := l["int8"]+l["int16x8"]+l["int4"] > 0
	switch {
	case quantised && floatMACs, data[tensor.I16] && (data[tensor.I8] || weights[tensor.I4]) || weights[tensor.I4] &&
		weights[tensor.I8]:
		return "mixed", l
	case !quantised && len(l) > 1:
		return "mixed", l
	case !quantised && len(l) == 1:
		for name := range l {
			return name, l
		}
	case data[tensor.I16]:
		return "int16x8", l
	case weights[tensor.I4]:
		return "int4", l
	case len(data) > 0:
		return "int8", l
	case float:
		return "float32", l
	}
	return "integer", l
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

// PrecisionOfQDQ names the precision that a graph with QuantizeLinear and
// DequantizeLinear nodes will have.
func PrecisionOfQDQ(g *ir.Graph) (string, error) {
	g = g.Clone()
	if err := quant.Integer(g, quant.IntegerOptions{}); err != nil {
		return "", err
	}
	p, _ := precisionOf(g)
	return p, nil
}

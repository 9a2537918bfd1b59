// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"sort"

	"github.com/nncc/nncc/ir"
)

// LayerCost is what the quantisation of one layer alone costs.
type LayerCost struct {
	Name      string   `json:"name"`
	Op        string   `json:"op"`
	ONNXNodes []string `json:"onnx_nodes"`
	Precision string   `json:"precision"`
	// SQNR is the signal-to-noise ratio of the worst output, in dB, when this
	// layer is quantised and no other.
	SQNR float64 `json:"sqnr_db"`
}

// Sensitivity quantises the layers of a legalised float graph one at a time, in
// the precision that the options give them, and ranks them, the one that costs
// most first. each, when set, is told of every layer. The graph stays as it is.
func Sensitivity(g *ir.Graph, opt Options, each func(done, all int)) ([]LayerCost, error) {
	c := &calibrator{g: g.Clone(), opt: opt}
	c.plan()
	type layer struct {
		node *ir.Node
		l    Layer
	}
	var layers []layer
	for _, n := range c.g.Nodes {
		if r, ok := c.rules[n]; ok && !r.follows() {
			layers = append(layers, layer{n, c.layer[n]})
		}
	}
	out := []LayerCost{}
	for i, x := range layers {
		if each != nil {
			each(i, len(layers))
		}
		o := opt
		o.Layer = func(n *ir.Node) Layer {
			if n.ID == x.node.ID {
				return x.l
			}
			return Float
		}
		r, err := Insert(g.Clone(), o)
		if err != nil {
			return nil, err
		}
		out = append(out, LayerCost{x.node.Name, x.node.Op.Name, append([]string{}, x.node.Origin...), x.l.String(),
			r.SQNR})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].SQNR < out[j].SQNR })
	return out, nil
}

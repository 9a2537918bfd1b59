package lower

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// precisionOf names the precision of the layers of an integer graph.
func precisionOf(g *ir.Graph) string {
	data, weights := map[tensor.DType]bool{}, map[tensor.DType]bool{}
	for _, n := range g.Nodes {
		if len(n.Out) == 0 || n.Out[0].Type.Quant == nil || n.Op == op.Requantize {
			continue
		}
		data[n.Out[0].Type.DType] = true
		if len(n.In) > 1 && n.In[1] != nil && n.In[1].Const != nil && n.In[1].Type.Quant != nil && n.Op.MACs != nil {
			weights[n.In[1].Type.DType] = true
		}
	}
	switch {
	case data[tensor.I16] && (data[tensor.I8] || weights[tensor.I4]) || weights[tensor.I4] && weights[tensor.I8]:
		return "mixed"
	case data[tensor.I16]:
		return "int16x8"
	case weights[tensor.I4]:
		return "int4"
	}
	return "int8"
}

// PrecisionOfQDQ names the precision that a graph with QuantizeLinear and
// DequantizeLinear nodes will have.
func PrecisionOfQDQ(g *ir.Graph) (string, error) {
	g = g.Clone()
	if err := quant.Integer(g, quant.IntegerOptions{}); err != nil {
		return "", err
	}
	return precisionOf(g), nil
}

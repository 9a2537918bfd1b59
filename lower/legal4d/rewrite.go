// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// rewriter gives the outputs of a node in the new graph.
type rewriter func(b *builder, n *ir.Node) []*rep

// rewriters by operator. What is not here keeps its logical form; so does a
// node that its rewriter refuses.
var rewriters map[string]rewriter

func init() {
	rewriters = map[string]rewriter{
		"Identity": same, "Dropout": same,
		"Reshape": reshapes, "Flatten": reshapes, "Squeeze": reshapes, "Unsqueeze": reshapes,
		"Transpose": transposes, "Concat": concats, "Slice": slicesOf, "Split": splits, "Gather": gathers,
		"Expand":  expands,
		"Softmax": lanes, "LogSoftmax": lanes, "Hardmax": lanes, "ArgMax": lanes, "ArgMin": lanes,
		"LayerNormalization": layerNorm, "RMSNormalization": layerNorm, "BatchNormalization": batchNorm,
		"ReduceMean": reduces, "ReduceSum": reduces, "ReduceMax": reduces, "ReduceMin": reduces,
		"LSTM": keepsRecurrent, "GRU": keepsRecurrent, "RNN": keepsRecurrent,
		"Gemm": gemm, "MatMul": matMul, "Conv": conv, "ConvTranspose": convTranspose,
	}
}

// isElementwise reports operators of which every output element comes from the
// elements in the same place, up to broadcasting.
func isElementwise(n *ir.Node) bool {
	if n.Op == op.Requantize {
		return true
	}
	if n.Op.Domain != "" || len(n.Out) != 1 || n.Op.Copies() || n.Op.View == ir.Recast {
		return false
	}
	return n.Op.Pattern == ir.Elementwise || n.Op.Pattern == ir.Broadcast
}

func (b *builder) node(n *ir.Node) {
	b.cur = n
	f := rewriters[n.Op.Name]
	if n.Op.Domain != "" {
		f = nil
	}
	if f == nil && isElementwise(n) {
		f = elementwise
	}
	why := no("the operator %s has no form on 4-D tensors of its own", n.Op.Name)
	if integers(n) {
		f, why = nil, "it computes on integers"
	}
	if f != nil {
		var out []*rep
		if why = attempt(func() { out = f(b, n) }); why == "" {
			for i, v := range n.Out {
				if out[i] != nil {
					b.env[v] = out[i]
				}
			}
			return
		}
	}
	if !fourD(n) {
		b.left = append(b.left, Left{Node: n.Name, Op: n.Op.Name, Origin: n.Origin, Reason: string(why)})
	}
	b.keep(n)
}

// standsForReals reports a value that stands for reals: floats or quantised integers.
func standsForReals(v *ir.Value) bool { return v.Type.DType.IsFloat() || v.Type.Quant != nil }

// integers reports a node without any float: positions and sizes, for the host.
func integers(n *ir.Node) bool {
	return !slices.ContainsFunc(append(slices.Clone(n.In), n.Out...), func(v *ir.Value) bool {
		return v != nil && (v.Type.DType.IsFloat() || v.Type.DType == tensor.Bool || v.Type.Quant != nil)
	})
}

// fourD reports a node whose run-time operands all have rank 4.
func fourD(n *ir.Node) bool {
	return !slices.ContainsFunc(append(slices.Clone(n.In), n.Out...), func(v *ir.Value) bool {
		return v != nil && v.Const == nil && v.Type.Rank() != 4
	})
}

func (b *builder) keep(n *ir.Node) {
	m := &ir.Node{Name: n.Name, Op: n.Op, Attrs: n.Attrs.Clone(), Out: make([]*ir.Value, len(n.Out)), Origin: n.Origin,
		Series: n.Series}
	for _, body := range n.Body {
		m.Body = append(m.Body, body.Clone())
	}
	for _, v := range n.In {
		if v == nil {
			m.In = append(m.In, nil)
			continue
		}
		m.In = append(m.In, b.logical(b.of(v)))
	}
	fail.Check(b.g.AddNode(m, lists.Map(n.Out, func(v *ir.Value) string { return v.Name })))
	for i, v := range n.Out {
		m.Out[i].Type = v.Type
		b.env[v] = &rep{shape: v.Type.Shape, whole: m.Out[i]}
	}
}

// findMixing marks the values of which every element may meet every other
// before the outputs are reached: parts of such a tensor are joined early. The
// others, on their way to the outputs only, stay apart.
func (b *builder) findMixing() {
	b.mixing, b.computed = map[*ir.Value]bool{}, map[*ir.Value]bool{}
	for i := len(b.old.Nodes) - 1; i >= 0; i-- {
		n := b.old.Nodes[i]
		m := mixes(n)
		c := n.Op.Quant != ir.QMove
		for _, v := range n.Out {
			m, c = m || b.mixing[v], c || b.computed[v]
		}
		if c {
			for _, v := range n.In {
				b.computed[v] = true
			}
		}
		if m {
			for _, v := range n.In {
				if v != nil {
					b.mixing[v] = true
				}
			}
		}
	}
}

func mixes(n *ir.Node) bool {
	switch n.Op.Name {
	case "Conv":
		return !pointwise(n)
	case "MatMul":
		return n.In[1].Const == nil && n.In[0].Const == nil
	case "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool", "Resize",
		"InstanceNormalization", "GroupNormalization", "GridSample", "DepthToSpace", "SpaceToDepth", "Einsum":
		return true
	case "ReduceMean":
		return true
	case "ReduceMax", "ReduceSum":
		axes, err := op.ReduceAxes(n)
		return err == nil && n.In[0].Type.Rank() == 4 && slices.Equal(axes, []int{2, 3})
	}
	return false
}

func (b *builder) parts(v *ir.Value) []*part { return b.get(b.of(v)) }

// result is a rep of output 0 of n made of parts.
func result(n *ir.Node, parts []*part) []*rep { return []*rep{made(n.Out[0], parts)} }

func made(v *ir.Value, parts []*part) *rep {
	k := 0
	for _, p := range parts {
		p.normalise()
		k += count(p.axes.all())
	}
	bug.If(k != v.Type.Elems(), "the parts of %s hold %d elements of %v", v, k, v.Type.Shape)
	return &rep{shape: v.Type.Shape, parts: parts}
}

// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

func inferLike(n *ir.Node) ([]ir.Type, error) { return one(like(n)) }

func evalIdentity(_ *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) { return outs(in[0]) }

func scalarIdentity(_ *ir.Node, x float64) float64 { return x }

// Identity is its input.
var Identity = def(ir.OpDef{
	Name: "Identity", Doc: "its input, unchanged", MinIn: 1, Pattern: ir.Elementwise, Quant: ir.QMove,
	Infer: inferLike, Eval: evalIdentity, Scalar: scalarIdentity, Homogeneous: true,
})

// WithinAttrs are the attributes of Within.
type WithinAttrs struct {
	Least int `default:"0"`
	Most  int `attr:",required"`
}

// Within is the identity on integers from least to most; any other is an error. Operators that are
// composed of others have it where the parts would take more than the whole may.
var Within = def(ir.OpDef{
	Name: "Within", Domain: "nncc", Doc: "its input, integers from least to most", MinIn: 1, Pattern: ir.Opaque,
	Quant: ir.QNone, Attrs: ir.Declare[WithinAttrs](),
	Limits: func(n *ir.Node) []ir.Limit {
		a := ir.AttrsOf[WithinAttrs](n)
		return []ir.Limit{{Input: 0, What: "number", Least: []int{a.Least}, Most: []int{a.Most}}}
	},
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		indexInput(n, 0)
		return inferLike(n)
	},
	Eval: evalIdentity,
})

// OwnOutputs gives every output of a graph a value of its own that a node
// computes: a constant, an input or one value under two names is copied.
func OwnOutputs(g *ir.Graph) (err error) {
	defer fail.Catch(&err)
	seen := map[*ir.Value]bool{}
	for i, v := range g.Out {
		root := v.Storage()
		if root.Def != nil && !seen[root] {
			seen[root] = true
			continue
		}
		n := fail.Must(g.InsertBefore(nil, Identity, g.OutNames[i]+".copy", nil, 1, v))
		n.Out[0].Type = v.Type
		g.SetOutput(i, n.Out[0])
	}
	return nil
}

// Relayout is the identity whose output has another memory order than its
// input; the order is in the output's type.
var Relayout = def(ir.OpDef{
	Name: "Relayout", Domain: "nncc", Doc: "identity into another memory order", View: ir.Permuted, MinIn: 1,
	Pattern: ir.Injective, Quant: ir.QMove,
	Infer: inferLike, Eval: evalIdentity,
})

// Turn is a Relayout of planes to channels last that may lie over its input.
var Turn = def(ir.OpDef{
	Name: "Turn", Domain: "nncc", Doc: "identity into channels-last order, over the same bytes", View: ir.Permuted,
	Planned: true,
	MinIn:   1, Pattern: ir.Injective, Quant: ir.QMove,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		refuse(n, n.In[0].Type.Rank() != 4, "rank", "has rank %d, want 4", n.In[0].Type.Rank())
		return inferLike(n)
	},
	Eval: evalIdentity,
})

// Requantize is the identity on reals between two quantisations: it stands
// where a producer and a consumer want different scales.
var Requantize = def(ir.OpDef{
	Name: "Requantize", Domain: "nncc", Doc: "identity on reals between two quantisations", Converts: true, MinIn: 1,
	Pattern: ir.Elementwise, Quant: ir.QFloat, Straight: true, Homogeneous: true,
	Infer: inferLike, Eval: evalIdentity, Scalar: scalarIdentity,
})

// Dropout at inference is the identity; the optional second output, the mask
// of what is kept, is all true. Training mode is refused.
var Dropout = def(ir.OpDef{
	Name: "Dropout", Doc: "identity at inference; mask of true", Attrs: ir.Declare[struct{ Seed *int }](),
	MinIn: 1, MaxIn: 3, MaxOut: 2, Pattern: ir.Elementwise, Quant: ir.QMove,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		if v := n.Input(2); v != nil {
			ratio, known := constReal(n, 1, 0.5)
			switch c := v.Const; {
			case known && ratio == 0:
			case c == nil:
				return nil, ir.Errf(n, "training", "training_mode (input 2, %s) is computed at run time; want a "+
					"constant false", v)
			case c.Len() > 0 && c.Int(0) != 0:
				return nil, ir.Errf(n, "training", "training_mode is true; export the model for inference")
			}
		}
		return []ir.Type{like(n), ir.T(tensor.Bool, n.In[0].Type.Shape...)}, nil
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		if len(n.Out) < 2 {
			return outs(in[0])
		}
		m := slices.Repeat([]bool{true}, in[0].Len())
		return outs(in[0], tensor.Of(in[0].Shape, m))
	},
})

// SegmentAttrs are the attributes of Segment.
type SegmentAttrs struct {
	Id          int    `default:"0"`
	Accelerator string `default:""`
}

// Segment is a part of the graph that runs on an accelerator as one: its body
// is a closed graph whose inputs are the node's. The types of inputs and
// outputs carry their quantisation.
var Segment = def(ir.OpDef{
	Name: "Segment", Domain: "nncc", Doc: "a part of the graph that an accelerator runs as one",
	Attrs: ir.Declare[SegmentAttrs](),
	MaxIn: -1, MaxOut: -1, Pattern: ir.Opaque, Quant: ir.QInt,
	Infer: inferBody, Eval: evalBody, EvalQ: evalBody, MACs: bodyMACs,
})

// Fused is a part of the graph that one kernel of the CPU computes, without
// its inner values ever being in memory. Body and types are as in Segment.
var Fused = def(ir.OpDef{
	Name: "Fused", Domain: "nncc", Doc: "a part of the graph that one kernel computes",
	MaxIn: -1, MaxOut: 1, Pattern: ir.Opaque, Quant: ir.QInt,
	Infer: inferBody, Eval: evalBody, EvalQ: evalBody, MACs: bodyMACs,
})

func inferBody(n *ir.Node) ([]ir.Type, error) {
	refuse(n, len(n.Body) != 1, "body", "has %d bodies, want 1", len(n.Body))
	b := n.Body[0]
	refuse(n, len(b.In) != len(n.In), "body", "the body has %d inputs, the node %d", len(b.In), len(n.In))
	out := lists.Map(b.Out, func(v *ir.Value) ir.Type { return v.Type.WithOrder(nil) })
	return out, nil
}

func bodyMACs(n *ir.Node) int64 {
	var sum int64
	for _, m := range n.Body[0].Nodes {
		if m.Op.MACs != nil {
			sum += m.Op.MACs(m)
		}
	}
	return sum
}

func evalBody(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	b := n.Body[0]
	env := map[*ir.Value]*tensor.Dense{}
	for i, v := range b.In {
		env[v] = in[i]
	}
	get := func(v *ir.Value) *tensor.Dense {
		if v == nil || v.Const == nil {
			return env[v]
		}
		return v.Const
	}
	for _, m := range b.Nodes {
		args := lists.Map(m.In, func(v *ir.Value) *tensor.Dense { return get(v) })
		out, err := ir.EvalNode(m, args)
		if err != nil {
			return nil, fmt.Errorf("in %s: %w", n, err)
		}
		for i, v := range m.Out {
			env[v] = out[i]
		}
	}
	out := lists.Map(b.Out, func(v *ir.Value) *tensor.Dense { return get(v) })
	return out, nil
}

// HardSwish2Attrs are the attributes of HardSwish2.
type HardSwish2Attrs struct {
	Alpha float32 `default:"3"`
	Beta  float32 `default:"6"`
}

// HardSwish2 is x times a hard sigmoid with corners of one's own: 0 at -alpha,
// 1 at beta - alpha. With alpha 3 and beta 6 it is HardSwish.
var HardSwish2 = unary(unarySpec{
	name: "HardSwish2", domain: "nncc", doc: "x * clamp(x + alpha, 0, beta) / beta", types: floatTypes,
	finite: true, activation: true,
	attrs: ir.Declare[HardSwish2Attrs](),
	real: func(n *ir.Node) func(float64) float64 {
		a, b := float64(ir.AttrsOf[HardSwish2Attrs](n).Alpha), float64(ir.AttrsOf[HardSwish2Attrs](n).Beta)
		return func(x float64) float64 { return x * (min(max(x+a, 0), b) / b) }
	},
	c: ir.CForm{F64: "x * (nncc_min_f64(nncc_max_f64(x + {alpha}, 0.0), {beta}) / {beta})"},
})

// lastElemType is the last of ONNX's element types (INT2, of IR version 13).
const lastElemType = 26

// attrType is the element type that an int attribute names by its ONNX number.
func attrType(n *ir.Node, name string, code int) (tensor.DType, error) {
	d, ok := tensor.FromONNX(code)
	switch {
	case code < 1 || code > lastElemType:
		return 0, ir.Errf(n, "dtype-unknown", "attribute %s names data type %d, which ONNX does not define", name, code)
	case !ok:
		return 0, ir.Errf(n, "dtype-unsupported", "attribute %s names data type %d, which is not among those "+
			"supported (float, double, float16, bfloat16, bool, integers of 4 to 64 bits)", name, code)
	}
	return d, nil
}

// CastAttrs8 are accepted and concern 8-bit floats only.
type CastAttrs8 struct {
	Saturate  int    `default:"1"`
	RoundMode string `default:"up"`
}

// CastAttrs are the attributes of Cast.
type CastAttrs struct {
	To int `attr:",required type"`
	CastAttrs8
}

// Cast converts the element type.
var Cast = def(ir.OpDef{
	Name: "Cast", Converts: true, Doc: "conversion to another element type", Attrs: ir.Declare[CastAttrs](),
	MinIn: 1, Pattern: ir.Elementwise,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		d := fail.Must(attrType(n, "to", ir.AttrsOf[ToAttr](n).To))
		return one(ir.T(d, n.In[0].Type.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		d := fail.Must(attrType(n, "to", ir.AttrsOf[ToAttr](n).To))
		return outs(in[0].Cast(evalType(n, in[0], d)))
	},
})

// evalType is the type in which a node that converts its input computes: the
// declared one, or float64 where reals come in by way of a quantised value
// and go out as reals again.
func evalType(n *ir.Node, x *tensor.Dense, declared tensor.DType) tensor.DType {
	if n.Quantised() && x.DType == tensor.F64 && n.Out[0].Type.Quant != nil {
		return tensor.F64
	}
	return declared
}

// CastLike converts to the element type of the second input.
var CastLike = def(ir.OpDef{
	Name: "CastLike", Converts: true, Doc: "conversion to the element type of the second input",
	Attrs: ir.Declare[CastAttrs8](), MinIn: 2, Pattern: ir.Elementwise,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		return one(ir.T(n.In[1].Type.DType, n.In[0].Type.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		return outs(in[0].Cast(evalType(n, in[0], in[1].DType)))
	},
})

// BitCast reads the same bytes as another element type of the same size.
var BitCast = def(ir.OpDef{
	Name: "BitCast", Doc: "the same bytes as another element type of the same size", View: ir.Recast,
	Attrs: ir.Declare[struct {
		To int `attr:",required type"`
	}](),
	MinIn: 1, Pattern: ir.Elementwise, Quant: ir.QNone, Coded: true, Boundary: true,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		d := fail.Must(attrType(n, "to", ir.AttrsOf[ToAttr](n).To))
		t := n.In[0].Type.DType
		refuse(n, t.Bits() != d.Bits(), "dtype",
			"input 0 (%s) is of type %s with %d bits, attribute to names %s with %d; want the same size", n.In[0], t,
			t.Bits(), d, d.Bits())
		return one(ir.T(d, n.In[0].Type.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		d := fail.Must(attrType(n, "to", ir.AttrsOf[ToAttr](n).To))
		if d.Bits() < 8 { // one element per byte here: only the sign is read anew
			return outs(in[0].Cast(d))
		}
		y, err := tensor.FromBytes(d, in[0].Shape, in[0].Bytes())
		return []*tensor.Dense{y}, err
	},
})

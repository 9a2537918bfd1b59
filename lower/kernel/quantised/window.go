// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
)

// Tile is a vertical and a horizontal value.
type Tile = param.Tile

// Window is how a convolution or a pooling moves over its input.
type Window = param.Window

// parameters is the integer arithmetic of layers whose operands are quantised.
func parameters(of func(n *ir.Node) (*op.MACParams, string)) *kernel.Fact[*op.MACParams] {
	return kernel.NewFact(func(n *kernel.Node) (*op.MACParams, string) {
		if !known(n.Node) {
			return nil, kernel.Unread
		}
		return of(n.Node)
	})
}

// The arithmetic of convolutions and of products on int8 and on int16.
var (
	MACParams   = parameters(op.MAC8Params)
	MAC16Params = parameters(op.MAC16Params)
)

// Layer is a product with constant weights: for every output channel a row of
// int8, in an order that a kernel reads them in, and its bias.
type Layer struct {
	Rows   [][]int8
	Bias   []int32 // nil: none
	Params *op.MACParams
}

// LayerOf has the weights w, cut into channels rows.
func LayerOf(n *kernel.Node, w *tensor.Dense, channels int, p *op.MACParams) Layer {
	l := Layer{Params: p, Rows: make([][]int8, channels), Bias: kernel.Bias(n.Node, channels)}
	v := tensor.As[int8](w)
	for c := range l.Rows {
		l.Rows[c] = v[c*len(v)/channels : (c+1)*len(v)/channels]
	}
	return l
}

// Channel is the bias, the multiplier and the shift of channel c.
func (l *Layer) Channel(c int) (bias, mult, shift int32) {
	if len(l.Bias) > 0 {
		bias = l.Bias[c]
	}
	if len(l.Params.Mult) == 1 {
		c = 0
	}
	return bias, l.Params.Mult[c], l.Params.Shift[c]
}

// Pick are n channels of the layer, step apart; behind the last one the first ones follow again.
func (l *Layer) Pick(first, step, n int) Layer {
	x := Layer{Params: l.Params}
	p := *l.Params
	if len(p.Mult) > 1 {
		p.Mult, p.Shift = nil, nil
		x.Params = &p
	}
	for c := first; len(x.Rows) < n; c = (c + step) % len(l.Rows) {
		x.Rows = append(x.Rows, l.Rows[c])
		if len(l.Bias) > 0 {
			x.Bias = append(x.Bias, l.Bias[c])
		}
		if len(l.Params.Mult) > 1 {
			p.Mult, p.Shift = append(p.Mult, l.Params.Mult[c]), append(p.Shift, l.Params.Shift[c])
		}
	}
	return x
}

// Convolution is an int8 convolution with constant weights, rows in the order
// [KH][KW][CI/groups].
type Convolution struct {
	G *op.ConvGeom
	Window
	Layer
}

// ConvOf and ConvOf16 are the convolution of a Conv node on int8, and on int16, if the sums of every channel stay in
// 32 bits. A Gemm or MatMul with symmetric weights is one, too: each row is an image, which is one window.
var (
	ConvOf   = convFact(MACParams, Products, false)
	ConvOf16 = convFact(MAC16Params, Products16, true)
)

func convFact(params *kernel.Fact[*op.MACParams], products *kernel.Fact[*Product],
	wide bool) *kernel.Fact[*Convolution] {
	return kernel.NewFact(func(n *kernel.Node) (c *Convolution, why string) {
		if n.Op == op.Gemm || n.Op == op.MatMul {
			c, why = productConv(n, products)
		} else {
			c, why = convolution(n, params)
		}
		if why == "" && wide {
			why = c.wide(n)
		}
		return c, why
	})
}

func convolution(n *kernel.Node, params *kernel.Fact[*op.MACParams]) (*Convolution, string) {
	p, why := params.Of(n)
	if why != "" || !KnownWeights(n.Node) {
		return nil, kernel.Unread
	}
	g, why := kernel.Conv.Of(n)
	if why != "" {
		return nil, why
	}
	weights := n.In[1].Const.Transpose(WeightPerm(len(g.In)))
	return &Convolution{g, param.ConvWindow(g), LayerOf(n, weights, g.COut, p)}, ""
}

func productConv(n *kernel.Node, products *kernel.Fact[*Product]) (*Convolution, string) {
	f, why := products.Of(n)
	switch {
	case why != "" || !KnownWeights(n.Node):
		return nil, kernel.Unread
	case !f.Params.Symmetric():
		return nil, fmt.Sprintf("the weights %s have zero point %d, want 0", n.In[1], -f.Params.FilterOff[0])
	}
	one := []int{1}
	g := &op.ConvGeom{N: f.Rows, CIn: f.Depth, COut: f.Cols, Group: 1, Windows: op.Windows{In: one, Out: one,
		Kernel: one, Strides: one, Dilations: one, PadBegin: []int{0}, PadEnd: []int{0}}}
	return &Convolution{g, param.Line(1), LayerOf(n, f.Weights(n), f.Cols, f.Params)}, ""
}

// Depth is the number of input channels that an output channel reads.
func (c *Convolution) Depth() int { return c.G.CIn / c.G.Group }

// Entire says that an image is one window, all of it: a row of inputs as a product has them.
func (c *Convolution) Entire() bool {
	one := Tile{H: 1, W: 1}
	return c.In == c.Kernel && c.Out == one && c.Dilation == one && !c.Padded() && c.G.Group == 1
}

// Dense is a depthwise convolution as one of a single group, with weights of zero between channels.
func (c *Convolution) Dense() *Convolution {
	g, d := *c.G, *c
	g.Group = 1
	d.G, d.Rows = &g, make([][]int8, len(c.Rows))
	for o, row := range c.Rows {
		d.Rows[o] = make([]int8, len(row)*g.CIn)
		for tap, w := range row {
			d.Rows[o][tap*g.CIn+o*g.CIn/g.COut] = w
		}
	}
	return &d
}

// WeightPerm turns convolution weights OI(H)W into O(H)WI.
func WeightPerm(spatial int) []int {
	p := []int{0}
	for d := range spatial {
		p = append(p, 2+d)
	}
	return append(p, 1)
}

// SpatialRule is the rule that a node has one or two spatial dimensions.
func SpatialRule[G any](of *kernel.Fact[G], sizes func(g G) []int) kernel.Rule {
	return cond.New("SPATIAL", "one or two spatial dimensions", func(n *kernel.Node) string {
		g, why := of.Of(n)
		if why != "" {
			return why
		}
		k := len(sizes(g))
		return cond.If(k > 2, "%d spatial dimensions, want 1 or 2", k)
	})
}

// ConvSpatialRule is SpatialRule for a convolution.
var ConvSpatialRule = SpatialRule(kernel.Conv, func(g *op.ConvGeom) []int { return g.In })

// ConvRules are the conditions on an int8 convolution, depthwise or not. Int4 weights
// are left to other kernels where packed says so.
func ConvRules(depthwise bool, packed Packed) kernel.Rules {
	return append(weightRules(packed), ConvSpatialRule, DepthwiseRule(depthwise))
}

// DepthwiseRule is the rule that a convolution is depthwise, or that it is not.
func DepthwiseRule(depthwise bool) kernel.Rule {
	code, want := "NOT-DEPTHWISE", "an ordinary or grouped"
	if depthwise {
		code, want = "DEPTHWISE", "a depthwise"
	}
	return kernel.Conv.Rule(code, want+" convolution", func(_ *kernel.Node, g *op.ConvGeom) string {
		return cond.If(op.IsDepthwise(g) != depthwise,
			"group %d of %d input and %d output channels: not %s convolution", g.Group, g.CIn, g.COut, want)
	})
}

// TransposedRules are the conditions on an int8 transposed convolution.
func TransposedRules(packed Packed) kernel.Rules {
	return append(weightRules(packed), ConvSpatialRule)
}

// Packed says on which cores int4 weights are left to kernels that read them two
// a byte; nil: on none.
type Packed func(c kernel.Core) bool

// Everywhere leaves int4 weights to other kernels.
func Everywhere(kernel.Core) bool { return true }

// int8Weights is the rule that the weights are constant bytes that a kernel
// takes; atRunTime says that they are none, as a format.
func int8Weights(atRunTime string, packed Packed) kernel.Rule {
	return cond.New("WEIGHTS", "weights are constant int8", func(n *kernel.Node) string {
		switch w, d := n.In[1], n.In[1].Type.DType; {
		case d == tensor.I4 && packed != nil && packed(n.Core):
			return fmt.Sprintf("the weights %s are int4, want a byte each", w)
		case w.Const == nil:
			return fmt.Sprintf(atRunTime, w)
		case d != tensor.I8 && d != tensor.I4 || w.Type.Quant == nil:
			return fmt.Sprintf("the weights %s are %s, want quantised int8", w, d)
		}
		b := n.Input(2)
		return cond.If(b != nil && b.Const == nil, "the bias %s is computed at run time, want a constant", b)
	})
}

// weightRules are those that convolutions of all kinds share.
func weightRules(packed Packed) kernel.Rules {
	return kernel.Rules{Int8(0), int8Weights("the weights %s are computed at run time, want a constant", packed),
		MACParams.Exists("FIXED-POINT", "scales have a fixed-point form, the bias counts their product"),
		cond.New("SYMMETRIC", "weights are symmetric: zero points 0", func(n *kernel.Node) string {
			if q := n.In[1].Type.Quant; q != nil {
				for c, z := range q.Zero {
					if z != 0 {
						return fmt.Sprintf("the weights %s have zero point %d in channel %d, want 0", n.In[1], z, c)
					}
				}
			}
			return ""
		}),
	}
}

// PoolRules are the conditions on an int8 pooling.
func PoolRules() kernel.Rules { return PoolRulesOf(Int8(0)) }

// PoolRulesOf are the conditions on a pooling of data that a rule is about.
func PoolRulesOf(data kernel.Rule) kernel.Rules {
	return kernel.Rules{
		data,
		cond.New("POOL-QUANTISATION", "one quantisation, padding that does not count", func(n *kernel.Node) string {
			if n.In[0].Type.Quant == nil || n.Out[0].Type.Quant == nil {
				return kernel.Unread
			}
			_, _, why := op.PoolQuantClamp(n.Node)
			return why
		}), SpatialRule(kernel.Pool, func(g *op.PoolGeom) []int { return g.In }),
		kernel.Pool.Rule("POOL-FORM", "no dilation, no indices", func(n *kernel.Node, g *op.PoolGeom) string {
			switch {
			case len(n.Out) > 1:
				return "the indices of the maxima are wanted"
			case param.Spatial(g.Dilations, 1) != Tile{H: 1, W: 1}:
				return fmt.Sprintf("dilations are %v, want 1", g.Dilations)
			}
			return ""
		}),
	}
}

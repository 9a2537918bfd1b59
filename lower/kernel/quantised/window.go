package quantised

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// Tile is a vertical and a horizontal value.
type Tile struct{ H, W int }

// Spatial gives a list for one or two spatial dimensions as height and width,
// v for a height that is not there.
func Spatial(s []int, v int) Tile {
	if len(s) == 1 {
		return Tile{v, s[0]}
	}
	return Tile{s[0], s[1]}
}

// Window is how a convolution or a pooling moves over its input.
type Window struct {
	In, Out, Kernel, Stride, Pad, Dilation Tile
}

// ConvWindow is the window of a convolution in one or two dimensions.
func ConvWindow(g *op.ConvGeom) Window {
	return Window{In: Spatial(g.In, 1), Out: Spatial(g.Out, 1), Kernel: Spatial(g.Kernel, 1), Stride: Spatial(g.Strides, 1),
		Pad: Spatial(g.PadBegin, 0), Dilation: Spatial(g.Dilations, 1)}
}

// PoolWindow is the window of a pooling in one or two dimensions.
func PoolWindow(g *op.PoolGeom) Window {
	return Window{In: Spatial(g.In, 1), Out: Spatial(g.Out, 1), Kernel: Spatial(g.Kernel, 1), Stride: Spatial(g.Strides, 1),
		Pad: Spatial(g.PadBegin, 0), Dilation: Spatial(g.Dilations, 1)}
}

// Span is the extent of a window in the input.
func (w *Window) Span() Tile {
	return Tile{H: (w.Kernel.H-1)*w.Dilation.H + 1, W: (w.Kernel.W-1)*w.Dilation.W + 1}
}

// Padded: some window reaches beyond the input.
func (w *Window) Padded() bool {
	s := w.Span()
	return w.Pad.H > 0 || w.Pad.W > 0 || (w.Out.H-1)*w.Stride.H+s.H > w.In.H || (w.Out.W-1)*w.Stride.W+s.W > w.In.W
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
func SpatialRule(code string, sizes func(n *ir.Node) ([]int, error)) kernel.Rule {
	return kernel.Rule{Code: code, Doc: "one or two spatial dimensions", Check: func(n *ir.Node, _ *kernel.Options) string {
		s, err := sizes(n)
		if err != nil {
			return err.Error()
		}
		if len(s) > 2 {
			return fmt.Sprintf("%d spatial dimensions, want 1 or 2", len(s))
		}
		return ""
	}}
}

// ConvSizes are the spatial sizes of a convolution's input.
func ConvSizes(n *ir.Node) ([]int, error) {
	g, err := op.ConvGeometry(n)
	if err != nil {
		return nil, err
	}
	return g.In, nil
}

// ConvRules are the conditions on an int8 convolution, depthwise or not, under
// codes that begin with code. Int4 weights a byte each are taken where packed
// says so.
func ConvRules(code string, depthwise bool, packed Packed) []kernel.Rule {
	want := "an ordinary or grouped"
	if depthwise {
		want = "a depthwise"
	}
	return append(weightRules(code, packed), SpatialRule(code+"-05", ConvSizes),
		kernel.Rule{Code: code + "-06", Doc: want + " convolution", Check: func(n *ir.Node, _ *kernel.Options) string {
			g, err := op.ConvGeometry(n)
			if err == nil && op.IsDepthwise(g) != depthwise {
				return fmt.Sprintf("group %d of %d input and %d output channels: not %s convolution", g.Group, g.CIn, g.COut, want)
			}
			return ""
		}})
}

// TransposedRules are the conditions on an int8 transposed convolution.
func TransposedRules(code string, packed Packed) []kernel.Rule {
	return append(weightRules(code, packed), SpatialRule(code+"-05", ConvSizes))
}

// Packed says on which cores int4 weights are left to kernels that read them two
// a byte; nil: on none.
type Packed func(c kernel.Core) bool

// Everywhere and ExceptHelium leave int4 weights to other kernels. (Int4
// depthwise filters are a byte each with Helium anyway.)
func Everywhere(kernel.Core) bool     { return true }
func ExceptHelium(c kernel.Core) bool { return !c.MVE }

// int8Weights is the rule that the weights are constant bytes that a kernel
// takes; atRunTime says that they are none, as a format.
func int8Weights(code, atRunTime string, packed Packed) kernel.Rule {
	return kernel.Rule{Code: code, Doc: "weights are constant int8", Check: func(n *ir.Node, o *kernel.Options) string {
		switch w, d := n.In[1], n.In[1].Type.DType; {
		case d == tensor.I4 && packed != nil && packed(o.Core):
			return fmt.Sprintf("the weights %s are int4, want a byte each", w)
		case w.Const == nil:
			return fmt.Sprintf(atRunTime, w)
		case d != tensor.I8 && d != tensor.I4 || w.Type.Quant == nil:
			return fmt.Sprintf("the weights %s are %s, want quantised int8", w, d)
		}
		return ""
	}}
}

// weightRules are those that convolutions of all kinds share.
func weightRules(code string, packed Packed) []kernel.Rule {
	weights := int8Weights(code+"-02", "the weights %s are computed at run time, want a constant", packed)
	constant := weights.Check
	weights.Check = func(n *ir.Node, o *kernel.Options) string {
		why := constant(n, o)
		if b := n.Input(2); why == "" && b != nil && b.Const == nil {
			why = fmt.Sprintf("the bias %s is computed at run time, want a constant", b)
		}
		return why
	}
	return []kernel.Rule{
		Int8(code+"-01", 0),
		weights,
		Agrees(code+"-03", "scales have a fixed-point form, the bias counts their product", func(n *ir.Node, _ *kernel.Options) string {
			_, why := op.ConvQuantParams(n)
			return why
		}),
		{Code: code + "-04", Doc: "weights are symmetric: zero points 0", Check: func(n *ir.Node, _ *kernel.Options) string {
			if q := n.In[1].Type.Quant; q != nil {
				for c, z := range q.Zero {
					if z != 0 {
						return fmt.Sprintf("the weights %s have zero point %d in channel %d, want 0", n.In[1], z, c)
					}
				}
			}
			return ""
		}},
	}
}

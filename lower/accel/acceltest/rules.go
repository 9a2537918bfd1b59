// SPDX-License-Identifier: Apache-2.0

package acceltest

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel"
)

// opRule is the code for operators that the CRU does not have.
const opRule = "CRU-OP"

var rules = []accel.Rule[Limits]{
	{Code: opRule, Doc: "the operator is Conv or Relu", Check: func(n *ir.Node, _ *Limits) []string {
		if n.Op == op.Conv || n.Op == op.Relu {
			return nil
		}
		return say("Unsupported operator %s, want Conv or Relu", n.Op.Name)
	}},
	{Code: "CRU-FLOAT", Doc: "activations are quantised", Check: activations(func(t ir.Type) string {
		if t.Quant == nil {
			return t.DType.ONNXName() + " and was not quantised, want int8"
		}
		return ""
	})},
	{Code: "CRU-TYPE", Doc: "activations are int8 with one scale", Check: activations(func(t ir.Type) string {
		switch {
		case t.Quant == nil: // CRU-FLOAT
		case t.DType != tensor.I8:
			return "quantised " + t.DType.ONNXName() + ", want int8"
		case t.Quant.PerAxis():
			return fmt.Sprintf("quantised along dimension %d, want one scale", t.Quant.Axis)
		}
		return ""
	})},
	{Code: "CRU-CONV-WEIGHTS", Ops: convs, Doc: "weights and bias of Conv are constants, weights int8 with zero " +
		"points 0",
		Check: convWeights},
	{Code: "CRU-CONV-SCALES", Ops: convs, Doc: "the scale of the products has a fixed-point form",
		Check: func(n *ir.Node, _ *Limits) []string {
			if n.In[0].Type.Quant == nil || n.Out[0].Type.Quant == nil {
				return nil // CRU-FLOAT
			}
			_, why := op.MAC8Params(n)
			return when(why != "", "Not an integer operator: %s", why)
		}},
	{Code: "CRU-CONV-RANK", Ops: convs, Doc: "Conv in two dimensions, of a batch of 1",
		Check: geometry(func(g *op.ConvGeom, _ *Limits) []string {
			return when(len(g.In) != 2 || g.N != 1,
				"Convolution of a batch of %d in %d dimensions, want a batch of 1 in 2", g.N, len(g.In))
		})},
	{Code: "CRU-CONV-FORM", Ops: convs, Doc: "Conv of one group without dilation",
		Check: geometry(func(g *op.ConvGeom, _ *Limits) []string {
			var out []string
			if g.Group != 1 {
				out = say("%d groups, want 1", g.Group)
			}
			if slices.Max(g.Dilations) > 1 {
				out = append(out, fmt.Sprintf("Dilations are %v, want 1", g.Dilations))
			}
			return out
		})},
	{Code: "CRU-CONV-KERNEL", Ops: convs, Doc: "kernel sides are at most the board's kernel",
		Check: geometry(func(g *op.ConvGeom, l *Limits) []string {
			return when(slices.Max(g.Kernel) > l.Kernel,
				"Kernel is %v, want at most %d in each dimension", g.Kernel, l.Kernel)
		})},
	{Code: "CRU-CONV-CHANNELS", Ops: convs, Doc: "Conv has at most the board's channels",
		Check: geometry(func(g *op.ConvGeom, l *Limits) []string {
			return when(max(g.CIn, g.COut) > l.Channels,
				"%d input and %d output channels, want at most %d", g.CIn, g.COut, l.Channels)
		})},
}

var convs = []*ir.OpDef{op.Conv}

func say(format string, args ...any) []string { return []string{fmt.Sprintf(format, args...)} }

func when(cond bool, format string, args ...any) []string {
	if !cond {
		return nil
	}
	return say(format, args...)
}

// activations makes a rule of a check of the types of input 0 and the outputs.
func activations(check func(t ir.Type) string) func(n *ir.Node, _ *Limits) []string {
	return func(n *ir.Node, _ *Limits) []string {
		var out []string
		for _, v := range append(n.In[:min(len(n.In), 1):1], n.Out...) {
			if v == nil {
				continue
			}
			if s := check(v.Type); s != "" {
				out = append(out, v.Name+" is "+s)
			}
		}
		return out
	}
}

func geometry(check func(g *op.ConvGeom, l *Limits) []string) func(n *ir.Node, l *Limits) []string {
	return func(n *ir.Node, l *Limits) []string {
		g, err := op.ConvGeometry(n)
		if err != nil {
			return say("%v", err)
		}
		return check(g, l)
	}
}

func convWeights(n *ir.Node, _ *Limits) []string {
	var out []string
	for i, v := range n.In[1:] {
		if v != nil && v.Const == nil {
			out = append(out, fmt.Sprintf("Input %d (%s) is computed at run time, want a constant", i+1, v.Name))
		}
	}
	if t := n.In[1].Type; t.Quant != nil && t.DType != tensor.I8 {
		out = append(out, fmt.Sprintf("Weights %s are %s, want int8", n.In[1].Name, t.DType.ONNXName()))
	}
	if q := n.In[1].Type.Quant; q != nil && slices.ContainsFunc(q.Zero, func(z int32) bool { return z != 0 }) {
		out = append(out, fmt.Sprintf("Weights %s have zero points, want 0", n.In[1].Name))
	}
	return out
}

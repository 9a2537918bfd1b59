// SPDX-License-Identifier: Apache-2.0

// Package state is recurrent state: outputs that a run hands to the next one as
// inputs. It finds them in a model, gives both ends one type, and runs graphs
// step by step.
package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// Binding names recurrent state: the output that a run hands to the next one as
// an input.
type Binding struct {
	Out, In string
	Init    *tensor.Dense // what In holds before the first run; nil: zero
}

// Indices are the places of state among the outputs and inputs of g.
func Indices(g *ir.Graph, bindings []Binding) ([]quant.StateBinding, error) {
	var out []quant.StateBinding
	for _, t := range bindings {
		k := quant.StateBinding{Out: slices.Index(g.OutNames, t.Out), In: slices.Index(ir.Names(g.In), t.In)}
		if k.Out < 0 || k.In < 0 {
			return nil, bug.Errorf("state %s=%s is not in the graph", t.Out, t.In)
		}
		out = append(out, k)
	}
	return out, nil
}

// Find reads OUT=IN; names may hold equals signs themselves.
func Find(g *ir.Graph, s string) (Binding, error) {
	for i := range s {
		if s[i] != '=' {
			continue
		}
		o := slices.Index(g.OutNames, s[:i])
		k := slices.IndexFunc(g.In, func(v *ir.Value) bool { return v.Name == s[i+1:] })
		if o < 0 || k < 0 {
			continue
		}
		if a, b := g.Out[o].Type, g.In[k].Type; a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) {
			return Binding{}, fmt.Errorf("output %s is %s%v, input %s is %s%v; want one type and shape",
				s[:i], a.DType, a.Shape, s[i+1:], b.DType, b.Shape)
		}
		return Binding{Out: s[:i], In: s[i+1:]}, nil
	}
	out, in, _ := strings.Cut(s, "=")
	near := ""
	if !slices.Contains(g.OutNames, out) {
		near = text.Meant(out, g.OutNames)
	} else if in != "" {
		near = text.Meant(in, ir.Names(g.In))
	}
	return Binding{}, fmt.Errorf("want OUTPUT=INPUT%s; outputs: %s; inputs: %s", near,
		strings.Join(g.OutNames, ", "), strings.Join(ir.Names(g.In), ", "))
}

// ByName pairs outputs with inputs of the same type by the names that
// exporters give recurrent state.
func ByName(g *ir.Graph) []Binding {
	var out []Binding
	for _, v := range g.In {
		x := v.Name
		names := []string{x + "N", x + "n", x + "_n", x + "_out", x + "_next", x + "_new", "new_" + x, "next_" + x,
			x + "_o"}
		for _, cut := range [][2]string{{"_in", "_out"}, {"_i", "_o"}, {"_prev", ""}, {"_prev", "_next"}, {"_0", "_n"},
			{"0", "n"}, {"0", "N"}} {
			if s, ok := strings.CutSuffix(x, cut[0]); ok {
				names = append(names, s+cut[1])
			}
		}
		for _, cut := range [][2]string{{"past_", "present_"}, {"past.", "present."}, {"past_key_values.", "present."},
			{"prev_", ""}, {"in_", "out_"}, {"input_", "output_"}} {
			if s, ok := strings.CutPrefix(x, cut[0]); ok {
				names = append(names, cut[1]+s)
			}
		}
		for i, n := range g.OutNames {
			t := g.Out[i].Type
			if slices.Contains(names, n) && t.DType == v.Type.DType && slices.Equal(t.Shape, v.Type.Shape) {
				out = append(out, Binding{Out: n, In: x})
				break
			}
		}
	}
	return out
}

// Requantize gives the outputs that are state the types of their inputs:
// the quantisation of either may come from the model.
func Requantize(g *ir.Graph, bindings []Binding) (err error) {
	defer fail.Catch(&err)
	for i, t := range fail.Must(Indices(g, bindings)) {
		v, want := g.Out[t.Out], g.In[t.In].Type
		have := v.Type
		switch {
		case have.DType == want.DType && have.Quant.Equal(want.Quant):
			continue
		case have.Quantised() && want.Quantised():
			v = g.Insert(nil, nil, op.Requantize, v.Name+".state", nil, v)
			v.Type = have.WithQuant(want.DType, want.Quant)
		case want.Quantised() && have.DType.IsFloat():
			v = quant.Linear(g, nil, op.QuantizeLinear, v, want)
			v.Type = have.WithQuant(want.DType, want.Quant)
		case have.Quantised() && want.DType.IsFloat():
			v = quant.Linear(g, nil, op.DequantizeLinear, v, have)
		default:
			return &ir.Diag{Code: "state-type", Node: "output " + bindings[i].Out,
				Msg: fmt.Sprintf("is %s, the input %s that it is handed on to is %s; want one type", have,
					bindings[i].In, want)}
		}
		g.SetOutput(t.Out, v)
	}
	return nil
}

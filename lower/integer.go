// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/fidelity"
	"github.com/nncc/nncc/lower/legal4d"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
)

func (s *State) quantOptions() (q quant.Options) {
	q = s.facts.Quant
	q.StateBindings = fail.Must(state.Indices(s.Graph, s.StateBindings))
	return q
}

func (s *State) scaleInputs() {
	q := s.quantOptions()
	if s.reconstruction != nil {
		q.Follows = func(output, axis int) bool {
			return legal4d.Follows(s.reconstruction, s.Graph.OutNames[output], axis)
		}
	}
	fail.Check(quant.ScaleBorders(s.Graph, q))
}

func (s *State) quantize() {
	q := s.quantOptions()
	if s.finer != nil {
		q = s.finer.options(q)
	}
	s.Graph, s.Calibration = fail.Must2(quant.Calibrate(s.Graph, q))
	if s.Calibration.Nothing() && s.finer == nil {
		s.Calibration = nil
	} else {
		s.Diags.Add(s.Calibration.Diagnostics()...)
	}
	if s.finer != nil {
		fail.Check(q.Finish(s.Graph))
		s.finer.names(s.Graph)
	}
	fidelity.Mark(s.Graph)
}

// integer takes a graph with QuantizeLinear and DequantizeLinear nodes to
// arithmetic on integers.
func (s *State) integer() {
	s.QDQ = s.Graph.Clone()
	if !s.facts.Quantised {
		s.Model = s.QDQ
	}
	opt := quant.IntegerOptions{FloatIO: s.facts.FloatIO, State: fail.Must(state.Indices(s.Graph, s.StateBindings))}
	fail.Check(quant.Integer(s.Graph, opt))
	if opt.FloatIO && !s.facts.OwnIO {
		fail.Check(quant.FloatBorders(opt, s.Graph, s.Model))
	}
	s.Precision, _ = precisionOf(s.Graph)
	s.warnOfFloatNodes()
}

// dequantize takes a quantised model to real numbers, for --precision float32.
func (s *State) dequantize() {
	fail.Check(quant.MovesOnReals(s.Graph))
	fail.Check(quant.FoldConstants(s.Graph, true))
}

// warnOfFloatNodes warns of what an integer program computes in float for want of an integer form, and notes what
// stays float behind a spectrum by design.
func (s *State) warnOfFloatNodes() {
	var names, front []string
	spectral := map[*ir.Value]bool{} // float values computed of a spectrum
	for _, n := range s.Graph.Nodes {
		if len(n.Out) == 0 || !n.Out[0].Type.DType.IsFloat() || n.Op == op.DequantizeLinear {
			continue
		}
		behind := slices.ContainsFunc(n.In, func(v *ir.Value) bool { return spectral[v] })
		spectral[n.Out[0]] = n.Op.Spectral || behind && !n.Op.Compresses
		switch name := n.String(); {
		case !computesInFloat(n):
		case behind:
			front = append(front, name)
		default:
			if why := s.whyFloat(n); why != "" {
				name += ": " + why
			}
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		s.warn("float-node", "", "%d nodes are computed in float%s", len(names), s.whyNodes(names))
	}
	if len(front) > 0 {
		s.Diags.Add(diag.Notef("float-front-end", "", "what follows the spectrum is computed in float, up to what "+
			"compresses its range: %s", firstOf(front, 4)))
	}
}

// whyNodes says what keeps nodes in float, these for want of an integer form.
func (s *State) whyNodes(names []string) string {
	if s.facts.Quantised && quant.WeightsOnly(s.QDQ) {
		return ": only weights are quantised (want --calib or --precision int8)"
	}
	return ", without an integer form: " + firstOf(names, 20)
}

// whyFloat says what around a node keeps it in float: in a model with a quantisation of its own, as that stood in
// front of the stage.
func (s *State) whyFloat(n *ir.Node) string {
	if s.QDQ == nil {
		return quant.WhyRecurrentInFloat(n)
	}
	for _, m := range s.QDQ.Nodes {
		switch {
		case m.Name != n.Name || m.Op != n.Op:
		case s.facts.Quantised:
			return quant.WhyFloat(s.QDQ, m)
		default:
			return cmp.Or(quant.WhyRecurrentInFloat(n), quant.WhyCurve(m))
		}
	}
	return quant.WhyRecurrentInFloat(n)
}

// computesInFloat: the node neither moves data nor works on integers or in the accelerator's own format.
func computesInFloat(n *ir.Node) bool {
	return n.Op.Quant != ir.QMove && !n.Quantised() && n.Out[0].Type.DType != tensor.BF16 &&
		(n.In[0] == nil || n.In[0].Type.DType != tensor.BF16)
}

// firstOf is up to most of some names, and how many more there are.
func firstOf(names []string, most int) string {
	if n := len(names) - most; n > 0 {
		names = append(names[:most:most], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, "; ")
}

// warn adds a warning about a node, or about several ("").
func (s *State) warn(code, node, format string, args ...any) {
	s.Diags.Add(diag.Warnf(code, node, format, args...))
}

// floatFallback takes quantised nodes that no kernel computes on integers back
// to float, when a kernel does them there. Otherwise they stay, and the reasons
// against the integer form are reported.
func (s *State) floatFallback() {
	for _, n := range append([]*ir.Node(nil), s.Graph.Nodes...) {
		if len(n.Body) > 0 || !n.Quantised() || n.Op.Quant == ir.QNone || s.hasKernel(n) || !s.hasFloatKernel(n) {
			continue
		}
		name := n.String()
		m := fail.Must(quant.ToFloat(s.Graph, n))
		s.floated(n, m)
		s.inFloat(s.facts.Accel, n, m)
		s.warn("float-node", name, "%s has no integer kernel: it is computed in float between DequantizeLinear and "+
			"QuantizeLinear", name)
	}
}

func (s *State) hasKernel(n *ir.Node) bool {
	_, err := s.table.Match(n, &s.facts.Target)
	return err == nil
}

// hasFloatKernel tries the float form of a node in a graph of its own.
func (s *State) hasFloatKernel(n *ir.Node) bool {
	alone, _, err := ir.Outline(s.Graph, []*ir.Node{n}, op.Segment, n.Name, nil)
	if err != nil {
		return false
	}
	body := alone.Body[0]
	m, err := quant.ToFloat(body, body.Nodes[0])
	return err == nil && s.hasKernel(m)
}

// FloatInputs says why inputs of a quantised model, given as imported, stay float: what
// reads them is no QuantizeLinear.
func (r *Result) FloatInputs(model *ir.Graph) diag.List {
	if r.Precision == "float32" || !Quantised(model) {
		return nil
	}
	var out diag.List
	for _, v := range r.Graph.In {
		if !v.Type.DType.IsFloat() {
			continue
		}
		for _, x := range model.In {
			if n := firstReader(x); x.Name == v.Name && n != nil {
				d := diag.Notef("float-input", v.Name,
					"input %s stays float: %s reads it before it is quantised, or it is quantised in several ways",
					v.Name, n)
				out = append(out, d)
			}
		}
	}
	return out.From("interface")
}

// firstReader is the first node behind an input that does not only move its
// values; a QuantizeLinear where there is no other.
func firstReader(v *ir.Value) *ir.Node {
	var last *ir.Node
	for _, u := range v.Uses() {
		n := u.Node
		if n.Op.Quant == ir.QMove && len(n.Out) == 1 {
			n = firstReader(n.Out[0])
		}
		if n != nil && n.Op != op.QuantizeLinear {
			return n
		}
		last = cmp.Or(n, last)
	}
	return last
}

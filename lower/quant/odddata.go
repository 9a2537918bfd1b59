// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/tensor"
)

// oddData says what is odd about calibration data: figures of it would mislead.
// outs are the outputs of the float model on some samples. empty: the data say
// nothing about accuracy.
func (o *Options) oddData(g *ir.Graph, outs [][]*tensor.Dense) (w diag.List, empty bool) {
	if o.Source == SyntheticSource {
		return nil, false
	}
	warn := func(format string, args ...any) {
		w.Add(diag.Warnf("calibration", "", "calibration data: "+format, args...))
	}
	n := len(o.Samples)
	if n < fewSamples {
		warn("%d sample%s: ranges and accuracy of other inputs are uncertain; give at least %d, better 100", n,
			plural(n), fewSamples)
	}
	same := n > 1
	for i, v := range g.In {
		if !v.Type.DType.IsFloat() {
			for k := 1; k < n && same; k++ {
				same = tensor.Equal(o.Samples[k][i], o.Samples[0][i])
			}
			continue
		}
		constant, varies := true, false
		first := o.Samples[0][i]
		for k := range n {
			d := o.Samples[k][i]
			varies = varies || !tensor.Equal(d, first)
			for e := 0; e < d.Len() && constant; e++ {
				constant = d.Float(e) == first.Float(0)
			}
		}
		same = same && !varies
		if constant && v.Type.Elems()*n > 1 {
			warn("input %s is %g everywhere, in every sample: nothing is known about its range", v.Name, first.Float(0))
			empty = empty || len(g.In) == 1
		}
	}
	if same {
		warn("all %d samples are equal", n)
	}
	if same || len(outs) < 2 {
		return w, empty || same
	}
	for k := range g.Out {
		if g.Out[k].Def == nil || !g.Out[k].Type.DType.IsFloat() || g.Out[k].Type.Elems() == 0 {
			continue
		}
		list := make([]*tensor.Dense, len(outs))
		for i, x := range outs {
			list[i] = x[k]
		}
		if allSame(list) {
			empty = true
			warn("output %s of the float model is the same for all samples: are they scaled and normalised as in "+
				"training (0 to 1, or 0 to 255)?", g.OutNames[k])
		}
	}
	return w, empty
}

// sameness is by which part of the largest number others may differ and be the same.
const sameness = 1e-6

// allSame reports numbers that differ from the first tensor's by a millionth of the largest at most.
func allSame(list []*tensor.Dense) bool {
	var away, size float64
	for _, d := range list {
		for e := range d.Len() {
			x := d.Float(e)
			by := x - list[0].Float(e)
			away, size = max(away, by, -by), max(size, x, -x)
		}
	}
	return away <= sameness*size
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

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
	same, empty := o.oddInputs(g, warn)
	if same {
		warn("all %d samples are equal", n)
	}
	if same || len(outs) < 2 {
		return w, empty || same
	}
	for k, v := range g.Out {
		if v.Def != nil && v.Type.DType.IsFloat() && v.Type.Elems() > 0 && allSame(outs, k) {
			empty = true
			warn("output %s of the float model is the same for all samples: are they scaled and normalised as in "+
				"training (0 to 1, or 0 to 255)?", g.OutNames[k])
		}
	}
	return w, empty
}

// oddInputs warns of inputs that are one number everywhere; same: all samples are equal, empty:
// there is nothing in them.
func (o *Options) oddInputs(g *ir.Graph, warn func(format string, args ...any)) (same, empty bool) {
	n := len(o.Samples)
	same = n > 1
	for i, v := range g.In {
		constant, varies := v.Type.DType.IsFloat(), false
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
	return same, empty
}

// sameness is by which part of the largest number others may differ and be the same.
const sameness = 1e-6

// allSame reports numbers of output k that differ from the first sample's by a millionth of the largest at most.
func allSame(outs [][]*tensor.Dense, k int) bool {
	var away, size float64
	for _, out := range outs {
		for e := range out[k].Len() {
			x := out[k].Float(e)
			by := x - outs[0][k].Float(e)
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

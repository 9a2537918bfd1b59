// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// SyntheticSource is the report's source of samples that nobody gave.
const SyntheticSource = "synthetic"

// Calibrated reports samples of real data.
func (o *Options) Calibrated() bool { return len(o.Samples) > 0 && o.Source != SyntheticSource }

// checkSamples compares samples with the graph's inputs.
func checkSamples(in []*ir.Value, samples []Sample) {
	wrong := func(is bool, where, format string, args ...any) {
		if is {
			fail.Check(&ir.Diag{Code: "calibration-data", Node: where, Msg: fmt.Sprintf(format, args...)})
		}
	}
	wrong(len(samples) == 0, "calibration", "there are no samples")
	for k, s := range samples {
		name := fmt.Sprintf("calibration sample %d", k)
		wrong(len(s) != len(in), name, "has %d tensors, the graph %d inputs", len(s), len(in))
		for i, d := range s {
			t := in[i].Type
			wrong(d.DType != t.DType || !slices.Equal(d.Shape, t.Shape), name, "input %s is %s, want %s%v",
				in[i].Name, d, t.DType, t.Shape)
		}
	}
}

// SyntheticSamples are n seeded samples: the first half roughly normal
// with standard deviation 0.5, the second in [0, 1) as images often are. Integer inputs are
// zeros and ones, which are valid indices, but those of 8 and 16 bits, often pixels
// and sounds, all that their type holds in the first half; bools, often masks, are
// random in the first half and true in the second.
func SyntheticSamples(in []*ir.Value, n int, seed uint64) []Sample {
	out := make([]Sample, n)
	for k := range out {
		for i, v := range in {
			s := seed + uint64(k*len(in)+i)*7919 + 1
			d, r := ir.Rand(s, v.Type.DType, v.Type.Shape), rand.New(rand.NewPCG(s, 0))
			for e, m := 0, d.Len(); e < m; e++ {
				switch {
				case v.Type.DType.IsFloat() && k >= (n+1)/2:
					f := d.Float(e) // a normal number to a uniform one
					d.SetFloat(e, 0.5*(1+math.Erf(f/math.Sqrt2)))
				case v.Type.DType.IsInt() && (k >= (n+1)/2 || v.Type.DType.Bits() > 16):
					d.SetInt(e, d.Int(e)&1)
				case v.Type.DType.IsInt():
					lo, hi := v.Type.DType.IntRange()
					d.SetInt(e, lo+int64(r.Uint64N(uint64(hi-lo+1))))
				case k >= (n+1)/2: // bool
					d.SetInt(e, 1)
				}
			}
			out[k] = append(out[k], d)
		}
	}
	return out
}

// SamplesOf reads all samples of a set.
func SamplesOf(s *data.Set) ([]Sample, error) {
	all, err := s.All()
	return lists.Each(all, func(x []*tensor.Dense) Sample { return x }), err
}

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

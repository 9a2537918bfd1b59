package driver

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
)

// Difference compares one output over the inputs tried.
type Difference struct {
	Output string  `json:"output"`
	Min    float64 `json:"min"` // of rewritten minus original
	Max    float64 `json:"max"`
	MaxAbs float64 `json:"max_abs"`
	// Relative is the largest magnitude of the difference over that of the output.
	Relative float64 `json:"relative"`
	// Equal: all elements have the same bits, up to the sign of zeros.
	Equal bool `json:"equal"`
}

func (d Difference) String() string {
	if d.Equal {
		return fmt.Sprintf("output %s: equal to the original", d.Output)
	}
	return fmt.Sprintf("output %s: difference to the original min %.3g, max %.3g, max |diff| %.3g, %.2g of the "+
		"largest value", d.Output, d.Min, d.Max, d.MaxAbs, d.Relative)
}

const (
	// triedInputs is how many seeded inputs two models are compared on, behind
	// those given.
	triedInputs = 3
	// maxRelative is what sums taken in another order may differ by, of the
	// largest value of an output.
	maxRelative = 1e-5
)

// compare runs a model and its rewritten form on the --input given and on
// seeded ones. differs says which outputs are further apart than rounding
// explains, or apart at all where exact says that only data was moved.
func (c *Config) compare(a, b *ir.Graph, exact bool) (ds []Difference, differs, err error) {
	var cases [][]*tensor.Dense
	if len(c.Inputs) > 0 {
		in, err := readInputs(c.Inputs, inputNames(a.In), c.dataLimits())
		if err != nil {
			return nil, nil, err
		}
		if in, err = firmwareInputs(in, a.In); err != nil {
			return nil, nil, err
		}
		cases = append(cases, in)
	}
	for k := range triedInputs {
		r := rand.New(rand.NewPCG(uint64(k), 4))
		var in []*tensor.Dense
		for _, v := range a.In {
			in = append(in, seeded(r, v.Type))
		}
		cases = append(cases, in)
	}
	if _, err := interpret(a, cases[0]); err != nil {
		// Not every model takes seeded inputs: that is no fault of the rewrites.
		c.warn("compare", "not-compared", "", "the rewritten model was not compared with the original, which does "+
			"not run: %v", err)
		return nil, nil, nil
	}
	if ds, err = differences(a, b, cases); err != nil {
		return nil, nil, err
	}
	if lower.Quantised(a) {
		return ds, nil, nil // rounding upstream of a QuantizeLinear becomes a step: no bound holds
	}
	var bad []string
	for _, d := range ds {
		switch {
		case d.Equal:
		case exact:
			bad = append(bad, d.String()+"; only data was moved, so it must be equal")
		case !(d.Relative <= maxRelative):
			bad = append(bad, fmt.Sprintf("%s; at most %g is rounding", d, maxRelative))
		}
	}
	if len(bad) > 0 {
		differs = fmt.Errorf("the rewritten model differs: %s", strings.Join(bad, "\n"))
	}
	return ds, differs, nil
}

// differences runs two float graphs with the same inputs and outputs.
func differences(a, b *ir.Graph, cases [][]*tensor.Dense) ([]Difference, error) {
	out := make([]Difference, len(a.Out))
	top := make([]float64, len(a.Out))
	for i := range out {
		out[i] = Difference{Output: a.OutNames[i], Min: math.Inf(1), Max: math.Inf(-1), Equal: true}
	}
	for _, in := range cases {
		x, err := interpret(a, in)
		if err != nil {
			return nil, err
		}
		y, err := interpret(b, widened(in, b.In))
		if err != nil {
			return nil, err
		}
		for i := range x {
			d := &out[i]
			for e, n := 0, x[i].Len(); e < n; e++ {
				u, v := x[i].Float(e), y[i].Float(e)
				if u == v || u != u && v != v {
					d.Min, d.Max = min(d.Min, 0), max(d.Max, 0)
				} else {
					d.Min, d.Max, d.Equal = min(d.Min, v-u), max(d.Max, v-u), false
				}
				if !math.IsInf(u, 0) && u == u {
					top[i] = max(top[i], math.Abs(u))
				}
			}
		}
	}
	for i := range out {
		d := &out[i]
		if d.Min > d.Max { // no elements
			d.Min, d.Max = 0, 0
		}
		d.MaxAbs = max(-d.Min, d.Max)
		if !d.Equal {
			d.Relative = d.MaxAbs / max(top[i], math.SmallestNonzeroFloat32)
		}
		for _, f := range []*float64{&d.Min, &d.Max, &d.MaxAbs, &d.Relative} {
			if *f != *f || math.IsInf(*f, 0) { // JSON has no such numbers
				*f = math.Copysign(math.MaxFloat64, *f)
			}
		}
	}
	return out, nil
}

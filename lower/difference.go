// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
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

// RoundingOfSums is what sums taken in another order may differ by, of the
// largest value of an output.
const RoundingOfSums = 1e-5

// Differ says which outputs of a rewritten float model are further apart than
// rounding explains, or apart at all where exact says that only data was moved.
func Differ(ds []Difference, exact bool) error {
	var bad []string
	for _, d := range ds {
		switch {
		case d.Equal:
		case exact:
			bad = append(bad, d.String()+"; only data was moved, so it must be equal")
		case !(d.Relative <= RoundingOfSums):
			bad = append(bad, fmt.Sprintf("%s; at most %g is rounding", d, RoundingOfSums))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("the rewritten model differs: %s", strings.Join(bad, "\n"))
	}
	return nil
}

// Differences runs two float graphs with the same outputs on cases of inputs.
// Inputs of b that are wider than those of a get values in what is behind.
func Differences(a, b *ir.Graph, cases [][]*tensor.Dense) ([]Difference, error) {
	out := make([]Difference, len(a.Out))
	top := make([]float64, len(a.Out))
	for i := range out {
		out[i] = Difference{Output: a.OutNames[i], Min: math.Inf(1), Max: math.Inf(-1), Equal: true}
	}
	for _, in := range cases {
		x, err := interp.Run(a, in, nil)
		if err != nil {
			return nil, err
		}
		y, err := interp.Run(b, Widened(in, b.In), nil)
		if err != nil {
			return nil, err
		}
		for i := range x {
			top[i] = max(top[i], out[i].add(x[i], y[i]))
		}
	}
	for i := range out {
		out[i].finish(top[i])
	}
	return out, nil
}

// add compares y with x, and gives the largest magnitude in x.
func (d *Difference) add(x, y *tensor.Dense) float64 {
	top := 0.0
	for e, n := 0, x.Len(); e < n; e++ {
		u, v := x.Float(e), y.Float(e)
		if u == v || u != u && v != v {
			d.Min, d.Max = min(d.Min, 0), max(d.Max, 0)
		} else {
			d.Min, d.Max, d.Equal = min(d.Min, v-u), max(d.Max, v-u), false
		}
		if !math.IsInf(u, 0) && u == u {
			top = max(top, math.Abs(u))
		}
	}
	return top
}

// finish follows from the elements compared; top is their largest magnitude.
func (d *Difference) finish(top float64) {
	if d.Min > d.Max { // no elements
		d.Min, d.Max = 0, 0
	}
	d.MaxAbs = max(-d.Min, d.Max)
	if !d.Equal {
		d.Relative = d.MaxAbs / max(top, math.SmallestNonzeroFloat32)
	}
	for _, f := range []*float64{&d.Min, &d.Max, &d.MaxAbs, &d.Relative} {
		if *f != *f || math.IsInf(*f, 0) { // JSON has no such numbers
			*f = math.Copysign(math.MaxFloat64, *f)
		}
	}
}

// Widened are inputs of the model as the program takes them: where --pad-input
// added channels, these get values that would show if they mattered.
func Widened(in []*tensor.Dense, as []*ir.Value) []*tensor.Dense {
	out := slices.Clone(in)
	for i, d := range in {
		to := as[i].Type.Shape
		if slices.Equal(d.Shape, to) {
			continue
		}
		out[i] = framed(d, to, func(x *tensor.Dense, e int) {
			if d.DType.IsFloat() {
				x.SetFloat(e, float64(e%7)-3)
			} else {
				x.SetInt(e, int64(e*37%100))
			}
		})
	}
	return out
}

// framed are the elements of d that have a place in another shape of its rank; outside gives the others.
func framed(d *tensor.Dense, shape []int, outside func(x *tensor.Dense, e int)) *tensor.Dense {
	x := tensor.New(d.DType, shape)
	from, to := tensor.Strides(d.Shape), tensor.Strides(shape)
	for e := range x.Len() {
		at, inside := 0, true
		for k, n := range shape {
			c := e / to[k] % n
			inside = inside && c < d.Shape[k]
			at += c * from[k]
		}
		if inside {
			x.CopyElem(e, d, at)
		} else {
			outside(x, e)
		}
	}
	return x
}

// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"cmp"
	"math"
	"runtime"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/fidelity"
	"github.com/nncc/nncc/lower/quant"
)

// heldOut are samples that calibration does not see, with what the float model makes
// of them.
type heldOut struct {
	float   *ir.Graph
	samples []quant.Sample
	want    [][]*tensor.Dense
}

// leastHeld are the samples from which on every second one is held out: fewer are used
// for both.
const leastHeld = 8

// holdOut takes every second sample away from the calibration of s.
func holdOut(s *State) (*heldOut, error) {
	q := &s.facts.Quant
	h := &heldOut{float: s.Graph.Clone(), samples: q.Samples}
	if len(q.Samples) >= leastHeld {
		var fit []quant.Sample
		h.samples = nil
		for i, x := range q.Samples {
			if i%2 == 0 {
				fit = append(fit, x)
			} else {
				h.samples = append(h.samples, x)
			}
		}
		q.Samples = fit
	}
	h.want = make([][]*tensor.Dense, len(h.samples))
	return h, h.each(func(i int) (err error) {
		h.want[i], err = interp.Run(h.float, h.samples[i], nil)
		return err
	})
}

// each calls f for all samples, on all cores.
func (h *heldOut) each(f func(i int) error) error {
	return cmp.Or(quant.Parallel(runtime.GOMAXPROCS(0), len(h.samples), func(_, i int) error { return f(i) })...)
}

// worst is the ratio of the worst output of a graph in dB.
func (h *heldOut) worst(g *ir.Graph) (float64, error) {
	got := make([][]*tensor.Dense, len(h.samples))
	err := h.each(func(i int) error {
		in, err := Converted(h.samples[i], h.float.In, g.In)
		if err != nil {
			return err
		}
		out, err := interp.Run(g, in, nil)
		if err != nil {
			return err
		}
		got[i], err = Converted(out, g.Out, h.float.Out)
		return err
	})
	if err != nil {
		return 0, err
	}
	worst := math.Inf(1)
	for o := range h.float.Out {
		var r fidelity.Ratio
		for i := range got {
			r.Add(h.want[i][o], got[i][o])
		}
		if db, ok := r.DB(); ok {
			worst = min(worst, db)
		}
	}
	return worst, nil
}

// Converted are values of one graph in the types of another's.
func Converted(list []*tensor.Dense, from, to []*ir.Value) ([]*tensor.Dense, error) {
	out := make([]*tensor.Dense, len(list))
	var err error
	for i, d := range list {
		if t := to[i].Type; t.Quant != nil && d.DType.IsFloat() {
			out[i] = ir.QuantiseEven(d, t).Reshaped(t.Shape)
			continue
		}
		if out[i], err = fidelity.Real(d, from[i].Type, to[i].Type); err != nil {
			return nil, err
		}
	}
	return out, nil
}

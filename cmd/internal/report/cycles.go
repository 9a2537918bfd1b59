// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/nncc/nncc/boards/cycles"
	"github.com/nncc/nncc/ir/program"
)

// Estimate adds the cycles of the steps, of which the instructions were followed.
func (v *Verdict) Estimate(o *Subject, steps []cycles.Count) error {
	model, err := cycles.For(o.Board)
	if err != nil {
		return err
	}
	code, constants := o.Board.Memory.Wait("code"), o.constantsWait()
	v.CyclesBasis = "estimated from executed instructions. " + model.Source
	if code.States > 0 || constants.PerByteCycles() > 0 {
		v.CyclesBasis += " Memory: " + code.Source
	} else {
		v.CyclesBasis += " Memory without wait states."
	}
	v.CyclesError, v.CyclesErrorBasis = o.Board.CyclesError(), model.Basis
	for i := range min(len(steps), len(v.Layers)) {
		s := &steps[i]
		inPlace, exact := o.constantWaits(i)
		waits := round(exact)
		v.Layers[i].LayerCycles = &LayerCycles{Cycles: s.Cycles + waits, LoadedBytes: s.Loaded,
			StoredBytes: s.Stored, Classes: s.ByClass(), CodeWaits: s.Waits, ConstantWaits: waits}
		if o.Lowered.Program.HasCopies() {
			v.Layers[i].InPlaceWaits = round(inPlace)
		}
		v.Cycles += s.Cycles + waits
	}
	if hz := o.Board.ClockHz; hz > 0 {
		v.Milliseconds = float64(v.Cycles) / float64(hz) * 1e3
	}
	return nil
}

// Describe adds shapes and MACs of the layers.
func (v *Verdict) Describe(o *Subject, r *Report) {
	for i := range v.Layers {
		v.Layers[i].MACs = r.Layers[i].MACs
		if m := v.Layers[i].MACs; m > 0 {
			v.Layers[i].PerMAC = float64(v.Layers[i].Instructions) / float64(m)
		}
		v.Layers[i].WeightBytes = r.Layers[i].WeightBytes
		v.Layers[i].MovedBytes = MovedBytes(o.Lowered.Program, i)
	}
	v.Model = o.Name
}

// MovedBytes are the activations that a step reads and writes.
func MovedBytes(p *program.Program, i int) int {
	n := 0
	s := p.Steps[i]
	for _, x := range s.In {
		if x.Buffer >= 0 {
			n += p.Buffers[x.Buffer].Type.Bytes()
		}
	}
	for _, b := range s.Out {
		n += p.Buffers[b].Type.Bytes()
	}
	return n
}

// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/lower"
)

// Candidate is a kernel that accepts a layer, and what it is predicted to cost.
type Candidate struct {
	Kernel       string `json:"kernel"`
	Library      string `json:"library"`
	Instructions *int   `json:"predicted_instructions,omitempty"`
	// Cycles and FlashBytes are those of the same prediction; no cycles where the
	// core has no table of them.
	Cycles *int `json:"predicted_cycles,omitempty"`
	// CyclesError is how far they may be off, relative: the prediction, and the
	// board's table of cycles.
	CyclesError float64 `json:"cycles_error,omitempty"`
	FlashBytes  int     `json:"flash_bytes,omitempty"` // code that it calls and constants, as if nobody shared them
	// Error is how far predictions of this kind are off, relative.
	Error float64 `json:"error,omitempty"`
	// Unknown says why the kernel has no measured table: what is predicted, if anything, is
	// an estimate by others of the kind, by which nothing is decided.
	Unknown string `json:"unknown,omitempty"`
	Chosen  bool   `json:"chosen"`
}

// Optimize is what the choice of kernels is predicted to cost: what is
// measured stands in .layers[] and .code after verify.
type Optimize struct {
	Goal         string `json:"goal"` // --optimize
	Instructions int    `json:"predicted_instructions"`
	PricedLayers int    `json:"priced_layers"` // that have a prediction
	KernelBytes  int    `json:"kernel_code_bytes,omitempty"`
}

func newOptimize(o *Subject) Optimize {
	w := o.Lowered.Cost
	return Optimize{o.Optimize.String(), int(math.Round(w.Instructions)), w.Priced, w.CodeBytes}
}

func newCandidates(candidates []lower.Candidate) []Candidate {
	var out []Candidate
	for _, x := range candidates {
		r := Candidate{Kernel: x.Kernel, Library: x.Library, Error: x.Price.Error, Unknown: x.Price.Unknown,
			Chosen: x.Chosen, FlashBytes: x.Price.FlashBytes}
		if x.Price.Kernel != "" {
			r.Kernel = x.Price.Kernel
		}
		if x.Price.Known() || x.Price.Instructions > 0 {
			n := int(math.Round(x.Price.Instructions))
			r.Instructions = &n
		}
		if x.Price.Cycles > 0 {
			n := int(math.Round(x.Price.Cycles))
			r.Cycles, r.CyclesError = &n, x.Price.CyclesError
		}
		out = append(out, r)
	}
	return out
}

// choices is a row for every kernel that takes a layer which more than one takes.
func (r *Report) choices(o *Subject) string {
	rows := [][]string{{"layer", "chosen", "kernel", "by", "instructions", "cycles", "bytes"}}
	for _, l := range r.Layers {
		if len(l.Candidates) < 2 {
			continue
		}
		for _, x := range l.Candidates {
			chosen := ""
			if x.Chosen {
				chosen = "*"
			}
			rows = append(rows, append([]string{l.Name, chosen, x.Kernel, library(x.Library)}, x.prices()...))
		}
	}
	if len(rows) == 1 {
		return ""
	}
	return fmt.Sprintf("\nChosen by predicted cost (--kernels auto, --optimize %s: kernels of %d bytes); "+
		"without a price the order of the rows decides:\n", o.Optimize, o.Lowered.Cost.CodeBytes) + text.Table(rows)
}

// prices are the predicted instructions, cycles and bytes of flash, each with how far it may be off.
func (x *Candidate) prices() []string {
	within := func(n *int, off float64) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprintf("%d ± %.0f %%", *n, 100*off)
	}
	s := []string{within(x.Instructions, x.Error), within(x.Cycles, x.CyclesError), "-"}
	if x.Unknown != "" && x.Instructions != nil {
		s[0] = fmt.Sprintf("about %d", *x.Instructions)
	}
	if x.FlashBytes > 0 {
		s[2] = fmt.Sprint(x.FlashBytes)
	}
	return s
}

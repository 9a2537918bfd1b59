// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower"
	runtimec "github.com/nncc/nncc/runtime_c"
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
func (r *Report) choices(o *Subject, all bool) string {
	layers := map[string]bool{} // a chain calls one several times
	rows := [][]string{{"layer", "chosen", "kernel", "by", "instructions", "cycles", "bytes"}}
	for _, l := range r.Layers {
		if len(l.Candidates) < 2 {
			continue
		}
		layers[l.Name] = true
		for _, x := range l.Candidates {
			chosen := ""
			if x.Chosen {
				chosen = "*"
			}
			rows = append(rows, append([]string{l.Name, chosen, x.Kernel, library(x.Library)}, x.prices()...))
		}
	}
	switch {
	case len(layers) == 0:
		return ""
	case !all:
		return fmt.Sprintf("\n%d layers have several kernels; predicted cost decided (explain -v lists them)\n",
			len(layers))
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

// LayerElsewhere is what an accelerator takes for a layer, as estimated (call.Estimate).
type LayerElsewhere struct {
	AcceleratorCycles int     `json:"accelerator_cycles,omitempty"`
	AcceleratorBound  string  `json:"accelerator_bound,omitempty"`
	Utilisation       float64 `json:"accelerator_utilisation,omitempty"`
}

func newElsewhere(e *call.Estimate) (l LayerElsewhere) {
	if e != nil {
		l = LayerElsewhere{int(math.Round(e.Cycles)), e.Bound, e.Utilisation}
	}
	return l
}

// elsewhereCells are what the profile says of it.
func (l *LayerVerdict) elsewhereCells() []string {
	if l.AcceleratorCycles == 0 {
		return []string{"-", "-", "-"}
	}
	return []string{fmt.Sprint(l.AcceleratorCycles), l.AcceleratorBound, fmt.Sprintf("%.0f %%", 100*l.Utilisation)}
}

// LayerBound says whether the instructions of a layer depend on its data, and the most that
// they can be.
type LayerBound struct {
	// DependOnData: by what its kernels' sources say for the core, or seen to.
	DependOnData bool `json:"instructions_depend_on_data"`
	// Least and Most were measured: with the inputs of the run, and with extreme data in the
	// layer's operands (program.Extremes). Only after profile.
	Least *uint64 `json:"instructions_least,omitempty"`
	Most  *uint64 `json:"instructions_most,omitempty"`
	// Bound is the most that any data can take. Where there is none, Unbounded says why.
	Bound     *uint64 `json:"instructions_bound,omitempty"`
	Unbounded string  `json:"instructions_unbounded,omitempty"`
}

// InferenceBound is that of all layers and what is between them.
type InferenceBound struct {
	MostInstructions *uint64 `json:"instructions_bound,omitempty"`
	NoMost           string  `json:"instructions_unbounded,omitempty"`
	// LongestLayer, or chain of layers, can take the most instructions, where all have bounds: the longest slice.
	LongestLayer string `json:"instructions_bound_longest_layer,omitempty"`
	MostBasis    string `json:"instructions_bound_basis,omitempty"`
}

// boundBasis says how bounds are found.
const boundBasis = "for this program and compiler: a layer that does not depend on data takes what was measured, " +
	"with extreme data too; else every branch of its machine code goes the longer way, loops turn as often as measured"

// Dependence is what data decides of the instructions of step i. What is linked in the place
// of nncc's own functions has branches, whatever these have.
func (o *Subject) Dependence(i int, linked bool) runtimec.Dependence {
	d := codegen.Dependence(o.Lowered.Program.Steps[i], o.Board.Features())
	if linked && o.low(i).Library == "cmsis-nn" {
		d = max(d, runtimec.Branches)
	}
	return d
}

// Extremes completes the bound of a layer by what was measured: the instructions of one
// inference and of others, with extreme data. bound is the most that branches can make of
// the first, or why that is not known; d what data decides.
func (b *LayerBound) Extremes(kernel string, d runtimec.Dependence, counts []uint64, bound func() (uint64, error)) {
	least, most := counts[0], counts[0]
	for _, n := range counts {
		least, most = min(least, n), max(most, n)
	}
	b.Least, b.Most = &least, &most
	b.DependOnData = d != runtimec.Fixed || least != most
	if !b.DependOnData {
		b.Bound = &most
		return
	}
	if d == runtimec.Loops {
		b.Unbounded = fmt.Sprintf("data decides how often loops of %s turn", kernel)
		return
	}
	n, err := bound()
	switch {
	case err != nil:
		b.Unbounded = err.Error()
	case n < most:
		b.Unbounded = fmt.Sprintf("%d instructions were measured, and branches alone account for %d: data decides how "+
			"often loops of %s turn", most, n, kernel)
	default:
		b.Bound = &n
	}
}

// BoundBy sums up the layers.
func (v *Verdict) BoundBy() {
	var why []string
	sum, longest := uint64(max(v.Outside, 0)), -1
	most := uint64(0)
	for i, s := range v.Steps {
		l := v.sum(s.Calls)
		if l.LayerBound.Bound == nil {
			why = append(why, s.Name+": "+l.Unbounded)
			continue
		}
		sum += *l.LayerBound.Bound
		if longest < 0 || *l.LayerBound.Bound > most {
			longest, most = i, *l.LayerBound.Bound
		}
	}
	v.InferenceBound = InferenceBound{NoMost: strings.Join(why, "; ")}
	if len(why) == 0 && longest >= 0 {
		v.InferenceBound = InferenceBound{MostInstructions: &sum, LongestLayer: v.Steps[longest].Name,
			MostBasis: boundBasis}
	}
}

// boundCells are what the profile says of a layer: least and most that were measured, the
// most there can be.
func (l *LayerVerdict) boundCells() []string {
	data, most := "no", "?"
	switch {
	case l.Least == nil || l.Most == nil:
		data = "-"
	case *l.Least != *l.Most:
		data = fmt.Sprintf("%d..%d", *l.Least, *l.Most)
	case l.DependOnData:
		data = "none seen"
	}
	if b := l.LayerBound.Bound; b != nil {
		most = fmt.Sprint(*b)
	}
	return []string{data, most}
}

// boundText says how much an inference can take, or why that is not known.
func (v *Verdict) boundText() string {
	if b := v.MostInstructions; b != nil {
		return fmt.Sprintf("at most %d instructions whatever the input is; the longest layer is %s\n  %s\n", *b,
			v.LongestLayer, v.MostBasis)
	}
	if v.NoMost == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("no bound of the instructions is known:\n")
	for i := range v.Layers {
		if l := &v.Layers[i]; l.Unbounded != "" {
			fmt.Fprintf(&b, "  %s: %s\n", l.Name, l.Unbounded)
		}
	}
	return b.String()
}

// dependenceText is what explain says before anything is measured.
func (r *Report) dependenceText() string {
	var names []string
	layers := 0
	for _, s := range r.Steps {
		layers += len(s.Layers)
		for _, l := range s.Layers {
			if slices.ContainsFunc(l.Calls, func(i int) bool { return r.Layers[i].DependOnData }) {
				names = append(names, l.Name)
			}
		}
	}
	switch n := len(names); {
	case layers == 0:
		return ""
	case n == 0:
		return "\nThe instructions of no layer depend on its data.\n"
	case n > shownNames:
		names = append(names[:shownNames:shownNames], fmt.Sprintf("and %d more", n-shownNames))
		fallthrough
	default:
		return fmt.Sprintf("\nInstructions may depend on data in %d of %d layers (nncc profile gives their bounds): "+
			"%s\n", n, layers, strings.Join(names, ", "))
	}
}

// shownNames is how many names a line has.
const shownNames = 6

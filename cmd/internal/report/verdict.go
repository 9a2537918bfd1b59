// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/verify"
)

// Verdict is the result of verify; it marshals to the contract's JSON.
type Verdict struct {
	Model  string  `json:"model,omitempty"`
	Prefix string  `json:"c_prefix,omitempty"` // of several models in one image
	Board  string  `json:"board"`
	Stream *Stream `json:"stream,omitempty"`
	// another machine ran the code: which, and what that cannot show
	StandsIn   string `json:"stands_in,omitempty"`
	Cases      int    `json:"cases"`
	Mismatches int    `json:"mismatches"`
	// of the installed CMSIS-NN that was linked: double or single
	Rounding string          `json:"rounding,omitempty"`
	Outputs  []verify.Output `json:"outputs"`
	Golden   []verify.Output `json:"golden,omitempty"`
	// Fidelity compares the program with the model itself.
	Fidelity []verify.Fidelity `json:"fidelity"`
	Measured
	InferenceBound
	Layers []LayerVerdict `json:"layers"`
	Steps  []Step         `json:"steps"` // as in report.json
	Stack
	Flash map[string]any `json:"flash"`
	RAM   map[string]int `json:"ram"`
	// Guards are the parts of the arena, by region, around which no byte was written.
	Guards     []string                `json:"intact_guards,omitempty"`
	Failure    string                  `json:"failure,omitempty"`
	Warnings   []string                `json:"warnings"`
	ByCase     []CaseVerdict           `json:"by_case"`
	FirstWrong *verify.LayerDifference `json:"first_wrong_layer,omitempty"`
	// LayerCases is in how many cases every layer was compared (--layers).
	LayerCases int     `json:"layer_cases,omitempty"`
	Library    *uint64 `json:"cmsis_nn_instructions,omitempty"`
	// Cycles of the largest case, estimated; only in profile. CyclesBasis says
	// how, CyclesMissing why there are none.
	Cycles        int    `json:"estimated_cycles,omitempty"`
	CyclesBasis   string `json:"cycles_basis,omitempty"`
	CyclesMissing string `json:"cycles_missing,omitempty"`
	// CyclesError is how far the estimate may be off, relative, CyclesErrorBasis
	// how that was found; Milliseconds are at the board's clock.
	CyclesError      float64 `json:"cycles_error,omitempty"`
	CyclesErrorBasis string  `json:"cycles_error_basis,omitempty"`
	Milliseconds     float64 `json:"estimated_ms,omitempty"`
	LibraryCycles    int     `json:"cmsis_nn_estimated_cycles,omitempty"`
	// MeasuredCycles are those of all layers on a real core (--measured), the
	// ratio is to the estimate, MeasuredClock what counted them.
	MeasuredCycles *uint64 `json:"measured_cycles,omitempty"`
	MeasuredRatio  float64 `json:"measured_ratio,omitempty"`
	MeasuredClock  string  `json:"measured_clock,omitempty"`
}

// CaseVerdict is one inference.
type CaseVerdict struct {
	Source       string `json:"source"`
	Instructions uint64 `json:"instructions"`
	Mismatches   int    `json:"mismatches"`
}

// LayerVerdict is one step with its cost.
type LayerVerdict struct {
	number       string  // of the step, in tables
	Name         string  `json:"name"`
	Kernel       string  `json:"kernel"`
	Route        string  `json:"route"`
	Instructions uint64  `json:"instructions"`
	Mismatches   int     `json:"mismatches,omitempty"` // with --layers, over all cases
	MACs         int64   `json:"macs,omitempty"`
	WeightBytes  int     `json:"weight_bytes,omitempty"`
	MovedBytes   int     `json:"moved_bytes,omitempty"`
	PerMAC       float64 `json:"instructions_per_mac,omitempty"`
	LayerBound
	LayerElsewhere
	*LayerCycles
	// Library is what the linked CMSIS-NN takes for the layer; only in profile.
	Library       *uint64 `json:"cmsis_nn_instructions,omitempty"`
	LibraryCycles *int    `json:"cmsis_nn_estimated_cycles,omitempty"`
	// MeasuredCycles are those of a real core (--measured), the ratio is to the
	// estimate.
	MeasuredCycles *uint64 `json:"measured_cycles,omitempty"`
	MeasuredRatio  float64 `json:"measured_ratio,omitempty"`
}

// LayerCycles is what a step executed, and an estimate of its time
// (boards/cycles); only in profile, and only for cores with a table.
type LayerCycles struct {
	Cycles      int            `json:"estimated_cycles"`
	LoadedBytes int            `json:"loaded_bytes"` // by load instructions, with all lanes of vectors active
	StoredBytes int            `json:"stored_bytes"`
	Classes     map[string]int `json:"classes"` // executed instructions by kind
	// Of the cycles: waiting for code, and for constants. Only where the board's
	// file says how long reads take.
	CodeWaits     int `json:"code_wait_cycles,omitempty"`
	ConstantWaits int `json:"constant_wait_cycles,omitempty"`
	// InPlaceWaits is what ConstantWaits would be without copies of constants.
	InPlaceWaits int `json:"constant_wait_cycles_in_place,omitempty"`
}

// Differs reports a verdict that is not what nncc promises: the firmware is not
// the program, the program not the model, a layer not the interpreter's.
func (v *Verdict) Differs() bool {
	return v.Mismatches > 0 || v.FirstWrong != nil || v.unfaithful() > 0
}

func (v *Verdict) unfaithful() int {
	return lists.Sum(v.Fidelity, func(f verify.Fidelity) int { return len(f.Differs) })
}

// Sizes takes over what a program and its build take.
func (v *Verdict) Sizes(p *program.Program, s run.Sizes) {
	v.Flash = map[string]any{"code_bytes": s.Code(), "rodata_bytes": s.ROData(), "weights_bytes": s.Weights(),
		"by_origin": s.By}
	v.RAM = map[string]int{"arena_bytes": p.ArenaBytes, "io_bytes": p.IOBytes(), "scratch_bytes": p.ScratchBytes(),
		"state_bytes": p.StateBytes}
	for _, x := range p.Parts { // a broken guard ends the run
		v.Guards = append(v.Guards, x.Name)
	}
}

// Text is the verdict for people.
func (v *Verdict) Text() string {
	v = text.Lines(v)
	var b strings.Builder
	if v.Failure != "" {
		fmt.Fprintf(&b, "FAILED on %s: %s\n", v.Board, v.Failure)
	}
	b.WriteString(v.outputsText())
	b.WriteString(v.fidelityText())
	b.WriteString(v.layersText())
	if s := v.Stream; s != nil {
		fmt.Fprintf(&b, "a step of %d of %d frames takes %d MACs, the window %d (%.1f times as many)\n", s.Frames,
			s.Window, s.StepMACs, s.MACs, float64(s.MACs)/float64(max(s.StepMACs, 1)))
	}
	if w := v.FirstWrong; w != nil {
		fmt.Fprintf(&b, "first layer that differs: %s (value %s, case %d): %d elements, largest difference %.3g\n",
			w.Name, w.Value, w.Case, w.Mismatches, w.MaxAbsDiff)
	}
	if v.StandsIn != "" {
		fmt.Fprintf(&b, "note: %s\n", v.StandsIn)
	}
	if v.Rounding == "single" {
		b.WriteString("note: this CMSIS-NN was built with CMSIS_NN_USE_SINGLE_ROUNDING; the interpreter rounds once " +
			"in its layers, results may be a step from TensorFlow Lite's\n")
	}
	fmt.Fprintf(&b, "%s: %d cases, %d mismatches: %s\n", v.Board, v.Cases, v.Mismatches, v.conclusion())
	return b.String()
}

func (r *Stack) atMost() string {
	if r.Bound == nil {
		return fmt.Sprintf(" (no bound: %s)", r.NoBound)
	}
	return fmt.Sprintf(" (at most %d, in %s)", *r.Bound, r.Path[len(r.Path)-1])
}

func (l *LayerVerdict) inner() string {
	if l.Route != "" {
		return l.Route
	}
	return l.Kernel
}

func (v *Verdict) fidelityText() string {
	if len(v.Fidelity) == 0 {
		return ""
	}
	var b strings.Builder
	rows := [][]string{{"against the model", "compared", "max steps", "allowed", "SQNR"}}
	for _, f := range v.Fidelity {
		steps, allowed := fmt.Sprint(f.MaxSteps), fmt.Sprint(f.Allowed)
		if f.AllowedUlp > 0 && f.Allowed == 0 {
			steps, allowed = fmt.Sprintf("%.3g ulp", f.MaxUlp), fmt.Sprintf("%g ulp", f.AllowedUlp)
		}
		db := "-"
		if f.SQNR != nil {
			db = fmt.Sprintf("%.1f dB", *f.SQNR)
		}
		rows = append(rows, []string{f.Output, fmt.Sprint(f.Compared), steps, allowed, db})
	}
	b.WriteString(text.Table(rows))
	said := map[string]bool{}
	for _, f := range v.Fidelity {
		for _, d := range f.Differs {
			if said[d.Tensor] {
				continue
			}
			said[d.Tensor] = true
			fmt.Fprintf(&b, "not what the model says: %s\n", d.Text())
		}
	}
	for _, f := range v.Fidelity {
		if f.Note != "" && !said[f.Note] {
			said[f.Note] = true
			fmt.Fprintf(&b, "note: %s\n", f.Note)
		}
	}
	return b.String()
}

// outputsText are the outputs against the interpreter and against stored ones.
func (v *Verdict) outputsText() string {
	rows := [][]string{{"output", "elements", "mismatches", "max |diff|", "allowed"}}
	for _, o := range v.Outputs {
		allowed := "bit for bit"
		if o.StepBound > 0 {
			allowed = "1 step (behind a float layer)"
		}
		if o.UlpBound > 0 {
			allowed = fmt.Sprintf("%g ulp of the largest", o.UlpBound)
		}
		if o.Amplified > 0 {
			allowed += fmt.Sprintf(", up to %.3g more where the network amplifies roundings", o.Amplified)
		}
		rows = append(rows, []string{o.Name, fmt.Sprint(o.Elements), fmt.Sprint(o.Mismatches),
			fmt.Sprintf("%.3g", o.MaxAbsDiff), allowed})
	}
	for _, o := range v.Golden {
		rows = append(rows, []string{o.Name + " (golden)", fmt.Sprint(o.Elements), fmt.Sprint(o.Mismatches),
			fmt.Sprintf("%.3g", o.MaxAbsDiff), fmt.Sprintf("%g", o.Tolerance)})
	}
	return text.Table(rows)
}

// layersText is what the layers and the whole program take; "" where nothing ran.
func (v *Verdict) layersText() string {
	if v.Instructions == 0 {
		return ""
	}
	rows := [][]string{{"layer", "kernel", "instructions"}}
	for _, l := range v.lines() {
		rows = append(rows, []string{l.Name, l.inner(), fmt.Sprint(l.Instructions)})
	}
	rows = append(rows, []string{"(between the layers)", "", fmt.Sprint(v.Outside)})
	return text.Table(rows) + fmt.Sprintf("%d instructions an inference, stack %d bytes%s, %s, code %d "+
		"bytes, constants %d bytes, weights %v bytes\n", v.Instructions, v.StackBytes, v.atMost(), v.ramText(),
		v.TextBytes, v.RODataBytes, v.Flash["weights_bytes"])
}

// conclusion is the verdict in a few words.
func (v *Verdict) conclusion() string {
	const equal = "equal to the reference interpreter"
	switch n := v.unfaithful(); {
	case v.Mismatches > 0:
		return "DIFFERENT"
	case v.FirstWrong != nil:
		return "outputs equal to the reference interpreter, but layers DIFFERENT"
	case n > 0:
		return equal + ", which is DIFFERENT from the model"
	}
	return equal
}

// Summary is what a reader wants to know first: does it fit, and how good is it?
type Summary struct {
	Text string `json:"text"`
	Good bool   `json:"good"` // it fits every limit, and nothing is known against its accuracy
}

// Least SQNR, in dB, of a program whose outputs stand for the model's, and of one that is of any use.
const sound, usable = 15, 10

// summarise puts the verdict over the report as it is now.
func (r *Report) summarise() {
	where, fits := r.Memory.summary()
	if fits && len(r.Gates) > 0 {
		where, fits = "over a limit that was set", false
	}
	accuracy, good := accuracyText(r.Calibration)
	r.Verdict = Summary{where + "; " + accuracy, fits && good}
}

// summary says what is missing, or how much of the regions of the arena and of the constants is taken.
func (m *Memory) summary() (string, bool) {
	var missing, taken []string
	for _, x := range m.Regions {
		if x.Missing > 0 {
			missing = append(missing, fmt.Sprintf("%s misses %s bytes", x.Name, thousands(x.Missing)))
		}
		for _, as := range []struct{ holds, called string }{{"arena", "RAM"}, {"weights", "flash"}} {
			if !slices.ContainsFunc(x.Items, func(i Item) bool { return i.What == as.holds }) {
				continue
			}
			if !strings.EqualFold(as.called, x.Name) {
				as.called += " (" + x.Name + ")"
			}
			taken = append(taken, percent(float64(x.Used)/float64(x.Bytes))+" of "+as.called)
			break
		}
	}
	if missing != nil {
		return "does not fit: " + strings.Join(missing, ", "), false
	}
	if taken == nil {
		return "compiled", true
	}
	return "fits: " + strings.Join(taken, ", "), true
}

// accuracyText says what calibration knows.
func accuracyText(c *quant.Report) (string, bool) {
	switch {
	case c == nil:
		return "numbers are those of the model", true
	case c.Source == quant.SyntheticSource:
		return "accuracy unknown: no calibration data", false
	case c.Unknown:
		return "accuracy unknown: the samples say nothing", false
	case c.SQNR < usable:
		return fmt.Sprintf("accuracy lost: %.1f dB against float", c.SQNR), false
	case c.SQNR < sound:
		return fmt.Sprintf("accuracy in doubt: %.1f dB against float", c.SQNR), false
	}
	return fmt.Sprintf("%.1f dB against float; accuracy unknown: no labelled data (nncc eval)", c.SQNR), true
}

// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/frontend/text"
)

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

// atMost is the bound of the stack.
func (r *Stack) atMost() string {
	if r.Bound == nil {
		return fmt.Sprintf(" (no bound: %s)", r.NoBound)
	}
	return fmt.Sprintf(" (at most %d, in %s)", *r.Bound, r.Path[len(r.Path)-1])
}

// inner is the function that does the work.
func (l *LayerVerdict) inner() string {
	if l.Route != "" {
		return l.Route
	}
	return l.Kernel
}

// fidelityText is the comparison with the model for people.
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
	for _, l := range v.Layers {
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

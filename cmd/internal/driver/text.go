package driver

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/frontend/text"
)

// OutDir is the folder that Write should fill.
func (o *Compiled) OutDir() string { return o.Config.outDir() }

// Text is the verdict for people.
func (v *Verdict) Text() string {
	v = text.Lines(v)
	var b strings.Builder
	if v.Failure != "" {
		fmt.Fprintf(&b, "FAILED on %s: %s\n", v.Board, v.Failure)
	}
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
	b.WriteString(table(rows))
	b.WriteString(v.fidelityText())
	if v.Instructions > 0 {
		rows = [][]string{{"layer", "kernel", "instructions"}}
		for _, l := range v.Layers {
			rows = append(rows, []string{l.Name, l.inner(), fmt.Sprint(l.Instructions)})
		}
		rows = append(rows, []string{"(between the layers)", "", fmt.Sprint(v.Outside)})
		b.WriteString(table(rows))
		fmt.Fprintf(&b, "%d instructions an inference, stack %d bytes%s, arena %d bytes, code %d bytes, constants "+
			"%d bytes, weights %v bytes\n",
			v.Instructions, v.StackBytes, v.atMost(), v.RAM["arena_bytes"], v.TextBytes, v.RODataBytes,
			v.Flash["weights_bytes"])
	}
	if s := v.Stream; s != nil {
		fmt.Fprintf(&b, "a step of %d of %d frames takes %d MACs, the window %d (%.1f times as many)\n", s.Frames,
			s.Window, s.StepMACs, s.MACs, float64(s.MACs)/float64(max(s.StepMACs, 1)))
	}
	if w := v.FirstWrong; w != nil {
		fmt.Fprintf(&b, "first layer that differs: %s (value %s, case %d): %d elements, largest difference %.3g\n",
			w.Name, w.Value, w.Case, w.Mismatches, w.MaxAbsDiff)
	}
	verdict := "equal to the reference interpreter"
	switch n := v.unfaithful(); {
	case v.Mismatches > 0:
		verdict = "DIFFERENT"
	case v.FirstWrong != nil:
		verdict = "outputs equal to the reference interpreter, but layers DIFFERENT"
	case n > 0:
		verdict += ", which is DIFFERENT from the model"
	}
	if v.StandsIn != "" {
		fmt.Fprintf(&b, "note: %s\n", v.StandsIn)
	}
	if v.Rounding == "single" {
		b.WriteString("note: this CMSIS-NN was built with CMSIS_NN_USE_SINGLE_ROUNDING; the interpreter rounds once " +
			"in its layers, results may be a step from TensorFlow Lite's\n")
	}
	fmt.Fprintf(&b, "%s: %d cases, %d mismatches: %s\n", v.Board, v.Cases, v.Mismatches, verdict)
	return b.String()
}

// atMost is the bound of the stack.
func (r *ReportStack) atMost() string {
	if len(r.Path) == 0 {
		return fmt.Sprintf(" (no bound: %s)", r.NoBound)
	}
	return fmt.Sprintf(" (at most %d, in %s)", r.Bound, r.Path[len(r.Path)-1])
}

// inner is the function that does the work.
func (l *LayerVerdict) inner() string {
	if l.Route != "" {
		return l.Route
	}
	return l.Kernel
}

package driver

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Warnings are the remarks collected so far.
func (c *Config) Warnings() []string { return c.warnings }

// OutDir is the folder that Write should fill.
func (o *Compiled) OutDir() string { return o.Config.outDir() }

// Text is the verdict for people.
func (v *Verdict) Text() string {
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
		rows = append(rows, []string{o.Name, fmt.Sprint(o.Elements), fmt.Sprint(o.Mismatches), fmt.Sprintf("%.3g", o.MaxAbsDiff), allowed})
	}
	for _, o := range v.Golden {
		rows = append(rows, []string{o.Name + " (golden)", fmt.Sprint(o.Elements), fmt.Sprint(o.Mismatches), fmt.Sprintf("%.3g", o.MaxAbsDiff), fmt.Sprintf("%g", o.Tolerance)})
	}
	b.WriteString(table(rows))
	if v.Instructions > 0 {
		rows = [][]string{{"layer", "kernel", "instructions"}}
		for _, l := range v.Layers {
			rows = append(rows, []string{l.Name, l.inner(), fmt.Sprint(l.Instructions)})
		}
		b.WriteString(table(rows))
		fmt.Fprintf(&b, "%d instructions an inference, stack %d bytes, arena %d bytes, code %v bytes, weights %v bytes\n",
			v.Instructions, v.StackBytes, v.RAM["arena_bytes"], v.Flash["code_bytes"], v.Flash["weights_bytes"])
	}
	if w := v.FirstWrong; w != nil {
		fmt.Fprintf(&b, "first layer that differs: %s (value %s): %d elements, largest difference %.3g\n", w.Name, w.Value, w.Mismatches, w.MaxAbsDiff)
	}
	verdict := "equal to the reference interpreter"
	if v.Mismatches > 0 {
		verdict = "DIFFERENT"
	}
	if v.StandsIn != "" {
		fmt.Fprintf(&b, "note: %s\n", v.StandsIn)
	}
	if v.Rounding == "single" {
		b.WriteString("note: this CMSIS-NN was built with CMSIS_NN_USE_SINGLE_ROUNDING; the interpreter rounds once in its layers, results may be a step from TensorFlow Lite's\n")
	}
	fmt.Fprintf(&b, "%s: %d cases, %d mismatches: %s\n", v.Board, v.Cases, v.Mismatches, verdict)
	return b.String()
}

// inner is the function that does the work.
func (l *LayerVerdict) inner() string {
	if l.Route != "" {
		return l.Route
	}
	return l.Kernel
}

// Describe adds shapes and MACs of the layers, for profile.
func (v *Verdict) Describe(o *Compiled) {
	for i := range v.Layers {
		v.Layers[i].MACs = o.Report.Layers[i].MACs
		v.Layers[i].WeightBytes = o.Report.Layers[i].WeightBytes
		v.Layers[i].MovedBytes = movedBytes(o, i)
	}
	v.Model = filepath.Base(o.Config.Model)
}

// movedBytes are the activations that a step reads and writes.
func movedBytes(o *Compiled, i int) int {
	n := 0
	s := o.Program.Steps[i]
	for _, x := range s.Node.In {
		if x != nil && x.Const == nil {
			n += x.Type.Bytes()
		}
	}
	for _, x := range s.Node.Out {
		n += x.Type.Bytes()
	}
	return n
}

// ProfileText is one profile, or two beside each other.
func ProfileText(vs []*Verdict) string {
	var b strings.Builder
	for _, v := range vs {
		fmt.Fprintf(&b, "%s on %s\n", v.Model, v.Board)
		head := []string{"#", "layer", "kernel", "MACs", "instructions", "per MAC", "bytes moved", "weights"}
		if v.Library != nil {
			head = append(head, "CMSIS-NN", "ratio")
		}
		rows := [][]string{head}
		for i, l := range v.Layers {
			per := ""
			if l.MACs > 0 {
				per = fmt.Sprintf("%.2f", float64(l.Instructions)/float64(l.MACs))
			}
			row := []string{fmt.Sprint(i), l.Name, l.inner(), fmt.Sprint(l.MACs), fmt.Sprint(l.Instructions), per, fmt.Sprint(l.MovedBytes), fmt.Sprint(l.WeightBytes)}
			if x := l.Library; x != nil {
				row = append(row, fmt.Sprint(*x), ratio(l.Instructions, *x))
			}
			rows = append(rows, row)
		}
		b.WriteString(table(rows))
		if x := v.Library; x != nil {
			fmt.Fprintf(&b, "CMSIS-NN linked, for the same layers: %d instructions, ratio %s\n", *x, ratio(v.Instructions, *x))
		}
		fmt.Fprintf(&b, "total %d instructions, arena %d bytes, %d mismatches\n\n", v.Instructions, v.RAM["arena_bytes"], v.Mismatches)
	}
	if len(vs) == 2 && vs[0].Instructions > 0 {
		b.WriteString(beforeAfter(vs[0], vs[1]))
		a, c := float64(vs[0].Instructions), float64(vs[1].Instructions)
		fmt.Fprintf(&b, "after / before: %.3f instructions (%+.0f)\n", c/a, c-a)
	}
	return b.String()
}

func ratio(a, b uint64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}

// Beside puts the instructions of another program beside those of the layers
// of the same name: what the linked library takes for them.
func (v *Verdict) Beside(library *Verdict) {
	v.Library = &library.Instructions
	used := make([]bool, len(library.Layers))
	for i := range v.Layers {
		for k, m := range library.Layers {
			if !used[k] && m.Name == v.Layers[i].Name {
				used[k] = true
				v.Layers[i].Library = &library.Layers[k].Instructions
				break
			}
		}
	}
}

// beforeAfter has a row for every layer of two programs, matched by the names of
// the nodes that they come from.
func beforeAfter(x, y *Verdict) string {
	rows := [][]string{{"node", "before", "after", "delta", "kernel"}}
	used := make([]bool, len(y.Layers))
	for i := range x.Layers {
		l := &x.Layers[i]
		row := []string{l.Name, fmt.Sprint(l.Instructions), "-", fmt.Sprintf("%+d", -int64(l.Instructions)), l.inner()}
		for k := range y.Layers {
			if m := &y.Layers[k]; !used[k] && m.Name == l.Name {
				used[k] = true
				row[2], row[3] = fmt.Sprint(m.Instructions), fmt.Sprintf("%+d", int64(m.Instructions)-int64(l.Instructions))
				if m.inner() != l.inner() {
					row[4] += " -> " + m.inner()
				}
				break
			}
		}
		rows = append(rows, row)
	}
	for k := range y.Layers {
		if m := &y.Layers[k]; !used[k] {
			rows = append(rows, []string{m.Name, "-", fmt.Sprint(m.Instructions), fmt.Sprintf("%+d", int64(m.Instructions)), m.inner()})
		}
	}
	return table(rows)
}

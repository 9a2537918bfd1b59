package driver

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/cycles"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/frontend/text"
)

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
}

// Profile is Verify with what every layer costs: sizes, MACs, bytes, and
// estimated cycles where the core has a table of them.
func (o *Compiled) Profile(ctx context.Context) (*Verdict, error) {
	o.profiling = true
	v, err := o.Verify(ctx)
	if err == nil {
		v.describe(o)
	}
	return v, err
}

// cycles follows the case with the most instructions once more.
func (o *Compiled) cycles(ctx context.Context, v *Verdict, im *run.Image, in []run.Case, res *run.Result) {
	o.Config.note("counting cycles on %s", o.Board.Runner.Machine)
	steps, err := run.Cycles(ctx, o.Board, im, in, res.Largest)
	if err != nil {
		v.CyclesMissing = err.Error()
		return
	}
	model, err := cycles.For(o.Board)
	if err != nil {
		v.CyclesMissing = err.Error()
		return
	}
	memory := o.Board.Memory
	code, constants := memory.Wait("code"), memory.Wait("weights")
	v.CyclesBasis = "estimated from executed instructions. " + model.Source
	if code.States > 0 || constants.PerByte > 0 {
		v.CyclesBasis += " Memory: " + code.Source
	} else {
		v.CyclesBasis += " Memory without wait states."
	}
	v.CyclesError = cyclesError(o.Board)
	v.CyclesErrorBasis = model.Basis
	for i := range min(len(steps), len(v.Layers)) {
		s := &steps[i]
		waits := int(math.Round(float64(constants.PerByte) * float64(o.Report.Layers[i].WeightBytes)))
		v.Layers[i].LayerCycles = &LayerCycles{Cycles: s.Cycles + waits, LoadedBytes: s.Loaded, StoredBytes: s.Stored,
			Classes: s.ByClass(), CodeWaits: s.Waits, ConstantWaits: waits}
		v.Cycles += s.Cycles + waits
	}
	if hz := o.Board.ClockHz; hz > 0 {
		v.Milliseconds = float64(v.Cycles) / float64(hz) * 1e3
	}
}

// cyclesError is what a board's files state of estimates of cycles: the core's
// error and the memory's.
func cyclesError(s *boards.Spec) float64 {
	return float64(s.Pipeline.Error + max(s.Memory.Wait("code").Error, s.Memory.Wait("weights").Error))
}

// describe adds shapes and MACs of the layers.
func (v *Verdict) describe(o *Compiled) {
	for i := range v.Layers {
		v.Layers[i].MACs = o.Report.Layers[i].MACs
		if m := v.Layers[i].MACs; m > 0 {
			v.Layers[i].PerMAC = float64(v.Layers[i].Instructions) / float64(m)
		}
		v.Layers[i].WeightBytes = o.Report.Layers[i].WeightBytes
		v.Layers[i].MovedBytes = movedBytes(o, i)
	}
	v.Model = filepath.Base(o.Config.Model)
}

// movedBytes are the activations that a step reads and writes.
func movedBytes(o *Compiled, i int) int {
	n := 0
	s := o.Program.Steps[i]
	for _, x := range s.In {
		if x.Buffer >= 0 {
			n += o.Program.Buffers[x.Buffer].Type.Bytes()
		}
	}
	for _, b := range s.Out {
		n += o.Program.Buffers[b].Type.Bytes()
	}
	return n
}

// ProfileText is one profile, or two beside each other.
func ProfileText(vs []*Verdict) string {
	vs = text.Lines(vs)
	var b strings.Builder
	for _, v := range vs {
		fmt.Fprintf(&b, "%s on %s\n", v.Model, v.Board)
		head := []string{"#", "layer", "kernel", "MACs", "instructions", "per MAC", "bytes moved", "weights"}
		timed := v.Cycles > 0
		if timed {
			head = append(head, "est. cycles")
		}
		if v.Library != nil {
			head = append(head, "CMSIS-NN", "ratio")
		}
		if timed && v.LibraryCycles > 0 {
			head = append(head, "its cycles", "ratio")
		}
		rows := [][]string{head}
		for i, l := range v.Layers {
			per := ""
			if l.MACs > 0 {
				per = fmt.Sprintf("%.2f", l.PerMAC)
			}
			row := []string{fmt.Sprint(i), l.Name, l.inner(), fmt.Sprint(l.MACs), fmt.Sprint(l.Instructions), per,
				fmt.Sprint(l.MovedBytes), fmt.Sprint(l.WeightBytes)}
			if timed {
				row = append(row, "-")
				if l.LayerCycles != nil {
					row[len(row)-1] = fmt.Sprint(l.LayerCycles.Cycles)
				}
			}
			if v.Library != nil {
				row = append(row, "-", "-")
				if x := l.Library; x != nil {
					row[len(row)-2], row[len(row)-1] = fmt.Sprint(*x), ratio(l.Instructions, *x)
				}
			}
			if timed && v.LibraryCycles > 0 {
				row = append(row, "-", "-")
				if x := l.LibraryCycles; x != nil && l.LayerCycles != nil {
					row[len(row)-2], row[len(row)-1] = fmt.Sprint(*x), ratio(uint64(l.LayerCycles.Cycles), uint64(*x))
				}
			}
			rows = append(rows, row)
		}
		b.WriteString(table(rows))
		if x := v.Library; x != nil {
			fmt.Fprintf(&b, "CMSIS-NN linked, for the same layers: %d instructions, ratio %s\n", *x,
				ratio(v.Instructions, *x))
		}
		if v.Library != nil && timed && v.LibraryCycles > 0 {
			fmt.Fprintf(&b, "and %d cycles, estimated, ratio %s\n", v.LibraryCycles,
				ratio(uint64(v.Cycles), uint64(v.LibraryCycles)))
		}
		fmt.Fprintf(&b, "total %d instructions, %d of them between the layers, arena %d bytes, code %d bytes, "+
			"constants %d bytes, %d mismatches\n",
			v.Instructions, v.Outside, v.RAM["arena_bytes"], v.TextBytes, v.RODataBytes, v.Mismatches)
		if timed {
			fmt.Fprintf(&b, "about %d cycles, give or take %.0f %%", v.Cycles, 100*v.CyclesError)
			if v.Milliseconds > 0 {
				fmt.Fprintf(&b, ", %.3g ms", v.Milliseconds)
			}
			fmt.Fprintf(&b, "\n  %s\n  error: %s\n", v.CyclesBasis, v.CyclesErrorBasis)
		} else if v.CyclesMissing != "" {
			fmt.Fprintf(&b, "no estimate of cycles: %s\n", v.CyclesMissing)
		}
		b.WriteString("\n")
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
	v.Library, v.LibraryCycles = &library.Instructions, library.Cycles
	used := make([]bool, len(library.Layers))
	for i := range v.Layers {
		for k, m := range library.Layers {
			if !used[k] && m.Name == v.Layers[i].Name {
				used[k] = true
				v.Layers[i].Library = &library.Layers[k].Instructions
				if c := m.LayerCycles; c != nil {
					v.Layers[i].LibraryCycles = &c.Cycles
				}
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
				row[2], row[3] = fmt.Sprint(m.Instructions),
					fmt.Sprintf("%+d", int64(m.Instructions)-int64(l.Instructions))
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
			rows = append(rows, []string{m.Name, "-", fmt.Sprint(m.Instructions),
				fmt.Sprintf("%+d", int64(m.Instructions)), m.inner()})
		}
	}
	return table(rows)
}

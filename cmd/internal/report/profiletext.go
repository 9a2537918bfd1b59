// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/frontend/text"
)

// ProfileText is one profile, or two beside each other.
func ProfileText(vs []*Verdict) string {
	s := ProfilesText(vs)
	if len(vs) != 2 || vs[0].Instructions == 0 {
		return s
	}
	vs = text.Lines(vs)
	a, c := float64(vs[0].Instructions), float64(vs[1].Instructions)
	return s + beforeAfter(vs[0], vs[1]) + fmt.Sprintf("after / before: %.3f instructions (%+.0f)\n", c/a, c-a)
}

// ProfilesText are profiles one below the other.
func ProfilesText(vs []*Verdict) string {
	vs = text.Lines(vs)
	var b strings.Builder
	for _, v := range vs {
		fmt.Fprintf(&b, "%s on %s\n", v.Model, v.Board)
		b.WriteString(v.profileTable())
		b.WriteString(v.libraryText())
		if v.Instructions > 0 {
			fmt.Fprintf(&b, "total %d instructions, %d of them between the layers, ", v.Instructions, v.Outside)
		} else {
			b.WriteString("instructions are not counted on this board, ")
		}
		fmt.Fprintf(&b, "%s, code %d bytes, constants %d bytes, %d mismatches\n", v.ramText(), v.TextBytes,
			v.RODataBytes, v.Mismatches)
		b.WriteString(v.boundText() + v.cyclesText() + v.measuredText() + "\n")
	}
	return b.String()
}

// profileTable has a row for every layer; columns for cycles and for the linked library
// where these are known.
func (v *Verdict) profileTable() string {
	timed := v.Cycles > 0
	head := []string{"#", "layer", "kernel", "MACs", "instructions", "per MAC", "bytes moved", "weights"}
	bounded := v.MostInstructions != nil || v.NoMost != ""
	if bounded {
		head = append(head, "by data", "at most")
	}
	if timed {
		head = append(head, "est. cycles")
	}
	if v.MeasuredCycles != nil {
		head = append(head, "measured", "ratio")
	}
	if v.Library != nil {
		head = append(head, "CMSIS-NN", "ratio")
	}
	if timed && v.LibraryCycles > 0 {
		head = append(head, "its cycles", "ratio")
	}
	rows := [][]string{head}
	for i := range v.Layers {
		l := &v.Layers[i]
		row := []string{fmt.Sprint(i), l.Name, l.inner(), fmt.Sprint(l.MACs)}
		row = append(row, v.counted(l)...)
		row = append(row, fmt.Sprint(l.MovedBytes), fmt.Sprint(l.WeightBytes))
		if bounded {
			row = append(row, l.boundCells()...)
		}
		if timed {
			row = append(row, l.cyclesCell())
		}
		if v.MeasuredCycles != nil {
			row = append(row, l.measuredCells()...)
		}
		if v.Library != nil {
			row = append(row, beside(l.Library, l.Instructions)...)
		}
		if timed && v.LibraryCycles > 0 {
			row = append(row, l.libraryCells()...)
		}
		rows = append(rows, row)
	}
	return text.Table(rows)
}

// counted are the instructions of a layer, whole and for one MAC, where the board counts them.
func (v *Verdict) counted(l *LayerVerdict) []string {
	if v.Instructions == 0 {
		return []string{"-", "-"}
	}
	return []string{fmt.Sprint(l.Instructions), l.perMAC()}
}

// perMAC are the instructions of a layer for one of its MACs, if it has any.
func (l *LayerVerdict) perMAC() string {
	if l.MACs == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", l.PerMAC)
}

// cyclesCell are the cycles of a layer, if they are known.
func (l *LayerVerdict) cyclesCell() string {
	if l.LayerCycles == nil {
		return "-"
	}
	return fmt.Sprint(l.LayerCycles.Cycles)
}

// libraryCells are the library's cycles for a layer, and the ratio to them.
func (l *LayerVerdict) libraryCells() []string {
	if l.LayerCycles == nil {
		return []string{"-", "-"}
	}
	return beside(l.LibraryCycles, l.LayerCycles.Cycles)
}

// beside is what the library takes, and how many times that is n.
func beside[T int | uint64](library *T, n T) []string {
	if library == nil {
		return []string{"-", "-"}
	}
	return []string{fmt.Sprint(*library), ratio(uint64(n), uint64(*library))}
}

// libraryText sums up the linked library; "" where none was linked.
func (v *Verdict) libraryText() string {
	if v.Library == nil {
		return ""
	}
	s := fmt.Sprintf("CMSIS-NN linked, for the same layers: %d instructions, ratio %s\n", *v.Library,
		ratio(v.Instructions, *v.Library))
	if v.Cycles > 0 && v.LibraryCycles > 0 {
		s += fmt.Sprintf("and %d cycles, estimated, ratio %s\n", v.LibraryCycles,
			ratio(uint64(v.Cycles), uint64(v.LibraryCycles)))
	}
	return s
}

// milliseconds is a time with three digits, in seconds where it is long.
func milliseconds(ms float64) string {
	switch {
	case ms < 999.5:
		return fmt.Sprintf("%.3g ms", ms)
	case ms < 999500:
		return fmt.Sprintf("%.3g s", ms/1000)
	}
	return fmt.Sprintf("%.0f s", ms/1000)
}

// cyclesText says how long the program takes, or why that is not known.
func (v *Verdict) cyclesText() string {
	switch {
	case v.Cycles > 0:
		s := fmt.Sprintf("about %d cycles, give or take %.0f %%", v.Cycles, 100*v.CyclesError)
		if v.Milliseconds > 0 {
			s += ", " + milliseconds(v.Milliseconds)
		}
		return s + fmt.Sprintf("\n  %s\n  error: %s\n", v.CyclesBasis, v.CyclesErrorBasis)
	case v.CyclesMissing != "":
		return fmt.Sprintf("no estimate of cycles: %s\n", v.CyclesMissing)
	}
	return ""
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
	return text.Table(rows)
}

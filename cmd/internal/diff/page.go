// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"strings"

	"github.com/nncc/nncc/cmd/internal/report"
)

// HTML is the comparison as one page: figures, layers, and the arenas of both sides on
// one scale.
func (d *Diff) HTML() []byte {
	c := &report.Comparison{Old: d.Old.label(), New: d.New.label(), Verdict: d.verdict(), Notes: d.Notes}
	for _, g := range d.Exceeded() {
		c.Exceeded = append(c.Exceeded, g.Model+", "+g.Limit+": "+g.Reason)
	}
	for i := range d.Models {
		c.Models = append(c.Models, d.Models[i].compared(d.Gates))
	}
	return report.DiffPage(c)
}

func (r *Row) compared(gates []Gate) report.ComparedModel {
	m := report.ComparedModel{Name: r.head(), Status: r.Status, Counted: r.counted()}
	rows := r.table()
	for i, row := range rows[1:] {
		x := &r.Metrics[i]
		f := report.ComparedFigure{Title: row[0], Old: row[1], New: row[2], Change: row[3]}
		if x.Old != nil {
			f.OldValue = *x.Old
		}
		if x.New != nil {
			f.NewValue = *x.New
		}
		f.Worse, f.Better = x.direction()
		for _, g := range gates {
			if g.Model == r.Name && g.Board == r.Board && g.Metric == x.Metric {
				_, f.Limit, _ = strings.Cut(g.Limit, "=")
				f.Exceeded = f.Exceeded || g.Exceeded
			}
		}
		if f.Exceeded {
			f.Limit += " exceeded"
		}
		m.Figures = append(m.Figures, f)
	}
	keys := r.layerKeys()
	for _, k := range keys {
		m.Columns = append(m.Columns, find(k).title)
	}
	for i := range r.Layers {
		l := &r.Layers[i]
		x := report.ComparedLayer{Name: l.Name, Op: l.Op, What: l.what(), Kernel: l.kernels()}
		for _, k := range keys {
			c := report.ComparedCell{Text: l.of(k).cell()}
			if at := l.of(k); at != nil {
				c.Worse, c.Better = at.direction()
			}
			x.Cells = append(x.Cells, c)
		}
		m.Layers = append(m.Layers, x)
	}
	m.Arenas = append(arena("Arena, old", r.old), arena("Arena, new", r.now)...)
	return m
}

// direction says whether a figure got worse or better.
func (c *Change) direction() (worse, better bool) {
	if c.Delta == nil || *c.Delta == 0 {
		return false, false
	}
	worse = *c.Delta > 0 != c.metric.more
	return worse, !worse
}

func arena(title string, m *Model) []report.ComparedArena {
	if m == nil || m.Memory.Arena == nil {
		return nil
	}
	return []report.ComparedArena{{Title: title + ": " + count(*m.Memory.Arena) + " bytes",
		Bytes: int(*m.Memory.Arena), Steps: len(m.Layers), Buffers: m.Memory.Buffers}}
}

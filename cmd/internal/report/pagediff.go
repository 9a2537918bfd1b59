// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/nncc/nncc/frontend/text"

// Comparison is what a page says of two compilations.
type Comparison struct {
	Old, New string // where they come from
	Verdict  string
	Exceeded []string // gates, with by how much and why
	Notes    []string
	Models   []ComparedModel
}

// ComparedModel is a model of both.
type ComparedModel struct {
	Name, Status string
	Figures      []ComparedFigure
	Columns      []string // figures of layers
	Layers       []ComparedLayer
	Counted      string // how many layers there are of each kind
	// Arenas are those of both sides, the old one first; of a model that only one side
	// has, one.
	Arenas []ComparedArena
}

// ComparedFigure is a figure of a model on both sides.
type ComparedFigure struct {
	Title, Old, New, Change, Limit string
	OldValue, NewValue             float64 // lengths of bars; 0: not known
	Worse, Better, Exceeded        bool
}

// ComparedLayer is a layer that is not the same.
type ComparedLayer struct {
	Name, Op, What, Kernel string
	Cells                  []ComparedCell
}

// ComparedCell is a change of a figure of a layer.
type ComparedCell struct {
	Text          string
	Worse, Better bool
}

// ComparedArena is the arena of one side.
type ComparedArena struct {
	Title   string
	Bytes   int
	Steps   int
	Buffers []Buffer
}

// diffPage is what the template prints.
type diffPage struct {
	frame
	*Comparison
	Models []diffModel
}

type diffModel struct {
	*ComparedModel
	Figures []diffFigure
	Limits  bool // a figure has one
	Arenas  []diffArena
}

// diffFigure has bars of 0 to 50, of 50 for the larger.
type diffFigure struct {
	ComparedFigure
	OldBar, NewBar int
}

type diffArena struct {
	Title string
	arenaView
}

// DiffPage is the comparison as one page, in the form of the report's.
func DiffPage(c *Comparison) []byte {
	c = text.Lines(c)
	p := &diffPage{frame: newFrame("nncc: " + c.Verdict), Comparison: c}
	for i := range c.Models {
		m := &c.Models[i]
		v := diffModel{ComparedModel: m}
		for _, f := range m.Figures {
			most := max(f.OldValue, f.NewValue)
			x := diffFigure{ComparedFigure: f}
			v.Limits = v.Limits || f.Limit != ""
			if most > 0 {
				x.OldBar, x.NewBar = int(50*max(f.OldValue, 0)/most), int(50*max(f.NewValue, 0)/most)
			}
			v.Figures = append(v.Figures, x)
		}
		most := 0
		for _, a := range m.Arenas {
			most = max(most, a.Bytes)
		}
		for _, a := range m.Arenas {
			v.Arenas = append(v.Arenas, diffArena{a.Title, newArena(&Memory{ArenaBytes: a.Bytes, Buffers: a.Buffers},
				a.Steps, most)})
		}
		p.Models = append(p.Models, v)
	}
	return write("diff.html", p)
}

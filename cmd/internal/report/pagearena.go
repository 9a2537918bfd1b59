// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/text"
)

// arenaView is the arena over the steps: a rectangle for every buffer, time from
// left to right, addresses from the bottom up.
type arenaView struct {
	Width, Height float64
	Boxes         []arenaBox
	Bytes, Steps  []tick
	Bound         float64 // height of the lower bound's line
	BoundText     string
	Walls         []wall // between the parts of an arena in several memories
	Live          string // the line of bytes in use
	Hidden        int    // buffers beyond mostRows
}

// wall is the end of a part of the arena, with the name of its memory below.
type wall struct {
	At   float64
	Text string
}

// tick is a mark of an axis.
type tick struct {
	At   float64
	Text string
}

// arenaBox is one buffer.
type arenaBox struct {
	X, Y, W, H float64
	Colour     int // of eight
	Title      string
	Label      string // "" where it does not fit
	Upright    bool   // the label reads upwards
	name       string
	// where the label begins
	LabelX, LabelY float64
}

// Size of the drawing, in pixels. A step is wide enough for a label that reads
// upwards, and all of them together fill the page.
const (
	arenaHeight, arenaWidth = 320.0, 1040.0
	leastStep, mostStep     = 16.0, 130.0
	labelFont               = 11.0
)

// newArena draws the arena of a program of so many steps; the height stands for
// bytes, at least the size of the arena.
func newArena(r *Memory, steps, bytes int) arenaView {
	steps = max(steps, 1)
	if r.ArenaBytes <= 0 {
		return arenaView{}
	}
	sx := min(max(arenaWidth/float64(steps), leastStep), mostStep)
	sy := arenaHeight / float64(max(bytes, r.ArenaBytes))
	m := arenaView{Width: sx * float64(steps), Height: arenaHeight}
	if r.OverlapBoundBytes > 0 {
		m.Bound = arenaHeight - float64(r.OverlapBoundBytes)*sy
		m.BoundText = r.bounds(thousands)
	}
	for _, x := range r.ArenaParts {
		m.Walls = append(m.Walls, wall{arenaHeight - float64(x.Offset+x.Bytes)*sy,
			fmt.Sprintf("%s: %s bytes", x.Region, thousands(x.Bytes))})
	}
	live := make([]int, steps)
	for _, b := range r.Buffers {
		first, last := clamp(b.First, steps), clamp(b.Last, steps)
		if b.AliasOf == "" {
			for i := first; i <= last; i++ {
				live[i] += b.Bytes
			}
		}
		if len(m.Boxes) == mostRows {
			m.Hidden++
			continue
		}
		m.Boxes = append(m.Boxes, newArenaBox(&b, len(m.Boxes), float64(first)*sx, float64(last-first+1)*sx, sy))
	}
	m.labels()
	m.Live = liveLine(live, sx, sy)
	m.Bytes = byteTicks(max(bytes, r.ArenaBytes), sy)
	every := 1
	for float64(every)*sx < 34 {
		every *= 2
	}
	for i := 0; i < steps; i += every {
		m.Steps = append(m.Steps, tick{(float64(i) + 0.5) * sx, fmt.Sprint(i)})
	}
	return m
}

func newArenaBox(b *Buffer, k int, x, w, sy float64) arenaBox {
	box := arenaBox{X: x, W: w, H: max(float64(b.Bytes)*sy, 0.5), Colour: k % 8}
	box.Y = arenaHeight - float64(b.Offset)*sy - box.H
	box.Title = fmt.Sprintf("%s: %s bytes at %s, steps %d to %d", b.Name, thousands(b.Bytes), thousands(b.Offset),
		b.First, b.Last)
	if b.Region != "" {
		box.Title += ", in " + b.Region
	}
	if b.AliasOf != "" {
		box.Title += ", in the place of " + b.AliasOf
	}
	box.name = b.Name
	return box
}

// labels names the buffers, as far as those that are drawn over them leave room.
func (m *arenaView) labels() {
	const least = 46 // of a label that says something
	for i := range m.Boxes {
		b := &m.Boxes[i]
		x, y, w, h := m.room(i)
		switch {
		case h >= labelFont+3 && w >= least && (w >= h || textSpan(b.name, labelFont)+8 < w):
			b.Label = fitTail(b.name, labelFont, w-8)
			b.LabelX, b.LabelY = x+4, y+h/2+4
		case w >= labelFont+3 && h >= least:
			b.Label, b.Upright = fitTail(b.name, labelFont, h-8), true
			b.LabelX, b.LabelY = x+w/2+4, y+h-4
		}
	}
}

// room is the part of a box that no later one covers: left of it, or above or below.
func (m *arenaView) room(i int) (x, y, w, h float64) {
	b := m.Boxes[i]
	x, y, w, h = b.X, b.Y, b.W, b.H
	for _, c := range m.Boxes[i+1:] {
		above, below := c.Y-y, y+h-c.Y-c.H
		switch {
		case above >= h || below >= h || c.X >= x+w || c.X+c.W <= x: // beside it
		case c.X > x:
			w = c.X - x
		case above >= below:
			h = max(above, 0)
		default:
			y, h = c.Y+c.H, below
		}
	}
	return x, y, w, h
}

func liveLine(live []int, sx, sy float64) string {
	var s strings.Builder
	command := "M0 "
	for i, n := range live {
		s.WriteString(command + short(arenaHeight-float64(n)*sy) + "H" + short(float64(i+1)*sx))
		command = "V"
	}
	return s.String()
}

// byteTicks are about six round numbers up to the size of the arena.
func byteTicks(bytes int, sy float64) []tick {
	every := 16
	for bytes/every > 7 {
		every *= 2
	}
	var out []tick
	for n := 0; n <= bytes; n += every {
		out = append(out, tick{arenaHeight - float64(n)*sy, byteText(n)})
	}
	return out
}

// byteText writes bytes in KiB or MiB where that is exact.
func byteText(n int) string {
	switch {
	case n > 0 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n > 0 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// clamp brings a step into the program: inputs are there before the first,
// outputs after the last.
func clamp(step, steps int) int { return min(max(step, 0), steps-1) }

// spaceView is a memory of the board with what lies in it, in percent of its size.
type spaceView struct {
	Region
	Parts []spacePart
	Free  uint64
	Share string // of the memory in use
}

type spacePart struct {
	Item
	X, W   float64
	Colour int
}

func newSpaces(r *Report) []spaceView {
	var out []spaceView
	for _, m := range r.Memory.Regions {
		v := spaceView{Region: m}
		whole := float64(max(m.Bytes, m.Used, 1))
		x := 0.0
		for i, p := range m.Items {
			w := 100 * float64(p.Bytes) / whole
			v.Parts = append(v.Parts, spacePart{p, math.Min(x, 100), math.Min(w, 100-math.Min(x, 100)), i % 8})
			x += w
		}
		if m.Bytes > m.Used {
			v.Free = m.Bytes - m.Used
		}
		v.Share = percent(float64(m.Used) / float64(max(m.Bytes, 1)))
		out = append(out, v)
	}
	return out
}

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

// OldBar is how long the bar of the old value is: 0 to 50, of 50 for the larger.
func (f ComparedFigure) OldBar() int { return f.bar(f.OldValue) }

// NewBar is that of the new one.
func (f ComparedFigure) NewBar() int { return f.bar(f.NewValue) }

func (f ComparedFigure) bar(x float64) int {
	if most := max(f.OldValue, f.NewValue); most > 0 {
		return int(50 * max(x, 0) / most)
	}
	return 0
}

// Limits reports that a figure has one.
func (m ComparedModel) Limits() bool {
	return slices.ContainsFunc(m.Figures, func(f ComparedFigure) bool { return f.Limit != "" })
}

// Drawn are the arenas, on one scale.
func (m ComparedModel) Drawn() (out []drawnArena) {
	most := 0
	for _, a := range m.Arenas {
		most = max(most, a.Bytes)
	}
	for _, a := range m.Arenas {
		view := newArena(&Memory{ArenaBytes: a.Bytes, Buffers: a.Buffers}, a.Steps, most)
		out = append(out, drawnArena{a.Title, view})
	}
	return out
}

type drawnArena struct {
	Title string
	arenaView
}

// DiffPage is the comparison as one page, in the form of the report's.
func DiffPage(c *Comparison) []byte {
	c = text.Lines(c)
	return write("diff.html", struct {
		frame
		*Comparison
	}{newFrame("nncc: " + c.Verdict), c})
}

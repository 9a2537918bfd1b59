package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
)

// File is the report by which nncc knows a folder of its own again, HTMLFile the page of the report for people.
const (
	File     = "report.json"
	HTMLFile = "report.html"
)

//go:embed tmpl/report.html
var reportHTML string

var reportPage = template.Must(template.New(HTMLFile).Funcs(template.FuncMap{"num": thousands, "value": value,
	"join": strings.Join}).Parse(reportHTML))

// mostRows bounds the layers and buffers that the page shows; report.json has all.
const mostRows = 1500

// pageView is what the template prints.
type pageView struct {
	*Report
	MACs         int64
	Instructions uint64 // measured; 0 before verify
	Shown        []pageLayer
	Hidden       int // layers beyond mostRows
	Map          memoryMap
	Refused      []pageRefusal
	Fused        []Fusion
	NotFused     []Fusion
}

// pageLayer is a row of the table of layers.
type pageLayer struct {
	Layer
	Index int
	Class string  // colour of the library
	Share float64 // of the largest layer's MACs, in percent
	Live  int     // bytes of the arena in use
}

// pageRefusal is everything that refused a node.
type pageRefusal struct {
	Node, Op string
	By       []Rejection
}

// HTML is the report as one page that needs nothing else: no scripts, no other
// files. Every text from the model is escaped by the template.
func (r *Report) HTML() []byte {
	r = text.Lines(r)
	v := pageView{Report: r, Map: newMemoryMap(r)}
	var most int64 = 1
	for _, l := range r.Layers {
		v.MACs += l.MACs
		most = max(most, l.MACs)
	}
	if r.Code != nil {
		v.Instructions = r.Code.Instructions
	}
	for i, l := range r.Layers {
		if i == mostRows {
			v.Hidden = len(r.Layers) - mostRows
			break
		}
		v.Shown = append(v.Shown, pageLayer{l, i, kernelClass(l), 100 * float64(l.MACs) / float64(most), v.Map.live[i]})
	}
	at := map[string]int{}
	for _, x := range r.Rejections {
		i, ok := at[x.Node]
		if !ok {
			if i = len(v.Refused); i == mostRows {
				break
			}
			at[x.Node] = i
			v.Refused = append(v.Refused, pageRefusal{Node: x.Node, Op: x.Op})
		}
		v.Refused[i].By = append(v.Refused[i].By, x)
	}
	for _, f := range r.Fusion {
		if f.Kind == "none" {
			v.NotFused = append(v.NotFused, f)
		} else {
			v.Fused = append(v.Fused, f)
		}
	}
	var b bytes.Buffer
	if err := reportPage.Execute(&b, v); err != nil {
		panic(bug.Errorf("report.html: %w", err))
	}
	return b.Bytes()
}

// kernelClass is the CSS class of a layer: whose kernel it runs.
func kernelClass(l Layer) string {
	switch {
	case l.Op == op.Segment.Name:
		return "accelerator"
	case l.Library == cmsisnn.Library:
		return "cmsis"
	case kernel.IsOptimized(l.Library):
		return "own"
	}
	return "portable"
}

// value is what a pointer points at.
func value(x any) any { return reflect.Indirect(reflect.ValueOf(x)).Interface() }

// thousands writes an integer, or what a pointer to one points at, with
// separators.
func thousands(x any) string {
	s := fmt.Sprint(value(x))
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// memoryMap is the arena over the steps: a rectangle for every buffer, time from
// left to right, addresses from the bottom up.
type memoryMap struct {
	Width, Height float64
	Boxes         []memoryBox
	Bound         float64 // height of the lower bound's line
	Live          string  // points of the line of bytes in use
	Hidden        int     // buffers beyond mostRows
	live          []int   // bytes in use at every step
}

// memoryBox is one buffer.
type memoryBox struct {
	X, Y, W, H float64
	Colour     int // of eight
	Title      string
	Label      string // "" where it does not fit
}

// mapHeight and mapWidth are the size of the drawing, in pixels.
const (
	mapHeight = 280.0
	mapWidth  = 1100.0
)

func newMemoryMap(r *Report) memoryMap {
	steps := max(len(r.Layers), 1)
	m := memoryMap{Width: mapWidth, Height: mapHeight, live: make([]int, steps)}
	if r.Memory.ArenaBytes == 0 {
		return m
	}
	sx, sy := mapWidth/float64(steps), mapHeight/float64(r.Memory.ArenaBytes)
	m.Bound = mapHeight - float64(r.Memory.LowerBoundBytes)*sy
	for _, b := range r.Memory.Buffers {
		first, last := clamp(b.First, steps), clamp(b.Last, steps)
		if b.AliasOf == "" {
			for i := first; i <= last; i++ {
				m.live[i] += b.Bytes
			}
		}
		if len(m.Boxes) == mostRows {
			m.Hidden++
			continue
		}
		box := memoryBox{X: float64(first) * sx, W: float64(last-first+1) * sx, H: max(float64(b.Bytes)*sy, 0.5),
			Colour: len(m.Boxes) % 8}
		box.Y = mapHeight - float64(b.Offset)*sy - box.H
		box.Title = fmt.Sprintf("%s: %s bytes at %s, steps %d to %d", b.Name, thousands(b.Bytes), thousands(b.Offset),
			b.First, b.Last)
		if b.AliasOf != "" {
			box.Title += ", in the place of " + b.AliasOf
		}
		if box.H > 14 && box.W > 7*float64(len(b.Name)) {
			box.Label = b.Name
		}
		m.Boxes = append(m.Boxes, box)
	}
	var line []string
	for i, n := range m.live {
		y := mapHeight - float64(n)*sy
		line = append(line, fmt.Sprintf("%.1f,%.1f %.1f,%.1f", float64(i)*sx, y, float64(i+1)*sx, y))
	}
	m.Live = strings.Join(line, " ")
	return m
}

// clamp brings a step into the program: inputs are there before the first,
// outputs after the last.
func clamp(step, steps int) int { return min(max(step, 0), steps-1) }

// Opsets are the imported operator sets, as text.
func (v pageView) Opsets() string {
	var s []string
	for d, n := range v.Model.Opset {
		s = append(s, fmt.Sprintf("%s %d", d, n))
	}
	slices.Sort(s)
	return strings.Join(s, ", ")
}

// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/runtime_c/spdx"
)

// File is the report by which nncc knows a folder of its own again, HTMLFile the page of the report for people.
const (
	File     = "report.json"
	HTMLFile = "report.html"
)

//go:embed page
var pageFiles embed.FS

// pageTemplates are parsed when the first page is written.
var pageTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"num": thousands, "value": value,
		"join": shortJoin, "name": text.Names, "long": isLong, "affine": affine, "px": short, "percent": percent,
		"dims": dims, "many": many,
		"add": func(a, b float64) float64 { return a + b }, "sub": func(a, b float64) float64 { return a - b },
		"half": func(a float64) float64 { return a / 2 }}).ParseFS(pageFiles,
		"page/*.html"))
})

// mostRows bounds the layers, nodes and buffers that the page shows; report.json has all.
const mostRows = 1500

// frame is what every page has: its style and script, and the policy that lets the
// browser use these and nothing else.
type frame struct {
	Title  string
	CSS    template.CSS
	JS     template.JS
	Policy string
}

func newFrame(title string) frame {
	file := func(name string) string {
		b, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			panic(bug.Errorf("page: %w", err))
		}
		return string(b)
	}
	sum := func(s string) string {
		h := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(h[:]) + "'"
	}
	css, js := file("page.css"), file("page.js")
	return frame{title, template.CSS(css), template.JS(js), fmt.Sprintf("default-src 'none'; style-src %s; "+
		"script-src %s; base-uri 'none'; form-action 'none'", sum(css), sum(js))}
}

// write fills a page.
func write(name string, view any) []byte {
	var b bytes.Buffer
	if err := pageTemplates().ExecuteTemplate(&b, name, view); err != nil {
		panic(bug.Errorf("%s: %w", name, err))
	}
	return spdx.Stamp(name, b.Bytes(), spdx.Emitted)
}

// page is what report.html prints.
type page struct {
	frame
	*Report
	Cards   []card
	Metrics []*metric
	Rows    []layerRow
	Hidden  int // layers beyond mostRows
	Drawing *drawing
	Nodes   []*nodeView
	Arena   arenaView
	Spaces  []spaceView
	Values  []figure // quantised values, the noisiest first
	Weights []figure
	// those that the script draws
	MoreValues, MoreWeights []figureRow
	Packed                  template.HTML
	// Refused are the rejections of nodes that the graph does not have.
	Refused  []Rejection
	Fused    []Fusion
	NotFused []Fusion
}

// HTML is the report as one page that needs nothing else. It can be read without
// scripts; its own script sorts, searches and zooms. Every text from the model is escaped
// by the template.
func (r *Report) HTML() []byte {
	r = text.Lines(r)
	v := &page{frame: newFrame(r.Model.Name + " for " + r.Board + " - nncc"), Report: r}
	v.Metrics = newMetrics(r)
	v.nodes()
	v.layerRows()
	v.Drawing = newDrawing(r, v.Nodes)
	v.Arena, v.Spaces = newArena(&r.Memory, len(r.Layers), 0), newSpaces(r)
	v.figures()
	for _, f := range r.Fusion {
		if f.Kind == "none" {
			v.NotFused = append(v.NotFused, f)
		} else {
			v.Fused = append(v.Fused, f)
		}
	}
	v.Cards = newCards(r)
	v.pack()
	return write("report.html", v)
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

// affine says which reals integers stand for; there may be no zero point.
func affine(scale *float32, zero *int32) string {
	z := int32(0)
	if zero != nil {
		z = *zero
	}
	s := fmt.Sprintf("%.6g", *scale)
	switch {
	case z == 0:
		return s + " \u00d7 q"
	case z < 0:
		return fmt.Sprintf("%s \u00d7 (q + %d)", s, -int64(z))
	}
	return fmt.Sprintf("%s \u00d7 (q \u2212 %d)", s, z)
}

// percent is a share.
func percent(x float64) string {
	switch {
	case x == 0:
		return "0 %"
	case x < 0.0001:
		return "below 0.01 %"
	case x < 0.1:
		return fmt.Sprintf("%.2g %%", 100*x)
	}
	return fmt.Sprintf("%.0f %%", 100*x)
}

// dims is a shape as people write it: 1×64×25×5.
func dims(shape []int) string {
	if len(shape) == 0 {
		return "scalar"
	}
	var s []string
	for _, d := range shape {
		s = append(s, fmt.Sprint(d))
	}
	return strings.Join(s, "\u00d7")
}

// shortJoin joins names, shortened as in tables.
func shortJoin(names []string, by string) string {
	short := make([]string, len(names))
	for i, n := range names {
		short[i] = text.Names(n)
	}
	return strings.Join(short, by)
}

// isLong reports a name that tables shorten.
func isLong(name string) bool { return text.Names(name) != name }

// many is "1 layer" or "2 layers".
func many(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return thousands(n) + " " + what
}

// Opsets are the imported operator sets, as text.
func (r *Report) Opsets() string {
	var s []string
	for d, n := range r.Model.Opset {
		s = append(s, fmt.Sprintf("%s %d", d, n))
	}
	slices.Sort(s)
	return strings.Join(s, ", ")
}

// card is a figure at the head of the page.
type card struct {
	Value, Unit, What, Note string
	Bad                     bool
}

func newCards(r *Report) []card {
	m := r.Memory
	cards := []card{{Value: thousands(m.ArenaBytes), Unit: "B", What: "arena",
		Note: "lower bound " + thousands(m.LowerBoundBytes)}}
	if m.StateBytes > 0 {
		cards = append(cards, card{Value: thousands(m.StateBytes), Unit: "B", What: "state",
			Note: "kept from run to run"})
	}
	cards = append(cards, card{Value: thousands(m.WeightsBytes), Unit: "B", What: "weights and constants"})
	var macs int64
	for _, l := range r.Layers {
		macs += l.MACs
	}
	if r.Code != nil {
		cards = append(cards, card{Value: thousands(r.Code.TextBytes), Unit: "B", What: "code",
			Note: "constants beside weights " + thousands(r.Code.RODataBytes)})
	}
	if r.Code != nil && r.Code.StackBytes > 0 {
		cards = append(cards, card{Value: thousands(r.Code.StackBytes), Unit: "B", What: "stack used",
			Note: stackNote(r.Code)})
	}
	if r.Code != nil && r.Code.Instructions > 0 {
		cards = append(cards, card{Value: thousands(r.Code.Instructions), What: "instructions",
			Note: "measured, largest case"})
	} else if m, _ := instructions(r); m.finish() {
		cards = append(cards, card{Value: m.Total, What: "instructions", Note: m.Note})
	}
	cards = append(cards, card{Value: thousands(macs), What: "MACs an inference"})
	if c := r.Calibration; c != nil {
		x := card{Value: fmt.Sprintf("%.1f", c.SQNR), Unit: "dB", What: "SQNR, against float",
			Note: many(c.HeldOut, "sample") + " that calibration did not see", Bad: c.SQNR < 10}
		switch {
		case c.Unknown:
			x.Value, x.Note, x.Bad = "?", "the samples say nothing", true
		case c.InSample:
			x.Note = fmt.Sprintf("on the %s of calibration", many(c.Samples, "sample"))
		}
		cards = append(cards, x)
	}
	return append(cards, card{Value: thousands(len(r.Layers)), What: "steps",
		Note: many(len(r.Segments), "segment") + ", " + thousands(r.ComputeFallback()) + " outside"})
}

func stackNote(c *Code) string {
	if c.Bound != nil {
		return "at most " + thousands(*c.Bound)
	}
	return ""
}

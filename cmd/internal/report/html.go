// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
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
		bug.If(err != nil, "page: %w", err)
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
	RAM     frontierView
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
	r.summarise()
	r = text.Lines(r)
	v := &page{frame: newFrame(r.Model.Name + " for " + r.Board + " - nncc"), Report: r}
	calls := len(r.Layers)
	r.join()
	v.Metrics = newMetrics(r)
	v.nodes()
	v.layerRows()
	v.Drawing = newDrawing(r, v.Nodes)
	v.Arena, v.Spaces = newArena(&r.Memory, calls, 0), newSpaces(r)
	v.RAM = newFrontierView(&r.Memory)
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
	s := lists.Map(shape, func(d int) string { return fmt.Sprint(d) })
	return strings.Join(s, "\u00d7")
}

func shortJoin(names []string, by string) string {
	short := lists.Map(names, func(n string) string { return text.Names(n) })
	return strings.Join(short, by)
}

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
		Note: m.bounds(thousands)}}
	if m.StateBytes > 0 {
		cards = append(cards, card{Value: thousands(m.StateBytes), Unit: "B", What: "state",
			Note: "kept from run to run"})
	}
	cards = append(cards, card{Value: thousands(m.WeightsBytes), Unit: "B", What: "weights and constants"})
	macs := lists.Sum(r.Layers, func(l Layer) int64 { return l.MACs })
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
	return append(cards, card{Value: thousands(len(r.Steps)), What: "steps",
		Note: many(len(r.Segments), "segment") + ", " + thousands(r.ComputeFallback()) + " outside"})
}

func stackNote(c *Code) string {
	if c.Bound != nil {
		return "at most " + thousands(*c.Bound)
	}
	return ""
}

// packed is what a page of hundreds of layers has only for its script: as JSON, deflated, in base64. Nodes is made
// by the template of nodes, which escapes it.
type packed struct {
	Values  []figureRow `json:"values"`
	Weights []figureRow `json:"weights"`
	Nodes   string      `json:"nodes"`
	Buffers []string    `json:"buffers"` // what the rectangles of the arena are
}

// alwaysTitled is how many buffers say what they are without the script, too.
const alwaysTitled = 64

// pack takes from the page what a reader without scripts can do without: figures but the first, nodes that the
// drawing and the table of layers show and that no kernel refused, what many small rectangles are.
func (p *page) pack() {
	b := packed{Values: p.MoreValues, Weights: p.MoreWeights}
	if len(p.Arena.Boxes) > alwaysTitled {
		for i := range p.Arena.Boxes {
			x := &p.Arena.Boxes[i]
			b.Buffers, x.Title = append(b.Buffers, x.Title), ""
		}
	}
	if p.Drawing != nil {
		var nodes bytes.Buffer
		for _, n := range p.Nodes {
			if n.Packed = len(n.Reasons) == 0; !n.Packed {
				continue
			}
			if err := pageTemplates().ExecuteTemplate(&nodes, "node", n); err != nil {
				panic(bug.Errorf("node: %w", err))
			}
		}
		b.Nodes = nodes.String()
	}
	if len(b.Values)+len(b.Weights)+len(b.Nodes)+len(b.Buffers) == 0 {
		return
	}
	plain, err := json.Marshal(b)
	bug.If(err != nil, "page: %w", err)
	p.Packed = template.HTML(base64.StdEncoding.EncodeToString(deflated(plain)))
}

func deflated(plain []byte) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	bug.If(err != nil, "page: %w", err)
	return b.Bytes()
}

// nodeView is a node with everything that is known of it.
type nodeView struct {
	Index       int
	Name, Op    string
	Class, Runs string // colour, and in words where it runs
	Layer       *Layer // nil: no code
	LayerIndex  int
	Alone       bool // the only node of its layer
	Packed      bool // it is told by the script
	Segment     *int
	MACs        int64
	In, Out     []tensorView
	Consts      []Constant
	Refused     bool // by a better kernel, or the accelerator
	Reasons     []refusalLine
	in, out     []int
	chain       string
}

// tensorView is a tensor that a node reads or gives.
type tensorView struct {
	*Tensor
	At   int  // index in .graph.tensors
	From bool // a node before gives it, and has its facts
}

// refusalLine is one reason against a node.
type refusalLine struct{ Target, Text, Code string }

// reasons are those of a node: of each kernel, or why it is outside of the segments.
func reasons(refused []Rejection, f *Fallback) []refusalLine {
	var out []refusalLine
	for _, x := range refused {
		for _, y := range x.Reasons {
			out = append(out, refusalLine{x.Target, y.Text, y.Code})
		}
	}
	if f != nil && len(out) == 0 {
		out = append(out, lists.Map(f.Reasons, func(y string) refusalLine { return refusalLine{Text: y} })...)
	}
	return out
}

// nodes lists those of the graph, or the layers where the report has no graph.
func (p *page) nodes() {
	g := p.Graph
	if g == nil {
		g = &Graph{}
		for i, l := range p.Layers {
			g.Nodes = append(g.Nodes, GraphNode{Name: l.Name, Op: l.Op, Layer: i, MACs: l.MACs})
		}
	}
	alone := map[int]int{}
	for _, n := range g.Nodes {
		alone[n.Layer]++
	}
	refused, fallback := map[string][]Rejection{}, map[string]*Fallback{}
	for _, x := range p.Rejections {
		refused[x.Node] = append(refused[x.Node], x)
	}
	for i := range p.Fallback {
		fallback[p.Fallback[i].Node] = &p.Fallback[i]
	}
	known, made := map[string]bool{}, map[int]bool{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		known[n.Name] = true
		if i < mostRows {
			v := p.newNode(g, i, made)
			v.Alone, v.Refused = alone[n.Layer] == 1, len(refused[n.Name]) > 0
			v.Reasons = reasons(refused[n.Name], fallback[n.Name])
			p.Nodes = append(p.Nodes, v)
		}
	}
	for _, x := range p.Rejections {
		if !known[x.Node] && len(p.Refused) < mostRows {
			p.Refused = append(p.Refused, x)
		}
	}
}

// newNode is node i of a graph, with its layer and its tensors; made are those of the
// nodes before.
func (p *page) newNode(g *Graph, i int, made map[int]bool) *nodeView {
	n := &g.Nodes[i]
	v := &nodeView{Index: i, Name: n.Name, Op: n.Op, LayerIndex: n.Layer, Segment: n.Segment, MACs: n.MACs,
		Consts: n.Consts, in: n.In, out: n.Out, chain: n.chain, Class: "view", Runs: "no code"}
	if n.Layer >= 0 && n.Layer < len(p.Layers) {
		v.Layer = &p.Layers[n.Layer]
		v.Class, v.Runs = kernelClass(*v.Layer), runsOn(*v.Layer)
	}
	for _, t := range n.In {
		if x := g.tensor(t); x != nil {
			v.In = append(v.In, tensorView{x, t, made[t]})
		}
	}
	for _, t := range n.Out {
		made[t] = true
		if x := g.tensor(t); x != nil {
			v.Out = append(v.Out, tensorView{x, t, false})
		}
	}
	return v
}

// The classes of layers, by whose kernel they run: of colours, and words of the legend.
var classes = []struct{ Class, Text string }{
	{"accelerator", "accelerator"}, {"own", "nncc's kernels for the core"}, {"cmsis", "CMSIS-NN"},
	{"portable", "portable C (fallback)"}, {"none", "runs nowhere"},
	{"planned", "moves rows for the arena"}, {"view", "no code: the same memory"},
	{"io", "input, output"}}

// noKernel marks a layer of a model that does not compile.
const noKernel = "none"

// kernelClass is the CSS class of a layer: whose kernel it runs.
func kernelClass(l Layer) string {
	switch {
	case l.Kernel == noKernel:
		return "none"
	case l.planned:
		return "planned"
	case l.Library == cmsisnn.Library:
		return "cmsis"
	case kernel.IsOptimized(l.Library):
		return "own"
	case l.Library == portable || l.Library == "":
		return "portable"
	case l.Library == "view" || l.Kernel == "": // or a model that could not be imported
		return "view"
	}
	return "accelerator"
}

// runsOn says in a word or two where a layer runs.
func runsOn(l Layer) string {
	switch kernelClass(l) {
	case "none":
		return "nowhere"
	case "portable":
		return "portable C"
	case "planned":
		return "a copy"
	case "view":
		if l.Kernel == "" {
			return l.Library
		}
		return "no code"
	case "accelerator":
		return strings.ToUpper(l.Library)
	case "cmsis":
		return "CMSIS-NN"
	}
	switch name := strings.TrimPrefix(l.Library, "nncc-"); name {
	case "helium":
		return "Helium"
	default:
		return strings.ToUpper(name)
	}
}

// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower/quant"
)

// metric is a figure of every layer: a column of bars.
type metric struct {
	Key, Title string
	Unit, Note string
	Values     []float64 // NaN: not known
	Most       float64
	Total      string // "" where a sum means nothing
	Path       string // the bars of all layers, in barsWidth x barsHeight
	Peak       int    // the layer with the most
	PeakText   string
}

// barsWidth and barsHeight are the units of the drawing of a metric.
const barsWidth, barsHeight = 1000.0, 44.0

// weightsNote says what the sum of the layers' weights is.
func weightsNote(r *Report) string {
	n := 0
	for i := range r.Layers {
		n += r.Layers[i].WeightBytes
	}
	if n > r.Memory.WeightsBytes {
		return "bytes of weights and constants, shared ones at each layer"
	}
	return "bytes of weights and constants"
}

// newMetrics are those that are known of at least one layer.
func newMetrics(r *Report) []*metric {
	instr, cycles := instructions(r)
	integer := func(key, title, unit, note string, of func(l *Layer) float64) *metric {
		return &metric{Key: key, Title: title, Unit: unit, Note: note, Values: each(r, of)}
	}
	all := []*metric{instr, integer("bound", "at most", "", "instructions that a layer can take with any data",
		func(l *Layer) float64 { return known(l.Bound) }), cycles, integer("macs", "MACs", "", "",
		func(l *Layer) float64 { return float64(l.MACs) }), integer("weights", "weights", "B", weightsNote(r),
		func(l *Layer) float64 { return float64(l.WeightBytes) }), integer("moved", "activations", "B",
		"bytes that are read and written", func(l *Layer) float64 { return float64(l.MovedBytes) }), {Key: "sqnr",
		Title: "SQNR", Unit: "dB", Note: "signal to quantisation noise against the float model, with the errors " +
			"of all layers before", Values: noiseOf(r)}}
	return lists.Filter(all, func(m *metric) bool { return m.finish() })
}

func each(r *Report, of func(l *Layer) float64) []float64 {
	return lists.Make(len(r.Layers), func(i int) float64 { return of(&r.Layers[i]) })
}

// known is a figure of a layer, NaN where there is none.
func known[T int | uint64](x *T) float64 {
	if x == nil {
		return math.NaN()
	}
	return float64(*x)
}

// instructions and estimated cycles, measured, or as the choice of kernels predicted.
func instructions(r *Report) (instr, cycles *metric) {
	measured := func(key, note, predicted string, of func(l *Layer) float64, chosen func(c *Candidate) *int) *metric {
		m := &metric{Key: key, Title: key, Note: note, Values: each(r, of)}
		if slices.ContainsFunc(m.Values, func(x float64) bool { return x == x }) {
			return m
		}
		m.Note = predicted
		m.Values = each(r, func(l *Layer) float64 {
			c := l.chosen()
			if c == nil {
				return math.NaN()
			}
			return known(chosen(c))
		})
		return m
	}
	return measured("instructions", "measured, largest case", "predicted; verify measures",
			func(l *Layer) float64 { return known(l.Instructions) }, func(c *Candidate) *int { return c.Instructions }),
		measured("cycles", "estimated from executed instructions",
			"predicted; profile estimates them from what is executed",
			func(l *Layer) float64 { return known(l.Cycles) }, func(c *Candidate) *int { return c.Cycles })
}

// noiseOf is the least signal-to-noise ratio of the results of each layer.
func noiseOf(r *Report) []float64 {
	out := slices.Repeat([]float64{math.NaN()}, len(r.Layers))
	if r.Graph == nil {
		return out
	}
	for _, n := range r.Graph.Nodes {
		if n.Layer < 0 || n.Layer >= len(out) {
			continue
		}
		for _, t := range n.Out {
			if x := r.Graph.tensor(t); x != nil && x.SQNR != nil && !(out[n.Layer] <= *x.SQNR) {
				out[n.Layer] = *x.SQNR
			}
		}
	}
	return out
}

func (g *Graph) tensor(i int) *Tensor {
	if g == nil || i < 0 || i >= len(g.Tensors) {
		return nil
	}
	return &g.Tensors[i]
}

// finish sums up and draws; false where nothing is known, or all is 0.
func (m *metric) finish() bool {
	sum, known, without := 0.0, false, 0
	m.Peak = -1
	for i, x := range m.Values {
		if math.IsNaN(x) {
			without++
			continue
		}
		known = known || x != 0
		sum += x
		if m.Peak < 0 || x > m.Values[m.Peak] {
			m.Peak = i
		}
		m.Most = max(m.Most, x)
	}
	if !known {
		return false
	}
	if m.Key != "sqnr" {
		m.Total = thousands(int64(sum))
		if without > 0 {
			m.Total += " and more"
			m.Note += fmt.Sprintf("; not known of %d of %d layers, which are left out", without, len(m.Values))
		}
	} else {
		m.Most = max(m.Most, 1)
		for i, x := range m.Values { // of noise, the least is the one to look at
			if x < m.Values[m.Peak] {
				m.Peak = i
			}
		}
	}
	m.Path = m.bars()
	m.PeakText = fmt.Sprintf("most: #%d, %s", m.Peak, m.text(m.Peak))
	if m.Key == "sqnr" {
		m.PeakText = fmt.Sprintf("least: #%d, %s", m.Peak, m.text(m.Peak))
	}
	return true
}

func (m *metric) text(i int) string {
	if m.Key == "sqnr" {
		return fmt.Sprintf("%.1f dB", m.Values[i])
	}
	s := thousands(int64(m.Values[i]))
	if m.Unit != "" {
		s += " " + m.Unit
	}
	return s
}

func (m *metric) bars() string {
	var b strings.Builder
	step := barsWidth / float64(len(m.Values))
	for i, x := range m.Values {
		if !(x > 0) {
			continue
		}
		h := max(x/m.Most*barsHeight, 0.6)
		fmt.Fprintf(&b, "M%s %gV%sh%sV%gz", short(float64(i)*step), barsHeight, short(barsHeight-h), short(step*0.84),
			barsHeight)
	}
	return b.String()
}

// short is a coordinate to a tenth.
func short(x float64) string {
	s := fmt.Sprintf("%.1f", x)
	return strings.TrimSuffix(s, ".0")
}

// layerRow is a row of the table of layers.
type layerRow struct {
	*Layer
	Index, Node int  // in .layers, and of its first node in the drawing
	Linked      bool // the page describes the node
	Class, Runs string
	Cells       []cell
}

// cell is a number with a bar: 0 to 50 of 50.
type cell struct {
	Text string
	Bar  int
	Bad  bool
}

func (p *page) layerRows() {
	first := map[int]int{}
	if p.Graph != nil {
		for i, n := range p.Graph.Nodes {
			if _, ok := first[n.Layer]; !ok {
				first[n.Layer] = i
			}
		}
	}
	for i := range p.Layers {
		if i == mostRows {
			p.Hidden = len(p.Layers) - mostRows
			break
		}
		l := &p.Layers[i]
		r := layerRow{Layer: l, Index: i, Node: i, Class: kernelClass(*l), Runs: runsOn(*l)}
		if k, ok := first[i]; ok {
			r.Node = k
		}
		r.Linked = r.Node < len(p.Nodes)
		for _, m := range p.Metrics {
			c := cell{}
			if x := m.Values[i]; !math.IsNaN(x) {
				c = cell{Text: thousands(int64(x)), Bar: int(math.Ceil(50 * max(x, 0) / m.Most))}
				if m.Key == "sqnr" {
					c.Text, c.Bad = fmt.Sprintf("%.1f", x), x < 10
				}
			}
			r.Cells = append(r.Cells, c)
		}
		p.Rows = append(p.Rows, r)
	}
}

// figure is a histogram with its caption.
type figure struct {
	Node        int // in the drawing, -1: none
	Name, Op    string
	Facts       string
	SQNR        string
	Bad         bool
	Bins, Path  string  // the bars, each 1 wide; "" where only the range is known
	From, Width float64 // of the axis, in bars
	Low, High   float64 // the clipping lines
	Left, Right string  // the ends of the axis
	noise       float64
}

// figureHeight is that of a histogram, in pixels; mostFigures is how many the page has
// of values, and of weights; of each, alwaysDrawn are elements of the page, the others are
// data, of which its script makes elements.
const figureHeight, mostFigures, alwaysDrawn = 56, 400, 12

func (p *page) figures() {
	if p.Calibration != nil {
		p.valueFigures(p.Calibration)
	}
	for _, n := range p.Nodes {
		for k, c := range n.Consts {
			if c.Histogram == nil || len(p.Weights) == mostFigures {
				continue
			}
			p.Weights = append(p.Weights, weightFigure(n, k))
		}
	}
	const n = alwaysDrawn
	if len(p.Values) > n {
		p.Values, p.MoreValues = p.Values[:n], figureRows(p.Values[n:])
	}
	if len(p.Weights) > n {
		p.Weights, p.MoreWeights = p.Weights[:n], figureRows(p.Weights[n:])
	}
}

// figureRow is a figure as the script takes it: node, name, operator, ratio, is it bad, facts; and where it is
// drawn the heights of the bars as digits, begin and width of the axis, the clipping lines, the ends of the axis.
type figureRow []any

func figureRows(list []figure) []figureRow {
	var out []figureRow
	for _, f := range list {
		r := figureRow{f.Node, text.Names(f.Name), f.Op, f.SQNR, f.Bad, f.Facts}
		if f.Path != "" {
			r = append(r, f.Bins, tenth(f.From), tenth(f.Width), tenth(f.Low), tenth(f.High), f.Left, f.Right)
		}
		out = append(out, r)
	}
	return out
}

// tenth is a coordinate as it is written.
func tenth(x float64) float64 { return math.Round(10*x) / 10 }

func (p *page) valueFigures(c *quant.Report) {
	node := map[int]int{}
	for _, n := range p.Nodes {
		for _, t := range n.Out {
			if t.Calibration != nil {
				node[*t.Calibration] = n.Index
			}
		}
	}
	for i, l := range c.Layers {
		f := figure{Node: -1, Name: l.Name, Op: l.Op, noise: l.SQNR,
			SQNR: fmt.Sprintf("%.1f dB", l.SQNR), Bad: l.SQNR < 10}
		if k, ok := node[i]; ok {
			f.Node = k
		}
		if len(l.Range) == 2 {
			scale, zero := float32(l.Scale), int32(l.Zero)
			f.Facts = fmt.Sprintf("%.4g to %.4g, %s", l.Range[0], l.Range[1], affine(&scale, &zero))
			if h := l.Histogram; h != nil {
				f.draw(h, l.Range[0], l.Range[1])
				f.Facts += "; clipped " + percent(h.Clipped) + ", zeros " + percent(h.Zeros)
			}
		}
		p.Values = append(p.Values, f)
	}
	lists.Sort(p.Values, func(a, b figure) int { return cmp.Compare(a.noise, b.noise) })
	p.Values = p.Values[:min(len(p.Values), mostFigures)]
}

func weightFigure(n *nodeView, k int) figure {
	c := n.Consts[k]
	f := figure{Node: n.Index, Name: n.Name, Op: n.Op}
	f.Facts = c.DType + " " + dims(c.Shape)
	switch {
	case c.Scales > 1:
		f.Facts += fmt.Sprintf(", %d scales %.3g to %.3g", c.Scales, c.LeastScale, c.MostScale)
	case c.Scales == 1:
		f.Facts += fmt.Sprintf(", scale %.3g", c.LeastScale)
	}
	h := c.Histogram
	lo, hi := h.Low, h.High
	if limit := integerLimit(c.DType); limit > 0 && c.Scales > 0 {
		lo, hi = -limit, limit
		f.Facts += "; at the limits " + percent(h.Clipped) + ","
	}
	f.Facts += " zeros " + percent(h.Zeros)
	f.draw(h, lo, hi)
	if hi > h.Low && lo == -hi { // integers: the last bin may reach beyond them
		f.Left, f.Right = fmt.Sprint(lo), fmt.Sprint(hi)
	}
	return f
}

// integerLimit is the largest integer of weights; 0: they are none.
func integerLimit(dtype string) float64 {
	switch dtype {
	case "int4":
		return 7
	case "int8":
		return 127
	case "int16":
		return 32767
	}
	return 0
}

// draw makes the bars, with lines at lo and hi, on an axis that has all of them.
func (f *figure) draw(h *quant.Histogram, lo, hi float64) {
	bins := h.Heights()
	left, right := min(h.Low, lo), max(h.High, hi)
	if len(bins) == 0 || !(h.High > h.Low) || right-left > 1000*(h.High-h.Low) {
		return
	}
	at := func(x float64) float64 { return (x - h.Low) / (h.High - h.Low) * float64(len(bins)) }
	var b strings.Builder
	fmt.Fprintf(&b, "M0 %d", figureHeight)
	for i := 0; i < len(bins); {
		n := 1
		for i+n < len(bins) && bins[i+n] == bins[i] {
			n++
		}
		fmt.Fprintf(&b, "V%.0fh%d", figureHeight*(1-bins[i]), n)
		i += n
	}
	fmt.Fprintf(&b, "V%dz", figureHeight)
	f.Bins, f.Path, f.Low, f.High, f.From, f.Width = h.Bins, b.String(), at(lo), at(hi), at(left), at(right)-at(left)
	f.Left, f.Right = fmt.Sprintf("%.3g", left), fmt.Sprintf("%.3g", right)
}

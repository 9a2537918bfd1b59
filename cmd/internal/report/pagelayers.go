// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"strings"
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
	all := []*metric{instr, mostInstructions(r), cycles,
		integer("macs", "MACs", "", "", func(l *Layer) float64 { return float64(l.MACs) }),
		integer("weights", "weights", "B", weightsNote(r),
			func(l *Layer) float64 { return float64(l.WeightBytes) }),
		integer("moved", "activations", "B", "bytes that are read and written",
			func(l *Layer) float64 { return float64(l.MovedBytes) }),
		{Key: "sqnr", Title: "SQNR", Unit: "dB", Note: "signal to quantisation noise against the float model, with " +
			"the errors of all layers before", Values: noiseOf(r)}}
	var known []*metric
	for _, m := range all {
		if m.finish() {
			known = append(known, m)
		}
	}
	return known
}

func each(r *Report, of func(l *Layer) float64) []float64 {
	out := make([]float64, len(r.Layers))
	for i := range r.Layers {
		out[i] = of(&r.Layers[i])
	}
	return out
}

// instructions and estimated cycles, measured, or as the choice of kernels predicted.
func instructions(r *Report) (instr, cycles *metric) {
	chosen := func(l *Layer, of func(c *Candidate) *int) float64 {
		for i := range l.Candidates {
			if c := &l.Candidates[i]; c.Chosen && of(c) != nil {
				return float64(*of(c))
			}
		}
		return math.NaN()
	}
	instr = &metric{Key: "instructions", Title: "instructions", Note: "measured, largest case"}
	measured := false
	instr.Values = each(r, func(l *Layer) float64 {
		if l.Instructions == nil {
			return math.NaN()
		}
		measured = true
		return float64(*l.Instructions)
	})
	if !measured {
		instr.Note = "predicted; verify measures"
		instr.Values = each(r, func(l *Layer) float64 {
			return chosen(l, func(c *Candidate) *int { return c.Instructions })
		})
	}
	cycles = &metric{Key: "cycles", Title: "cycles", Note: "estimated from executed instructions"}
	measured = false
	cycles.Values = each(r, func(l *Layer) float64 {
		if l.Cycles == nil {
			return math.NaN()
		}
		measured = true
		return float64(*l.Cycles)
	})
	if !measured {
		cycles.Note = "predicted; profile estimates them from what is executed"
		cycles.Values = each(r, func(l *Layer) float64 {
			return chosen(l, func(c *Candidate) *int { return c.Cycles })
		})
	}
	return instr, cycles
}

// mostInstructions are the bounds, of layers that have one.
func mostInstructions(r *Report) *metric {
	m := &metric{Key: "bound", Title: "at most", Note: "instructions that a layer can take with any data"}
	m.Values = each(r, func(l *Layer) float64 {
		if l.Bound == nil {
			return math.NaN()
		}
		return float64(*l.Bound)
	})
	return m
}

// noiseOf is the least signal-to-noise ratio of the results of each layer.
func noiseOf(r *Report) []float64 {
	out := make([]float64, len(r.Layers))
	for i := range out {
		out[i] = math.NaN()
	}
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

// tensor is a tensor by its index; nil where there is none.
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

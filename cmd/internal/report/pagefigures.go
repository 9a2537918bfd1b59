// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/lower/quant"
)

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

// figures are those of quantised values, the noisiest first, and of weights.
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
	slices.SortStableFunc(p.Values, func(a, b figure) int { return cmp.Compare(a.noise, b.noise) })
	p.Values = p.Values[:min(len(p.Values), mostFigures)]
}

// weightFigure is that of a constant of a node.
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

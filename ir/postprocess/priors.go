// SPDX-License-Identifier: Apache-2.0

package postprocess

import "math"

// Priors are boxes of a shape, of sizes that grow from map to map: sides scale *
// sqrt(aspect) and scale / sqrt(aspect) of the input at the middle of each cell.
type Priors struct {
	Grids   [][2]int  // columns, rows of each map
	Scales  []float64 // of each map
	Aspects []float64
	// Between adds a square of the mean of a map's scale and the next one's, behind
	// the last one of scale 1.
	Between bool
}

// Anchors is how many boxes lie in a cell.
func (p *Priors) Anchors() int {
	if p.Between {
		return len(p.Aspects) + 1
	}
	return len(p.Aspects)
}

// Table has centre x, y, width and height of every box as parts of the input: map, row,
// column, aspect.
func (p *Priors) Table() []float64 {
	var out []float64
	for i, g := range p.Grids {
		var sizes [][2]float64
		for _, a := range p.Aspects {
			sizes = append(sizes, [2]float64{p.Scales[i] * math.Sqrt(a), p.Scales[i] / math.Sqrt(a)})
		}
		if p.Between {
			next := 1.
			if i+1 < len(p.Scales) {
				next = p.Scales[i+1]
			}
			s := math.Sqrt(p.Scales[i] * next)
			sizes = append(sizes, [2]float64{s, s})
		}
		for row := range g[1] {
			for col := range g[0] {
				for _, s := range sizes {
					out = append(out, (float64(col)+0.5)/float64(g[0]), (float64(row)+0.5)/float64(g[1]), s[0], s[1])
				}
			}
		}
	}
	return out
}

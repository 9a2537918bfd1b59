// SPDX-License-Identifier: Apache-2.0

package layered

import (
	"cmp"
	"math"
	"slices"
)

// layout reads the places off the items, and leads the edges.
func (d *drawing) layout() *Layout {
	out := &Layout{At: make([]Point, len(d.nodes)), Paths: make([][]Point, len(d.edges))}
	top, height := d.rows()
	for v, n := range d.nodes {
		r := d.rank[v]
		out.At[v] = Point{d.items[v].x - n.W/2, top[r] + (height[r]-n.H)/2}
		out.W, out.H = max(out.W, out.At[v].X+n.W), max(out.H, out.At[v].Y+n.H)
	}
	ports := d.ports()
	for i, e := range d.edges {
		if !d.drawn[i] {
			continue
		}
		x := d.items[e.From].x
		path := []Point{{x, out.At[e.From].Y + d.nodes[e.From].H}}
		for r := d.rank[e.From] + 1; r < d.rank[e.To]; r++ {
			x = d.items[d.passes[[2]int{e.From, r}]].x
			path = append(path, Point{x, top[r]}, Point{x, top[r] + height[r]})
			out.W = max(out.W, x+1)
		}
		path = append(path, Point{d.items[e.To].x + ports[i], out.At[e.To].Y})
		out.Paths[i] = shorten(path)
	}
	return out
}

// rows are the top and the height of every layer; the wider the edges between two
// layers go, the more room they get.
func (d *drawing) rows() (top, height []float64) {
	top, height = make([]float64, len(d.layers)), make([]float64, len(d.layers))
	y := 0.0
	for r, l := range d.layers {
		wide := 0.0
		for _, k := range l {
			if v := d.items[k].node; v >= 0 {
				height[r] = max(height[r], d.nodes[v].H)
			}
			for _, u := range d.items[k].up {
				wide = max(wide, math.Abs(d.items[u].x-d.items[k].x))
			}
		}
		if r > 0 {
			y += min(leastGap+wide/10, mostGap)
		}
		top[r] = y
		y += height[r]
	}
	return top, height
}

// ports are where edges enter their boxes, beside the middle: the straight one in the
// middle, the others in the order in which they come.
func (d *drawing) ports() []float64 {
	into := make([][]int, len(d.nodes))
	for i, e := range d.edges {
		if d.drawn[i] {
			into[e.To] = append(into[e.To], i)
		}
	}
	out := make([]float64, len(d.edges))
	for v, list := range into {
		if len(list) < 2 {
			continue
		}
		from := func(i int) float64 {
			e := d.edges[i]
			if k, ok := d.passes[[2]int{e.From, d.rank[v] - 1}]; ok {
				return d.items[k].x
			}
			return d.items[e.From].x
		}
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(from(a), from(b)) })
		middle := float64(len(list)-1) / 2
		for p, i := range list {
			if math.Abs(from(i)-d.items[v].x) < 0.5 {
				middle = float64(p)
			}
		}
		step := min(portDistance, (d.nodes[v].W-24)/2/max(middle, float64(len(list)-1)-middle))
		for p, i := range list {
			out[i] = (float64(p) - middle) * step
		}
	}
	return out
}

// shorten leaves out the points between which a path goes straight on.
func shorten(p []Point) []Point {
	out := p[:1]
	for i := 1; i < len(p); i++ {
		if i+1 < len(p) && p[i].X == out[len(out)-1].X && p[i].X == p[i+1].X {
			continue
		}
		out = append(out, p[i])
	}
	return out
}

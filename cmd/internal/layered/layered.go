// SPDX-License-Identifier: Apache-2.0

// Package layered places graphs without circles in layers, one below the other, so
// that the longest path is a straight column and long edges run beside it: for
// drawings of networks. The same graph gives the same coordinates everywhere.
package layered

import (
	"cmp"
	"math"
	"slices"

	"github.com/nncc/nncc/ir/lists"
)

// Node is a box, in pixels.
type Node struct{ W, H float64 }

// Edge goes down from a node to a later one in the list.
type Edge struct{ From, To int }

// Point is a place, x to the right and y down, in pixels.
type Point struct{ X, Y float64 }

// Layout is where everything goes.
type Layout struct {
	W, H float64
	At   []Point // top left corners of the nodes
	// Paths are the corners of each edge from box to box. nil: the edge is not drawn,
	// since it does not go down, or because there is no room for so many long ones.
	Paths [][]Point
}

// Distances, in pixels.
const (
	betweenBoxes = 26 // left and right
	betweenWires = 14
	leastGap     = 26 // between layers
	mostGap      = 84
	portDistance = 14 // of edges that enter a box
)

// mostBends bounds the points at which long edges pass layers.
const mostBends = 12000

// item is what a layer holds: a node, or a long edge that passes.
type item struct {
	node  int // -1: an edge that passes
	from  int // the node whose edge passes
	layer int
	up    []int // items of the layer above
	down  []int
	pos   int // in its layer
	block int // the column that it belongs to
	w, x  float64
}

// drawing is a layout in the making.
type drawing struct {
	nodes  []Node
	edges  []Edge
	drawn  []bool // by edge
	rank   []int  // by node
	items  []item // the nodes, then the passing edges
	layers [][]int
	heavy  map[[2]int]bool // edges of the columns
	passes map[[2]int]int  // by node and layer: the item by which its edges pass
}

// Place finds the places. It takes about as long as the graph is large: crossings are
// reduced, but not to the least.
func Place(nodes []Node, edges []Edge) *Layout {
	d := &drawing{nodes: nodes, edges: edges, drawn: make([]bool, len(edges)), passes: map[[2]int]int{},
		heavy: map[[2]int]bool{}}
	for i, e := range edges {
		d.drawn[i] = e.From >= 0 && e.From < e.To && e.To < len(nodes)
	}
	d.assignRanks()
	d.dropLongest()
	d.fillLayers()
	d.order()
	d.columns()
	d.settle()
	return d.layout()
}

// assignRanks puts every node right below the last one that it reads; what reads
// less than it gives, such as an input, right above its first reader.
func (d *drawing) assignRanks() {
	d.rank = make([]int, len(d.nodes))
	in, out := make([][]int, len(d.nodes)), make([][]int, len(d.nodes))
	for i, e := range d.edges {
		if d.drawn[i] {
			in[e.To], out[e.From] = append(in[e.To], e.From), append(out[e.From], e.To)
		}
	}
	for v := range d.nodes {
		for _, u := range in[v] {
			d.rank[v] = max(d.rank[v], d.rank[u]+1)
		}
	}
	for u := len(d.nodes) - 1; u >= 0; u-- {
		if len(out[u]) <= len(in[u]) {
			continue
		}
		lowest := d.rank[out[u][0]]
		for _, v := range out[u] {
			lowest = min(lowest, d.rank[v])
		}
		d.rank[u] = lowest - 1
	}
}

// dropLongest gives up the longest edges while there are too many bends.
func (d *drawing) dropLongest() {
	spans := []int{}
	for i, e := range d.edges {
		if d.drawn[i] {
			spans = append(spans, d.rank[e.To]-d.rank[e.From])
		}
	}
	slices.Sort(spans)
	for limit := len(spans); limit > 0 && d.bends() > mostBends; limit = limit * 3 / 4 {
		longest := spans[limit-1]
		for i, e := range d.edges {
			d.drawn[i] = d.drawn[i] && d.rank[e.To]-d.rank[e.From] < max(longest, 2)
		}
	}
}

// bends counts the points at which edges pass layers; edges of one node pass together.
func (d *drawing) bends() int {
	longest := make([]int, len(d.nodes))
	for i, e := range d.edges {
		if d.drawn[i] {
			longest[e.From] = max(longest[e.From], d.rank[e.To]-d.rank[e.From]-1)
		}
	}
	return lists.Sum(longest, func(k int) int { return k })
}

// fillLayers makes the items, and joins those of neighbouring layers.
func (d *drawing) fillLayers() {
	layers := 0
	for v, n := range d.nodes {
		d.items = append(d.items, item{node: v, from: v, layer: d.rank[v], w: n.W})
		layers = max(layers, d.rank[v]+1)
	}
	for i, e := range d.edges {
		if !d.drawn[i] {
			continue
		}
		above := e.From
		for r := d.rank[e.From] + 1; r < d.rank[e.To]; r++ {
			k, ok := d.passes[[2]int{e.From, r}]
			if !ok {
				k = len(d.items)
				d.passes[[2]int{e.From, r}] = k
				d.items = append(d.items, item{node: -1, from: e.From, layer: r})
				d.join(above, k)
			}
			above = k
		}
		d.join(above, e.To)
	}
	d.layers = make([][]int, layers)
	for k := range d.items {
		r := d.items[k].layer
		d.items[k].pos = len(d.layers[r])
		d.layers[r] = append(d.layers[r], k)
	}
}

func (d *drawing) join(a, b int) {
	if !slices.Contains(d.items[a].down, b) {
		d.items[a].down, d.items[b].up = append(d.items[a].down, b), append(d.items[b].up, a)
	}
}

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

// SPDX-License-Identifier: Apache-2.0

// Package layered places graphs without circles in layers, one below the other, so
// that the longest path is a straight column and long edges run beside it: for
// drawings of networks. The same graph gives the same coordinates everywhere.
package layered

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

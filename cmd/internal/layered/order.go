// SPDX-License-Identifier: Apache-2.0

package layered

import (
	"cmp"
	"slices"

	"github.com/nncc/nncc/ir/lists"
)

// sweeps is how often the layers are ordered, down and up in turn.
const sweeps = 14

// order sorts every layer by where the neighbours above, then below, lie, and keeps
// the order with the fewest crossings.
func (d *drawing) order() {
	best, least := d.snapshot(), d.crossings()
	for s := 0; s < sweeps && least > 0; s++ {
		for k := range d.layers {
			if s%2 == 0 {
				d.sortLayer(k, func(x *item) []int { return x.up })
			} else {
				d.sortLayer(len(d.layers)-1-k, func(x *item) []int { return x.down })
			}
		}
		d.exchange()
		if n := d.crossings(); n < least {
			best, least = d.snapshot(), n
		}
	}
	for r, l := range best {
		d.setLayer(r, l)
	}
}

func (d *drawing) snapshot() [][]int {
	return lists.Map(d.layers, func(l []int) []int { return slices.Clone(l) })
}

func (d *drawing) setLayer(r int, l []int) {
	copy(d.layers[r], l)
	for p, k := range d.layers[r] {
		d.items[k].pos = p
	}
}

// sortLayer orders a layer by the mean position of neighbours; items without any
// stay where they are.
func (d *drawing) sortLayer(r int, of func(*item) []int) {
	mean := map[int]float64{}
	for _, k := range d.layers[r] {
		near := of(&d.items[k])
		sum := lists.Sum(near, func(u int) float64 { return float64(d.items[u].pos) })
		if len(near) > 0 {
			mean[k] = sum / float64(len(near))
		} else {
			mean[k] = float64(d.items[k].pos)
		}
	}
	l := slices.Clone(d.layers[r])
	slices.SortStableFunc(l, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
	d.setLayer(r, l)
}

// mostExchanged bounds the layers in which neighbours change places.
const mostExchanged = 64

// exchange lets neighbours of small layers change places where that saves crossings.
func (d *drawing) exchange() {
	for _, l := range d.layers {
		if len(l) > mostExchanged {
			continue
		}
		for i := 0; i+1 < len(l); i++ {
			a, b := &d.items[l[i]], &d.items[l[i+1]]
			if d.crossed(b.up, a.up)+d.crossed(b.down, a.down) < d.crossed(a.up, b.up)+d.crossed(a.down, b.down) {
				a.pos, b.pos = b.pos, a.pos
				l[i], l[i+1] = l[i+1], l[i]
			}
		}
	}
}

// crossed counts the crossings of edges to the neighbours of an item with those of
// the item to the right of it.
func (d *drawing) crossed(left, right []int) int {
	n := 0
	for _, u := range left {
		for _, v := range right {
			if d.items[u].pos > d.items[v].pos {
				n++
			}
		}
	}
	return n
}

// crossings counts all of them, with a tree of sums over positions for each pair of layers.
func (d *drawing) crossings() int {
	total := 0
	for r := 1; r < len(d.layers); r++ {
		size := len(d.layers[r-1])
		tree, seen := make([]int, size+1), 0
		for _, k := range d.layers[r] {
			for _, u := range d.items[k].up {
				total += seen
				for p := d.items[u].pos + 1; p > 0; p -= p & -p {
					total -= tree[p]
				}
			}
			for _, u := range d.items[k].up {
				seen++
				for p := d.items[u].pos + 1; p <= size; p += p & -p {
					tree[p]++
				}
			}
		}
	}
	return total
}

// block is a column: items below each other at one x.
type block struct {
	items []int
	x     float64
}

// columns makes blocks: the edge of each node that leads down furthest, and long
// edges, as far as they do not cross.
func (d *drawing) columns() {
	d.chooseHeavy()
	next := slices.Repeat([]int{-1}, len(d.items))
	for r := 0; r+1 < len(d.layers); r++ {
		for _, s := range d.straight(r) {
			next[s[0]] = s[1]
		}
	}
	below := make([]bool, len(d.items))
	for _, k := range next {
		if k >= 0 {
			below[k] = true
		}
	}
	n := 0
	for k := range d.items {
		if below[k] {
			continue
		}
		for i := k; i >= 0; i = next[i] {
			d.items[i].block = n
		}
		n++
	}
}

// chooseHeavy marks, for each node, the edge to the reader with the most nodes below.
func (d *drawing) chooseHeavy() {
	depth, out := make([]int, len(d.nodes)), make([][]int, len(d.nodes))
	for i, e := range d.edges {
		if d.drawn[i] {
			out[e.From] = append(out[e.From], e.To)
		}
	}
	for v := len(d.nodes) - 1; v >= 0; v-- {
		for _, w := range out[v] {
			depth[v] = max(depth[v], depth[w]+1)
		}
	}
	var short []Edge
	for i, e := range d.edges {
		if d.drawn[i] && d.rank[e.To] == d.rank[e.From]+1 {
			short = append(short, e)
		}
	}
	lists.Sort(short, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(depth[b.To], depth[a.To]), cmp.Compare(a.From, b.From))
	})
	left, entered := map[int]bool{}, map[int]bool{}
	for _, e := range short {
		if !left[e.From] && !entered[e.To] {
			left[e.From], entered[e.To] = true, true
			d.heavy[[2]int{e.From, e.To}] = true
		}
	}
}

// straight are the joints between a layer and the next that are drawn without a bend:
// heavy ones first, then those of long edges, none across another.
func (d *drawing) straight(r int) [][2]int {
	var first, second [][2]int
	for _, k := range d.layers[r] {
		for _, m := range d.items[k].down {
			s := [2]int{k, m}
			switch {
			case d.heavy[s]:
				first = append(first, s)
			case d.items[k].node < 0 && d.items[m].node < 0:
				second = append(second, s)
			}
		}
	}
	var kept [][2]int
	for _, s := range append(first, second...) {
		a, b := d.items[s[0]].pos, d.items[s[1]].pos
		if !slices.ContainsFunc(kept, func(t [2]int) bool {
			c, e := d.items[t[0]].pos, d.items[t[1]].pos
			return (a-c)*(b-e) <= 0
		}) {
			kept = append(kept, s)
		}
	}
	return kept
}

// distance is the least one between the middles of neighbours in a layer.
func (d *drawing) distance(a, b int) float64 {
	gap := float64(betweenBoxes)
	if d.items[a].node < 0 || d.items[b].node < 0 {
		gap = betweenWires
	}
	return (d.items[a].w+d.items[b].w)/2 + gap
}

// rounds is how often blocks move to their neighbours.
const rounds = 10

// settle gives every block an x: first as far left as the order in the layers allows,
// then to the middle of what it is joined to.
func (d *drawing) settle() {
	blocks := d.leftToRight()
	for _, b := range blocks {
		for _, k := range b.items {
			if p := d.items[k].pos; p > 0 {
				l := d.layers[d.items[k].layer][p-1]
				b.x = max(b.x, d.items[l].x+d.distance(l, k))
			}
		}
		d.move(b)
	}
	for i := range rounds {
		for k := range blocks {
			b := blocks[k]
			if i%2 == 0 {
				b = blocks[len(blocks)-1-k]
			}
			d.pull(b)
		}
	}
	least := 0.0
	for k := range d.items {
		least = min(least, d.items[k].x-d.items[k].w/2)
	}
	for k := range d.items {
		d.items[k].x -= least
	}
}

func (d *drawing) move(b *block) {
	for _, k := range b.items {
		d.items[k].x = b.x
	}
}

// pull moves a block to the middle of what it is joined to, as far as there is room.
func (d *drawing) pull(b *block) {
	var want []float64
	lo, hi := -1e18, 1e18
	for _, k := range b.items {
		x := &d.items[k]
		for _, m := range slices.Concat(x.up, x.down) {
			if y := &d.items[m]; y.block != x.block {
				want = append(want, y.x)
			}
		}
		l := d.layers[x.layer]
		if x.pos > 0 {
			lo = max(lo, d.items[l[x.pos-1]].x+d.distance(l[x.pos-1], k))
		}
		if x.pos+1 < len(l) {
			hi = min(hi, d.items[l[x.pos+1]].x-d.distance(k, l[x.pos+1]))
		}
	}
	if len(want) == 0 {
		return
	}
	slices.Sort(want)
	n := len(want)
	b.x = max(lo, min(hi, (want[(n-1)/2]+want[n/2])/2))
	d.move(b)
}

// leftToRight lists the blocks so that in every layer those to the left come first.
func (d *drawing) leftToRight() []*block {
	var blocks []*block
	for k := range d.items {
		for len(blocks) <= d.items[k].block {
			blocks = append(blocks, &block{})
		}
		b := blocks[d.items[k].block]
		b.items = append(b.items, k)
	}
	waits, then := make([]int, len(blocks)), make([][]int, len(blocks))
	for _, l := range d.layers {
		for p := 1; p < len(l); p++ {
			a, b := d.items[l[p-1]].block, d.items[l[p]].block
			then[a] = append(then[a], b)
			waits[b]++
		}
	}
	ready := lists.Where(len(blocks), func(b int) bool { return waits[b] == 0 })
	var out []*block
	for len(ready) > 0 {
		a := ready[0]
		ready = ready[1:]
		out = append(out, blocks[a])
		for _, b := range then[a] {
			if waits[b]--; waits[b] == 0 {
				ready = append(ready, b)
			}
		}
	}
	return out
}

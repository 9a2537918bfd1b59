// SPDX-License-Identifier: Apache-2.0

package layered

import (
	"cmp"
	"slices"
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
	out := make([][]int, len(d.layers))
	for r, l := range d.layers {
		out[r] = slices.Clone(l)
	}
	return out
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
		sum := 0.0
		for _, u := range near {
			sum += float64(d.items[u].pos)
		}
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

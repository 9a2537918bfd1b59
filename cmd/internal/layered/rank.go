// SPDX-License-Identifier: Apache-2.0

package layered

import (
	"slices"
)

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
	n := 0
	for _, k := range longest {
		n += k
	}
	return n
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

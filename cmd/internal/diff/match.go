// SPDX-License-Identifier: Apache-2.0

package diff

import "slices"

// pair is a layer of both sides; old or now is nil where the other side has none.
type pair struct {
	old, now *layer
	// partOf is the new layer that computes an old one's nodes, too.
	partOf string
}

func (p pair) both() bool { return p.old != nil && p.now != nil }

// figure is what the layer of each side has of a figure; nil: nothing.
func (p pair) figure(m *metric) (old, now *float64) {
	if p.old != nil {
		old = m.layer(p.old)
	}
	if p.now != nil {
		now = m.layer(p.now)
	}
	return old, now
}

// match pairs layers by name (the nth of a name with the nth), then by the ONNX nodes
// that they share: the most first. The order is that of the new layers, with removed
// ones behind the old layer before them.
func match(old, now []layer) []pair {
	of := make([]int, len(now)) // index of the old layer, -1: none
	taken := make([]bool, len(old))
	byName := map[string][]int{}
	for i, l := range old {
		byName[l.Name] = append(byName[l.Name], i)
	}
	for k, l := range now {
		of[k] = -1
		if list := byName[l.Name]; len(list) > 0 {
			of[k], byName[l.Name] = list[0], list[1:]
			taken[list[0]] = true
		}
	}
	matchByNodes(old, now, of, taken)
	return inOrder(old, now, of, taken)
}

func matchByNodes(old, now []layer, of []int, taken []bool) {
	byNode := map[string][]int{}
	for i, l := range old {
		if !taken[i] {
			for _, n := range l.ONNXNodes {
				byNode[n] = append(byNode[n], i)
			}
		}
	}
	type candidate struct{ shared, old, now int }
	var all []candidate
	for k, l := range now {
		if of[k] >= 0 {
			continue
		}
		shared := map[int]int{}
		for _, n := range l.ONNXNodes {
			for _, i := range byNode[n] {
				shared[i]++
			}
		}
		for i, n := range shared {
			all = append(all, candidate{n, i, k})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return slices.Compare([]int{-a.shared, a.now, a.old}, []int{-b.shared, b.now, b.old})
	})
	for _, c := range all {
		if of[c.now] < 0 && !taken[c.old] {
			of[c.now], taken[c.old] = c.old, true
		}
	}
}

func inOrder(old, now []layer, of []int, taken []bool) []pair {
	home := map[string]string{} // which new layer computes a node
	for _, l := range now {
		for _, n := range l.ONNXNodes {
			home[n] = l.Name
		}
	}
	behind := map[int][]pair{} // removed layers by the old layer before them that stayed
	last := -1
	for i := range old {
		if taken[i] {
			last = i
			continue
		}
		p := pair{old: &old[i]}
		for _, n := range old[i].ONNXNodes {
			if p.partOf = home[n]; p.partOf != "" {
				break
			}
		}
		behind[last] = append(behind[last], p)
	}
	out := behind[-1]
	for k := range now {
		p := pair{now: &now[k]}
		if of[k] >= 0 {
			p.old = &old[of[k]]
		}
		out = append(out, p)
		if of[k] >= 0 {
			out = append(out, behind[of[k]]...)
		}
	}
	return out
}

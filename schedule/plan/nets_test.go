// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// net builds network-shaped programs for the tests: values with sizes as
// feature maps have them, nodes with in-place activations and scratch.
type net struct {
	rng    rng
	nodes  []Node
	values []Value
	// scratch makes some nodes ask for scratch; inplace lets element-wise nodes
	// overwrite an input.
	scratch, inplace bool
}

func (n *net) pick(lo, hi int) int { return lo + n.rng.below(hi-lo+1) }

// value adds a value of about the given bytes; odd sizes are frequent.
func (n *net) value(bytes int64) int {
	n.values = append(n.values, Value{Name: fmt.Sprintf("v%d", len(n.values)), Bytes: max(bytes, 1), AliasOf: -1})
	return len(n.values) - 1
}

// op adds a node which reads in and writes one new value.
func (n *net) op(bytes int64, in ...int) int {
	out := n.value(bytes)
	nd := Node{Name: fmt.Sprintf("n%d", len(n.nodes)), In: in, Out: []int{out}}
	if n.scratch && n.rng.below(3) == 0 {
		nd.Scratch = int64(n.pick(1, 4000))
	}
	n.nodes = append(n.nodes, nd)
	return out
}

// elementwise adds a node of the size of its first input.
func (n *net) elementwise(in ...int) int {
	out := n.op(n.values[in[0]].Bytes, in...)
	nd := &n.nodes[len(n.nodes)-1]
	nd.Scratch = 0
	if n.inplace {
		for _, v := range in {
			nd.Overlap = append(nd.Overlap, Overlap{Out: out, In: v, Exact: n.rng.below(2) == 0})
		}
	}
	return out
}

// over lets the last node write its output over its inputs, some bytes before them.
func (n *net) over(out int, in ...int) {
	nd := &n.nodes[len(n.nodes)-1]
	for _, v := range in {
		nd.Overlap = append(nd.Overlap, Overlap{Out: out, In: v, Ahead: int64(n.rng.below(100))})
	}
}

// plane is the bytes of a feature map of the given side and channels.
func plane(side, ch int) int64 { return int64(side * side * ch) }

func (n *net) chain(length int) {
	v := n.input(int64(n.pick(100, 50000)))
	for range length {
		if n.rng.below(4) == 0 {
			v = n.elementwise(v)
		} else {
			v = n.op(int64(n.pick(16, 50000)), v)
		}
	}
	n.values[v].Output = true
}

func (n *net) input(bytes int64) int {
	v := n.value(bytes)
	n.values[v].Input = true
	return v
}

func (n *net) residual(blocks int) {
	side, ch := n.pick(12, 48), n.pick(3, 16)
	v := n.op(plane(side, ch), n.input(plane(side, 3)))
	for range blocks {
		skip := v
		expand := ch * n.pick(1, 6)
		if n.rng.below(3) == 0 && side > 3 {
			side, ch = (side+1)/2, ch*2
			skip = n.op(plane(side, ch), v)
		}
		a := n.elementwise(n.op(plane(side, expand), v))
		a = n.op(plane(side, expand), a)
		a = n.op(plane(side, ch), a)
		v = n.elementwise(n.elementwise(a, skip))
	}
	n.values[n.op(10, v)].Output = true
}

func (n *net) inception(blocks int) {
	side, ch := n.pick(8, 40), n.pick(8, 32)
	v := n.op(plane(side, ch), n.input(plane(side, 3)))
	for range blocks {
		if n.rng.below(3) == 0 && side > 3 {
			side = (side + 1) / 2
			v = n.op(plane(side, ch), v)
		}
		parts := make([]int, n.pick(2, 4))
		ch = 0
		for b := range parts {
			w := v
			for range n.pick(0, 2) {
				w = n.op(plane(side, n.pick(2, 24)), w)
			}
			c := n.pick(4, 24)
			parts[b] = n.elementwise(n.op(plane(side, c), w))
			ch += c
		}
		v = n.concat(plane(side, ch), parts...)
	}
	n.values[n.op(10, v)].Output = true
}

// concat is a copy, or a view of its parts where that is possible and the coin
// says so.
func (n *net) concat(bytes int64, parts ...int) int {
	views := n.inplace && n.rng.below(2) == 0
	for _, v := range parts {
		views = views && n.values[v].AliasOf < 0 && !n.values[v].Input
	}
	out := n.op(bytes, parts...)
	if views {
		at := int64(0)
		for _, v := range parts {
			n.values[v].AliasOf, n.values[v].Delta = out, at
			at += n.values[v].Bytes
		}
		n.values[out].Bytes = max(bytes, at)
	}
	return out
}

func (n *net) unet(depth int) {
	side, ch := n.pick(32, 96), n.pick(4, 8)
	v := n.op(plane(side, ch), n.input(plane(side, 3)))
	skips, sides, chs := []int{}, []int{}, []int{}
	for range depth {
		v = n.elementwise(n.op(plane(side, ch), v))
		skips, sides, chs = append(skips, v), append(sides, side), append(chs, ch)
		side, ch = (side+1)/2, ch*n.pick(1, 2)
		v = n.op(plane(side, ch), v)
	}
	v = n.op(plane(side, ch), v)
	for d := depth - 1; d >= 0; d-- {
		v = n.op(plane(sides[d], chs[d]), v)
		v = n.concat(plane(sides[d], 2*chs[d]), skips[d], v)
		v = n.elementwise(n.op(plane(sides[d], chs[d]), v))
	}
	n.values[n.op(plane(sides[0], 1), v)].Output = true
}

func (n *net) dense(blocks int) {
	side, ch := n.pick(8, 32), n.pick(8, 16)
	v := n.op(plane(side, ch), n.input(plane(side, 3)))
	for range blocks {
		grow := n.pick(4, 12)
		feats := []int{v}
		total := ch
		for range n.pick(2, 6) {
			in := feats[0]
			if len(feats) > 1 {
				in = n.concat(plane(side, total), feats...)
			}
			w := n.op(plane(side, 2*grow), in)
			feats = append(feats, n.op(plane(side, grow), w))
			total += grow
		}
		side, ch = (side+1)/2, total/2
		v = n.op(plane(side, ch), n.concat(plane(side*2, total), feats...))
	}
	n.values[v].Output = true
}

// split is a stem whose halves go separate ways and meet again, as in
// cross-stage-partial nets.
func (n *net) split(blocks int) {
	side, ch := n.pick(10, 40), n.pick(8, 24)
	v := n.op(plane(side, ch), n.input(plane(side, 3)))
	for range blocks {
		a, b := n.op(plane(side, ch/2), v), n.op(plane(side, ch/2), v)
		for range n.pick(1, 3) {
			c := n.op(plane(side, n.pick(2, ch)), b)
			b = n.elementwise(n.op(plane(side, ch/2), c), b)
		}
		v = n.concat(plane(side, ch/2*2), a, b)
		if side > 3 {
			side = (side + 1) / 2
			v = n.op(plane(side, ch), v)
		}
	}
	// Heads at the end: several outputs.
	for range n.pick(1, 4) {
		n.values[n.op(plane(side, n.pick(1, 6)), v)].Output = true
	}
}

var shapes = []struct {
	name  string
	build func(n *net)
}{
	{"chain", func(n *net) { n.chain(n.pick(1, 40)) }},
	{"residual", func(n *net) { n.residual(n.pick(1, 16)) }},
	{"inception", func(n *net) { n.inception(n.pick(1, 9)) }},
	{"u-net", func(n *net) { n.unet(n.pick(1, 5)) }},
	{"dense", func(n *net) { n.dense(n.pick(1, 4)) }},
	{"split", func(n *net) { n.split(n.pick(1, 5)) }},
}

// makeNet returns a seeded program. Seeds go through all combinations of
// scratch and in-place operators.
func makeNet(build func(*net), seed int) *net {
	n := &net{rng: rng{uint64(seed)}, scratch: seed&1 != 0, inplace: seed&2 != 0}
	build(n)
	return n
}

// shuffle returns the nodes in another order in which they can run.
func (n *net) shuffle() []Node {
	written := map[int]bool{}
	writers := map[int]bool{}
	for _, nd := range n.nodes {
		for _, v := range nd.Out {
			writers[v] = true
		}
	}
	rest := slices.Clone(n.nodes)
	out := []Node{}
	for len(rest) > 0 {
		k := n.rng.below(len(rest))
		ready := !slices.ContainsFunc(rest[k].In, func(v int) bool { return writers[v] && !written[v] })
		if !ready {
			continue
		}
		for _, v := range rest[k].Out {
			written[v] = true
		}
		out = append(out, rest[k])
		rest = slices.Delete(rest, k, k+1)
	}
	return out
}

// below returns a number from 0 to n-1; n must be positive.
func (r *rng) below(n int) int { return int(r.next() % uint64(n)) }

// TestSchedule: the arena is not larger than with either order alone, for the
// few nets whose best order cannot be packed to its bound too.
func TestSchedule(t *testing.T) {
	total := func(n *net, order []int, budget int64) int64 {
		return Place(Buffers(n.nodes, n.values, order), budget).Total
	}
	const opt = 1 << 21
	for _, shape := range shapes {
		worst := 1.0
		for _, seed := range []int{0, 1, 2, 3, 1048, 1762, 1856, 2135, 2886} {
			n := makeNet(shape.build, seed)
			order, bufs, res, st := Schedule(n.nodes, n.values, opt, 0)
			testenv.OK(t, check(bufs, res))
			if p, err := peakOf(n.nodes, n.values, order); err != nil || p != st.Peak || p != res.OverlapBound {
				t.Errorf("%s seed %d: peak %d, %v, %+v", shape.name, seed, p, err, st)
			}
			best, _ := Order(n.nodes, n.values, opt)
			if a, b := total(n, best, opt), total(n, identity(len(n.nodes)), opt); res.Total != min(a, b) {
				t.Errorf("%s seed %d: %d, in the best order %d, as given %d", shape.name, seed, res.Total, a, b)
			}
			worst = max(worst, float64(res.Total)/float64(res.OverlapBound))
		}
		t.Logf("%-10s worst ratio %.4f", shape.name, worst)
	}
}

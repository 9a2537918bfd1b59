// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// naivePeak counts the live bytes of an order from the definition, 16 bytes at a time: they are
// needed from the first to the last step that names a value which has any of them; inputs
// from the start, outputs, and inputs in storages that no step names, to the end. Storages that are merged in place
// count once; so do bytes of an output that can lie over bytes of inputs that die.
func naivePeak(nodes []Node, values []Value, order []int) int64 {
	n := len(order)
	root := func(v int) (r int, delta int64) {
		for r = v; values[r].AliasOf >= 0; r = values[r].AliasOf {
			delta += values[r].Delta
		}
		return r, delta
	}
	type cell struct{ first, last int }
	cells, named := map[int]map[int64]*cell{}, map[int]bool{}
	each := func(v int, f func(at int64, c *cell)) {
		r, delta := root(v)
		if cells[r] == nil {
			cells[r] = map[int64]*cell{}
		}
		for at := delta / 16; at*16 < delta+values[v].Bytes; at++ {
			if cells[r][at] == nil {
				cells[r][at] = &cell{n, -1}
			}
			f(at, cells[r][at])
		}
	}
	for s, i := range order {
		for _, v := range slices.Concat(nodes[i].In, nodes[i].Out) {
			r, _ := root(v)
			named[r] = named[r] || values[v].Bytes > 0
			each(v, func(_ int64, c *cell) { c.first, c.last = min(c.first, s), max(c.last, s) })
		}
	}
	for v, x := range values {
		r, _ := root(v)
		each(v, func(_ int64, c *cell) {
			if x.Input {
				c.first, c.last = 0, max(c.last, 0)
			}
			if x.Output || x.Input && !named[r] {
				c.first, c.last = min(c.first, n-1), n
			}
		})
	}
	given := func(v int) (yes bool) {
		each(v, func(at int64, _ *cell) {
			for w, x := range values {
				each(w, func(b int64, _ *cell) {
					a, _ := root(v)
					c, _ := root(w)
					yes = yes || x.Input && a == c && at == b
				})
			}
		})
		return yes
	}
	peak := int64(0)
	for s, i := range order {
		live := (nodes[i].Scratch + 15) / 16
		for _, list := range cells {
			for _, c := range list {
				if c.first <= s && s <= c.last {
					live++
				}
			}
		}
		taken, saved, out := map[int]bool{}, int64(0), int64(0)
		for _, o := range nodes[i].Overlap {
			in, d := root(o.In)
			to, e := root(o.Out)
			if in == to || d+e+o.Ahead > 0 || len(cells[in]) != len(cells[to]) || taken[in] || taken[to] {
				continue
			}
			ok := true
			for _, c := range cells[in] {
				ok = ok && c.last <= s
			}
			for _, w := range cells[to] {
				ok = ok && w.first >= s
			}
			if ok && !given(to) {
				taken[in], taken[to] = true, true
				each(o.Out, func(at int64, _ *cell) {
					if c := cells[in][at]; c != nil && c.first <= s && s <= c.last {
						saved++
					}
				})
			}
		}
		// Root and place of bytes that die: how far before them the storage of an output begins, and whether
		// that has bytes there.
		far, over := map[[2]int64]int64{}, map[[2]int64]bool{}
		for _, o := range nodes[i].Overlap {
			in, d := root(o.In)
			to, e := root(o.Out)
			if o.Exact || in == to {
				continue
			}
			shift := (o.Ahead + e - d + 15) >> 4
			each(o.In, func(at int64, c *cell) {
				key := [2]int64{int64(in), at}
				if was, ok := far[key]; ok && was >= shift {
					return
				}
				far[key], over[key] = shift, false
				each(o.Out, func(b int64, w *cell) {
					over[key] = over[key] || b == at+shift && w.first == s && c.last == s
				})
			})
		}
		if len(nodes[i].Overlap) > 0 { // all of one output
			each(nodes[i].Overlap[0].Out, func(int64, *cell) { out++ })
		}
		if saved == 0 {
			for _, yes := range over {
				if yes {
					saved++
				}
			}
			saved = min(saved, out)
		}
		peak = max(peak, live-saved)
	}
	return peak * 16
}

// allOrders calls f with every order in which the nodes can run.
func allOrders(nodes []Node, f func([]int)) {
	writer := map[int]int{}
	for i, n := range nodes {
		for _, v := range n.Out {
			writer[v] = i
		}
	}
	var rec func(order []int)
	rec = func(order []int) {
		if len(order) == len(nodes) {
			f(order)
			return
		}
	next:
		for i, n := range nodes {
			if slices.Contains(order, i) {
				continue
			}
			for _, v := range n.In {
				if w, ok := writer[v]; ok && !slices.Contains(order, w) {
					continue next
				}
			}
			for _, j := range n.After {
				if !slices.Contains(order, j) {
					continue next
				}
			}
			rec(append(order, i))
		}
	}
	rec(make([]int, 0, len(nodes)))
}

// randomNet makes a DAG without the shape of a network.
func randomNet(seed, count int) *net {
	n := &net{rng: rng{uint64(seed)}, inplace: seed&1 != 0, scratch: seed&2 != 0}
	r := &n.rng
	avail := []int{n.input(int64(r.below(200)))}
	if r.below(2) == 0 {
		avail = append(avail, n.input(int64(r.below(200))))
	}
	writer := map[int]int{} // of the storage of a slice
	for i := range count {
		in := []int{}
		for range 1 + r.below(2) {
			in = append(in, avail[r.below(len(avail))])
		}
		var out int
		if r.below(2) == 0 {
			out = n.elementwise(in...)
		} else {
			out = n.op(int64(r.below(200)), in...)
		}
		nd := &n.nodes[len(n.nodes)-1]
		for _, v := range in {
			if w, ok := writer[v]; ok {
				nd.After = append(nd.After, w)
			}
		}
		nd.Scratch = min(nd.Scratch, 64)
		avail = append(avail, out)
		if r.below(5) == 0 { // a second output
			v := n.value(int64(r.below(100)))
			nd.Out = append(nd.Out, v)
			avail = append(avail, v)
		}
		if i > 0 && r.below(6) == 0 {
			nd.After = append(nd.After, r.below(i))
		}
		if r.below(6) == 0 {
			n.values[out].Output = true
		}
		if b := n.values[out].Bytes; r.below(4) == 0 && b > 1 {
			v := n.value(1 + int64(r.below(int(b)-1)))
			n.values[v].AliasOf, n.values[v].Delta = out, int64(r.below(int(b-n.values[v].Bytes)+1))
			writer[v], avail = i, append(avail, v)
			continue
		}
		if n.inplace && r.below(2) == 0 {
			n.over(out, in...)
		}
		if r.below(6) == 0 && i > 0 { // two values of one storage
			v := r.below(out)
			over := slices.ContainsFunc(n.nodes, func(x Node) bool {
				return slices.ContainsFunc(x.Overlap, func(o Overlap) bool {
					return !o.Exact && (o.Out == v ||
						o.Out == out)
				})
			})
			if n.values[v].AliasOf < 0 && !over && !slices.ContainsFunc(n.values,
				func(w Value) bool { return w.AliasOf == v }) {
				n.values[v].AliasOf = out
				n.values[out].Bytes = max(n.values[out].Bytes, n.values[v].Bytes)
			}
		}
	}
	return n
}

func TestOrderAgainstBruteForce(t *testing.T) {
	better, inplace, over := 0, 0, 0
	for seed := range 600 {
		n := randomNet(seed, 1+seed%8)
		order, st := Order(n.nodes, n.values, DefaultBudget)
		want, ok := int64(1<<62), false
		allOrders(n.nodes, func(o []int) {
			p := naivePeak(n.nodes, n.values, o)
			q, err := peakOf(n.nodes, n.values, o)
			testenv.Require(t, err == nil && p == q, "seed %d: peak of %v is %d, %v; wanted %d", seed, o, q, err, p)
			ok = ok || slices.Equal(o, order)
			want = min(want, p)
		})
		testenv.Require(t, ok && st.Peak == want && st.Optimal && st.Bound <= want,
			"seed %d: order %v (valid %v), %+v; wanted a peak of %d", seed, order, ok, st, want)
		if st.Peak < st.GivenPeak {
			better++
		}
		checkBuffers(t, n, order, st.Peak)
		bufs := Buffers(n.nodes, n.values, order)
		for i := range n.values {
			if bufs[i].AliasOf != n.values[i].AliasOf {
				inplace++
			}
			if len(bufs[i].Over) > 0 {
				over++
			}
		}
	}
	testenv.Check(t, better >= 50 && inplace >= 50 && over >= 50,
		"only %d orders improved, %d values in place, %d over others: the test shows little", better, inplace, over)
}

// checkBuffers compares the peak with the lower bound of the placement.
func checkBuffers(t *testing.T, n *net, order []int, peak int64) {
	t.Helper()
	bufs := Buffers(n.nodes, n.values, order)
	res := Place(bufs, 1<<20)
	err := check(bufs, res)
	testenv.Require(t, err == nil, "%v\n%+v %+v", err, bufs, res)
	testenv.Require(t, res.OverlapBound == peak, "bound %d, peak %d\n%+v", res.OverlapBound, peak, bufs)
}

func TestOrderNetworks(t *testing.T) {
	for _, shape := range shapes {
		proven, better, count := 0, 0, 40
		for seed := range count {
			n := makeNet(shape.build, seed)
			order, st := Order(n.nodes, n.values, DefaultBudget)
			if p, err := peakOf(n.nodes, n.values, order); err != nil || p != st.Peak || p > st.GivenPeak ||
				p < st.Bound {
				t.Fatalf("%s seed %d: peak %d, %v, %+v", shape.name, seed, p, err, st)
			}
			checkBuffers(t, n, order, st.Peak)
			if st.Optimal {
				proven++
			}
			if st.Peak < st.GivenPeak {
				better++
			}
		}
		t.Logf("%-10s %d of %d proven optimal, %d better than given", shape.name, proven, count, better)
		testenv.Check(t, proven >= count, "%s: only %d of %d proven optimal", shape.name, proven, count)
	}
}

// TestOrderShuffled: the optimum does not depend on the order given.
func TestOrderShuffled(t *testing.T) {
	for _, shape := range shapes {
		for seed := range 20 {
			n := makeNet(shape.build, seed)
			_, st := Order(n.nodes, n.values, DefaultBudget)
			shuffled := n.shuffle()
			_, st2 := Order(shuffled, n.values, DefaultBudget)
			testenv.Check(t, !st.Optimal || !st2.Optimal || st.Peak == st2.Peak, "%s seed %d: %+v, shuffled %+v",
				shape.name, seed, st, st2)
			testenv.Check(t, st2.Optimal, "%s seed %d, shuffled: %+v is not proven", shape.name, seed, st2)
		}
	}
}

// TestOrderWide: graphs with more orders than any search can see.
func TestOrderWide(t *testing.T) {
	for seed := range 30 {
		n := randomNet(seed, 60)
		const opt = 1 << 19
		order, st := Order(n.nodes, n.values, opt)
		if p, err := peakOf(n.nodes, n.values, order); err != nil || p != st.Peak || p > st.GivenPeak {
			t.Fatalf("seed %d: peak %d, %v, %+v", seed, p, err, st)
		}
		again, st2 := Order(n.nodes, n.values, opt)
		testenv.Require(t, slices.Equal(order, again) && st == st2, "seed %d: two calls, two orders", seed)
	}
	// Branches of two nodes between a stem and a join: 3^k sets of nodes.
	for _, c := range []struct {
		branches int
		proven   bool
	}{{6, true}, {10, true}, {22, false}} {
		n := &net{rng: rng{9}}
		stem := n.op(100, n.input(50))
		ends := []int{}
		for range c.branches {
			ends = append(ends, n.op(int64(n.pick(1, 300)), n.op(int64(n.pick(1, 3000)), stem)))
		}
		n.values[n.op(1, ends...)].Output = true
		_, st := Order(n.nodes, n.values, DefaultBudget)
		testenv.Check(t, st.Peak <= st.GivenPeak && (!c.proven || st.Optimal), "%d branches: %+v", c.branches, st)
		t.Logf("%d branches: %+v", c.branches, st)
	}
}

func TestOrderLongChain(t *testing.T) {
	n := &net{rng: rng{3}, inplace: true}
	n.chain(10000)
	n.residual(1000)
	order, st := Order(n.nodes, n.values, DefaultBudget)
	testenv.Require(t, len(order) == len(n.nodes), "%v", len(order))
	t.Logf("%d nodes: %+v", len(order), st)
}

// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// naivePeak counts the live bytes of an order from the definition: a storage
// is live from the first to the last step that names one of its values, inputs
// from the start, outputs and what no step names to the end; values in aliases must lie inside the
// root. Storages that are merged in place count once.
func naivePeak(nodes []Node, values []Value, order []int) int64 {
	n := len(order)
	parent := identity(len(values))
	var find func(int) int
	find = func(v int) int {
		if parent[v] == v {
			return v
		}
		return find(parent[v])
	}
	for v := range values {
		if a := values[v].AliasOf; a >= 0 {
			parent[v] = a
		}
	}
	first, last := make([]int, len(values)), make([]int, len(values))
	given, named := make([]bool, len(values)), make([]bool, len(values))
	for v := range values {
		first[v], last[v] = n, -1
	}
	for v := range values {
		r := find(v)
		if values[v].Input {
			given[r] = true
			first[r], last[r] = 0, max(last[r], 0)
		}
		if values[v].Output {
			last[r] = n
		}
		for s, i := range order {
			if slices.Contains(nodes[i].In, v) || slices.Contains(nodes[i].Out, v) {
				first[r], last[r] = min(first[r], s), max(last[r], s)
				named[r] = true
			}
		}
	}
	for v := range values {
		if given[v] && !named[v] {
			last[v] = n
		}
	}
	size := func(v int) int64 { return (values[v].Bytes + 15) / 16 * 16 }
	peak := int64(0)
	for s, i := range order {
		live := (nodes[i].Scratch + 15) / 16 * 16
		for v := range values {
			if find(v) == v && first[v] <= s && s <= last[v] {
				live += size(v)
			}
		}
		taken := map[int]bool{}
		for _, ip := range nodes[i].InPlace {
			in, out := find(ip.In), find(ip.Out)
			if in != out && size(in) == size(out) && last[in] == s && first[out] == s && !given[out] && !taken[in] &&
				!taken[out] {
				taken[in], taken[out] = true, true
				live -= size(in)
			}
		}
		peak = max(peak, live)
	}
	return peak
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
		nd.Scratch = min(nd.Scratch, 64)
		avail = append(avail, out)
		if r.below(5) == 0 { // a second output
			v := n.value(int64(r.below(100)))
			nd.Out = append(nd.Out, v)
			avail = append(avail, v)
		}
		if i > 0 && r.below(6) == 0 {
			nd.After = []int{r.below(i)}
		}
		if r.below(6) == 0 {
			n.values[out].Output = true
		}
		if r.below(6) == 0 && i > 0 { // two values of one storage
			v := r.below(out)
			if n.values[v].AliasOf < 0 && !slices.ContainsFunc(n.values, func(w Value) bool { return w.AliasOf == v }) {
				n.values[v].AliasOf = out
				n.values[out].Bytes = max(n.values[out].Bytes, n.values[v].Bytes)
			}
		}
	}
	return n
}

func TestOrderAgainstBruteForce(t *testing.T) {
	better, inplace := 0, 0
	for seed := range 1500 {
		n := randomNet(seed, 1+seed%8)
		order, st := Order(n.nodes, n.values, DefaultBudget)
		want, ok := int64(1<<62), false
		allOrders(n.nodes, func(o []int) {
			p := naivePeak(n.nodes, n.values, o)
			if q, err := peakOf(n.nodes, n.values, o); err != nil || p != q {
				t.Fatalf("seed %d: peak of %v is %d, %v; wanted %d", seed, o, q, err, p)
			}
			ok = ok || slices.Equal(o, order)
			want = min(want, p)
		})
		if !ok || st.Peak != want || !st.Optimal || st.Bound > want {
			t.Fatalf("seed %d: order %v (valid %v), %+v; wanted a peak of %d", seed, order, ok, st, want)
		}
		if st.Peak < st.GivenPeak {
			better++
		}
		checkBuffers(t, n, order, st.Peak)
		bufs := Buffers(n.nodes, n.values, order)
		for i := range n.values {
			if bufs[i].AliasOf != n.values[i].AliasOf {
				inplace++
			}
		}
	}
	if better < 50 || inplace < 50 {
		t.Errorf("only %d orders improved, %d values in place: the test shows little", better, inplace)
	}
}

// checkBuffers compares the peak with the lower bound of the placement.
func checkBuffers(t *testing.T, n *net, order []int, peak int64) {
	t.Helper()
	bufs := Buffers(n.nodes, n.values, order)
	res := Place(bufs, 1<<20)
	testenv.OK(t, check(bufs, res))
	if res.LowerBound != peak {
		t.Fatalf("lower bound %d, peak %d\n%+v", res.LowerBound, peak, bufs)
	}
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
		if proven < count {
			t.Errorf("%s: only %d of %d proven optimal", shape.name, proven, count)
		}
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
			if st.Optimal && st2.Optimal && st.Peak != st2.Peak {
				t.Errorf("%s seed %d: %+v, shuffled %+v", shape.name, seed, st, st2)
			}
			if !st2.Optimal {
				t.Errorf("%s seed %d, shuffled: %+v is not proven", shape.name, seed, st2)
			}
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
		if !slices.Equal(order, again) || st != st2 {
			t.Fatalf("seed %d: two calls, two orders", seed)
		}
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
		if st.Peak > st.GivenPeak || c.proven && !st.Optimal {
			t.Errorf("%d branches: %+v", c.branches, st)
		}
		t.Logf("%d branches: %+v", c.branches, st)
	}
}

func TestOrderLongChain(t *testing.T) {
	n := &net{rng: rng{3}, inplace: true}
	n.chain(10000)
	n.residual(1000)
	order, st := Order(n.nodes, n.values, DefaultBudget)
	if len(order) != len(n.nodes) {
		t.Fatal(len(order))
	}
	t.Logf("%d nodes: %+v", len(order), st)
}

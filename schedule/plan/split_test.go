// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// randomSplit are weights of buffers and the memories for them, which have room for
// about what the buffers need, together.
func randomSplit(r *rng, bufs []Buffer) (weight []float64, pools []Pool) {
	need := int64(0)
	for i := range bufs {
		weight = append(weight, float64(r.below(4)*r.below(500)))
		if bufs[i].Bytes == 0 {
			weight[i] = 0
		}
		for j := range bufs {
			if s := loadAt(bufs, bufs[j].First); s > need {
				need = s
			}
		}
	}
	n := 1 + r.below(3)
	for range n {
		pools = append(pools, Pool{Bytes: need/int64(n) + int64(r.below(int(need)/2+1)), Cost: float64(r.below(4)) / 4})
	}
	return weight, pools
}

// loadAt is what is live at a step.
func loadAt(bufs []Buffer, step int) int64 {
	sum := int64(0)
	for _, b := range bufs {
		if b.First <= step && step <= b.Last {
			sum += roundUp(b.Bytes)
		}
	}
	return sum
}

// bruteSplit is the least cost over all ways to divide the buffers whose pools can be packed.
func bruteSplit(bufs []Buffer, weight []float64, pools []Pool, limit int64) float64 {
	best := math.Inf(1)
	at := make([]int, len(bufs))
	var rec func(k int, cost float64)
	rec = func(k int, cost float64) {
		if cost >= best {
			return
		}
		if k < len(bufs) {
			for q := range pools {
				at[k] = q
				rec(k+1, cost+weight[k]*pools[q].Cost)
			}
			return
		}
		sum := int64(0)
		for q, p := range pools {
			var list []Buffer
			for i, b := range bufs {
				if at[i] == q && b.Bytes > 0 {
					list = append(list, b)
				}
			}
			if len(list) == 0 {
				continue
			}
			n := bruteForce(list)
			if sum += n; n > roundDown(p.Bytes) || limit > 0 && sum > limit {
				return
			}
		}
		best = cost
	}
	rec(0, 0)
	return best
}

// checkParts: what lies in a pool is inside it, and the plan holds.
func checkParts(t *testing.T, bufs []Buffer, weight []float64, pools []Pool, limit int64, p Parts) {
	t.Helper()
	err := check(bufs, p.Result)
	testenv.Require(t, err == nil, "%v\n%+v", err, bufs)
	start := int64(0)
	for q, n := range p.Totals {
		testenv.Require(t, n <= pools[q].Bytes, "%d bytes in a pool of %d", n, pools[q].Bytes)
		for k, s := range p.Storages {
			testenv.Require(t, p.Pool[k] != q || s.Bytes <= 0 || s.Offset >= start && s.Offset+s.Bytes <= start+n,
				"storage %+v is not in pool %d, %d to %d", s, q, start, start+n)
		}
		start += n
	}
	cost := costOf(bufs, weight, pools, p)
	if math.Abs(cost-p.Cost) > 1e-6 || p.Bound > p.Cost+1e-6 || start != p.Total || limit > 0 && p.Total > limit {
		t.Fatalf("cost %g, said %g, bound %g; %d bytes, limit %d", cost, p.Cost, p.Bound, p.Total, limit)
	}
}

// costOf is what a plan costs.
func costOf(bufs []Buffer, weight []float64, pools []Pool, p Parts) (cost float64) {
	for i := range bufs {
		if k := p.StorageOf[i]; p.Storages[k].Bytes > 0 {
			cost += weight[i] * pools[p.Pool[k]].Cost
		}
	}
	return cost
}

// TestSplitAgainstBruteForce: the cheapest way, where there is one.
func TestSplitAgainstBruteForce(t *testing.T) {
	r := rng{7}
	fit := 0
	for range 400 {
		bufs := randomBufs(&r, 1+r.below(6), 1+r.below(6), 300)
		weight, pools := randomSplit(&r, bufs)
		limit := int64(0)
		if r.below(4) == 0 {
			limit = int64(100 + r.below(1500))
		}
		p := Split(bufs, weight, pools, limit, DefaultBudget)
		want := bruteSplit(bufs, weight, pools, limit)
		testenv.Require(t, p.Fits == !math.IsInf(want, 1), "fits: %v, brute force %g\n%+v %v %+v limit %d", p.Fits,
			want, bufs, weight, pools, limit)
		if !p.Fits {
			continue
		}
		fit++
		checkParts(t, bufs, weight, pools, limit, p)
		testenv.Require(t, !(math.Abs(p.Cost-want) > 1e-6) && !(math.Abs(p.Bound-want) > 1e-6),
			"cost %g, bound %g, brute force %g\n%+v %v %+v", p.Cost, p.Bound, want, bufs, weight, pools)
	}
	testenv.Check(t, fit >= 100 && fit <= 390, "%d of 400 fit", fit)
}

// TestSplitNetworks: networks in memories with little more than their peak. The plan
// holds and comes near the bound.
func TestSplitNetworks(t *testing.T) {
	fit, all, ratio := 0, 0, 0.0
	for _, shape := range shapes {
		for seed := range 6 {
			n := makeNet(shape.build, seed)
			bufs := Buffers(n.nodes, n.values, identity(len(n.nodes)))
			r := rng{uint64(seed)}
			weight := make([]float64, len(bufs))
			for i, b := range bufs {
				weight[i] = float64(b.Bytes) * float64(1+r.below(4))
			}
			one := Place(bufs, 1<<18)
			pools := []Pool{{one.Total * 7 / 8, 0.5}, {one.Total * 9 / 16, 0.125}}
			p := Split(bufs, weight, pools, 0, 1<<20)
			all++
			if !p.Fits {
				t.Logf("%s %d: no way", shape.name, seed)
				continue
			}
			fit++
			checkParts(t, bufs, weight, pools, 0, p)
			ratio += p.Cost / p.Bound
			t.Logf("%s %d: %d storages, cost %.0f, bound %.0f (%.3f)", shape.name, seed, len(p.Storages), p.Cost,
				p.Bound, p.Cost/p.Bound)
		}
	}
	if fit < all*9/10 || ratio/float64(fit) > 1.1 {
		t.Errorf("%d of %d fit, cost %.3f times the bound", fit, all, ratio/float64(fit))
	}
}

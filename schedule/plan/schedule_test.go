// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

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

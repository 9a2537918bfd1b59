// SPDX-License-Identifier: Apache-2.0

package boards

import (
	"cmp"
	"slices"
)

// mostChoices bounds the ways that a choice of constants looks at.
const mostChoices = 1 << 18

// knapsack chooses things of the largest value together that have room in so many bytes.
type knapsack struct {
	bytes []uint64
	value []float64

	order []int // the most value a byte first
	taken []bool
	best  []bool
	most  float64
	ways  int
}

// choose gives what is taken, its value, and what no choice is above: the same for all
// but large problems.
func (k *knapsack) choose(room uint64) (taken []bool, value, bound float64) {
	for i, v := range k.value {
		if v > 0 {
			k.order = append(k.order, i)
		}
	}
	slices.SortStableFunc(k.order, func(i, j int) int {
		return cmp.Compare(k.value[j]*float64(k.bytes[i]), k.value[i]*float64(k.bytes[j]))
	})
	k.taken, k.best = make([]bool, len(k.value)), make([]bool, len(k.value))
	bound = k.rest(0, room)
	k.try(0, room, 0)
	if k.ways <= mostChoices {
		bound = k.most
	}
	return k.best, k.most, bound
}

// try takes or leaves what is in the order from n on, behind what has the value before.
func (k *knapsack) try(n int, room uint64, before float64) {
	if before > k.most {
		k.most = before
		copy(k.best, k.taken)
	}
	if k.ways++; n == len(k.order) || k.ways > mostChoices || before+k.rest(n, room) <= k.most {
		return
	}
	i := k.order[n]
	if k.bytes[i] <= room {
		k.taken[i] = true
		k.try(n+1, room-k.bytes[i], before+k.value[i])
		k.taken[i] = false
	}
	k.try(n+1, room, before)
}

// rest is the most that what is in the order from n on can add, the last one in part.
func (k *knapsack) rest(n int, room uint64) float64 {
	sum := 0.0
	for _, i := range k.order[n:] {
		if k.bytes[i] > room {
			return sum + k.value[i]*float64(room)/float64(k.bytes[i])
		}
		room -= k.bytes[i]
		sum += k.value[i]
	}
	return sum
}

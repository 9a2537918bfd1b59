// SPDX-License-Identifier: Apache-2.0

package lists

import (
	"maps"
	"strconv"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func TestLists(t *testing.T) {
	odd := func(n int) bool { return n%2 == 1 }
	testenv.Same(t, Map([]int{3, 4, 5}, strconv.Itoa), []string{"3", "4", "5"})
	testenv.Same(t, Filter([]int{3, 4, 5}, odd), []int{3, 5})
	testenv.Check(t, Find([]int{4, 5, 7}, odd) == 5 && Find([]int{4}, odd) == 0, "what is found is not the first")
	testenv.Check(t, maps.Equal(Set([]int{3, 4, 3}), map[int]bool{3: true, 4: true}), "a set is not that of its list")
	testenv.Equal(t, Sum([]string{"a", "bc"}, func(s string) int { return len(s) }), 3)
	testenv.Check(t, Map(nil, strconv.Itoa) == nil && Filter([]int{2}, odd) == nil, "an empty list is not nil")
}

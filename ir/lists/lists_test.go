// SPDX-License-Identifier: Apache-2.0

package lists

import (
	"strconv"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func TestLists(t *testing.T) {
	odd := func(n int) bool { return n%2 == 1 }
	testenv.Same(t, Map([]int{3, 4, 5}, strconv.Itoa), []string{"3", "4", "5"})
	testenv.Same(t, Filter([]int{3, 4, 5}, odd), []int{3, 5})
	testenv.Equal(t, Sum([]string{"a", "bc"}, func(s string) int { return len(s) }), 3)
	testenv.Check(t, Map(nil, strconv.Itoa) == nil && Filter([]int{2}, odd) == nil, "an empty list is not nil")
}

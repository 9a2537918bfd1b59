// SPDX-License-Identifier: Apache-2.0

package rounding

import (
	"testing"

	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/qref"
)

// TestPairs: the numbers of the probe tell the two roundings apart.
func TestPairs(t *testing.T) {
	p, a, b := pairs()
	once, twice := make([]int8, len(a)), make([]int8, len(a))
	qref.Mul(&p, a, b, twice)
	p.Rounding = fixp.SingleRounding
	qref.Mul(&p, a, b, once)
	n := 0
	for i := range once {
		if once[i] != twice[i] {
			n++
		}
	}
	testenv.Check(t, n >= 4, "%d of %d products differ, want more to tell from", n, len(a))
}

// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestParameters: every kernel's parameters have a type and a name.
func TestParameters(t *testing.T) {
	x := Shipped()
	for _, k := range Kernels() {
		p := x.Parameters(k.Function)
		if len(p) == 0 || slices.ContainsFunc(p, func(p Parameter) bool { return p.Type == "" || p.Name == "" }) {
			t.Errorf("%s: %q", k.Function, p)
		}
	}
	want := []Parameter{{"const nncc_helium_matmul_params *", "p"}, {"const int8_t *", "x"},
		{"const int8_t *", "packed"}, {"int8_t *", "y"}, {"int32_t", "rows"}}
	testenv.Same(t, x.Parameters("nncc_helium_matmul_k1_s8"), want)
	testenv.Check(t, want[1].ReadsOnly() && !want[3].ReadsOnly() && !want[4].ReadsOnly(), "ReadsOnly")
	testenv.Check(t, x.Parameters("none") == nil, "parameters of a function that is not there")
}

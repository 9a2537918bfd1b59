// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestConstantParts: outputs that are a Concat of computed parts and constants are rebuilt behind an accelerator,
// in every order, along every axis, of both types of integers, quantised alike and differently.
func TestConstantParts(t *testing.T) {
	for _, target := range targets() {
		if target.accel == nil {
			continue
		}
		ran := map[string]int{}
		for seed := range uint64(24) {
			g := irtest.Parse(t, constantParts(seed))
			within(t, target.name, g, target.options(g), seed, ran)
		}
		testenv.Check(t, ran["restore-outputs"] != 0, "stages that ran: %v", ran)
	}
}

// constantParts is a quantised network that joins convolutions of its input with constants.
func constantParts(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0xc0ca7))
	dt := []string{"i8", "u8"}[r.IntN(2)]
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "  "+format+"\n", args...) }
	scale := func() float64 { return 0.01 + 0.02*r.Float64() }
	quantised := func(from, to string, scale float64) {
		line("const %%%s_s : f32[] = {%g}", to, scale)
		line("const %%%s_z : %s[] = {%d}", to, dt, r.IntN(100))
		line("%%%s_q = QuantizeLinear(%%%s, %%%s_s, %%%s_z)", to, from, to, to)
		line("%%%s = DequantizeLinear(%%%s_q, %%%s_s, %%%s_z)", to, to, to, to)
	}
	line("in %%x : f32[1,3,4,5]")
	quantised("x", "xd", 0.02)
	shape, axis, common := []int{1, 3, 4, 5}, r.IntN(4), scale()
	var parts []string
	computed := r.IntN(2)
	for i := range 2 + r.IntN(2) {
		name, s := fmt.Sprintf("p%d", i), common
		if r.IntN(3) == 0 {
			s = scale()
		}
		if i == computed || r.IntN(3) == 0 {
			line("const %%%s_w : f32[3,3,1,1] = rand %d", name, i)
			line("const %%%s_ws : f32[] = {0.01}", name)
			line("const %%%s_wz : i8[] = {0}", name)
			line("%%%s_wq = QuantizeLinear(%%%s_w, %%%s_ws, %%%s_wz)", name, name, name, name)
			line("%%%s_wd = DequantizeLinear(%%%s_wq, %%%s_ws, %%%s_wz)", name, name, name, name)
			line("%%%s_f = Conv(%%xd, %%%s_wd)", name, name)
		} else {
			c := append([]int(nil), shape...)
			c[axis] = 1 + r.IntN(3)
			line("const %%%s_f : f32[%d,%d,%d,%d] = rand %d", name, c[0], c[1], c[2], c[3], 10+i)
		}
		if quantised(name+"_f", name, s); r.IntN(4) == 0 {
			name += "_f" // quantised behind the Concat alone
		}
		parts = append(parts, "%"+name)
	}
	line("%%cat = Concat(%s) {axis=%d}", strings.Join(parts, ", "), axis)
	quantised("cat", "y", common)
	line("out \"y\" = %%y")
	return "graph \"parts\" {\n" + b.String() + "}"
}

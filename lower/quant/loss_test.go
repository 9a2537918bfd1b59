// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestLostChannel: a layer of which one channel is rounded away is named, not the one that reads it.
func TestLostChannel(t *testing.T) {
	for _, head := range []string{"0.0005, 1", "0, 1"} {
		g := irtest.Parse(t, `graph "channels" {
	in %x : f32[1,2]
	const %w : f32[2,2] = {1000, 0, 0, 1}
	const %v : f32[2,1] = {`+head+`}
	%a = MatMul(%x, %w) from "trunk"
	%y = MatMul(%a, %v) from "head"
	out "y" = %y
}`)
		_, r := calibrated(t, g, defaults(samples(g, 16, 1)))
		testenv.Check(t, len(r.Costs) != 0 && strings.Contains(r.Costs[0].Layer, "trunk"), "weights %s, %.1f dB: %v",
			head, r.SQNR, r.Costs)
	}
}

// TestLost: where a large part cancels out, a warning names the layer that rounded the
// small part away and what to do, and finer activations need none.
func TestLost(t *testing.T) {
	const src = `graph "cancels" {
	in %x : f32[1,64]
	in %z : f32[1,64]
	const %k : f32[] = {FACTOR}
	%a = Mul(%x, %k) from "large"
	%b = Add(%a, %z) from "sum"
	%y = Sub(%b, %a) from "difference"
	out "small" = %y
}`
	for _, k := range []struct {
		factor string
		low    bool
	}{{"0.5", false}, {"1000", true}} {
		g := irtest.Parse(t, strings.ReplaceAll(src, "FACTOR", k.factor))
		o := defaults(samples(g, 16, 1))
		_, r := calibrated(t, g, o)
		said := strings.Join(r.Diagnostics().Texts(diag.Warning), "\n")
		testenv.Check(t, r.Warned("small") == k.low && !r.Warned("other"),
			"factor %s: warned of small: %v, of other: %v", k.factor, r.Warned("small"), r.Warned("other"))
		if !k.low {
			testenv.Equal(t, said, "", "factor %s: %.1f dB and", k.factor, r.SQNR)
			continue
		}
		for _, part := range []string{`output small has an SQNR of`, `most is lost in Sub "difference"`, "int16x8",
			"--propose"} {
			testenv.Check(t, strings.Contains(said, part), "factor %s, %.1f dB: %q does not say %q", k.factor, r.SQNR,
				said, part)
		}
	}
}

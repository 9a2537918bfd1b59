// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest"
)

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
		if r.Warned("small") != k.low || r.Warned("other") {
			t.Errorf("factor %s: warned of small: %v, of other: %v", k.factor, r.Warned("small"), r.Warned("other"))
		}
		if !k.low {
			if said != "" {
				t.Errorf("factor %s: %.1f dB and %q", k.factor, r.SQNR, said)
			}
			continue
		}
		for _, part := range []string{`output small has an SQNR of`, `most is lost in Sub "difference"`, "int16x8",
			"--propose"} {
			if !strings.Contains(said, part) {
				t.Errorf("factor %s, %.1f dB: %q does not say %q", k.factor, r.SQNR, said, part)
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
)

// TestUncounted: what a board's machine does not count is not said to be 0.
func TestUncounted(t *testing.T) {
	v := &Verdict{Board: "b", Layers: []LayerVerdict{{Name: "n"}}}
	v.Layers[0].MACs = 3
	s := ProfilesText([]*Verdict{v}) + (&FirmwareVerdict{Board: "b", Models: []*Verdict{v}}).Summary()
	for _, wrong := range []string{"0 instructions", "0.00", "stack 0"} {
		if strings.Contains(s, wrong) {
			t.Errorf("%q is in\n%s", wrong, s)
		}
	}
	if !strings.Contains(s, "instructions are not counted on this board, arena") {
		t.Error(s)
	}
	for _, c := range newCards(&Report{Code: &Code{}}) {
		if c.What == "stack used" || c.What == "instructions" && c.Value == "0" {
			t.Errorf("%+v", c)
		}
	}
	v.Instructions = 5
	if s := ProfilesText([]*Verdict{v}); !strings.Contains(s, "total 5 instructions, 0 of them between the layers") {
		t.Error(s)
	}
}

// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestUncounted: what a board's machine does not count is not said to be 0.
func TestUncounted(t *testing.T) {
	v := &Verdict{Board: "b", Layers: []LayerVerdict{{Name: "n"}}}
	v.Layers[0].MACs = 3
	s := ProfilesText([]*Verdict{v}) + (&FirmwareVerdict{Board: "b", Models: []*Verdict{v}}).Summary()
	for _, wrong := range []string{"0 instructions", "0.00", "stack 0"} {
		testenv.Check(t, !strings.Contains(s, wrong), "%q is in\n%s", wrong, s)
	}
	testenv.Check(t, strings.Contains(s, "instructions are not counted on this board, arena"), "%v", s)
	for _, c := range newCards(&Report{Code: &Code{}}) {
		testenv.Check(t, c.What != "stack used" && (c.What != "instructions" || c.Value != "0"), "%+v", c)
	}
	v.Instructions = 5
	if s := ProfilesText([]*Verdict{v}); !strings.Contains(s, "total 5 instructions, 0 of them between the layers") {
		t.Error(s)
	}
}

// TestUnpricedLayers: a sum over layers of which some have no figure says so, and of how many.
func TestUnpricedLayers(t *testing.T) {
	price, counted := 70, uint64(9)
	priced := []Candidate{{Kernel: "k", Instructions: &price, Cycles: &price, Chosen: true}}
	r := &Report{Layers: []Layer{{Name: "a", Candidates: priced}, {Name: "b"}, {Name: "c"}}}
	r.Layers[0].Bound = &counted
	for _, m := range newMetrics(r) {
		if m.Total != "70 and more" && m.Total != "9 and more" || !strings.Contains(m.Note, "2 of 3 layers") {
			t.Errorf("%s: %q, %q", m.Key, m.Total, m.Note)
		}
	}
	for _, c := range newCards(r) {
		if c.What == "instructions" && (c.Value != "70 and more" || !strings.Contains(c.Note, "2 of 3 layers")) {
			t.Errorf("%+v", c)
		}
	}
	r.Layers = r.Layers[:1]
	m, _ := instructions(r)
	testenv.Check(t, m.finish() && m.Total == "70", "all layers have a price: %q", m.Total)
}

// TestTimes: times are read without powers of ten, with the digits that an estimate has.
func TestTimes(t *testing.T) {
	for _, c := range []struct {
		ms   float64
		want string
	}{{0.000182, "0.000182 ms"}, {0.0182, "0.0182 ms"}, {3.674, "3.67 ms"}, {999.4, "999 ms"}, {1114.1, "1.11 s"},
		{71303.3, "71.3 s"}, {1234567, "1235 s"}} {
		testenv.Equal(t, milliseconds(c.ms), c.want, "%g ms are written", c.ms)
	}
}

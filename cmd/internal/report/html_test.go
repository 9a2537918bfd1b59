// SPDX-License-Identifier: Apache-2.0

package report

import (
	"os"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/quant"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", 1234567: "1,234,567",
		-123: "-123"} {
		testenv.Equal(t, thousands(n), want, "%d is", n)
	}
}

// TestKernelClass: what the arena's plan moves is no fallback.
func TestKernelClass(t *testing.T) {
	moved := Layer{Kernel: "nncc_copy_rows", Library: portable, planned: true}
	if c, runs := kernelClass(moved), runsOn(moved); c != "planned" || runs != "a copy" {
		t.Errorf("%s, %s", c, runs)
	}
	if moved.planned = false; kernelClass(moved) != "portable" {
		t.Error("any other portable kernel is one")
	}
	css, err := os.ReadFile("page/page.css")
	testenv.OK(t, err)
	for _, c := range classes {
		testenv.Check(t, strings.Contains(string(css), "."+c.Class+" { --k"), "no colour of %s", c.Class)
	}
}

// TestSummary: the first words of a report say what is wrong, and praise nothing that is not known.
func TestSummary(t *testing.T) {
	ram := Region{Name: "ram", Bytes: 1000, Used: 420, Items: []Item{{What: "arena"}}}
	short := Region{Name: "flash", Bytes: 10, Used: 1010, Missing: 1000, Items: []Item{{What: "weights"}}}
	for _, c := range []struct {
		regions []Region
		quality *quant.Report
		gates   []string
		want    string
		good    bool
	}{
		{[]Region{ram}, &quant.Report{SQNR: 40}, nil, "fits: 42 % of RAM; 40.0 dB against float; acc", true},
		{[]Region{ram}, &quant.Report{SQNR: 1.3}, nil, "accuracy lost: 1.3 dB", false},
		{[]Region{ram}, &quant.Report{SQNR: 12}, nil, "in doubt", false},
		{[]Region{ram}, &quant.Report{Unknown: true}, nil, "unknown: the samples say nothing", false},
		{[]Region{ram}, &quant.Report{SQNR: 40, Source: quant.SyntheticSource}, nil, "no calibration", false},
		{[]Region{ram, short}, nil, nil, "does not fit: flash misses 1,000 bytes; numbers are", false},
		{[]Region{ram}, nil, []string{"x"}, "over a limit", false},
		{nil, nil, nil, "compiled; ", true},
	} {
		r := &Report{Memory: Memory{Regions: c.regions}, Calibration: c.quality, Gates: c.gates}
		r.summarise()
		testenv.Check(t, strings.Contains(r.Verdict.Text, c.want) && r.Verdict.Good == c.good, "%+v, not %q",
			r.Verdict, c.want)
		testenv.Check(t, strings.Contains(string(r.HTML()), c.want), "the page lacks %q", c.want)
	}
}

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

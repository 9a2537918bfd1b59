// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/quant"
)

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

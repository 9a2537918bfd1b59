// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/lower/quant"
)

// Summary is what a reader wants to know first: does it fit, and how good is it?
type Summary struct {
	Text string `json:"text"`
	Good bool   `json:"good"` // it fits every limit, and nothing is known against its accuracy
}

// Least SQNR, in dB, of a program whose outputs stand for the model's, and of one that is of any use.
const sound, usable = 15, 10

// summarise puts the verdict over the report as it is now.
func (r *Report) summarise() {
	where, fits := r.Memory.summary()
	if fits && len(r.Gates) > 0 {
		where, fits = "over a limit that was set", false
	}
	accuracy, good := accuracyText(r.Calibration)
	r.Verdict = Summary{where + "; " + accuracy, fits && good}
}

// summary says what is missing, or how much of the regions of the arena and of the constants is taken.
func (m *Memory) summary() (string, bool) {
	var missing, taken []string
	for _, x := range m.Regions {
		if x.Missing > 0 {
			missing = append(missing, fmt.Sprintf("%s misses %s bytes", x.Name, thousands(x.Missing)))
		}
		for _, as := range []struct{ holds, called string }{{"arena", "RAM"}, {"weights", "flash"}} {
			if !slices.ContainsFunc(x.Items, func(i Item) bool { return i.What == as.holds }) {
				continue
			}
			if !strings.EqualFold(as.called, x.Name) {
				as.called += " (" + x.Name + ")"
			}
			taken = append(taken, percent(float64(x.Used)/float64(x.Bytes))+" of "+as.called)
			break
		}
	}
	if missing != nil {
		return "does not fit: " + strings.Join(missing, ", "), false
	}
	if taken == nil {
		return "compiled", true
	}
	return "fits: " + strings.Join(taken, ", "), true
}

// accuracyText says what calibration knows.
func accuracyText(c *quant.Report) (string, bool) {
	switch {
	case c == nil:
		return "numbers are those of the model", true
	case c.Source == quant.SyntheticSource:
		return "accuracy unknown: no calibration data", false
	case c.Unknown:
		return "accuracy unknown: the samples say nothing", false
	case c.SQNR < usable:
		return fmt.Sprintf("accuracy lost: %.1f dB against float", c.SQNR), false
	case c.SQNR < sound:
		return fmt.Sprintf("accuracy in doubt: %.1f dB against float", c.SQNR), false
	}
	return fmt.Sprintf("%.1f dB against float; accuracy unknown: no labelled data (nncc eval)", c.SQNR), true
}

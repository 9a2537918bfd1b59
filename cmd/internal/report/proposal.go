// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/lower"
)

// ProposalText is the table of --propose; file is what was written, ratio that figures
// are in dB.
func ProposalText(p *lower.Proposal, file string) string {
	p = text.Lines(p)
	var b strings.Builder
	if len(p.Layers) == 0 {
		fmt.Fprintf(&b, "every layer %s\n", p.Default)
	} else {
		rows := [][]string{{"precision", "layer", "op"}}
		for _, l := range p.Layers {
			rows = append(rows, []string{l.Precision, l.Name, l.Op})
		}
		b.WriteString(text.Table(rows) + "all others " + p.Default + "\n")
	}
	reached := func(x float64) string {
		if p.Ratio {
			return fmt.Sprintf("%.1f dB", x)
		}
		return fmt.Sprintf("%.2f %%", 100*x)
	}
	rows := [][]string{{"program", "reaches", "instructions", "arena", "constants", "kernels"}}
	for _, m := range append([]lower.Mix{p.Mixed}, p.Beside...) {
		rows = append(rows, []string{m.Name, reached(m.Reached), fmt.Sprintf("%.0f", m.Instructions),
			fmt.Sprint(m.ArenaBytes), fmt.Sprint(m.ConstBytes), fmt.Sprint(m.CodeBytes)})
	}
	fmt.Fprintf(&b, "\n%s", text.Table(rows))
	how := "estimated"
	if p.Measured {
		how = "counted on the board's machine"
	}
	fmt.Fprintf(&b, "wanted: %s, on samples that calibration does not see; instructions are %s; arena, constants and "+
		"kernels in bytes\nwrote %s, for --layers-config\n", reached(p.Goal), how, text.Line(file))
	return b.String()
}

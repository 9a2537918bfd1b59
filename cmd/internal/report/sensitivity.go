// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/lower"
)

// SensitivityText is the table of --sensitivity.
func SensitivityText(s *lower.Sensitivity) string {
	s = text.Lines(s)
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SQNR dB\tlayer\top\tprecision")
	for _, l := range s.Layers {
		fmt.Fprintf(w, "%.1f\t%s\t%s\t%s\n", l.SQNR, l.Name, l.Op, l.Precision)
	}
	fmt.Fprintf(w, "%.1f\tall of them\t\t\n", s.All)
	w.Flush()
	return b.String()
}

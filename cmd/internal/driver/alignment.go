package driver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/lower/align"
)

// alignOptions are the options of the repair of ONNX models.
func (c *Config) alignOptions(only []string) align.Options {
	if slices.Contains(only, "align") && c.Align == align.Auto && c.Board == "" {
		c.warn("--align auto decides by what kernels cost on a board: without --board nothing is padded (--align always pads by the rule)")
	}
	return align.Options{Mode: c.Align, PadInput: c.PadInput}
}

// alignmentText is the table of the alignment repair with the reasons below.
func alignmentText(rows []align.Row) string {
	var b strings.Builder
	b.WriteString(align.Table(rows))
	for i, w := range rows {
		if w.Status == align.Patched {
			continue
		}
		if i == 0 || rows[i-1].Reason != w.Reason {
			fmt.Fprintf(&b, "%s, %s:\n", w.Status, w.Reason)
		}
		fmt.Fprintf(&b, "    %s %s\n", w.Node, w.Constraint)
	}
	return b.String()
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/option"
)

// TestElementwiseOperator: every operator of ours that is defined by its
// function alone is read from ONNX, computed and emitted in every precision:
// alone, behind a convolution, among other element-wise operators.
func TestElementwiseOperator(t *testing.T) {
	for _, d := range op.All() {
		if d.Domain != "nncc" || d.Scalar == nil || d.C == nil || d.Pattern != ir.Elementwise {
			continue
		}
		var attrs []string // other ones than the defaults
		for _, a := range d.Attrs {
			if a.Kind == ir.AttrFloat && a.Def != nil {
				attrs = append(attrs, fmt.Sprintf("%s=%.3f", a.Name, 0.75*a.Def.Float))
			}
		}
		act := fmt.Sprintf("%%s = nncc.%[1]s(%%c) {%[2]s}\n  %%t = Tanh(%%s)\n  %%a = nncc.%[1]s(%%t)", d.Name,
			strings.Join(attrs, ", "))
		for _, precision := range []option.Precision{option.Float32, option.Int8, option.Int16x8} {
			t.Run(d.Name+" "+precision.String(), func(t *testing.T) {
				c := driver.Defaults()
				c.Board, c.Precision, c.Name, c.Cases = "host", precision, "net", 2
				g := activated(t, act, true)
				o := compileNet(t, g, &c)
				onHost(t, o, mustCases(t, &c, o), "gcc", sanitized)
				c.Fuse = false
				alone := compileNet(t, g, &c).Lowered.Graph
				if precision != option.Int16x8 && // there the stage curves may have joined it with its neighbours
					!slices.ContainsFunc(alone.Nodes, func(n *ir.Node) bool { return n.Op == d }) {
					t.Errorf("without fusion no step is a %s:\n%s", d.Name, alone)
				}
			})
		}
	}
}

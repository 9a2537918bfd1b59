package driver

import (
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/option"
)

// TestElementwiseOperator: an operator that is defined by its function alone,
// HardSwish2, is read from ONNX, computed and emitted in every precision: alone,
// behind a convolution, among other element-wise operators.
func TestElementwiseOperator(t *testing.T) {
	const act = `%s = nncc.HardSwish2(%c) {alpha=2.5, beta=4.0}
  %t = Tanh(%s)
  %a = nncc.HardSwish2(%t)`
	for _, precision := range []option.Precision{option.Float32, option.Int8, option.Int16x8} {
		t.Run(precision.String(), func(t *testing.T) {
			c := Defaults()
			c.Board, c.Precision, c.Name, c.Cases = "host", precision, "net", 2
			g := activated(t, act, true)
			text := g.String()
			compareOnHost(t, &c, compileNet(t, g, &c), text)
			c.Fuse = false
			alone := compileNet(t, g, &c).Lowered.Graph
			if !slices.ContainsFunc(alone.Nodes, func(n *ir.Node) bool { return n.Op == op.HardSwish2 }) {
				t.Errorf("without fusion no step is a HardSwish2:\n%s", alone)
			}
		})
	}
}

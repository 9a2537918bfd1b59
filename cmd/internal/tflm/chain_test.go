// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
)

// tables are the functions of int8 values that are written as their results.
var tables = []string{"ABS", "ELU", "HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "RELU", "RELU6", "RSQRT", "TANH"}

// TestTablesAreIntegers: what reads a function that was written as its table computes on
// integers, too.
func TestTablesAreIntegers(t *testing.T) {
	for _, d := range functions {
		if !slices.Contains(tables, d.op) {
			continue
		}
		l := draw(d, "i8", 1)
		y := l.Outputs[0]
		l.op, l.Outputs = "ADD", nil
		l.do(11, []any{int8(0)}, []int32{y, y}, l.output("i8", 2*l.limit(y), l.Tensors[y].Shape...))
		path := filepath.Join(t.TempDir(), "net.tflite")
		if err := os.WriteFile(path, l.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		c := driver.Defaults()
		c.Model, c.Board, c.Name = path, "host", "net"
		o, err := c.Compile()
		if err != nil {
			t.Errorf("%s: %v", d.op, err)
			continue
		}
		for _, n := range o.Lowered.Reference.Nodes {
			if n.Out[0].Type.DType.IsFloat() {
				t.Errorf("%s: %s computes %s", d.op, n, n.Out[0].Type)
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/ir/irtest/testenv"
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
		o, err := compiled(t, l)
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

// compiled is a layer compiled for the host.
func compiled(t *testing.T, l *layer) (*driver.Compiled, error) {
	path := filepath.Join(t.TempDir(), "net.tflite")
	testenv.OK(t, os.WriteFile(path, l.Bytes(), 0o666))
	c := driver.Defaults()
	c.Model, c.Board, c.Name = path, "host", "net"
	return c.Compile()
}

// TestReaders: what is computed in steps on integers may be read by several layers, in any
// order.
func TestReaders(t *testing.T) {
	for _, op := range []string{"PRELU", "SQUARED_DIFFERENCE", "DIV", "L2_NORMALIZATION", "QUANTIZE", "SUB", "CUMSUM"} {
		for _, order := range [][]string{{"CONV_2D", "ADD"}, {"ADD", "CONV_2D"}} {
			l := &layer{op: op, typ: "i8", rng: rand.New(rand.NewPCG(uint64(len(op)), 3))}
			shape := []int32{1, 5, 5, 4}
			x := l.in(shape...)
			in := []int32{x}
			switch op {
			case "PRELU":
				in = append(in, l.fill(l.quantised(l.tensor("i8", 1, 1, 4), 0.01, 3)))
			case "SQUARED_DIFFERENCE", "DIV", "SUB":
				in = append(in, l.in(shape...))
			case "CUMSUM":
				in = append(in, l.scalar(1))
			}
			y := l.quantised(l.tensor("i8", shape...), 0.0371, 5)
			l.do(0, nil, in, y)
			w := l.fill(l.quantised(l.tensor("i8", 4, 1, 1, 4), 0.01, 0))
			conv, sum := l.output("i8", 4, shape...), l.output("i8", 4, shape...)
			readers := map[string]func(){
				"CONV_2D": func() { l.do(1, []any{int8(0), int32(1), int32(1)}, []int32{y, w, -1}, conv) },
				"ADD":     func() { l.do(11, []any{int8(0)}, []int32{y, y}, sum) },
			}
			for _, l.op = range order {
				readers[l.op]()
			}
			if _, err := compiled(t, l); err != nil {
				t.Errorf("%s, read by %v: %v", op, order, err)
			}
		}
	}
}

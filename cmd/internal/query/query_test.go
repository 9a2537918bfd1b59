// SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/query"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/board"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kerneltest"
)

// layer draws a query of a layer as architecture searches have them.
func layer(r *rand.Rand, board string) *query.Query {
	one := func(v ...int) int { return v[r.IntN(len(v))] }
	c, k, size, stride := 4+r.IntN(45), one(1, 1, 3, 3, 5), 4+r.IntN(21), one(1, 1, 2)
	q := &query.Query{Board: board, Op: "Conv", Word: []string{"int8", "int8", "int8", "int16x8"}[r.IntN(4)]}
	window := map[string]any{"kernel_shape": []int{k, k}, "strides": []int{stride, stride},
		"pads": []int{k / 2, k / 2, k / 2, k / 2}}
	x := []int{1, c, size, size}
	switch r.IntN(9) {
	case 0, 1, 2:
		out := 4 + r.IntN(45)
		q.Shapes = [][]int{x, {out, c, k, k}, {out}}
	case 3, 4:
		window["group"] = c
		q.Shapes = [][]int{x, {c, 1, k, k}, {c}}
	case 5:
		out := 2 + r.IntN(60)
		q.Op, q.Shapes, window = "Gemm", [][]int{{1, 8 * c}, {8 * c, out}, {out}}, nil
	case 6:
		q.Op, q.Shapes, window = "Add", [][]int{x, x}, nil
	case 7:
		q.Op, q.Word, q.Shapes = "Transpose", "int8", [][]int{{1 + r.IntN(3), c, size * size}}
		window = map[string]any{"perm": []int{0, 2, 1}}
	default:
		q.Op, q.Shapes = []string{"MaxPool", "AveragePool"}[r.IntN(2)], [][]int{x}
		window["kernel_shape"], window["strides"], window["pads"] = []int{2, 2}, []int{2, 2}, []int{0, 0, 0, 0}
	}
	q.Attributes = map[string]json.RawMessage{}
	for name, v := range window {
		q.Attributes[name], _ = json.Marshal(v)
	}
	return q
}

// inProgram layers run together.
const inProgram = 40

// TestQEMU: prices of layers that no model was fitted to are, in the median, within 5 % of what QEMU counts.
func TestQEMU(t *testing.T) {
	layers := inProgram
	if testenv.Long() {
		layers = 1000
	}
	layers = testenv.Count(t, layers)
	for _, name := range testenv.Boards("cortex-m4", "cortex-m55", "cortex-m0plus") {
		t.Run(name, func(t *testing.T) {
			spec := testenv.Must(boards.Load(name))(t)
			if spec.Runner.Kind != "qemu" {
				return
			}
			var off []float64
			r := rand.New(rand.NewPCG(42, 42))
			for done := 0; done < layers; done += inProgram {
				off = append(off, program(t, r, spec, min(inProgram, layers-done))...)
			}
			testenv.Require(t, len(off) >= layers*9/10, "%d of %d layers were counted", len(off), layers)
			slices.Sort(off)
			t.Logf("%d layers: median %.2f %%, nine in ten within %.1f %%", len(off), 100*off[len(off)/2],
				100*off[len(off)*9/10])
			if off[len(off)/2] > 0.05 {
				t.Errorf("the median of the errors is %.1f %%, want at most 5 %%", 100*off[len(off)/2])
			}
		})
	}
}

// program prices drawn layers, runs them in one program, and gives the relative errors.
func program(t *testing.T, r *rand.Rand, spec *boards.Spec, n int) (off []float64) {
	o := testenv.Must(board.Options(spec))(t)
	pricer := testenv.Must(lower.NewPricer(o))(t)
	var p query.Pricers
	priced, rows := map[string]float64{}, map[string]*kernel.Kernel{}
	text := "graph \"layers\" {\n"
	for i := 0; len(priced) < n; i++ {
		q := layer(r, spec.Name)
		g := testenv.Must(q.Graph())(t)
		g = testenv.Must(ir.Parse(strings.ReplaceAll(strings.ReplaceAll(g.String(), "%", fmt.Sprintf("%%q%d_", i)),
			`"layer"`, fmt.Sprintf(`"q%d"`, i)), op.Get))(t)
		layer := g.String()
		a := p.Answer(testenv.Must(json.Marshal(q))(t))
		if a.Error != "" || a.Note != "" {
			continue
		}
		node, name := g.Nodes[0].Name, fmt.Sprintf("q%d", i)
		list, err := pricer.Of(g)
		list = slices.DeleteFunc(list, func(l lower.Priced) bool { return l.Low.View })
		if err != nil || len(list) != 1 || a.Kernel != list[0].Low.Kernel { // a program has another one
			continue
		}
		if priced[name] = float64(a.Instructions); q.Op != "Transpose" { // a copy in front of a view
			rows[node] = list[0].Row
		}
		text += layer[strings.IndexByte(layer, '\n')+1 : strings.LastIndexByte(layer, '}')]
	}
	all := testenv.Must(ir.Parse(text+"}\n", op.Get))(t)
	table := testenv.Must(lower.Kernels(spec.Kernels, o.Target))(t)
	x := kerneltest.GuardRows(t, all, func(n *ir.Node) *kernel.Plan {
		if k := rows[n.Name]; k != nil {
			plan, _ := k.Match(kernel.NewNode(n, &o.Target))
			return plan
		}
		return testenv.Must(table.Match(n, &o.Target))(t).Plan
	}, nil, 1)
	x.Near, x.Within = true, 256.0/(1<<24)
	counted := map[string]uint64{}
	for step, count := range x.RunBoard(t, spec, run.BuildOptions{Trace: true, Opt: "speed"}) {
		name, _, _ := strings.Cut(strings.TrimLeft(step, "%"), "_")
		counted[name] += count
	}
	for name, count := range counted {
		if priced[name] > 0 && count > 0 {
			off = append(off, math.Abs(priced[name]/float64(count)-1))
		}
	}
	return off
}

// TestAnswers: what cannot be answered says why, and the answers after it come all the same.
func TestAnswers(t *testing.T) {
	var b strings.Builder
	in := `{"id": 7, "board": "cortex-m4", "op": "Conv", "shapes": {"x": [1, 8, 9, 9], "w": [4, 8, 3, 3]}}
{"board": "cortex-m4", "op": "Conf", "shapes": [[1]]}
{"board": "cortex-m4", "op": "Conv", "shapes": [[1, 8]]}
{"board": "cortex-m4", "op": "Conv", "shapes": [[1, 8, 4, 4], [2, 8, 3, 3]], "attributes": {"stride": 2}}
{"board": "nothing", "op": "Conv", "shapes": [[1, 8]]}
{"board": "cortex-m4", "op": "Relu", "shapes": [[4611686018427387904, 16]]}
{"board": "cortex-m55", "op": "Gemm", "shapes": [[1, 8], [8, 4], [4]], "precision": "int16x8"}
`
	testenv.OK(t, query.Serve(strings.NewReader(in), &b))
	want := []string{`{"id":7,"cycles":`, "did you mean Conv", "Conv", "it has: auto_pad", "unknown board",
		`"error":"input 0 has shape`, `"kernel":"`}
	for i, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		if i >= len(want) || !strings.Contains(line, want[i]) || strings.Contains(line, `"error"`) != (i > 0 && i < 6) {
			t.Errorf("line %d is %s", i, line)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// GuardEach is GuardRows for layers of which some may refuse their inputs: see RunCases.
func GuardEach(t testing.TB, g *ir.Graph, match func(n *ir.Node) *kernel.Plan) *Guarded {
	t.Helper()
	return guardRows(t, g, match, nil, 1, true)
}

// errIndex is NNCC_ERR_INDEX, errDivide NNCC_ERR_DIVIDE.
const errIndex, errDivide = 4, 5

// RunCases runs every layer by itself on inputs of some cases, and compares: where the interpreter refuses an index,
// the firmware does; else the results are equal. Nothing else is read or written. It gives how many layers of a case
// were refused and how many were computed.
func (m *Guarded) RunCases(t *testing.T, spec *boards.Spec, opt run.BuildOptions, cases [][]*tensor.Dense) (refused,
	computed int) {
	t.Helper()
	im, _ := m.build(t, spec, opt)
	defer im.Close()
	list, outputs := make([]run.Case, len(cases)), make([][]*tensor.Dense, len(cases))
	for k, in := range cases {
		list[k].Inputs = m.given(in)
		env, status := m.evaluate(t, in)
		expected := make([]byte, len(m.plan.Nodes))
		for i, n := range m.plan.Nodes {
			expected[i] = status[n.Name]
			switch status[n.Name] {
			case errIndex:
				refused++
			case 0:
				computed++
			}
		}
		list[k].Inputs = append(list[k].Inputs, expected)
		for _, v := range m.graph.Out {
			outputs[k] = append(outputs[k], env[v])
		}
		for _, x := range m.out {
			if x.kept && expected[len(expected)-1] != 0 { // what is copied is, where the last step computes
				outputs[k][x.i] = nil
			}
		}
	}
	res := testenv.Must(run.Run(context.Background(), spec, im, list))(t)
	for k, c := range res.Cases {
		switch s := c.Status; {
		case s == 0:
			m.same(t, c.Outputs, outputs[k])
		case s >= 200000:
			n := m.plan.Nodes[(s-200000)/16]
			t.Errorf("case %d: status %d, want that of the interpreter\n%s%s", k, s%16,
				lineOf(m.graph, n.Out[0].Name), m.inputsOf(n, cases[k]))
		default:
			m.written(t, s)
		}
	}
	return refused, computed
}

// evaluate gives the values of a case and the status of the layers that have none, by their names.
func (m *Guarded) evaluate(t *testing.T, in []*tensor.Dense) (map[*ir.Value]*tensor.Dense, map[string]byte) {
	t.Helper()
	env, status := map[*ir.Value]*tensor.Dense{}, map[string]byte{}
	for i, v := range m.graph.In {
		env[v] = in[i]
	}
	for _, n := range m.graph.Nodes {
		out, err := ir.EvalOn(n, func(v *ir.Value) *tensor.Dense { return env[v] })
		var d *ir.Diag
		switch {
		case err == nil:
			for i, v := range n.Out {
				env[v] = out[i]
			}
		case !errors.As(err, &d):
			t.Fatalf("%v\n%s", err, lineOf(m.graph, n.Out[0].Name))
		case d.Code == "index":
			status[n.Name] = errIndex
		default:
			status[n.Name] = errDivide
		}
	}
	return env, status
}

// inputsOf is the text of what a layer reads in a case.
func (m *Guarded) inputsOf(n *ir.Node, in []*tensor.Dense) string {
	s := ""
	for _, v := range n.In {
		for i, x := range m.graph.In {
			if v != nil && v.Name == x.Name {
				s += fmt.Sprintf("\n  %s = %.300s", v, fmt.Sprint(in[i].Data))
			}
		}
	}
	return s
}

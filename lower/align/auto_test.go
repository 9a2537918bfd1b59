// SPDX-License-Identifier: Apache-2.0

package align_test

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/option"
)

// chain is three convolutions; the model's interface fixes the ends.
const chain = `graph "chain" {
  in %x : f32[1,4,1,32]
  const %w0 : f32[6,4,1,3] = rand 1
  const %w1 : f32[16,6,1,3] = rand 2
  const %w2 : f32[5,16,1,1] = rand 3
  %a = Conv(%x, %w0) name "a"
  %b = Conv(%a, %w1) name "b"
  %y = Conv(%b, %w2) name "c"
  out "y" = %y
}`

// steps prices convolutions in steps of their channels.
func steps(in, out int) align.Pricer {
	up := func(n, m int) float64 { return float64((n + m - 1) / m * m) }
	return func(n *ir.Node, i, o [][]int) align.Price {
		return align.Price{Instructions: 100 * up(i[0][1], in) * up(o[0][1], out), Kernel: "steps", Error: 0.01}
	}
}

// fast halves the price where the input channels are a multiple of four.
func fast(p align.Pricer) align.Pricer {
	return func(n *ir.Node, i, o [][]int) align.Price {
		x := p(n, i, o)
		if i[0][1]%4 == 0 {
			x.Instructions, x.Kernel = x.Instructions/2, "fast"
		}
		return x
	}
}

func auto(t *testing.T, o align.Options) map[string]align.Row {
	t.Helper()
	g := irtest.Parse(t, chain)
	o.Mode = option.AlignAuto
	p, r := padded(t, g, o)
	in := irtest.Inputs(g, 5)
	err := irtest.Same(irtest.Run(t, p, in), irtest.Run(t, g, in), g.OutNames, 1, irtest.DefaultTol)
	testenv.Check(t, err == nil, "%v", err)
	m := map[string]align.Row{}
	for _, w := range r.Rows {
		m[w.Node+" "+w.Constraint] = w
	}
	return m
}

func TestAuto(t *testing.T) {
	for _, c := range []struct {
		name   string
		o      align.Options
		status string // of b's input channels
		reason string
	}{
		{"no prices", align.Options{}, align.Kept, "costs are unknown"},
		{"no gain", align.Options{Price: steps(1, 4)}, align.Kept, "would not save anything"},
		{"less in all", align.Options{Price: fast(steps(1, 1))}, align.Patched, "10800 instructions become 8000"},
		{"free outputs", align.Options{Price: fast(steps(1, 4))}, align.Patched, "instructions become"},
		{"unknown kernel", align.Options{Price: func(n *ir.Node, i, o [][]int) align.Price {
			if n.Name == "b" {
				return align.Price{Unknown: "no cost table"}
			}
			return fast(steps(1, 4))(n, i, o)
		}}, align.Kept, "no cost table"},
		{"uncertain", align.Options{Price: func(n *ir.Node, i, o [][]int) align.Price {
			p := fast(steps(1, 4))(n, i, o)
			p.Error = 0.7
			return p
		}}, align.Kept, "give or take"},
	} {
		m := auto(t, c.o)
		if w := m["b input_channels"]; w.Status != c.status || !strings.Contains(w.Reason, c.reason) {
			t.Errorf("%s: %s, want %s: %s", c.name, &w, c.status, c.reason)
		}
		if w := m["c output_channels"]; w.Status != align.Locked || w.Code != "graph-output" {
			t.Errorf("%s: %s", c.name, &w)
		}
	}
}

// TestChosen: the sizes of another run are taken over, and nothing else is padded.
func TestChosen(t *testing.T) {
	g := irtest.Parse(t, strings.Replace(block, "TAIL", pooled, 1))
	rows := []align.Row{{Node: "Expand", Constraint: "output_channels", Target: 12, Status: align.Patched, Gain: 7,
		Reason: "it pays"}}
	_, r := padded(t, g, align.Options{Mode: option.AlignAuto, Chosen: rows})
	var patched []string
	for _, w := range r.Rows {
		if w.Status == align.Patched {
			patched = append(patched, w.Node+" "+w.Constraint+" "+w.Reason)
		}
	}
	testenv.Same(t, patched, []string{"Expand output_channels it pays"}, r.Rows)
}

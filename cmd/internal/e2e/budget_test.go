// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/option"
)

// TestBudgets: --max-ram is met exactly where the budget is at least the smallest
// arena there is, which the refusal of a smaller one names; what some budget
// leads to is found again when it is the budget; more memory never means more
// work.
func TestBudgets(t *testing.T) {
	type subject struct {
		name    string
		compile func(budget int) (*driver.Compiled, error)
	}
	var subjects []subject
	for seed := range uint64(2) {
		text := cnn(seed)
		subjects = append(subjects, subject{fmt.Sprint("network ", seed), func(budget int) (*driver.Compiled, error) {
			c := config("cnn.onnx", "cortex-m4")
			c.Precision, c.MaxRAM, c.Tries = option.Float32, fmt.Sprint(budget), 8
			spec := mustLoad(t, c.Board)
			return c.CompileGraph(&onnx.Model{Proto: &pb.ModelProto{}}, irtest.Parse(t, text), spec)
		}})
	}
	if m := sharedata.Find("models", "kws_int8.onnx"); m != "" && testenv.Long() {
		subjects = append(subjects, subject{"kws_int8", func(budget int) (*driver.Compiled, error) {
			c := config(m, "cortex-m55")
			c.MaxRAM = fmt.Sprint(budget)
			return c.Compile()
		}})
	}
	striped := 0
	for i, s := range subjects {
		whole, err := s.compile(1 << 28)
		require(t, err)
		least, err := s.compile(1)
		require(t, err)
		best := least.Lowered.Program.ArenaBytes
		var gate *driver.GateError
		if err := least.Gates(); !errors.As(err, &gate) || !strings.Contains(gate.Error(),
			fmt.Sprintf("the arena needs %d bytes", best)) ||
			!strings.Contains(gate.Error(), fmt.Sprintf("of %d programs that were tried this is the smallest",
				least.Lowered.Tried)) {
			t.Errorf("%s: the refusal of 1 byte is %v, want it to name %d bytes", s.name, err, best)
		}
		r := rand.New(rand.NewPCG(uint64(i), 1))
		budgets := []int{0, best - 1, best}
		for range 2 {
			budgets = append(budgets, best+r.IntN(max(whole.Lowered.Program.ArenaBytes-best, 1)))
		}
		work := map[int]float64{}
		for len(budgets) > 0 {
			b := budgets[0]
			budgets = budgets[1:]
			if _, ok := work[b]; ok {
				continue
			}
			o, err := s.compile(b)
			require(t, err)
			if got := o.Lowered.Program.ArenaBytes; (got <= b) != (b >= best) || got < best || b < best && got > best {
				t.Errorf("%s: --max-ram %d gives %d bytes; %d are reachable", s.name, b, got, best)
			}
			work[b] = 0
			if p := o.Lowered.Tiled; p != nil {
				work[b] = p.Work
				striped++
			}
			if b >= best && o.Lowered.Program.ArenaBytes < b {
				budgets = append(budgets, o.Lowered.Program.ArenaBytes)
			}
		}
		for b, w := range work {
			for c, v := range work {
				if best <= b && b < c && v > w {
					t.Errorf("%s: with %d bytes %.0f instructions are expected, with %d bytes %.0f", s.name, b, w, c, v)
				}
			}
		}
	}
	if striped < 3 {
		t.Errorf("only %d programs in stripes", striped)
	}
}

// cnn is a small network: separable layers as in mobile networks, or residual
// blocks.
func cnn(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 2))
	var b strings.Builder
	c, h := 4+r.IntN(5), 24+8*r.IntN(3)
	fmt.Fprintf(&b, "graph \"cnn\" {\n  in %%x : f32[1,3,%d,%d]\n", h, h)
	n := 0
	conv := func(from string, in, out, k, stride, group int) string {
		n++
		fmt.Fprintf(&b, "  const %%w%d : f32[%d,%d,%d,%d] = rand %d\n", n, out, in/group, k, k, n)
		fmt.Fprintf(&b, "  %%c%d = Conv(%%%s, %%w%d) {group=%d, pads=[%d,%d,%d,%d], strides=[%d,%d]}\n  %%r%d = "+
			"Relu(%%c%d)\n",
			n, from, n, group, k/2, k/2, k/2, k/2, stride, stride, n, n)
		return fmt.Sprintf("r%d", n)
	}
	x := conv("x", 3, c, 3, 1+r.IntN(2), 1)
	for i := range 3 {
		if seed%2 == 0 {
			x = conv(x, c, c, 3, 1+i%2, c)
			x = conv(x, c, 2*c, 1, 1, 1)
			c *= 2
			continue
		}
		y := conv(conv(x, c, c, 3, 1, 1), c, c, 3, 1, 1)
		fmt.Fprintf(&b, "  %%a%d = Add(%%%s, %%%s)\n", n, x, y)
		x = conv(fmt.Sprintf("a%d", n), c, 2*c, 3, 2, 1)
		c *= 2
	}
	fmt.Fprintf(&b, "  %%p = GlobalAveragePool(%%%s)\n  out \"y\" = %%p\n}\n", x)
	return b.String()
}

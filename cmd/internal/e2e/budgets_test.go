// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/option"
)

// TestBudgets: --max-ram is met exactly where the budget is at least the smallest arena there is, which the refusal of
// a smaller one names, beside the smallest that takes few more instructions than without a budget; what some budget
// leads to is found again when it is the budget; with one goal, more memory never means more work. Each program of
// the frontier is what its flags give.
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
			c.Precision, c.MaxRAM, c.Tries, c.Kernels = option.Float32, fmt.Sprint(budget), 8, option.OwnKernels
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
		whole := testenv.Must(s.compile(1 << 28))(t)
		least := testenv.Must(s.compile(1))(t)
		named := least.Lowered.Program.ArenaBytes
		best := least.Lowered.Frontier[len(least.Lowered.Frontier)-1].RAMBytes
		err := least.Gates()
		testenv.Check(t, errors.As(err, new(*driver.GateError)) && least.Lowered.Worth() && named >= best &&
			strings.Contains(err.Error(), fmt.Sprintf("the arena needs %d bytes", named)) &&
			strings.Contains(err.Error(), fmt.Sprintf("of %d programs that were tried", least.Lowered.Tried)) &&
			strings.Contains(err.Error(), fmt.Sprintf("; %d bytes can be reached at", best)) == (best < named),
			"%s: the refusal of 1 byte is %v, want it to name %d bytes, and %d", s.name, err, named, best)
		r := rand.New(rand.NewPCG(uint64(i), 1))
		budgets := []int{0, best - 1, best, named}
		points := map[int]int{}
		for _, p := range least.Lowered.Frontier {
			if p.Optimize == whole.Optimize {
				points[p.RAMBytes] = p.ArenaBytes
			}
		}
		for n := range points {
			budgets = append(budgets, n)
		}
		for range 2 {
			budgets = append(budgets, best+r.IntN(max(whole.Lowered.Program.ArenaBytes-best, 1)))
		}
		work, goal := map[int]float64{}, map[int]option.Optimize{}
		for len(budgets) > 0 {
			b := budgets[0]
			budgets = budgets[1:]
			if _, ok := work[b]; ok {
				continue
			}
			o := testenv.Must(s.compile(b))(t)
			got := o.Lowered.Program.ArenaBytes
			testenv.Check(t, (got <= b) == (b >= best) && got >= best && (b >= best || got <= named),
				"%s: --max-ram %d gives %d bytes; %d are reachable", s.name, b, got, best)
			if want, ok := points[b]; ok && got != want {
				t.Errorf("%s: --max-ram %d gives %d bytes, the frontier has %d", s.name, b, got, want)
			}
			work[b], goal[b] = 0, o.Optimize
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
				if best <= b && b < c && v > w && goal[b] == goal[c] {
					t.Errorf("%s: with %d bytes %.0f instructions are expected, with %d bytes %.0f", s.name, b, w, c, v)
				}
			}
		}
	}
	testenv.Check(t, striped >= 3, "only %d programs in stripes", striped)
}

// TestGoals: drawn networks meet a budget of RAM or flash exactly where the program of some goal and some kernels does,
// and the memory of a board, too; the refusal names the least.
func TestGoals(t *testing.T) {
	for seed := range uint64(testenv.Count(t, 3)) {
		r := rand.New(rand.NewPCG(seed, 3))
		n, m := 1024<<r.IntN(3)+r.IntN(40), 8+r.IntN(24)
		text := fmt.Sprintf("graph \"fc\" {\n  in %%x : f32[1,%d]\n  const %%w : f32[%d,%d] = rand 1\n  const %%v : "+
			"f32[%d,5] = rand 2\n  %%h = MatMul(%%x, %%w)\n  %%r = Relu(%%h)\n  %%y = MatMul(%%r, %%v)\n"+
			"  out \"y\" = %%y\n}\n", n, n, m, m)
		core := []string{"cortex-m4", "cortex-m7", "cortex-m33"}[seed%3]
		compile := func(board string, set func(c *driver.Config)) *driver.Compiled {
			c := config("fc.onnx", board)
			c.Strict = false
			set(c)
			return testenv.Must(c.CompileGraph(&onnx.Model{Proto: &pb.ModelProto{}}, irtest.Parse(t, text),
				mustLoad(t, board)))(t)
		}
		over := func(o *driver.Compiled) string {
			var gate *driver.GateError
			if err := o.Gates(); err != nil && !errors.As(err, &gate) {
				t.Fatal(err)
			} else if err != nil {
				return err.Error()
			}
			return ""
		}
		ram, flash := 1<<30, 1<<30
		for k := range option.ReferenceKernels + 1 {
			for _, g := range []option.Optimize{option.Speed, option.Balanced, option.Size} {
				o := compile(core, func(c *driver.Config) { c.Kernels, c.Optimize = k, g })
				ram = min(ram, o.Lowered.Program.RAMBytes())
				flash = min(flash, o.Report.Memory.WeightsBytes)
			}
		}
		for _, less := range []int{0, 1} {
			o := compile(core, func(c *driver.Config) { c.MaxRAM = fmt.Sprint(ram - less) })
			if (over(o) == "") != (less == 0) {
				t.Errorf("seed %d: --max-ram %d, %d are reachable: %d bytes, %q", seed, ram-less, ram,
					o.Lowered.Program.RAMBytes(), over(o))
			}
		}
		// Code and constants beside the weights are less than the second program's weights.
		o := compile(core, func(c *driver.Config) { c.MaxFlash = fmt.Sprint(flash + 12<<10) })
		if over(o) != "" || o.Report.Memory.WeightsBytes >= 2*flash-64 {
			t.Errorf("seed %d: --max-flash %d: %d bytes of weights, %q", seed, flash+12<<10,
				o.Report.Memory.WeightsBytes, over(o))
		}
		o = compile(core, func(c *driver.Config) { c.MaxFlash = "1" })
		if !strings.Contains(over(o), "--optimize size") ||
			!strings.Contains(over(o), "the least of all goals and kernels") {
			t.Errorf("seed %d: the refusal is %q", seed, over(o))
		}
		small := boardFile(t, core, 4096, boards.Regions{{Name: "rom", Origin: 0x08000000,
			Size: boards.Size(flash + 20<<10), Holds: []string{"vectors", "code", "rodata", "weights"}},
			{Name: "ram", Origin: 0x20000000, Size: 1 << 20, Holds: []string{"stack", "data", "arena"}}})
		if o = compile(small, func(*driver.Config) {}); !o.Placement.Fits() {
			t.Errorf("seed %d: a board with room for %d bytes of weights: %q", seed, flash, o.Report.Warnings)
		}
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
			"Relu(%%c%d)\n", n, from, n, group, k/2, k/2, k/2, k/2, stride, stride, n, n)
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

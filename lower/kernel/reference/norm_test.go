// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kerneltest"
)

// floats is a constant of so many numbers between -limit and limit.
func floats(r *rand.Rand, shape string, n int, limit float64) string {
	v := make([]string, n)
	for i := range v {
		v[i] = fmt.Sprintf("%.6f", (2*r.Float64()-1)*limit)
	}
	return fmt.Sprintf("f32%s = {%s}", shape, strings.Join(v, ","))
}

// normLayer is layer i, a normalisation, as IR text.
func normLayer(r *rand.Rand, i int) string {
	quant := func(scale float64) string {
		zero := []int{-128, 127, 0, r.IntN(256) - 128}[r.IntN(4)]
		return fmt.Sprintf("q(%.5f:%d)", scale*(0.2+r.Float64()), zero)
	}
	q := []any{quant(0.05), quant([]float64{0.03, 0.03, 0.3, 0.0001}[r.IntN(4)])}
	epsilon := []string{"1e-05", "0.001", "0.0", "100.0"}[r.IntN(4)]
	limit := []float64{1, 3, 0.01}[r.IntN(3)]
	width := []int{1 + r.IntN(20), 1 + r.IntN(100), 16 * (1 + r.IntN(8))}[r.IntN(3)]
	if kind := r.IntN(4); kind < 2 {
		shape := fmt.Sprintf("[%d,%d]", 1+r.IntN(4), width)
		name, args := "RMSNormalization", ""
		text := fmt.Sprintf("const %%s%d : %s\n", i, floats(r, fmt.Sprintf("[%d]", width), width, limit))
		if kind == 1 {
			name = "LayerNormalization"
			if r.IntN(3) > 0 {
				args = fmt.Sprintf(", %%b%d", i)
				text += fmt.Sprintf("const %%b%d : %s\n", i, floats(r, "[1]", 1, limit))
			}
		}
		return fmt.Sprintf("in %%x%d : i8%s %s\n%s%%y%d : i8%s %s = %s(%%x%d, %%s%d%s) {epsilon=%s}\n", i, shape, q[0],
			text, i, shape, q[1], name, i, i, args, epsilon)
	}
	groups, attr, name := 1+r.IntN(9), "", "InstanceNormalization"
	channels := groups
	if r.IntN(2) == 0 {
		name, attr, channels = "GroupNormalization", fmt.Sprintf(", num_groups=%d", groups), groups*(1+r.IntN(9))
	}
	shape := fmt.Sprintf("[%d,%d,%d,%d]", 1+r.IntN(2), channels, 1+r.IntN(6), 1+r.IntN(30))
	per := fmt.Sprintf("[%d]", channels)
	text := fmt.Sprintf("in %%x%d : i8%s %s\nconst %%s%d : %s\nconst %%b%d : %s\n", i, shape, q[0], i,
		floats(r, per, channels, limit), i, floats(r, per, channels, limit))
	return text + fmt.Sprintf("%%y%d : i8%s %s = %s(%%x%d, %%s%d, %%b%d) {epsilon=%s%s}\n", i, shape, q[1], name, i, i,
		i, epsilon, attr)
}

// TestNormBoards: normalisations of random shapes give the interpreter's results
// on every kind of core. NNCC_RANDOM sets their number, NNCC_BOARDS the cores.
func TestNormBoards(t *testing.T) {
	for _, board := range testenv.Boards("cortex-m55", "cortex-m4", "cortex-m0plus") {
		t.Run(board, func(t *testing.T) {
			spec, err := boards.Load(board)
			if err != nil {
				t.Fatal(err)
			}
			const together = 100
			start, n := testenv.Range(t, 40)
			for from := 0; from < n; from += together {
				r := rand.New(rand.NewPCG(uint64(start+from), 5))
				var text strings.Builder
				for i := range min(together, n-from) {
					fmt.Fprintf(&text, "%sout \"y%d\" = %%y%d\n", normLayer(r, i), i, i)
				}
				g, err := ir.Parse("graph \"layers\" {\n"+text.String()+"}\n", op.Get)
				if err != nil {
					t.Fatal(err)
				}
				order := func(rank int) []int {
					if rank < 3 {
						return nil
					}
					return ir.NHWC(rank)
				}
				opt := kernel.Options{Core: kernel.Core{MVE: spec.ISA.HasMVE(), DSP: spec.ISA.DSP}}
				m := kerneltest.GuardRows(t, g, func(n *ir.Node) *kernel.Plan {
					c, err := table.Match(n, &opt)
					if err != nil || !strings.HasSuffix(c.Kernel.Name, "_norm_s8") {
						t.Fatalf("%v: %v", n, err)
					}
					return c.Plan
				}, order, uint64(from+1))
				kerneltest.Bodies(t, spec, run.BuildOptions{},
					func(t *testing.T, spec *boards.Spec, opt run.BuildOptions) { m.RunBoard(t, spec, opt) })
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"context"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/boards/run"
)

// A loop of two NOP, a SUBS and a BNE, counted by hand: cycles a turn with the
// branch taken. The instructions of every step are those that the counter of
// the machine finds.
func TestCyclesOfALoop(t *testing.T) {
	for name, turn := range map[string]int{
		"cortex-m0plus": 1 + 1 + 1 + 2, "microbit": 1 + 1 + 1 + 3, "cortex-m3": 1 + 1 + 1 + 3, "cortex-m4": 1 + 1 + 1 +
			3, "cortex-m55": 1 + 1 + 1 + 2, "cortex-m7": 1 + 1 + 1,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := load(t, name)
			im, ctx := mini(t, spec), context.Background()
			cases := []run.Case{miniCase(8, 1), miniCase(15, 1)}
			cases[1].KeepState = true // so that the second execution follows both
			res, err := run.RunWith(ctx, spec, im, cases, run.Options{Trace: []int{0, 1}})
			testenv.OK(t, err)
			short, err := run.Cycles(ctx, spec, im, []run.Job{{Cases: cases}}, 0, 0)
			testenv.OK(t, err)
			long, err := run.Cycles(ctx, spec, im, []run.Job{{Cases: cases}}, 0, 1)
			testenv.OK(t, err)
			for i, c := range long.Cycles {
				if d := c.Instructions - int(res.Cases[1].Layers[i]); d < -6 || d > 6 {
					t.Errorf("step %d: %d instructions were followed, %d counted", i, c.Instructions,
						res.Cases[1].Layers[i])
				}
			}
			if d := long.Cycles[2].Instructions - short.Cycles[2].Instructions; d < 3998 || d > 4002 {
				t.Errorf("1000 turns are %d instructions, want 4000", d)
			}
			// The switch before the loop may take a branch more or less.
			if d := long.Cycles[2].Cycles - short.Cycles[2].Cycles - 1000*turn; d < -6 || d > 6 {
				t.Errorf("1000 turns take %d cycles, want %d", long.Cycles[2].Cycles-short.Cycles[2].Cycles, 1000*turn)
			}
			if n := long.Cycles[1].Loaded; n < 512 || n > 600 {
				t.Errorf("a sum of 512 bytes loads %d bytes", n)
			}
		})
	}
}

// TestNoCycles: where there is no estimate, the error says why.
func TestNoCycles(t *testing.T) {
	for name, want := range map[string]string{"host": "no table of cycles for host"} {
		spec := load(t, name)
		if _, err := run.Cycles(context.Background(), spec, mini(t, spec),
			[]run.Job{{Cases: []run.Case{miniCase(8, 1)}}}, 0, 0); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

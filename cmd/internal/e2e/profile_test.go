// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/lower/option"
)

// TestProfile: the instructions that are followed block by block are those that
// the counter finds, layer by layer, and cycles are of their order, with the error
// of the estimate beside them.
func TestProfile(t *testing.T) {
	for _, board := range []string{"cortex-m55", "cortex-m7", "stm32l4r5zi"} {
		c := digitsConfig(board)
		c.Cases = 1
		o := mustCompile(t, c)
		v := mustProfile(t, o)
		if v.Mismatches > 0 {
			t.Fatalf("%s: %d mismatches", board, v.Mismatches)
		}
		text := report.ProfileText([]*report.Verdict{v})
		if v.CyclesError <= 0 || v.CyclesErrorBasis == "" || !strings.Contains(text, "cycles, give or take ") {
			t.Errorf("%s: the error of the estimate is not stated: %s", board, text)
		}
		if (v.Milliseconds > 0) != (board == "stm32l4r5zi") {
			t.Errorf("%s: %g ms", board, v.Milliseconds)
		}
		sum := 0
		for _, l := range v.Layers {
			if l.LayerCycles == nil {
				t.Fatalf("%s: %s has no cycles: %s", board, l.Name, v.CyclesMissing)
			}
			n := 0
			for _, k := range l.Classes {
				n += k
			}
			if d := n - int(l.Instructions); d < -8 || d > 8 {
				t.Errorf("%s: %s: %d instructions were followed, %d counted", board, l.Name, n, l.Instructions)
			}
			if per := float64(l.LayerCycles.Cycles) / float64(n); per < 0.5 || per > 3 {
				t.Errorf("%s: %s: %.2f cycles an instruction", board, l.Name, per)
			}
			sum += l.LayerCycles.Cycles
		}
		if sum != v.Cycles || !strings.Contains(text, "est. cycles") || !strings.Contains(v.CyclesBasis, "estimated") {
			t.Errorf("%s: layers take %d cycles together, the model %d (%s)", board, sum, v.Cycles, v.CyclesBasis)
		}
		var back struct {
			Layers []struct {
				Cycles int            `json:"estimated_cycles"`
				Class  map[string]int `json:"classes"`
			} `json:"layers"`
		}
		if err := json.Unmarshal(report.JSON(v), &back); err != nil ||
			back.Layers[0].Cycles != v.Layers[0].LayerCycles.Cycles || back.Layers[0].Class["load"] == 0 {
			t.Errorf("%s: JSON has %+v (%v)", board, back.Layers[0], err)
		}
	}
}

// TestLoopInCache: on a board whose flash has a cache of 1 KiB, the loops of products of
// two pixels lie in it, with long rows of weights, too: next to nothing waits for code.
func TestLoopInCache(t *testing.T) {
	c := config(modelFile(t, `graph "product" {
  in %x : f32[1,64,12,12]
  const %w : f32[64,64,1,1] = rand 1
  %y = Conv(%x, %w)
  out "y" = %y
}`), "stm32l4r5zi")
	c.Cases, c.IOLayout = 1, option.NativeLayout
	o := mustCompile(t, c)
	v := mustProfile(t, o)
	if l := &v.Layers[0]; l.CodeWaits*10 > l.LayerCycles.Cycles {
		t.Errorf("%s waits %d of %d cycles for code", l.Kernel, l.CodeWaits, l.LayerCycles.Cycles)
	} else {
		t.Logf("%s waits %d of %d cycles for code", l.Kernel, l.CodeWaits, l.LayerCycles.Cycles)
	}
}

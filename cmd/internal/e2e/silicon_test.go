// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// silicon are published cycles, in millions, of one engine on several boards, by
// board (testdata/silicon.csv: MLPerf Tiny results 0.5 to 1.3, closed division,
// median latency times clock).
type silicon map[string]float64

type engineModel struct{ engine, model string }

func published(t *testing.T) map[engineModel]silicon {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "silicon.csv"))
	require(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require(t, err)
	out := map[engineModel]silicon{}
	for _, r := range rows[1:] {
		k := engineModel{r[0], r[2]}
		if out[k] == nil {
			out[k] = silicon{}
		}
		out[k][r[1]], err = strconv.ParseFloat(r[3], 64)
		require(t, err)
	}
	return out
}

// TestSilicon compares estimates with silicon that nncc's code never ran on: what
// a board takes, by what the STM32L4R5ZI takes, is compared between an engine that
// was published for both and nncc's estimates for both. Calibrated are the cycles
// a byte of streamed constants alone, with the fully connected network of the same
// results (ad); the networks here are all for checking. The error that the boards
// state has to cover what is found.
func TestSilicon(t *testing.T) {
	const base = "stm32l4r5zi"
	models, others := []string{"kws_int8"}, []string{"stm32h7a3", "stm32u575"}
	if testenv.Long() {
		models, others = []string{"kws_int8", "ic_int8", "vww_int8"}, []string{"stm32f746", "stm32g0b1", "stm32h7a3",
			"stm32u575"}
	}
	rows := published(t)
	for _, m := range models {
		path := sharedata.Need(t, "models", m+".onnx")
		mine := map[string]float64{}
		for _, b := range append(slices.Clone(others), base) {
			mine[b] = estimated(t, path, b)
		}
		for k, other := range rows {
			if k.model != m {
				continue
			}
			for _, b := range others {
				if other[b] == 0 || other[base] == 0 {
					continue
				}
				off := mine[b]/mine[base]/(other[b]/other[base]) - 1
				t.Logf("%-9s %-9s by %s: estimated %.3f, %s %.3f, off by %+.1f %%", m, b, base, mine[b]/mine[base],
					k.engine, other[b]/other[base], 100*off)
				if e := statedError(t, b); math.Abs(off) > e {
					t.Errorf("%s on %s: off by %+.3f of %s's; the board states %.2f", m, b, off, k.engine, e)
				}
			}
		}
	}
}

// estimated cycles of a model on a board.
func estimated(t *testing.T, model, board string) float64 {
	t.Helper()
	c := config(model, board)
	c.Cases = 1
	o := mustCompile(t, c)
	v := mustProfile(t, o)
	if v.Cycles == 0 || v.Mismatches > 0 {
		t.Fatalf("%s on %s: %d mismatches, %s", model, board, v.Mismatches, v.CyclesMissing)
	}
	return float64(v.Cycles)
}

// statedError of estimates on a board.
func statedError(t *testing.T, board string) float64 {
	t.Helper()
	s := mustLoad(t, board)
	return s.CyclesError()
}

// TestStreamedWeights holds a fully connected network, whose weights are read once, from
// flash, to nine tenths of what the best engine takes that was published for one of its
// shape (MLPerf Tiny 1.3, closed division, anomaly detection: 264,192 weights).
func TestStreamedWeights(t *testing.T) {
	const board, best, share = "stm32u575", 0.51e6, 0.9
	widths := []int{640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640}
	var b strings.Builder
	fmt.Fprintf(&b, "graph \"streamed\" {\nin %%y0 : f32[1,%d]\n", widths[0])
	for i, n := range widths[1:] {
		fmt.Fprintf(&b, "const %%w%d : f32[%d,%d] = rand %d\n%%s%d = MatMul(%%y%d, %%w%d)\n%%y%d = Relu(%%s%d)\n", i,
			widths[i], n, i+1, i, i, i, i+1, i)
	}
	last := len(widths) - 2
	path := modelFile(t, fmt.Sprintf("%sout \"y\" = %%s%d\n}", b.String(), last))
	if c := estimated(t, path, board); c > share*best {
		t.Errorf("%s: %.0f cycles, want at most %.0f", board, c, share*best)
	}
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/kerneltest"
	"github.com/nncc/nncc/lower/option"
)

// cliff is how often its limit a layer may take.
const cliff = 1.4

// TestCliffs holds the instructions of layers that kernels for large ones are slow at, through the whole compiler. The
// log has what int8 takes of a limit, which limits.csv makes of the layer's size; more than 1.4 of it wants a reason.
func TestCliffs(t *testing.T) {
	kinds := kerneltest.ReadKinds(t, filepath.Join("testdata", "cliffs.txt"))
	limits := map[string][3]float64{}
	for _, r := range kerneltest.ReadTable(t, filepath.Join("testdata", "limits.csv")) {
		var x [3]float64
		testenv.Must(fmt.Sscan(strings.Join(r[2:], " "), &x[0], &x[1], &x[2]))(t)
		limits[r[0]+r[1]] = x
	}
	var columns []string
	for _, core := range []string{"cortex-m55", "cortex-m4", "cortex-m0plus"} {
		columns = append(columns, core+" int8", core+" int16x8")
	}
	boards := testenv.Boards("cortex-m55", "cortex-m4", "cortex-m0plus")
	held := kerneltest.Hold(t, filepath.Join("testdata", "cliffs.csv"), columns...)
	worst := make([]float64, len(kinds))
	for c := range columns {
		g := kerneltest.Layers(t, kinds)
		core, precision, _ := strings.Cut(columns[c], " ")
		if !slices.Contains(boards, core) {
			continue
		}
		limit := make([]float64, len(kinds))
		for _, n := range g.Nodes {
			at := kerneltest.LayerOf(n.Name) - 1
			class, _, _ := strings.Cut(kinds[at].Name, ":")
			x, values := limits[class+core], float64(n.Out[0].Type.Elems())
			if n.Op.MACs != nil {
				limit[at] += x[0] * float64(n.Op.MACs(n))
			}
			if n.Name[0] == 'y' {
				limit[at] += x[1]*values + x[2]*max(values, float64(n.In[0].Type.Elems()))
			}
		}
		config := driver.Defaults()
		config.Board, config.Cases, config.IOLayout, config.Model = core, 1, option.NativeLayout, graphFile(t, g)
		config.Precision = option.Precision(slices.Index(option.SpecOf[option.Precision]().Words, precision))
		counts := make([]uint64, len(kinds))
		for name, r := range layerCounts(t, config) {
			counts[kerneltest.LayerOf(name)-1] += r.instructions
		}
		var log strings.Builder
		for i, k := range kinds {
			held.Count(t, k.Name, c, counts[i])
			fmt.Fprintf(&log, "\n%-40s %8d", k.Name, counts[i])
			if limit[i] > 0 && precision == "int8" {
				ratio := float64(counts[i]) / limit[i]
				worst[i] = max(worst[i], ratio)
				fmt.Fprintf(&log, " %.2f", ratio)
			}
		}
		t.Log(columns[c], log.String())
	}
	for i, k := range kinds[:len(kinds)*len(boards)/3] {
		held.Reason(t, k.Name, worst[i] > cliff, "1.4 of its limit")
	}
}

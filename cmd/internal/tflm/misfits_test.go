// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestMisfits: drawn layers of which one tensor has another shape, type or quantisation than it
// should, or another place, are refused with a reason, or compiled; nothing panics.
func TestMisfits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net.tflite")
	accepted, all := 0, 0
	from, count := testenv.Range(t, 2)
	for i, d := range drawers {
		for _, typ := range d.typesOf() {
			for seed := from; seed < from+count; seed++ {
				l := draw(d, typ, uint64(seed))
				misfit(rand.New(rand.NewPCG(uint64(seed), uint64(i))), &l.Graph)
				testenv.OK(t, os.WriteFile(path, l.Bytes(), 0o666))
				c := driver.Defaults()
				c.Model, c.Board, c.Name = path, "host", "net"
				_, err := c.Compile()
				if all++; err == nil {
					accepted++
				} else if bug.Is(err) {
					t.Errorf("seed %d: %v\n%s", seed, err, l)
				}
			}
		}
	}
	t.Logf("%d of %d are compiled", accepted, all)
	if accepted == 0 || accepted == all {
		t.Errorf("%d of %d misfits are compiled", accepted, all)
	}
}

// misfit changes one property of one tensor, or of an operator.
func misfit(rng *rand.Rand, g *tflitetest.Graph) {
	x, o := &g.Tensors[rng.IntN(len(g.Tensors))], &g.Ops[rng.IntN(len(g.Ops))]
	pick := func(v ...int32) int32 { return v[rng.IntN(len(v))] }
	switch what := rng.IntN(8); {
	case what == 0 && len(x.Shape) > 0:
		x.Shape = slices.Clone(x.Shape)
		x.Shape[rng.IntN(len(x.Shape))] = pick(0, -1, 1, 2, 7, 1<<16, math.MaxInt32, math.MinInt32)
	case what == 1:
		x.Shape = append(slices.Clone(x.Shape), pick(0, 1, 2, 1000))
	case what == 2 && len(x.Shape) > 0:
		x.Shape = x.Shape[:len(x.Shape)-1]
	case what == 3:
		x.Scale, x.Zero = []float32{[]float32{1e-45, 1e-38, 3e-10, 1, 1e10, 1e38}[rng.IntN(6)]}, []int64{0}
	case what == 4:
		x.Scale, x.Zero = nil, nil
	case what == 5:
		x.Type = int8(rng.IntN(20))
	case what == 6 && len(o.In) > 0:
		o.In = slices.Clone(o.In)
		o.In[rng.IntN(len(o.In))] = int32(rng.IntN(len(g.Tensors)+1)) - 1
	default:
		o.Code, o.Custom = int32(rng.IntN(150)), ""
	}
}

// SPDX-License-Identifier: Apache-2.0

package helium_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/helium"
	"github.com/nncc/nncc/lower/kerneltest"
)

// TestPortableSums: a sum that only the portable kernel computes includes no header of this family,
// which a program of nothing else does not have.
func TestPortableSums(t *testing.T) {
	r, o := rand.New(rand.NewPCG(1, 2)), &kernel.Options{Core: kernel.Core{MVE: true, DSP: true, FPU: true}}
	seen := map[bool]int{}
	for range 2000 {
		g, valid := kerneltest.Draw(r, op.Add, kerneltest.Int8, "l")
		if !valid {
			continue
		}
		n := g.Nodes[0]
		if !op.BinaryKernelS8(n) {
			continue
		}
		a, b := 0.9+r.Float64()/5, 0.9+r.Float64()/5
		for v, scale := range map[*ir.Value]float64{n.In[0]: a, n.In[1]: b, n.Out[0]: (a + b) * (0.7 + r.Float64()/3)} {
			v.Type.Quant.Scale = []float32{float32(scale / 64)}
			v.Type.Quant.Zero = []int32{r.Int32N(5) - 2}
		}
		for _, k := range helium.Kernels {
			if !slices.Contains(k.Ops, op.Add) {
				continue
			}
			p, _ := k.Match(kernel.NewNode(n, o))
			if p == nil {
				continue
			}
			l := p.Lower()
			own := slices.ContainsFunc(l.Functions(), func(f string) bool {
				return strings.HasPrefix(f, "nncc_helium_")
			})
			seen[own]++
			if slices.Contains(l.Headers, "helium/nncc_helium.h") != own {
				t.Fatalf("%v with headers %v\n%s", l.Functions(), l.Headers, g)
			}
		}
	}
	testenv.Check(t, seen[true] != 0 && seen[false] != 0,
		"%d sums by kernels of the family, %d by the portable one: want some of each", seen[true], seen[false])
}

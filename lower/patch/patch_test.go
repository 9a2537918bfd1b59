// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/patch"
)

func macs(g *ir.Graph) (n int64) {
	for _, x := range g.Nodes {
		if x.Op.MACs != nil {
			n += x.Op.MACs(x)
		}
	}
	return n
}

// TestRandom computes random networks in stripes: the same bits, and as many
// products as the plan says.
func TestRandom(t *testing.T) {
	plans, twice := 0, 0
	for seed := range uint64(500) {
		g := irtest.Gen(seed, tensor.F64)
		in := irtest.Inputs(g, seed)
		want := irtest.Run(t, g, in)
		for _, p := range patch.Candidates(g, 1<<30) {
			h := g.Clone()
			if err := patch.Apply(h, p, seed%2 == 0); err != nil {
				t.Fatalf("seed %d, %d stripes: %v\n%s", seed, p.Stripes, err, g)
			}
			irtest.Verify(t, h)
			got := irtest.Run(t, h, in)
			for k := range want {
				if !tensor.Equal(want[k], got[k]) {
					t.Fatalf("seed %d, %d stripes of %d nodes: output %d changed\n%s\n%s", seed, p.Stripes,
						len(p.Nodes), k, g, h)
				}
			}
			if more := macs(h) - macs(g); more != p.ExtraMACs {
				t.Errorf("seed %d, %d stripes: %d products more, planned were %d", seed, p.Stripes, more, p.ExtraMACs)
			}
			plans++
			if p.ExtraMACs > 0 {
				twice++
			}
		}
	}
	if plans < 100 || twice < 50 {
		t.Errorf("only %d plans, %d with overlap: the test shows nothing", plans, twice)
	}
}

// TestPlan has the rows of a small network worked out by hand.
func TestPlan(t *testing.T) {
	g := irtest.Parse(t, `graph "g" {
  in %x : f64[1,1,8,8]
  const %w : f64[2,1,3,3] = rand 1
  const %v : f64[3,2,3,3] = rand 2
  %a = Conv(%x, %w) {pads=[1,1,1,1]}
  %b = Conv(%a, %v) {pads=[0,0,1,1], strides=[2,2]}
  %s = Softmax(%b) {axis=3}
  out "y" = %s
}`)
	plans := patch.Candidates(g, 1<<30)
	// b has 4 rows; a stripe of 2 needs 5 and 4 rows of a: one row of a twice
	var two *patch.Plan
	for i, p := range plans {
		if p.Stripes == 2 && len(p.Nodes) == 2 {
			two = &plans[i]
		}
		if len(p.Nodes) != 2 {
			t.Errorf("a region of %d nodes: Softmax does not work by rows", len(p.Nodes))
		}
	}
	if two == nil {
		t.Fatal("no plan of two stripes")
	}
	if want := int64(8 * 2 * 9); two.ExtraMACs != want {
		t.Errorf("%d products twice, want %d: one row of the first result", two.ExtraMACs, want)
	}
}

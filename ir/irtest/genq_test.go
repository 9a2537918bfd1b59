// SPDX-License-Identifier: Apache-2.0

package irtest_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
)

// TestGenQDQ: the networks are valid, the same each time, and have what their
// doc comment promises.
func TestGenQDQ(t *testing.T) {
	ops := map[string]int{}
	kinds := map[string]int{}
	for seed := range uint64(300) {
		g := irtest.GenQDQ(seed)
		irtest.Verify(t, g)
		a, b := g.String(), irtest.GenQDQ(seed).String()
		testenv.Require(t, a == b, "seed %d gives two graphs", seed)
		for _, n := range g.Nodes {
			ops[n.Op.Name]++
			switch {
			case n.Op == op.QuantizeLinear:
				kinds["Q "+n.Out[0].Type.DType.String()]++
			case n.Op == op.DequantizeLinear && n.In[0].Const != nil:
				kinds["DQ of constant "+n.In[0].Type.DType.String()]++
			case n.Op.Quant == ir.QMove && !n.Out[0].Type.DType.IsFloat():
				kinds["view of integers"]++
			}
		}
		for _, v := range g.Out {
			kinds["output "+v.Type.DType.String()]++
		}
		for _, n := range irtest.GenFloat(seed).Nodes {
			testenv.Require(t, n.Op != op.QuantizeLinear && n.Op != op.DequantizeLinear, "GenFloat(%d) has %s", seed,
				n)
		}
	}
	for _, k := range []string{"Q i8", "Q u8", "Q i16", "Q u16", "DQ of constant i4", "DQ of constant u8",
		"DQ of constant i32", "view of integers", "output f32", "output i8"} {
		testenv.Check(t, kinds[k] != 0, "no %s among %v", k, kinds)
	}
	for _, o := range []string{"Where", "Pad", "Concat", "Min", "Max", "Clip", "ScatterND", "ScatterElements", "PRelu",
		"Softmax", "Conv", "Gemm", "MatMul", "ConvTranspose", "Resize",
		"OneHot", "CumSum", "Gather", "GatherND", "LayerNormalization", "TopK", "ReduceMean"} {
		testenv.Check(t, ops[o] != 0, "no %s", o)
	}
	t.Logf("%d operators: %v %v", len(ops), ops, kinds)
}

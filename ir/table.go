// SPDX-License-Identifier: Apache-2.0

package ir

import "github.com/nncc/nncc/ir/tensor"

// Table gives an element-wise node on an 8-bit quantised value as a table:
// entry i is the result for the i-th integer of the input's type, from the
// lowest. ok is false for nodes that are not a function of one 8-bit value
// with one scale. The entries are exactly what EvalNode computes.
func Table(n *Node) (entries []int64, ok bool) {
	if !scalarNode(n) {
		return nil, false
	}
	x, y := n.In[0].Type, n.Out[0].Type
	if x.Quant == nil || y.Quant == nil || x.Quant.PerAxis() || y.Quant.PerAxis() || x.DType != tensor.I8 &&
		x.DType != tensor.U8 {
		return nil, false
	}
	lo, hi := x.DType.IntRange()
	v := make([]float64, hi-lo+1)
	for i := range v {
		v[i] = n.Op.Scalar(n, float64(lo+int64(i)-int64(x.Quant.Zero[0]))*float64(x.Quant.Scale[0]))
	}
	q := QuantiseAway(tensor.Of([]int{len(v)}, v), y.WithShape([]int{len(v)}))
	return q.Int64s(), true
}

// evalTable looks every element up.
func evalTable(n *Node, x *tensor.Dense, entries []int64) *tensor.Dense {
	y := tensor.New(n.Out[0].Type.DType, x.Shape)
	lo, _ := x.DType.IntRange()
	if xs, ok := x.Data.([]int8); ok {
		if ys, ok := y.Data.([]int8); ok {
			for i, q := range xs {
				ys[i] = int8(entries[int(q)+128])
			}
			return y
		}
	}
	for i, k := 0, x.Len(); i < k; i++ {
		y.SetInt(i, entries[x.Int(i)-lo])
	}
	return y
}

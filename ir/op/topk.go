// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math/bits"
	"sort"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// TopKAttrs are the attributes of TopK.
type TopKAttrs struct {
	Axis    int `default:"-1"`
	Largest int `default:"1"`
	Sorted  int `default:"1"`
}

// TopK gives the k (input 1) largest, or smallest, elements along axis and
// their indices. Equal elements keep the order of their indices. The results
// are always sorted, which sorted = 0 permits.
var TopK = def(ir.OpDef{
	Name: "TopK", Doc: "largest or smallest elements with their indices",
	Attrs: ir.Declare[TopKAttrs](), MinIn: 2, MinOut: 1, MaxOut: 2,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		fail.Check(wantType(n, 0, numTypes))
		axis, k := fail.Must2(topK(n))
		shape := append([]int(nil), n.In[0].Type.Shape...)
		shape[axis] = k
		return []ir.Type{ir.T(n.In[0].Type.DType, shape...), ir.T(tensor.I64, shape...)}, nil
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		axis, k := fail.Must2(topK(n))
		x := in[0]
		shape := append([]int(nil), x.Shape...)
		shape[axis] = k
		dim, inner := x.Shape[axis], product(x.Shape[axis+1:])
		pick, idx := make([]int, tensor.Count(shape)), tensor.New(tensor.I64, shape)
		ids := idx.Data.([]int64)
		greater := greaterOf(x)
		largest := ir.AttrsOf[TopKAttrs](n).Largest != 0
		order := make([]int, dim)
		for o := 0; o < product(x.Shape[:axis]); o++ {
			for i := 0; i < inner; i++ {
				base := o*dim*inner + i
				for d := range order {
					order[d] = d
				}
				sort.SliceStable(order, func(a, b int) bool {
					p, q := base+order[a]*inner, base+order[b]*inner
					if largest {
						return greater(p, q)
					}
					return greater(q, p)
				})
				for d := 0; d < k; d++ {
					at := (o*k+d)*inner + i
					pick[at], ids[at] = base+order[d]*inner, int64(order[d])
				}
			}
		}
		return outs(x.Pick(shape, pick), idx)
	},
	Pattern: ir.Opaque, Quant: ir.QMove,
	Work: func(n *ir.Node) int64 { return sortWork(n.In[0].Type.Elems()) },
})

// sortWork is the comparisons of sorting n elements, each a call.
func sortWork(n int) int64 { return work(n, 4*bits.Len(uint(n))) }

func topK(n *ir.Node) (axis, k int, err error) {
	x := n.In[0].Type.Shape
	axis = fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x)))
	v := fail.Must(ConstInts(n, 1, "k"))
	if len(v) != 1 || v[0] < 0 || v[0] > x[axis] {
		return 0, 0, ir.Errf(n, "k", "k is %v, want one value from 0 to %d, the size of dimension %d", v, x[axis], axis)
	}
	return axis, v[0], nil
}

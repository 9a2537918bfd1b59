// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Det is the determinant of the square matrices in the last two dimensions, by
// elimination with the largest pivot.
var Det = def(ir.OpDef{
	Name: "Det", Doc: "determinant of square matrices", MinIn: 1,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		fail.Check(wantType(n, 0, floatTypes))
		x := n.In[0].Type.Shape
		r := len(x)
		refuse(n, r < 2 || x[r-1] != x[r-2], "shape", "input 0 (%s) has shape %v, want square matrices at the end",
			n.In[0], x)
		return one(ir.T(n.In[0].Type.DType, x[:r-2]...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x := in[0]
		r := len(x.Shape)
		m := x.Shape[r-1]
		v := x.Floats()
		y := make([]float64, product(x.Shape[:r-2]))
		for i := range y {
			y[i] = determinant(v[i*m*m:(i+1)*m*m], m)
		}
		return outs(fromFloats(x.DType, x.Shape[:r-2], y))
	},
	Pattern: ir.Opaque,
	Work: func(n *ir.Node) int64 {
		x := n.In[0].Type.Shape
		m := x[len(x)-1]
		return work(n.In[0].Type.Elems(), m) / 8
	},
})

// determinant overwrites a, an m by m matrix.
func determinant(a []float64, m int) float64 {
	det := 1.0
	for c := range m {
		p := c
		for r := c + 1; r < m; r++ {
			if math.Abs(a[r*m+c]) > math.Abs(a[p*m+c]) {
				p = r
			}
		}
		if a[p*m+c] == 0 {
			return 0
		}
		if p != c {
			det = -det
			for k := range m {
				a[p*m+k], a[c*m+k] = a[c*m+k], a[p*m+k]
			}
		}
		det *= a[c*m+c]
		for r := c + 1; r < m; r++ {
			f := a[r*m+c] / a[c*m+c]
			for k := c; k < m; k++ {
				a[r*m+k] -= float64(f * a[c*m+k])
			}
		}
	}
	return det
}

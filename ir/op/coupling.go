// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// Rounds and accuracy of PairCoupling, as LIBSVM and ONNX Runtime have them.
const (
	CouplingRounds = 100
	CouplingError  = 0.005 // divided by the number of classes
)

// PairCouplingAttrs are the attributes of PairCoupling.
type PairCouplingAttrs struct {
	Classes int `attr:",required"`
}

// PairCoupling makes probabilities of classes, [N, classes], of those of the
// first of every two classes, [N, classes*(classes-1)/2] in the order (0,1),
// (0,2), ..., (1,2), ...: the second method of Wu, Lin and Weng, "Probability
// estimates for multi-class classification by pairwise coupling" (2004).
var PairCoupling = def(ir.OpDef{
	Name: "PairCoupling", Domain: "nncc", Doc: "probabilities of classes of those of every two of them",
	Attrs: ir.Declare[PairCouplingAttrs](),
	MinIn: 1, Quant: ir.QNone, Pattern: ir.Opaque,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, floatTypes)
		wantRank(n, 0, 2)
		k, shape := ir.AttrsOf[PairCouplingAttrs](n).Classes, n.In[0].Type.Shape
		refuse(n, k < 2 || k > 1<<15 || shape[1] != k*(k-1)/2, "shape",
			"input 0 (%s) has shape %v, want [N, %d] for %d classes", n.In[0], shape, k*(k-1)/2, k)
		return one(ir.T(n.In[0].Type.DType, shape[0], k))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		k, pairs := ir.AttrsOf[PairCouplingAttrs](n).Classes, in[0].Shape[1]
		x := floatsOf(in[0])
		var y []float64
		for r := range in[0].Shape[0] {
			y = append(y, coupled(x[r*pairs:(r+1)*pairs], k)...)
		}
		return outs(tensor.FromFloats(in[0].DType, []int{in[0].Shape[0], k}, y))
	},
})

// coupled is one row of PairCoupling. Emitted C takes the same steps in the
// same order.
func coupled(pair []float64, k int) []float64 {
	q, qp, p := make([]float64, k*k), make([]float64, k), make([]float64, k)
	at := 0
	for i := range k {
		for j := i + 1; j < k; j++ {
			ij := pair[at]
			ji := 1 - ij
			q[i*k+i] += ji * ji
			q[j*k+j] += ij * ij
			q[i*k+j] = -ij * ji
			q[j*k+i] = -ij * ji
			at++
		}
		p[i] = 1 / float64(k)
	}
	for range CouplingRounds {
		all, worst := 0.0, 0.0
		for i := range k {
			qp[i] = 0
			for j := range k {
				qp[i] += float64(q[i*k+j] * p[j])
			}
			all += float64(p[i] * qp[i])
		}
		for i := range k {
			worst = max(worst, math.Abs(qp[i]-all))
		}
		if worst < CouplingError/float64(k) {
			break
		}
		for i := range k {
			d := (all - qp[i]) / q[i*k+i]
			p[i] += d
			all = (all + float64(d*(float64(d*q[i*k+i])+float64(2*qp[i])))) / float64((1+d)*(1+d))
			for j := range k {
				qp[j] = (qp[j] + float64(d*q[i*k+j])) / (1 + d)
				p[j] /= 1 + d
			}
		}
	}
	return p
}

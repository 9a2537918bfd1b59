// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
)

// EqualizeForTest is equalize.
var EqualizeForTest = equalize

// MeansForTest are the means of the output channels of a multiply-accumulate operator,
// as bias correction has them.
func MeansForTest(n *ir.Node, x *tensor.Dense) []float64 {
	return productOf(n).means(tensor.As[float32](x), tensor.As[float32](n.ConstIn(1)), n.ConstIn(2))
}

// EvaluatorForTest gives the function that runs g on one sample after another; keeps says
// which values its observer keeps.
func EvaluatorForTest(g *ir.Graph, keeps func(v *ir.Value) bool) func(in Sample, obs interp.Observer) error {
	return runOf(newEvaluator(g, keeps, nil))
}

// EvaluatorOfForTest is EvaluatorForTest of what a survey of one value alone needs, for an
// observer that keeps nothing.
func EvaluatorOfForTest(g *ir.Graph, v *ir.Value) func(in Sample, obs interp.Observer) error {
	s := survey{within: map[*ir.Value]*stats{v: nil}}
	return runOf(evaluatorOf(g, keepsNone, s.needs(), nil))
}

func runOf(e *evaluator) func(in Sample, obs interp.Observer) error {
	return func(in Sample, obs interp.Observer) error {
		return fail.Caught(func() { e.run(in, obs) })
	}
}

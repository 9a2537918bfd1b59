// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"
	"testing"

	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// TestTables: the integers of functions are their real results, but for a few steps.
func TestTables(t *testing.T) {
	functions := map[string]struct {
		of    func(n *node) func(v int32) int32
		f     func(x float64) float64
		y     float32 // scale of results
		zero  int64
		steps float64
	}{
		"abs":       {absOf, math.Abs, 0.04, -100, 0.6},
		"elu":       {byFloat(elu), func(x float64) float64 { return max(x, math.Expm1(min(x, 0))) }, 0.04, -20, 0.6},
		"hardswish": {hardSwishOf, func(x float64) float64 { return x * min(max(x+3, 0), 6) / 6 }, 0.03, -110, 1.6},
		"logistic":  {q4(logisticOf), func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 1. / 256, -128, 1},
		"relu":      {reluOf, func(x float64) float64 { return max(x, 0) }, 0.02, -128, 0.6},
		"relu6":     {relu6Of, func(x float64) float64 { return min(max(x, 0), 6) }, 0.05, 7, 0.6},
		"rsqrt":     {rsqrtOf, func(x float64) float64 { return 1 / math.Sqrt(x) }, 0.02, -128, 1},
		"tanh":      {q4(tanhOf), math.Tanh, 1. / 128, 0, 1},
	}
	for name, r := range functions {
		x := &model.Tensor{DType: tensor.I8, Scale: []float32{0.05}, Zero: []int64{7}}
		y := &model.Tensor{DType: tensor.I8, Scale: []float32{r.y}, Zero: []int64{r.zero}}
		f := r.of(&node{o: &model.Op{In: []*model.Tensor{x}, Out: []*model.Tensor{y}}})
		for q := -128; q < 128; q++ {
			v := int32(q) - int32(x.Zero[0])
			if name == "rsqrt" && v <= 0 {
				continue
			}
			steps := r.f(float64(x.Scale[0])*float64(v))/float64(r.y) + float64(r.zero)
			have, want := min(max(float64(f(v)), -128), 127), min(max(steps, -128), 127)
			testenv.Check(t, !(math.Abs(have-want) > r.steps), "%s(%d) is %g, want %g", name, q, have, want)
		}
	}
}

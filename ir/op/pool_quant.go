// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// PoolQuantClamp reports whether a quantised AveragePool, MaxPool or global
// pool computes on the integers, as CMSIS-NN's pooling does, and gives its
// clamp in the terms of int8, or of int16 where Sixteen holds. That needs input and output with the same
// scale and zero point, and no padding that counts as zero. The average is the
// sum of the int8 values divided by the number of real elements, ties away
// from zero. Any other pooling follows the general rule of
// ir.EvalDequantised; a reason that is not empty says why.
func PoolQuantClamp(n *ir.Node) (lo, hi int32, why string) {
	g, err := PoolGeometry(n)
	if err != nil {
		return 0, 0, err.Error()
	}
	x, y := n.In[0], n.Out[0]
	if !Sixteen(n) {
		for _, why := range []string{eightBit("input", x), eightBit("output", y)} {
			if why != "" {
				return 0, 0, why
			}
		}
	} else if k := product(g.Kernel); k > math.MaxUint16 {
		return 0, 0, fmt.Sprintf("windows of %d elements, want at most %d of int16", k, math.MaxUint16)
	}
	if x.Type.DType != y.Type.DType || !x.Type.Quant.Equal(y.Type.Quant) {
		return 0, 0, fmt.Sprintf("input and output differ in scale or zero point: %s and %s", x.Type, y.Type)
	}
	if g.CountPad && g.Padded() {
		return 0, 0, "count_include_pad with padding"
	}
	lo, hi = ActRange(n, y.Type)
	return lo - bias8(y.Type), hi - bias8(y.Type), ""
}

// plain2D reports pooling that qref's kernels compute.
func (g *PoolGeom) plain2D() bool { return len(g.In) <= 2 && product(g.Dilations) == 1 }

func (g *PoolGeom) params(lo, hi int32) *qref.PoolParams {
	return &qref.PoolParams{In: nhwc(g.N, g.C, g.In), Out: nhwc(g.N, g.C, g.Out), Kernel: hw(g.Kernel, 1),
		Stride: hw(g.Strides, 1), Pad: hw(g.PadBegin, 0), ActMin: lo, ActMax: hi}
}

func evalAveragePoolQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	lo, hi, why := PoolQuantClamp(n)
	if why != "" {
		return evalActQ(n, in)
	}
	g := fail.Must(PoolGeometry(n))
	if Sixteen(n) {
		y, err := averagePool(n, g, lo, hi, in[0].Data.([]int16))
		return []*tensor.Dense{tensor.Of(n.Out[0].Type.Shape, y)}, err
	}
	y := fail.Must(averagePool(n, g, lo, hi, s8(in[0])))
	return outs(eightBitOf(n.Out[0].Type, append([]int{g.N, g.C}, g.Out...), y))
}

func averagePool[T int8 | int16](n *ir.Node, g *PoolGeom, lo, hi int32, x []T) ([]T, error) {
	y := make([]T, g.N*g.C*product(g.Out))
	if g.plain2D() {
		if err := qref.AvgPool(g.params(lo, hi), swapInner(g.N, g.C, product(g.In), x), y); err != nil {
			return nil, ir.Errf(n, "kernel", "%v", err)
		}
		return swapInner(g.N, product(g.Out), g.C, y), nil
	}
	g.windows(func(plane, at int, win []int, _ int) {
		var sum int32
		for _, p := range win {
			sum += int32(x[plane+p])
		}
		count := int32(len(win))
		half := count / 2
		if sum <= 0 {
			half = -half
		}
		y[at] = T(min(max((sum+half)/count, lo), hi))
	})
	return y, nil
}

func evalMaxPoolQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	lo, hi, why := PoolQuantClamp(n)
	if why != "" {
		return evalActQ(n, in)
	}
	g := fail.Must(PoolGeometry(n))
	if g.plain2D() && len(n.Out) == 1 && !Sixteen(n) {
		y := make([]int8, g.N*g.C*product(g.Out))
		if err := qref.MaxPool(g.params(lo, hi), swapInner(g.N, g.C, product(g.In), s8(in[0])), y); err != nil {
			return nil, ir.Errf(n, "kernel", "%v", err)
		}
		return outs(eightBitOf(n.Out[0].Type, append([]int{g.N, g.C}, g.Out...), swapInner(g.N, product(g.Out), g.C,
			y)))
	}
	out := fail.Must(evalMaxPool(n, in))
	y, shift := out[0], int64(bias8(n.Out[0].Type))
	for i, k := 0, y.Len(); i < k; i++ {
		y.SetInt(i, min(max(y.Int(i), int64(lo)+shift), int64(hi)+shift))
	}
	return out, nil
}

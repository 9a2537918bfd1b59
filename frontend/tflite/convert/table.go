package convert

import (
	"math"

	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"
)

// Functions of int8 values that TensorFlow Lite computes in fixed point: all 256 results
// are computed here.

func logistic(n *operands) error {
	if !int8Function(n) {
		return elementwise("Sigmoid")(n)
	}
	return n.table(func(v int32) int32 {
		return fixp.Clamp(fixp.DivideByPowerOfTwo(fixp.Logistic(v), 23)-128, -128, 127)
	})
}

func tanh(n *operands) error {
	if !int8Function(n) {
		return elementwise("Tanh")(n)
	}
	return n.table(func(v int32) int32 { return fixp.Clamp(fixp.DivideByPowerOfTwo(fixp.Tanh(v), 24), -128, 127) })
}

func int8Function(n *operands) bool {
	x, y := n.in(0), n.out()
	return x.DType == tensor.I8 && y.DType == tensor.I8 && len(x.Scale) == 1 && len(y.Scale) == 1
}

// table writes a function of which f gives the integer results, of inputs in Q4.27.
// Beyond the range of these it has its limits.
func (n *operands) table(f func(v int32) int32) error {
	x, y := n.in(0), n.out()
	mult, shift := fixp.QuantizeMultiplier(float64(x.Scale[0]) * (1 << 27))
	radius := int64(math.Floor(15 * math.Ldexp(1, 27-int(shift))))
	results := make([]int8, 256)
	for i := range results {
		v := int64(int8(i)) - x.Zero[0]
		switch {
		case v <= -radius:
			results[i] = -128
		case v >= radius:
			results[i] = 127
		default:
			results[i] = int8(f(fixp.Requantize(int32(v), mult, shift)))
		}
	}
	t := tensor.Of([]int{256}, results)
	n.c.node("nncc.Lookup", y.Name, []string{n.raw(0), n.c.constant(n.c.fresh(y, "table"), t)})
	return nil
}

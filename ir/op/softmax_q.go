package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// SoftmaxScale and SoftmaxZero are the output quantisation of arm_softmax_s8.
const (
	SoftmaxScale = 1.0 / 256
	SoftmaxZero  = -128
)

// SoftmaxKernel reports whether a quantised Softmax is CMSIS-NN's
// arm_softmax_s8: int8 in, int8 out with scale 1/256 and zero point -128. The
// parameters are those of the kernel.
func SoftmaxKernel(n *ir.Node) (mult, shift, diffMin int32, ok bool) {
	y := n.Out[0].Type
	mult, shift, diffMin, ok = SoftmaxRescaled(n)
	return mult, shift, diffMin, ok && y.Quant.Scale[0] == SoftmaxScale && y.Quant.Zero[0] == SoftmaxZero
}

// SoftmaxRescaled is SoftmaxKernel for an int8 output of any scale: the
// kernel's result, requantised. Types other than int8 follow the float64 rule.
func SoftmaxRescaled(n *ir.Node) (mult, shift, diffMin int32, ok bool) {
	x, y := n.In[0].Type, n.Out[0].Type
	if !perTensorS8(x) || !perTensorS8(y) {
		return 0, 0, 0, false
	}
	mult, shift, diffMin = fixp.SoftmaxScale(1, x.Quant.Scale[0])
	return mult, shift, diffMin, shift >= 0
}

// softmaxRequantised brings the kernel's result to the quantisation of the output.
func softmaxRequantised(n *ir.Node, y *tensor.Dense) *tensor.Dense {
	t := n.Out[0].Type
	if t.Quant.Scale[0] == SoftmaxScale && t.Quant.Zero[0] == SoftmaxZero {
		return y
	}
	return ir.QuantiseAway(ir.Dequantise(y, ir.PerTensor(SoftmaxScale, SoftmaxZero)), t)
}

func evalSoftmaxQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	x := in[0]
	mult, shift, diffMin, ok := SoftmaxRescaled(n)
	if !ok || x.Len() == 0 {
		return ir.EvalDequantised(n, in)
	}
	axis, err := Axis(n, n.Int("axis"), len(x.Shape))
	if err != nil {
		return nil, err
	}
	l := lanesOf(x.Shape, axis)
	xs, y := x.Data.([]int8), tensor.New(tensor.I8, x.Shape)
	ys := y.Data.([]int8)
	row, res := make([]int8, l.n), make([]int8, l.n)
	p := &qref.SoftmaxParams{Rows: 1, Size: l.n, Mult: mult, Shift: shift, DiffMin: diffMin}
	if l.step == 1 {
		p.Rows = l.outer
		err := qref.Softmax(p, xs, ys)
		return []*tensor.Dense{softmaxRequantised(n, y)}, err
	}
	l.each(func(at int) {
		for i := range row {
			row[i] = xs[at+i*l.step]
		}
		if e := qref.Softmax(p, row, res); e != nil {
			err = e
		}
		for i := range res {
			ys[at+i*l.step] = res[i]
		}
	})
	return []*tensor.Dense{softmaxRequantised(n, y)}, err
}

// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// SignalFFTAttrs are the length of the signal, a power of two, and the direction.
type SignalFFTAttrs struct {
	Length  int `attr:",required"`
	Inverse int `default:"0"`
}

// SignalFFT is a real Fourier transform of the last dimension of int16 or int32 in the
// fixed point of TensorFlow Lite Micro's audio front end: of a signal, padded with zeros to
// its length, length/2+1 complex numbers, pairs of parts; the inverse the other way round.
var SignalFFT = def(ir.OpDef{
	Name: "SignalFFT", Domain: "nncc",
	Doc:   "real Fourier transform in fixed point, as TensorFlow Lite Micro computes it",
	Attrs: ir.Declare[SignalFFTAttrs](), MinIn: 1, Pattern: ir.Opaque, Quant: ir.QNone, Finite: true,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		a, t := ir.AttrsOf[SignalFFTAttrs](n), n.In[0].Type
		refuse(n, t.DType != tensor.I16 && t.DType != tensor.I32 || len(t.Shape) == 0, "dtype",
			"the input is %s, want int16 or int32 with a dimension", t)
		if _, err := qref.NewRealFFT[int16](a.Length, false); err != nil {
			return nil, ir.Errf(n, "length", "%v", err)
		}
		last, out := t.Shape[len(t.Shape)-1], a.Length+2
		if a.Inverse != 0 {
			out = a.Length
		}
		refuse(n, a.Inverse == 0 && last > a.Length || a.Inverse != 0 && last != a.Length+2, "shape",
			"%d numbers for a transform of %d, inverse %d", last, a.Length, a.Inverse)
		shape := append(append([]int(nil), t.Shape[:len(t.Shape)-1]...), out)
		return one(ir.T(t.DType, shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		y := tensor.New(in[0].DType, n.Out[0].Type.Shape)
		if x, short := in[0].Data.([]int16); short {
			return []*tensor.Dense{y}, realFFT(n, x, y.Data.([]int16))
		}
		return []*tensor.Dense{y}, realFFT(n, in[0].Data.([]int32), y.Data.([]int32))
	},
})

func realFFT[T int16 | int32](n *ir.Node, x, y []T) error {
	a, s := ir.AttrsOf[SignalFFTAttrs](n), n.In[0].Type.Shape
	f, err := qref.NewRealFFT[T](a.Length, a.Inverse != 0)
	if err != nil {
		return ir.Errf(n, "length", "%v", err)
	}
	last, out := s[len(s)-1], n.Out[0].Type.Shape[len(s)-1]
	for i := 0; i*out < len(y); i++ {
		row := x[i*last:][:last]
		if a.Inverse != 0 {
			copy(y[i*out:], f.Backward(row))
			continue
		}
		padded := make([]T, a.Length)
		copy(padded, row)
		copy(y[i*out:], f.Forward(padded))
	}
	return nil
}

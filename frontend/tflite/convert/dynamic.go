// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"
)

// sums are those of a layer that is written as integers, in TensorFlow Lite's arithmetic: its
// weights are computed at run time, or its data are of 16 bits and its sums of 32.
type sums struct {
	n       *node
	x, w, b *model.Tensor // b may be nil
	narrow  bool          // sums of 32 bits
	fc      bool          // FULLY_CONNECTED
}

// asSums gives the sums of a layer that is written as such, nil where it is one of ONNX's layers. biasType
// is what the options say of the sums, by the format's number.
func (n *node) asSums(x, w, b *model.Tensor, biasType int8) *sums {
	if !x.Quantized() || !w.Quantized() {
		return nil
	}
	s := &sums{n: n, x: x, w: w, b: b, narrow: true, fc: n.o.Name == "FULLY_CONNECTED"}
	if x.DType == tensor.I16 {
		s.narrow = s.fc || n.o.Name == "CONV_2D"
		if b != nil {
			s.narrow = s.narrow && b.DType == tensor.I32
		} else {
			s.narrow = s.narrow && biasType == typeInt32
		}
	}
	if n.c.raw(w).Const != nil && !(s.narrow && x.DType == tensor.I16) {
		return nil
	}
	return s
}

// typeInt32 is int32 by the format's number.
const typeInt32 = 2

// check refuses what TensorFlow Lite does not compute.
func (s *sums) check(channels int) {
	n, y := s.n, s.n.out()
	n.refuse(!quantised(s.x.DType, s.x, y) || !integer(s.x) || s.w.DType != tensor.I8 ||
		len(s.w.Scale) != 1 && len(s.w.Scale) != channels,
		"weights %q are %s with %d scales for data of %s and %s; want int8 with one scale, or one "+
			"for each output channel, for data that is int8 or int16 throughout", s.w.Name, s.w.DType, len(s.w.Scale),
		s.x.DType, y.DType)
	n.refuse(s.x.DType == tensor.I16 && (s.x.Zero[0] != 0 || y.Zero[0] != 0),
		"int16 data has the zero points %d and %d, want 0", s.x.Zero[0], y.Zero[0])
	want := tensor.I32
	if !s.narrow {
		want = tensor.I64
	}
	if b := s.b; b != nil {
		n.refuse(b.DType != want, "bias %q is %s, want %s", b.Name, b.DType, want)
	}
}

// product writes the layer: op multiplies the integers of x and w, and to brings the
// sums into the order of the result, channels last.
func (s *sums) product(op string, x, w *ir.Value, channels int, attrs []attr, act int8,
	to func(sum *ir.Value) *ir.Value) {
	s.check(channels)
	n, in := s.n, vals{x, w}
	if s.x.DType == tensor.I8 {
		in = append(in, n.kept(tensor.I8, []int{}, s.x.Zero[0]), n.kept(tensor.I8, []int{}, s.w.Zero[0]))
	}
	sum := to(n.step("nncc."+op, in, attrs...))
	if s.narrow && s.x.DType == tensor.I16 {
		sum = n.cast(sum, tensor.I32)
	}
	if s.b != nil {
		sum = n.step("Add", vals{sum, n.c.raw(s.b)})
	}
	if s.narrow && len(s.w.Scale) == 1 {
		n.finish(sum, timesNumber(s.scale(0), 0), act)
		return
	}
	by := s.multipliers()
	scaled := "nncc.RescaleWide"
	var shift []attr
	if s.narrow {
		scaled, shift = "nncc.RescaleBy", []attr{intAttr("shift", 0)}
		sum = n.cast(sum, tensor.I64)
	}
	sum = n.step(scaled, vals{sum, by}, shift...)
	n.narrow(n.cast(sum, tensor.I32), act)
}

// scale is the step of channel c's sums in steps of the result.
func (s *sums) scale(c int) float64 {
	x, w, y := s.x.Scale[0], s.w.Scale[c], s.n.out().Scale[0]
	if s.fc && len(s.w.Scale) == 1 {
		return fixp.EffectiveScaleFC(x, w, y)
	}
	return fixp.EffectiveScale(x, w, y)
}

// multipliers are those of all channels as RescaleBy and RescaleWide read them.
func (s *sums) multipliers() *ir.Value {
	n, most := s.n, int32(30)
	if !s.narrow {
		most = 14
	}
	packed := make([]int64, len(s.w.Scale))
	for c := range packed {
		mult, shift := fixp.QuantizeMultiplier(s.scale(c))
		n.refuse(shift > most, "a step of the sums of channel %d is %g steps of the result, want less than 2^%d", c,
			s.scale(c), most)
		if !s.narrow {
			mult = fixp.ReduceMultiplier(mult)
		}
		packed[c] = int64(shift)<<32 + int64(mult)
	}
	return n.constant("scales", tensor.Of([]int{len(packed)}, packed))
}

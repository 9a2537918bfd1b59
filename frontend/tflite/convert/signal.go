// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir/tensor"
)

// Operators of TensorFlow Lite Micro's audio front end, on plain integers; what they keep
// from run to run is state.

// numbers are the options of a custom operator that it must have, in the order of names.
func (n *operands) numbers(names ...string) ([]int, error) {
	all, err := fb.ReadNumbers(n.o.Custom)
	if err != nil {
		return nil, fmt.Errorf("damaged options: %w", err)
	}
	out := make([]int, len(names))
	for i, name := range names {
		v, ok := all[name]
		if !ok || v != math.Trunc(v) || math.Abs(v) > math.MaxInt32 {
			return nil, fmt.Errorf("option %s is %v, want a whole number", name, v)
		}
		out[i] = int(v)
	}
	return out, nil
}

// of checks inputs and results by their element types.
func (n *operands) of(in, out []tensor.DType) error {
	for i, d := range in {
		if t := n.in(i); t == nil || t.DType != d {
			return fmt.Errorf("input %d is not of type %s", i, d)
		}
	}
	for i, d := range out {
		if i >= len(n.o.Out) || n.o.Out[i].DType != d {
			return fmt.Errorf("result %d is not of type %s", i, d)
		}
	}
	return nil
}

func to(d tensor.DType) *pb.AttributeProto { return intAttr("to", d.ONNXCode()) }

// kept is a constant of a type.
func (n *operands) kept(d tensor.DType, shape []int, v ...int64) string {
	t := tensor.New(d, shape)
	for i, x := range v {
		t.SetInt(i, x)
	}
	return n.c.constant(n.c.fresh(n.out(), "const"), t)
}

func (n *operands) one(d tensor.DType, v int64) string { return n.kept(d, []int{}, v) }

// down shifts int32 or int64 to the right, rounded down.
func (n *operands) down(d tensor.DType, v string, bits int) string {
	by := n.one(d, 1<<bits)
	return n.step("Div", []string{n.step("Sub", []string{v, n.step("Mod", []string{v, by})}), by})
}

// right shifts unsigned numbers.
func (n *operands) right(v, by string) string {
	return n.step("BitShift", []string{v, by}, textAttr("direction", "RIGHT"))
}

// cut is a part of the last dimension.
func (n *operands) cut(v string, from, upTo int) string {
	return n.step("Slice", []string{v, n.list("from", from), n.list("to", upTo), n.list("last", -1)})
}

func (n *operands) join(parts ...string) string { return n.step("Concat", parts, intAttr("axis", -1)) }

// memory is a state of the operator, which begins with zeros.
func (n *operands) memory(what string, d tensor.DType, shape ...int) *variable {
	v := n.c.vars.add(n.out().Name + "/" + what)
	v.like = &model.Tensor{Name: v.name, DType: d, Shape: shape}
	return v
}

var (
	i16s = []tensor.DType{tensor.I16}
	u32s = []tensor.DType{tensor.U32}
)

// signalWindow multiplies frames with weights, shifts and limits.
func signalWindow(n *operands) error {
	o, err := n.numbers("shift")
	if err == nil {
		err = n.of([]tensor.DType{tensor.I16, tensor.I16}, i16s)
	}
	if err != nil {
		return err
	}
	if o[0] < 0 || o[0] > 30 {
		return fmt.Errorf("shift %d, want 0 to 30", o[0])
	}
	wide := func(i int) string { return n.step("Cast", []string{n.raw(i)}, to(tensor.I32)) }
	v := n.down(tensor.I32, n.step("Mul", []string{wide(0), wide(1)}), o[0])
	v = n.step("Min", []string{n.step("Max", []string{v, n.whole(math.MinInt16)}), n.whole(math.MaxInt16)})
	n.c.node("Cast", n.out().Name, []string{v}, to(tensor.I16))
	return nil
}

// signalEnergy is the square of the absolute value of complex numbers, from one to another.
func signalEnergy(n *operands) error {
	o, err := n.numbers("start_index", "end_index")
	if err == nil {
		err = n.of(i16s, u32s)
	}
	x, y := n.in(0), n.out()
	if err == nil && (len(x.Shape) != 1 || len(y.Shape) != 1 || o[0] < 0 || o[1] < o[0] || o[1] > y.Shape[0] ||
		2*o[1] > x.Shape[0]) {
		err = fmt.Errorf("numbers %d to %d of %v, for a result %v", o[0], o[1], x.Shape, y.Shape)
	}
	if err == nil {
		err = room(y.Shape[0])
	}
	if err != nil {
		return err
	}
	v := n.step("Cast", []string{n.cut(n.raw(0), 2*o[0], 2*o[1])}, to(tensor.I32))
	v = n.step("Mul", []string{v, v})
	v = n.step("Reshape", []string{v, n.list("pairs", o[1]-o[0], 2)})
	v = n.step("ReduceSum", []string{v, n.list("parts", -1)}, intAttr("keepdims", 0))
	v = n.step("Cast", []string{v}, to(tensor.U32))
	zeros := func(k int) string { return n.kept(tensor.U32, []int{k}) }
	n.c.node("Concat", y.Name, []string{zeros(o[0]), v, zeros(y.Shape[0] - o[1])}, intAttr("axis", 0))
	return nil
}

// signalAutoScale shifts to the left as far as the largest number allows.
func signalAutoScale(n *operands) error {
	if err := n.of(i16s, []tensor.DType{tensor.I16, tensor.I32}); err != nil {
		return err
	}
	v := n.step("Cast", []string{n.raw(0)}, to(tensor.I32))
	most := n.step("ReduceMax", []string{n.step("Abs", []string{v})}, intAttr("keepdims", 0))
	powers := make([]int64, 16)
	for i := range powers {
		powers[i] = 1 << i
	}
	list := n.kept(tensor.I32, []int{16}, powers...)
	above := n.step("Cast", []string{n.step("GreaterOrEqual", []string{most, list})}, to(tensor.I32))
	bits := n.step("Sub", []string{n.whole(15), n.step("ReduceSum", []string{above}, intAttr("keepdims", 0))})
	bits = n.step("Max", []string{bits, n.whole(0)})
	bits = n.step("Where", []string{n.step("Equal", []string{most, n.whole(0)}), n.whole(0), bits})
	scaled := n.step("Mul", []string{v, n.step("Gather", []string{list, bits}, intAttr("axis", 0))})
	n.c.node("Cast", n.out().Name, []string{scaled}, to(tensor.I16))
	n.c.node("Identity", n.o.Out[1].Name, []string{bits})
	return nil
}

// signalLog is the logarithm of channels.
func signalLog(n *operands) error {
	o, err := n.numbers("input_correction_bits", "output_scale")
	if err == nil {
		err = n.of(u32s, i16s)
	}
	if err != nil {
		return err
	}
	v := n.step("nncc.SignalLog", []string{n.raw(0)}, intAttr("bits", o[0]), intAttr("scale", o[1]))
	n.c.node("Cast", n.out().Name, []string{v}, to(tensor.I16))
	return nil
}

// signalRoot is the square root of channels, shifted back.
func signalRoot(n *operands) error {
	if err := n.of([]tensor.DType{tensor.U64, tensor.I32}, u32s); err != nil {
		return err
	}
	by := n.step("Cast", []string{n.raw(1)}, to(tensor.U64))
	v := n.right(n.step("nncc.SignalRoot", []string{n.raw(0)}), by)
	n.c.node("Cast", n.out().Name, []string{v}, to(tensor.U32))
	return nil
}

// filterBank adds up weighted energies in channels. Each frequency belongs to two: with its
// weight to one, with the rest to the next.
func filterBank(n *operands) error {
	o, err := n.numbers("num_channels")
	if err == nil {
		err = n.of([]tensor.DType{tensor.U32, tensor.I16, tensor.I16, tensor.I16, tensor.I16, tensor.I16},
			[]tensor.DType{tensor.U64})
	}
	var v [6][]int
	for i := 1; i < 6 && err == nil; i++ {
		v[i], err = n.ints(i)
	}
	if err != nil {
		return err
	}
	weights, rests, starts, at, widths := v[1], v[2], v[3], v[4], v[5]
	channels := o[0]
	most, err := n.widest(channels, v)
	if err != nil {
		return err
	}
	if err := room(channels, 2*most); err != nil {
		return err
	}
	index, factor := make([]int64, channels*2*most), make([]int64, channels*2*most)
	for c := range channels {
		for part, w := range [][]int{rests, weights} {
			for j := range widths[c+part] {
				k := (2*c+part)*most + j
				index[k], factor[k] = int64(starts[c+part]+j), int64(w[at[c+part]+j])
			}
		}
	}
	shape := []int{channels, 2 * most}
	x := n.step("Gather", []string{n.raw(0), n.kept(tensor.I32, shape, index...)}, intAttr("axis", 0))
	small := n.step("Cast", []string{n.kept(tensor.I16, shape, factor...)}, to(tensor.I64))
	x = n.step("Mul", []string{n.step("Cast", []string{x}, to(tensor.I64)), small})
	x = n.step("ReduceSum", []string{x, n.list("numbers", -1)}, intAttr("keepdims", 0))
	n.c.node("Cast", n.out().Name, []string{x}, to(tensor.U64))
	return nil
}

// widest checks the lists of a filter bank: how many numbers the widest channel has.
func (n *operands) widest(channels int, v [6][]int) (most int, err error) {
	bins, weights := n.in(0).Elems(), min(len(v[1]), len(v[2]))
	if channels < 1 || n.out().Elems() != channels || min(len(v[3]), len(v[4]), len(v[5])) < channels+1 {
		return 0, fmt.Errorf("%d channels, %d results, %d widths", channels, n.out().Elems(), len(v[5]))
	}
	for i := range channels + 1 {
		start, at, w := v[3][i], v[4][i], v[5][i]
		if w < 0 || start < 0 || at < 0 || start+w > bins || at+w > weights {
			return 0, fmt.Errorf("channel %d: %d numbers from %d, weights from %d; there are %d numbers, %d weights", i,
				w, start, at, bins, weights)
		}
		most = max(most, w)
	}
	return most, nil
}

// spectralSubtraction takes a running estimate of the noise away.
func spectralSubtraction(n *operands) error {
	o, err := n.numbers("alternate_one_minus_smoothing", "alternate_smoothing", "clamping", "min_signal_remaining",
		"num_channels", "one_minus_smoothing", "smoothing", "smoothing_bits", "spectral_subtraction_bits")
	if err == nil {
		err = n.of(u32s, []tensor.DType{tensor.U32, tensor.U32})
	}
	x, y := n.in(0), n.out()
	if err == nil {
		err = room(x.Elems())
	}
	if err == nil && (o[4] != x.Elems() || !slices.Equal(x.Shape, y.Shape) ||
		!slices.Equal(x.Shape, n.o.Out[1].Shape) || min(o[7], o[8]) < 0 || max(o[7], o[8]) > 31) {
		err = fmt.Errorf("%d channels of %v, %d and %d bits", o[4], x.Shape, o[7], o[8])
	}
	if err != nil {
		return err
	}
	wide := func(v string) string { return n.step("Cast", []string{v}, to(tensor.U64)) }
	narrow := func(v string) string { return n.step("Cast", []string{v}, to(tensor.U32)) }
	alternate := func(even, odd int) string {
		v := make([]int64, o[4])
		for i := range v {
			v[i] = int64([2]int{even, odd}[i&1])
		}
		return wide(n.kept(tensor.U32, []int{o[4]}, v...))
	}
	bits, left := n.one(tensor.U64, int64(o[8])), n.one(tensor.U32, int64(o[7]))
	noise := n.memory("noise", tensor.U32, o[4])
	up := n.step("BitShift", []string{n.raw(0), left}, textAttr("direction", "LEFT"))
	estimate := n.step("Add", []string{n.step("Mul", []string{wide(up), alternate(o[6], o[1])}),
		n.step("Mul", []string{wide(n.c.value(noise)), alternate(o[5], o[0])})})
	estimate = narrow(n.right(estimate, bits))
	limited := n.step("Min", []string{estimate, up})
	if o[2] != 0 {
		estimate = limited
	}
	n.c.node("Identity", n.o.Out[1].Name, []string{estimate})
	noise.last = n.o.Out[1].Name
	floor := narrow(n.right(n.step("Mul", []string{wide(n.raw(0)), n.one(tensor.U64, int64(o[3]))}), bits))
	rest := n.right(n.step("Sub", []string{up, limited}), left)
	n.c.node("Max", y.Name, []string{rest, floor})
	return nil
}

// pcan is per-channel amplitude normalisation: the energy times a gain that a table gives
// for the noise, shrunk. Signal-to-noise ratios have 12 bits behind the point, results 6.
func pcan(n *operands) error {
	o, err := n.numbers("snr_shift")
	if err == nil {
		err = n.of([]tensor.DType{tensor.U32, tensor.U32, tensor.I16}, u32s)
	}
	size := 0
	if err == nil {
		if size = n.in(2).Elems(); size < 4*32-6+3 || o[0] < 0 || o[0] > 63 {
			err = fmt.Errorf("a table of %d numbers and a shift by %d, want 125 and at most 63", size, o[0])
		}
	}
	if err != nil {
		return err
	}
	gain := n.step("Cast", []string{n.step("Cast", []string{n.gain()}, to(tensor.I16))}, to(tensor.U32))
	wide := func(v string) string { return n.step("Cast", []string{v}, to(tensor.U64)) }
	snr := n.right(n.step("Mul", []string{wide(n.raw(0)), wide(gain)}), n.one(tensor.U64, int64(o[0])))
	snr = n.step("Cast", []string{snr}, to(tensor.U32))
	u := func(v int64) string { return n.one(tensor.U32, v) }
	square := n.right(n.step("Mul", []string{snr, snr}), u(20))
	line := n.step("Sub", []string{n.right(snr, u(6)), u(1 << 6)})
	n.c.node("Where", n.out().Name, []string{n.step("Less", []string{snr, u(2 << 12)}), square, line})
	return nil
}

// gain is the curve of parabolas that the table holds, one for each power of two.
func (n *operands) gain() string {
	x := n.raw(1)
	powers := make([]int64, 32)
	for i := range powers {
		powers[i] = 1 << i
	}
	column := n.step("Unsqueeze", []string{x, n.list("column", -1)})
	above := n.step("GreaterOrEqual", []string{column, n.kept(tensor.U32, []int{32}, powers...)})
	bits := n.step("ReduceSum", []string{n.step("Cast", []string{above}, to(tensor.I32)), n.list("bits", -1)},
		intAttr("keepdims", 0))
	few := n.step("LessOrEqual", []string{x, n.one(tensor.U32, 2)})
	at := n.step("Sub", []string{n.step("Mul", []string{bits, n.whole(4)}), n.whole(6)})
	at = n.step("Where", []string{few, n.step("Cast", []string{x}, to(tensor.I32)), at})
	entry := func(k int64) string {
		v := n.step("Gather", []string{n.raw(2), n.step("Add", []string{at, n.whole(k)})}, intAttr("axis", 0))
		return n.step("Cast", []string{v}, to(tensor.I32))
	}
	by := func(a, b string) string {
		d := n.step("Max", []string{n.step("Sub", []string{a, b}), n.whole(0)})
		return n.step("Cast", []string{d}, to(tensor.U32))
	}
	part := n.step("BitShift", []string{x, by(n.whole(11), bits)}, textAttr("direction", "LEFT"))
	part = n.right(part, by(bits, n.whole(11)))
	part = n.step("Cast", []string{n.step("Mod", []string{part, n.one(tensor.U32, 1<<10)})}, to(tensor.I32))
	v := n.down(tensor.I32, n.step("Mul", []string{entry(2), part}), 5)
	v = n.step("Add", []string{v, n.step("Mul", []string{entry(1), n.whole(32)})})
	v = n.down(tensor.I32, n.step("Add", []string{n.step("Mul", []string{v, part}), n.whole(1 << 14)}), 15)
	return n.step("Where", []string{few, entry(0), n.step("Add", []string{v, entry(0)})})
}

// signalFFT is the Fourier transform of real signals, or its inverse.
func signalFFT(inverse int) func(n *operands) error {
	return func(n *operands) error {
		o, err := n.numbers("fft_length")
		if err != nil {
			return err
		}
		x, y := n.in(0), n.out()
		if x.DType != y.DType || x.DType != tensor.I16 && x.DType != tensor.I32 {
			return fmt.Errorf("%s to %s, want int16 or int32; float32 transforms are written as DFT in ONNX", x.DType,
				y.DType)
		}
		n.c.node("nncc.SignalFFT", y.Name, []string{n.raw(0)}, intAttr("length", o[0]), intAttr("inverse", inverse))
		return nil
	}
}

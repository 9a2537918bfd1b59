// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// Operators of TensorFlow Lite Micro's audio front end, on plain integers; what they keep
// from run to run is state.

func (n *node) numbers(names ...string) []int {
	all, err := fb.ReadNumbers(n.o.Custom)
	n.refuse(err != nil, "damaged options: %v", err)
	out := make([]int, len(names))
	for i, name := range names {
		v, ok := all[name]
		n.refuse(!ok || v != math.Trunc(v) || math.Abs(v) > math.MaxInt32,
			"option %s is %v, want a whole number", name, v)
		out[i] = int(v)
	}
	return out
}

func (n *node) of(in, out []tensor.DType) {
	for i, d := range in {
		if t := n.in(i); t == nil || t.DType != d {
			n.failf("input %d is not of type %s", i, d)
		}
	}
	for i, d := range out {
		n.refuse(i >= len(n.o.Out) || n.o.Out[i].DType != d, "result %d is not of type %s", i, d)
	}
}

func (n *node) kept(d tensor.DType, shape []int, v ...int64) *ir.Value {
	t := tensor.New(d, shape)
	for i, x := range v {
		t.SetInt(i, x)
	}
	return n.constant("const", t)
}

func (n *node) one(d tensor.DType, v int64) *ir.Value { return n.kept(d, []int{}, v) }

// down shifts int32 or int64 to the right, rounded down.
func (n *node) down(d tensor.DType, v *ir.Value, bits int) *ir.Value {
	by := n.one(d, 1<<bits)
	return n.step("Div", vals{n.step("Sub", vals{v, n.step("Mod", vals{v, by})}), by})
}

// right shifts unsigned numbers.
func (n *node) right(v, by *ir.Value) *ir.Value {
	return n.step("BitShift", vals{v, by}, textAttr("direction", "RIGHT"))
}

func (n *node) cut(v *ir.Value, from, upTo int) *ir.Value {
	return n.step("Slice", vals{v, n.list(from), n.list(upTo), n.list(-1)})
}

func (n *node) join(parts ...*ir.Value) *ir.Value {
	return n.step("Concat", parts, intAttr("axis", -1))
}

func (n *node) memory(what string, d tensor.DType, shape ...int) *variable {
	v := n.c.vars.add(n.out().Name + "/" + what)
	v.like = &model.Tensor{Name: v.name, DType: d, Shape: shape}
	return v
}

var (
	i16s = []tensor.DType{tensor.I16}
	u32s = []tensor.DType{tensor.U32}
)

func signalWindow(n *node) {
	o := n.numbers("shift")
	n.of([]tensor.DType{tensor.I16, tensor.I16}, i16s)
	n.refuse(o[0] < 0 || o[0] > 30, "shift %d, want 0 to 30", o[0])
	wide := func(i int) *ir.Value { return n.cast(n.raw(i), tensor.I32) }
	v := n.down(tensor.I32, n.step("Mul", vals{wide(0), wide(1)}), o[0])
	v = n.step("Min", vals{n.step("Max", vals{v, n.whole(math.MinInt16)}), n.whole(math.MaxInt16)})
	n.give("Cast", vals{v}, to(tensor.I16))
}

// signalEnergy is the square of the absolute value of complex numbers, from one to another.
func signalEnergy(n *node) {
	o := n.numbers("start_index", "end_index")
	n.of(i16s, u32s)
	x, y := n.in(0), n.out()
	n.refuse(len(x.Shape) != 1 || len(y.Shape) != 1 || o[0] < 0 || o[1] < o[0] || o[1] > y.Shape[0] ||
		2*o[1] > x.Shape[0], "numbers %d to %d of %v, for a result %v", o[0], o[1], x.Shape, y.Shape)
	n.room(y.Shape[0])
	v := n.cast(n.cut(n.raw(0), 2*o[0], 2*o[1]), tensor.I32)
	v = n.step("Mul", vals{v, v})
	v = n.reshape(v, o[1]-o[0], 2)
	v = n.step("ReduceSum", vals{v, n.list(-1)}, intAttr("keepdims", 0))
	v = n.cast(v, tensor.U32)
	zeros := func(k int) *ir.Value { return n.kept(tensor.U32, []int{k}) }
	n.give("Concat", vals{zeros(o[0]), v, zeros(y.Shape[0] - o[1])}, intAttr("axis", 0))
}

// signalAutoScale shifts to the left as far as the largest number allows.
func signalAutoScale(n *node) {
	n.of(i16s, []tensor.DType{tensor.I16, tensor.I32})
	v := n.cast(n.raw(0), tensor.I32)
	most := n.step("ReduceMax", vals{n.step("Abs", vals{v})}, intAttr("keepdims", 0))
	powers := lists.Make(16, func(i int) int64 { return 1 << i })
	list := n.kept(tensor.I32, []int{16}, powers...)
	above := n.cast(n.step("GreaterOrEqual", vals{most, list}), tensor.I32)
	bits := n.step("Sub", vals{n.whole(15), n.step("ReduceSum", vals{above}, intAttr("keepdims", 0))})
	bits = n.step("Max", vals{bits, n.whole(0)})
	bits = n.step("Where", vals{n.step("Equal", vals{most, n.whole(0)}), n.whole(0), bits})
	scaled := n.step("Mul", vals{v, n.step("Gather", vals{list, bits}, intAttr("axis", 0))})
	n.give("Cast", vals{scaled}, to(tensor.I16))
	n.becoming(n.o.Out[1]).give("Identity", vals{bits})
}

func signalLog(n *node) {
	o := n.numbers("input_correction_bits", "output_scale")
	n.of(u32s, i16s)
	v := n.step("nncc.SignalLog", vals{n.raw(0)}, intAttr("bits", o[0]), intAttr("scale", o[1]))
	n.give("Cast", vals{v}, to(tensor.I16))
}

func signalRoot(n *node) {
	n.of([]tensor.DType{tensor.U64, tensor.I32}, u32s)
	by := n.cast(n.raw(1), tensor.U64)
	v := n.right(n.step("nncc.SignalRoot", vals{n.raw(0)}), by)
	n.give("Cast", vals{v}, to(tensor.U32))
}

// filterBank adds up weighted energies in channels. Each frequency belongs to two: with its
// weight to one, with the rest to the next.
func filterBank(n *node) {
	o := n.numbers("num_channels")
	n.of([]tensor.DType{tensor.U32, tensor.I16, tensor.I16, tensor.I16, tensor.I16, tensor.I16},
		[]tensor.DType{tensor.U64})
	var v [6][]int
	for i := 1; i < 6; i++ {
		v[i] = n.known(i)
	}
	weights, rests, starts, at, widths := v[1], v[2], v[3], v[4], v[5]
	channels := o[0]
	most := n.widest(channels, v)
	n.room(channels, 2*most)
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
	x := n.step("Gather", vals{n.raw(0), n.kept(tensor.I32, shape, index...)}, intAttr("axis", 0))
	small := n.cast(n.kept(tensor.I16, shape, factor...), tensor.I64)
	x = n.step("Mul", vals{n.cast(x, tensor.I64), small})
	x = n.step("ReduceSum", vals{x, n.list(-1)}, intAttr("keepdims", 0))
	n.give("Cast", vals{x}, to(tensor.U64))
}

// widest checks the lists of a filter bank: how many numbers the widest channel has.
func (n *node) widest(channels int, v [6][]int) (most int) {
	bins, weights := n.in(0).Elems(), min(len(v[1]), len(v[2]))
	n.refuse(channels < 1 || n.out().Elems() != channels || min(len(v[3]), len(v[4]), len(v[5])) < channels+1,
		"%d channels, %d results, %d widths", channels, n.out().Elems(), len(v[5]))
	for i := range channels + 1 {
		start, at, w := v[3][i], v[4][i], v[5][i]
		n.refuse(w < 0 || start < 0 || at < 0 || start+w > bins || at+w > weights,
			"channel %d: %d numbers from %d, weights from %d; there are %d numbers, %d weights", i, w, start, at, bins,
			weights)
		most = max(most, w)
	}
	return most
}

// spectralSubtraction takes a running estimate of the noise away.
func spectralSubtraction(n *node) {
	o := n.numbers("alternate_one_minus_smoothing", "alternate_smoothing", "clamping", "min_signal_remaining",
		"num_channels", "one_minus_smoothing", "smoothing", "smoothing_bits", "spectral_subtraction_bits")
	n.of(u32s, []tensor.DType{tensor.U32, tensor.U32})
	x, y := n.in(0), n.out()
	n.room(x.Elems())
	n.refuse(o[4] != x.Elems() || !slices.Equal(x.Shape, y.Shape) || !slices.Equal(x.Shape, n.o.Out[1].Shape) ||
		min(o[7], o[8]) < 0 || max(o[7], o[8]) > 31, "%d channels of %v, %d and %d bits", o[4], x.Shape, o[7], o[8])
	wide := func(v *ir.Value) *ir.Value { return n.cast(v, tensor.U64) }
	narrow := func(v *ir.Value) *ir.Value { return n.cast(v, tensor.U32) }
	alternate := func(even, odd int) *ir.Value {
		v := lists.Make(o[4], func(i int) int64 { return int64([2]int{even, odd}[i&1]) })
		return wide(n.kept(tensor.U32, []int{o[4]}, v...))
	}
	bits, left := n.one(tensor.U64, int64(o[8])), n.one(tensor.U32, int64(o[7]))
	noise := n.memory("noise", tensor.U32, o[4])
	up := n.step("BitShift", vals{n.raw(0), left}, textAttr("direction", "LEFT"))
	estimate := n.step("Add", vals{n.step("Mul", vals{wide(up), alternate(o[6], o[1])}),
		n.step("Mul", vals{wide(n.c.value(noise)), alternate(o[5], o[0])})})
	estimate = narrow(n.right(estimate, bits))
	limited := n.step("Min", vals{estimate, up})
	if o[2] != 0 {
		estimate = limited
	}
	n.becoming(n.o.Out[1]).give("Identity", vals{estimate})
	noise.last = n.c.raw(n.o.Out[1])
	floor := narrow(n.right(n.step("Mul", vals{wide(n.raw(0)), n.one(tensor.U64, int64(o[3]))}), bits))
	rest := n.right(n.step("Sub", vals{up, limited}), left)
	n.give("Max", vals{rest, floor})
}

// pcan is per-channel amplitude normalisation: the energy times a gain that a table gives
// for the noise, shrunk. Signal-to-noise ratios have 12 bits behind the point, results 6.
func pcan(n *node) {
	o := n.numbers("snr_shift")
	n.of([]tensor.DType{tensor.U32, tensor.U32, tensor.I16}, u32s)
	size := n.in(2).Elems()
	n.refuse(size < 4*32-6+3 || o[0] < 0 || o[0] > 63,
		"a table of %d numbers and a shift by %d, want 125 and at most 63", size, o[0])
	gain := n.cast(n.cast(n.gain(), tensor.I16), tensor.U32)
	wide := func(v *ir.Value) *ir.Value { return n.cast(v, tensor.U64) }
	snr := n.right(n.step("Mul", vals{wide(n.raw(0)), wide(gain)}), n.one(tensor.U64, int64(o[0])))
	snr = n.cast(snr, tensor.U32)
	u := func(v int64) *ir.Value { return n.one(tensor.U32, v) }
	square := n.right(n.step("Mul", vals{snr, snr}), u(20))
	line := n.step("Sub", vals{n.right(snr, u(6)), u(1 << 6)})
	n.give("Where", vals{n.step("Less", vals{snr, u(2 << 12)}), square, line})
}

// gain is the curve of parabolas that the table holds, one for each power of two.
func (n *node) gain() *ir.Value {
	x := n.raw(1)
	powers := lists.Make(32, func(i int) int64 { return 1 << i })
	column := n.step("Unsqueeze", vals{x, n.list(-1)})
	above := n.step("GreaterOrEqual", vals{column, n.kept(tensor.U32, []int{32}, powers...)})
	bits := n.step("ReduceSum", vals{n.cast(above, tensor.I32), n.list(-1)}, intAttr("keepdims", 0))
	few := n.step("LessOrEqual", vals{x, n.one(tensor.U32, 2)})
	at := n.step("Sub", vals{n.step("Mul", vals{bits, n.whole(4)}), n.whole(6)})
	at = n.step("Where", vals{few, n.cast(x, tensor.I32), at})
	entry := func(k int64) *ir.Value {
		v := n.step("Gather", vals{n.raw(2), n.step("Add", vals{at, n.whole(k)})}, intAttr("axis", 0))
		return n.cast(v, tensor.I32)
	}
	by := func(a, b *ir.Value) *ir.Value {
		d := n.step("Max", vals{n.step("Sub", vals{a, b}), n.whole(0)})
		return n.cast(d, tensor.U32)
	}
	part := n.step("BitShift", vals{x, by(n.whole(11), bits)}, textAttr("direction", "LEFT"))
	part = n.right(part, by(bits, n.whole(11)))
	part = n.cast(n.step("Mod", vals{part, n.one(tensor.U32, 1<<10)}), tensor.I32)
	v := n.down(tensor.I32, n.step("Mul", vals{entry(2), part}), 5)
	v = n.step("Add", vals{v, n.step("Mul", vals{entry(1), n.whole(32)})})
	v = n.down(tensor.I32, n.step("Add", vals{n.step("Mul", vals{v, part}), n.whole(1 << 14)}), 15)
	return n.step("Where", vals{few, entry(0), n.step("Add", vals{v, entry(0)})})
}

func signalFFT(inverse int) func(n *node) {
	return func(n *node) {
		o, x, y := n.numbers("fft_length"), n.in(0), n.out()
		n.refuse(x.DType != y.DType || x.DType != tensor.I16 && x.DType != tensor.I32,
			"%s to %s, want int16 or int32; float32 transforms are written as DFT in ONNX", x.DType, y.DType)
		n.give("nncc.SignalFFT", vals{n.raw(0)}, intAttr("length", o[0]), intAttr("inverse", inverse))
	}
}

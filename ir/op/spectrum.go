// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// SpectrumAttrs are the attributes of Spectrum.
type SpectrumAttrs struct {
	// Length is that of the transform in samples, Frames how many there are, Step the
	// distance from one to the next.
	Length int `attr:",required"`
	Frames int `attr:",required"`
	Step   int `default:"1"`
	// Lead is where the window begins in a frame: around it a frame is zero.
	Lead int `default:"0"`
	// Bins are the first of the spectrum, 1 to Length.
	Bins int `attr:",required"`
	// Pad is how many samples the first frame begins before the signal, below 0 behind
	// its begin. Mode says what lies outside: zeros (constant), the signal mirrored
	// (reflect) or its end (edge).
	Pad  int    `default:"0"`
	Mode string `default:"constant"`
	// Power asks for squared magnitudes instead of complex numbers.
	Power int `default:"0"`
	// Fixed asks for fixed point where the signal is of integers.
	Fixed int `default:"0"`
}

// Spectrum is the Fourier transform of overlapping frames of a real signal, input 0
// of shape [N, L], each times the window, constant input 1: [N, frames, bins, 2],
// real and imaginary part, or powers [N, frames, bins]. It is computed in float32 by
// the FFT of ir/qref, also of an integer signal; then the scale is part of the window.
// With the attribute fixed an integer signal is transformed in fixed point (FixedFFT).
var Spectrum = def(ir.OpDef{
	Name: "Spectrum", Domain: "nncc", Doc: "Fourier transform of overlapping frames of a signal, or its power",
	Attrs: ir.Declare[SpectrumAttrs](), MinIn: 2, Quant: ir.QInt, Pattern: ir.Opaque, Spectral: true,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		a := ir.AttrsOf[SpectrumAttrs](n)
		fail.Check(checkSpectrum(n, a))
		shape := []int{n.In[0].Type.Shape[0], a.Frames, a.Bins}
		if a.Power == 0 {
			shape = append(shape, 2)
		}
		wantElems(n, "the output: ", shape)
		return one(ir.T(tensor.F32, shape...))
	},
	Eval: evalSpectrum, EvalQ: evalSpectrum,
	MACs: func(n *ir.Node) int64 {
		a := ir.AttrsOf[SpectrumAttrs](n)
		products := n.In[1].Type.Elems() + qref.FFTProducts(a.Length)
		if a.Power != 0 {
			products += 2 * a.Bins
		}
		return work(n.In[0].Type.Shape[0], a.Frames, products)
	},
})

func checkSpectrum(n *ir.Node, a *SpectrumAttrs) error {
	x, w := n.In[0].Type, n.In[1]
	wantRank(n, 0, 2)
	refuse(n, !spectrumSignal(x), "dtype", "the signal is %s, want float32, or int8 or int16 with one scale", x)
	refuse(n, w.Const == nil || w.Type.Rank() != 1 || w.Type.DType != tensor.F32 || w.Type.Elems() == 0, "window",
		"the window %s is %s, want float32 constants of one dimension", w, w.Type)
	size := w.Type.Elems()
	refuse(n, !qref.FFTLength(a.Length) || a.Length > maxExtent || a.Bins < 1 || a.Bins > a.Length || a.Lead < 0 ||
		a.Lead+size > a.Length, "shape", "a window of %d values at %d in a transform of %d samples to %d bins; want a "+
		"length without prime factors above 5, and no more of both", size, a.Lead, a.Length, a.Bins)
	refuse(n, a.Fixed != 0 && a.Length > qref.MaxFixedFFT, "shape",
		"a transform of %d samples in fixed point, want at most %d", a.Length, qref.MaxFixedFFT)
	return checkFrames(n, a, x.Shape[1], size)
}

func spectrumSignal(x ir.Type) bool {
	if x.DType == tensor.F32 {
		return true
	}
	return x.Quant != nil && !x.Quant.PerAxis() && (x.DType == tensor.I8 || x.DType == tensor.I16)
}

// checkFrames checks the frames of a signal of length samples, of which size count.
func checkFrames(n *ir.Node, a *SpectrumAttrs, length, size int) error {
	for _, v := range []int{a.Frames, a.Step, length, max(a.Pad, -a.Pad, 1)} {
		refuse(n, v < 1 || v > maxExtent, "shape",
			"%d frames every %d samples from %d before a signal of %d, want positive numbers", a.Frames, a.Step, a.Pad,
			length)
	}
	begin := a.Pad - a.Lead // samples in front of the signal, and behind it
	end := (a.Frames-1)*a.Step + a.Lead + size - a.Pad - length
	switch a.Mode {
	case "constant", "edge":
	case "reflect":
		refuse(n, max(begin, end) >= length, "shape", "%d samples are mirrored, the signal has %d: want fewer",
			max(begin, end), length)
	default:
		return ir.Errf(n, "mode", "mode is %q, want constant, reflect or edge", a.Mode)
	}
	return nil
}

// SpectrumWindow is the window as the kernel has it: half of it, since the transform
// takes halves of samples, times the scale of an integer signal.
func SpectrumWindow(n *ir.Node) []float32 {
	scale := 0.5
	if q := n.In[0].Type.Quant; q != nil {
		scale *= float64(q.Scale[0])
	}
	return lists.Make(n.In[1].Type.Elems(), func(i int) float32 { return float32(n.In[1].Const.Float(i) * scale) })
}

// Outside is the sample that stands for sample i, which lies outside of a signal of
// length samples; -1 for none.
func (a *SpectrumAttrs) Outside(i, length int) int {
	switch {
	case a.Mode == "constant":
		return -1
	case a.Mode == "edge":
		return min(max(i, 0), length-1)
	case i < 0:
		return -i
	}
	return 2*(length-1) - i
}

// SpectrumFixed is the transform in fixed point of a node that computes by one, or nil.
func SpectrumFixed(n *ir.Node) *qref.FixedFFT {
	if ir.AttrsOf[SpectrumAttrs](n).Fixed == 0 || n.In[0].Type.Quant == nil {
		return nil
	}
	return NewFixedSpectrum(n)
}

// NewFixedSpectrum is the transform in fixed point of a node with an integer signal.
func NewFixedSpectrum(n *ir.Node) *qref.FixedFFT {
	a, x := ir.AttrsOf[SpectrumAttrs](n), n.In[0].Type
	window := lists.Make(n.In[1].Type.Elems(), func(i int) float64 { return n.In[1].Const.Float(i) })
	lo, hi := x.DType.IntRange()
	zero := int(x.Quant.Zero[0])
	return qref.NewFixedFFT(a.Length, max(int(hi)-zero, zero-int(lo)), float64(x.Quant.Scale[0]), window)
}

func evalSpectrum(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	a := ir.AttrsOf[SpectrumAttrs](n)
	frame := floatFrames(n, in[0])
	if t := SpectrumFixed(n); t != nil {
		frame = fixedFrames(n, in[0], t)
	}
	per := in[0].Shape[0] * a.Frames
	width := n.Out[0].Type.Elems() / per
	y := make([]float32, per*width)
	parallel(per, func(f int) { copy(y[f*width:], frame(f)) })
	d := tensor.Of(n.Out[0].Type.Shape, y)
	if n.Out[0].Type.Quant != nil {
		d = ir.QuantiseAway(d, n.Out[0].Type)
	}
	return outs(d)
}

// frameSample is sample j of the window of a frame as its place in the signals
// [N, length], -1 where it is zero.
func (a *SpectrumAttrs) frameSample(frame, j, length int) int {
	i := frame%a.Frames*a.Step - a.Pad + a.Lead + j
	if i < 0 || i >= length {
		i = a.Outside(i, length)
	}
	if i < 0 {
		return -1
	}
	return frame/a.Frames*length + i
}

// floatFrames gives the spectrum of a frame in float32.
func floatFrames(n *ir.Node, x *tensor.Dense) func(frame int) []float32 {
	a, w, zero := ir.AttrsOf[SpectrumAttrs](n), SpectrumWindow(n), float32(0)
	if q := n.In[0].Type.Quant; q != nil {
		zero = float32(q.Zero[0])
	}
	t := qref.NewFFT(a.Length)
	return func(f int) []float32 {
		half := make([]float32, a.Length)
		for j, v := range w {
			if i := a.frameSample(f, j, x.Shape[1]); i >= 0 {
				half[a.Lead+j] = float32((float32(x.Float(i)) - zero) * v)
			}
		}
		s := t.Real(half, a.Bins)
		if a.Power != 0 {
			s = qref.Power(s)
		}
		return s
	}
}

// fixedFrames gives the spectrum of a frame in fixed point.
func fixedFrames(n *ir.Node, x *tensor.Dense, t *qref.FixedFFT) func(frame int) []float32 {
	a, zero := ir.AttrsOf[SpectrumAttrs](n), int(n.In[0].Type.Quant.Zero[0])
	return func(f int) []float32 {
		s := t.Real(func(j int) int {
			if i := a.frameSample(f, j, x.Shape[1]); i >= 0 {
				return int(x.Int(i)) - zero
			}
			return 0
		}, a.Lead, a.Bins)
		if a.Power != 0 {
			return t.Powers(s)
		}
		return t.Numbers(s)
	}
}

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
		_, err := qref.NewRealFFT[int16](a.Length, false)
		refuse(n, err != nil, "length", "%v", err)
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
			realFFT(n, x, y.Data.([]int16))
		} else {
			realFFT(n, in[0].Data.([]int32), y.Data.([]int32))
		}
		return outs(y)
	},
})

func realFFT[T int16 | int32](n *ir.Node, x, y []T) {
	a, s := ir.AttrsOf[SignalFFTAttrs](n), n.In[0].Type.Shape
	f, err := qref.NewRealFFT[T](a.Length, a.Inverse != 0)
	refuse(n, err != nil, "length", "%v", err)
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
}

// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// spectrumFuncs are the kernels by the element type of the signal.
var spectrumFuncs = map[tensor.DType]string{tensor.F32: "nncc_spectrum_f32", tensor.I8: "nncc_spectrum_s8",
	tensor.I16: "nncc_spectrum_s16"}

// fixedSpectrumFuncs are those in fixed point.
var fixedSpectrumFuncs = map[tensor.DType]string{tensor.I8: "nncc_spectrum_fixed_s8",
	tensor.I16: "nncc_spectrum_fixed_s16"}

// outsideNames are the modes of what lies outside of a signal, as nncc_f32.h has them.
var outsideNames = map[string]call.Lit{"constant": "NNCC_OUTSIDE_ZERO", "reflect": "NNCC_OUTSIDE_REFLECT",
	"edge": "NNCC_OUTSIDE_EDGE"}

// spectrumRow is the Fourier transform of frames.
var spectrumRow = row("nncc_spectrum", "NNCC-SPECTRUM", op.Spectrum.Doc, natural,
	kernel.Rules{nonEmptyOut, cond.Float32Result}, func(l *lowering, n *kernel.Node) {
		a, x := ir.AttrsOf[op.SpectrumAttrs](n), n.In[0].Type
		fixed := op.SpectrumFixed(n.Node)
		fn := spectrumFuncs[x.DType]
		if fixed != nil {
			fn = fixedSpectrumFuncs[x.DType]
		}
		l.low.Kernel = fn
		t, zero := qref.NewFFT(a.Length), 0
		if x.Quant != nil {
			zero = int(x.Quant.Zero[0])
		}
		radix := make([]int, qref.MaxFFTPasses)
		copy(radix, t.Radix)
		fields := append(append(ints("batch", x.Shape[0], "samples", x.Shape[1],
			"frames", a.Frames, "step", a.Step, "pad", a.Pad), call.F("outside", outsideNames[a.Mode])),
			append(ints("lead", a.Lead, "window", n.In[1].Type.Elems(), "length", a.Length, "bins", a.Bins,
				"power", a.Power, "zero", zero, "passes", len(t.Radix)), list("radix", radix))...)
		scratch := l.scratch(tensor.F32, 4*t.M)
		window, twiddle := array("window", op.SpectrumWindow(n.Node)), array("twiddle", t.Twiddle)
		if fixed != nil {
			unit := fixed.Unit
			if a.Power != 0 {
				unit *= unit
			}
			fields = append(fields, append(ints("shift", fixed.Shift), call.F("unit", f32(unit)))...)
			scratch.CType = "int32_t"
			window, twiddle = array("window", fixed.Window), array("twiddle", fixed.Factors)
		}
		l.low.Unused = []int{1}
		l.call(fn, params("nncc_spectrum_params", fields...), l.in(0), window, twiddle, l.out(0), scratch)
	}, op.Spectrum)

// signalFFTRow is the transform of the audio front end.
var signalFFTRow = row("nncc_signal_fft", "NNCC-SIGNAL-FFT", op.SignalFFT.Doc, natural, kernel.Rules{cond.NotEmpty},
	func(l *lowering, n *kernel.Node) {
		if n.In[0].Type.DType == tensor.I16 {
			signalFFT[int16](l, n, "nncc_signal_fft_s16")
		} else {
			signalFFT[int32](l, n, "nncc_signal_fft_s32")
		}
	}, op.SignalFFT)

func signalFFT[T int16 | int32](l *lowering, n *kernel.Node, fn string) {
	a, x := ir.AttrsOf[op.SignalFFTAttrs](n), n.In[0].Type
	f := kernel.Known(qref.NewRealFFT[T](a.Length, a.Inverse != 0))
	l.low.Kernel = fn
	last := len(x.Shape) - 1
	p := params("nncc_signal_fft_params", ints("rows", tensor.Count(x.Shape[:last]), "size", x.Shape[last],
		"length", a.Length, "inverse", a.Inverse)...)
	work := l.scratch(x.DType, 2*a.Length)
	l.call(fn, p, l.in(0), array("twiddles", f.Twiddles), array("super", f.Super), l.out(0), work)
}

// detectionsRow decodes and selects boxes. It has the memory orders of the operator: rows
// of boxes and of scores.
var detectionsRow = row("nncc_detections_f32", "NNCC-DETECTIONS-F32", op.Detections.Doc, natural,
	kernel.Rules{cond.Float32(), cond.NotEmpty}, func(l *lowering, n *kernel.Node) {
		p := kernel.Known(op.DetectionsParams(n.Node))
		scale := make([]call.Field, len(p.Scale))
		for i, v := range p.Scale {
			scale[i] = call.F("", f32(v))
		}
		fields := append(ints("boxes", int(p.Boxes), "coords", int(p.Coords), "columns", int(p.Columns), "classes",
			int(p.Classes), "most", int(p.Most), "per_class", int(p.PerClass), "labels", int(p.Labels), "rows",
			int(p.Rows)), call.F("score", f32(p.Score)), call.F("iou", f32(p.IoU)),
			call.F("scale", call.Nested{Fields: scale}))
		l.call("nncc_detections_f32", params("nncc_detections_params", fields...), l.in(0), l.in(1), l.in(2), l.out(0),
			l.out(1), l.out(2), l.out(3), l.scratch(tensor.I32, int(p.Boxes)), l.scratch(tensor.F32, int(p.Boxes)),
			l.scratch(tensor.F32, 4*int(min(p.Most, p.Boxes))))
	}, op.Detections)

package onnx

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// maxSignal bounds the matrices of transforms.
const maxSignal = 1 << 24

// fourier is the matrix of a transform of n inputs to bins outputs, [n*in, bins*2]:
// in is 1 for reals, 2 for complex numbers (real, imaginary).
func (e *composer) fourier(dt tensor.DType, n, in, bins int, inverse bool) *ir.Value {
	e.want(n >= 1 && n*in <= maxSignal/max(bins*2, 1), "shape", "a transform of %d to %d values is too large", n, bins)
	m := make([]float64, n*in*bins*2)
	sign, scale := -1.0, 1.0
	if inverse {
		sign, scale = 1, 1/float64(n)
	}
	for j := range n {
		for k := range bins {
			s, c := math.Sincos(2 * math.Pi * float64(j*k%n) / float64(n))
			c, s = c*scale, s*sign*scale
			row := (j*in*bins + k) * 2
			m[row], m[row+1] = c, s
			if in == 2 { // i times the same
				row += bins * 2
				m[row], m[row+1] = -s, c
			}
		}
	}
	return e.data(tensor.FromFloats(dt, []int{n * in, bins * 2}, m))
}

// dft is the discrete Fourier transform along one axis, as the product with a
// constant matrix: real or complex input, whole or one-sided result, inverse.
func dft(e *composer) []*ir.Value {
	x := e.need(0, -1)
	rank := x.Type.Rank()
	e.want(rank >= 2 && x.Type.DType.IsFloat(), "rank", "input 0 (%s) is %s, want floats of shape [..., length, 1 or 2]", x, x.Type)
	axis := rank - 2
	var chosen *ir.Value // at run time
	if e.opset < 20 {
		axis = e.int("axis", 1)
	} else if v := e.input(2); v != nil && v.Const == nil {
		chosen = v
	} else if v != nil {
		a := e.known(2, "the axis")
		e.want(len(a) == 1, "shape", "the axis has %d values, want one", len(a))
		axis = a[0]
	}
	inverse, onesided := e.int("inverse", 0) != 0, e.int("onesided", 0) != 0
	if chosen != nil {
		along := func(k int) *ir.Value { return e.fourierAlong(x, k, inverse, onesided) }
		return e.alongAxis(chosen, ir.Identity(rank-1), along)
	}
	if axis < 0 {
		axis += rank
	}
	return []*ir.Value{e.fourierAlong(x, axis, inverse, onesided)}
}

// fourierAlong is dft along one axis.
func (e *composer) fourierAlong(x *ir.Value, axis int, inverse, onesided bool) *ir.Value {
	rank := x.Type.Rank()
	e.want(axis >= 0 && axis < rank-1, "axis", "axis %d is out of range for shape %v", axis, x.Type.Shape)
	in := x.Type.Shape[rank-1]
	e.want(in == 1 || in == 2, "shape", "input 0 (%s) has shape %v, want 1 (real) or 2 (complex) at the end", x, x.Type.Shape)
	have := x.Type.Shape[axis]
	n := have
	if onesided && inverse {
		n = 2 * (have - 1)
	}
	if e.input(1) != nil {
		l := e.known(1, "the length")
		e.want(len(l) == 1 && l[0] >= 1, "shape", "the length is %v, want one positive value", l)
		n = l[0]
	}
	e.want(n >= 1 && n <= maxSignal, "shape", "the length is %d, want 1 to %d", n, maxSignal)
	// the axis goes next to the last: [..., n, in]
	perm, back := []int{}, make([]int, rank)
	for d := range rank {
		if d != axis && d != rank-1 {
			perm = append(perm, d)
		}
	}
	perm = append(perm, axis, rank-1)
	for i, d := range perm {
		back[d] = i
	}
	outer := x.Type.Elems() / max(have*in, 1)
	y := e.reshape(e.transpose(x, perm...), outer, have, in)
	fill := func(v *ir.Value, to int) *ir.Value {
		switch now := v.Type.Shape[1]; {
		case now > to:
			return e.cut(v, 1, 0, to, 1)
		case now < to:
			return e.do("Pad", nil, v, e.ints(0, 0, 0, 0, to-now, 0))
		}
		return v
	}
	bins, parts := n, 2
	var m *ir.Value
	if onesided && inverse {
		// the other half is the conjugate of the first: a real result
		half := n/2 + 1
		e.want(in == 2, "shape", "a one-sided inverse transform wants complex input")
		y = fill(y, half)
		m, parts = e.realInverse(x.Type.DType, n, half), 1
		y = e.reshape(y, outer, half*2)
	} else {
		if onesided {
			bins = n/2 + 1
		}
		y = e.reshape(fill(y, n), outer, n*in)
		m = e.fourier(x.Type.DType, n, in, bins, inverse)
	}
	y = e.do("MatMul", nil, y, m)
	shape := []int{}
	for _, d := range perm[:rank-2] {
		shape = append(shape, x.Type.Shape[d])
	}
	return e.transpose(e.reshape(y, append(shape, bins, parts)...), back...)
}

// realInverse is the matrix [half*2, n] from the first half of a spectrum to
// its real signal.
func (e *composer) realInverse(dt tensor.DType, n, half int) *ir.Value {
	e.want(half*2 <= maxSignal/n, "shape", "a transform of %d values is too large", n)
	m := make([]float64, half*2*n)
	for k := range half {
		twice := 2.0
		if k == 0 || 2*k == n {
			twice = 1
		}
		for j := range n {
			s, c := math.Sincos(2 * math.Pi * float64(j*k%n) / float64(n))
			m[2*k*n+j], m[(2*k+1)*n+j] = twice*c/float64(n), -twice*s/float64(n)
		}
	}
	return e.data(tensor.FromFloats(dt, []int{half * 2, n}, m))
}

// stft is the transform of overlapping frames of a signal [N, length, 1 or 2],
// each times a window: [N, frames, bins, 2].
func stft(e *composer) []*ir.Value {
	x, step := e.need(0, -1), e.known(1, "the frame step")
	if x.Type.Rank() == 2 { // a real signal as PyTorch exports it; ONNX Runtime takes it, too
		x = e.reshape(x, x.Type.Shape[0], x.Type.Shape[1], 1)
	}
	e.want(x.Type.Rank() == 3, "rank", "the signal has shape %v, want batch, length and 1 (real) or 2 (complex)", x.Type.Shape)
	onesided := e.int("onesided", 1) != 0
	win := e.input(2)
	length, in := x.Type.Shape[1], x.Type.Shape[2]
	n := 0
	if win != nil {
		e.want(win.Type.Rank() == 1, "rank", "the window has shape %v, want one dimension", win.Type.Shape)
		n = win.Type.Shape[0]
	}
	if e.input(3) != nil {
		l := e.known(3, "the frame length")
		e.want(len(l) == 1, "shape", "the frame length has %d values, want one", len(l))
		n = l[0]
	}
	e.want(in == 1 || in == 2, "shape", "the signal has shape %v, want 1 (real) or 2 (complex) at the end", x.Type.Shape)
	e.want(len(step) == 1 && step[0] >= 1 && n >= 1 && n <= length, "shape", "frames of %d every %v in a signal of %d, want positive numbers and frames that fit", n, step, length)
	if win != nil {
		e.shaped(win, "window", n)
	}
	frames := (length-n)/step[0] + 1
	e.want(frames <= maxSignal/n, "shape", "%d frames of %d values are too many", frames, n)
	at := make([]int, frames*n)
	for i := range at {
		at[i] = i/n*step[0] + i%n
	}
	y := e.do("Gather", ir.Attrs{"axis": ir.Int(1)}, x, e.ints(at...))
	y = e.reshape(y, x.Type.Shape[0], frames, n, in)
	if win != nil {
		y = e.do("Mul", nil, y, e.reshape(win, n, 1))
	}
	bins := n
	if onesided {
		bins = n/2 + 1
	}
	y = e.do("MatMul", nil, e.reshape(y, x.Type.Shape[0], frames, n*in), e.fourier(x.Type.DType, n, in, bins, false))
	return []*ir.Value{e.reshape(y, x.Type.Shape[0], frames, bins, 2)}
}

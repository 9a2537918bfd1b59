// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"math"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

const maxSignal = 1 << 24

// fourier is the matrix of a transform of n inputs to bins outputs, [n*in, bins*2]:
// in is 1 for reals, 2 for complex numbers (real, imaginary).
func fourier(e *build.Node, dt tensor.DType, n, in, bins int, inverse bool) *ir.Value {
	e.Want(n >= 1 && n*in <= maxSignal/max(bins*2, 1), "shape", "a transform of %d to %d values is too large", n, bins)
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
	return e.Data(tensor.FromFloats(dt, []int{n * in, bins * 2}, m))
}

// dft is the discrete Fourier transform along one axis, as the product with a
// constant matrix: real or complex input, whole or one-sided result, inverse.
func dft(e *build.Node) []*ir.Value {
	x := e.Need(0, -1)
	rank := x.Type.Rank()
	e.Want(rank >= 2 && x.Type.DType.IsFloat(), "rank",
		"input 0 (%s) is %s, want floats of shape [..., length, 1 or 2]", x, x.Type)
	axis := rank - 2
	var chosen *ir.Value // at run time
	if e.Opset < 20 {
		axis = e.Int("axis", 1)
	} else if v := e.Input(2); v != nil && v.Const == nil {
		chosen = v
	} else if v != nil {
		a := e.Known(2, "the axis")
		e.Want(len(a) == 1, "shape", "the axis has %d values, want one", len(a))
		axis = a[0]
	}
	inverse, onesided := e.Bool("inverse", false), e.Bool("onesided", false)
	if chosen != nil {
		along := func(k int) *ir.Value { return fourierAlong(e, x, k, inverse, onesided) }
		return alongAxis(e, chosen, ir.Identity(rank-1), along)
	}
	if axis < 0 {
		axis += rank
	}
	return []*ir.Value{fourierAlong(e, x, axis, inverse, onesided)}
}

func fourierAlong(e *build.Node, x *ir.Value, axis int, inverse, onesided bool) *ir.Value {
	rank := x.Type.Rank()
	e.Want(axis >= 0 && axis < rank-1, "axis", "axis %d is out of range for shape %v", axis, x.Type.Shape)
	in := x.Type.Shape[rank-1]
	e.Want(in == 1 || in == 2, "shape", "input 0 (%s) has shape %v, want 1 (real) or 2 (complex) at the end", x,
		x.Type.Shape)
	have := x.Type.Shape[axis]
	n := have
	if onesided && inverse {
		n = 2 * (have - 1)
	}
	if e.Input(1) != nil {
		l := e.Known(1, "the length")
		e.Want(len(l) == 1 && l[0] >= 1, "shape", "the length is %v, want one positive value", l)
		n = l[0]
	}
	e.Want(n >= 1 && n <= maxSignal, "shape", "the length is %d, want 1 to %d", n, maxSignal)
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
	y := e.Reshape(e.Transpose(x, perm...), outer, have, in)
	fill := func(v *ir.Value, to int) *ir.Value {
		switch now := v.Type.Shape[1]; {
		case now > to:
			return e.Cut(v, 1, 0, to, 1)
		case now < to:
			return e.Do("Pad", nil, v, e.Ints(0, 0, 0, 0, to-now, 0))
		}
		return v
	}
	bins, parts := n, 2
	var m *ir.Value
	if onesided && inverse {
		// the other half is the conjugate of the first: a real result
		half := n/2 + 1
		e.Want(in == 2, "shape", "a one-sided inverse transform wants complex input")
		y = fill(y, half)
		m, parts = realInverse(e, x.Type.DType, n, half), 1
		y = e.Reshape(y, outer, half*2)
	} else {
		if onesided {
			bins = n/2 + 1
		}
		y = e.Reshape(fill(y, n), outer, n*in)
		m = fourier(e, x.Type.DType, n, in, bins, inverse)
	}
	y = e.Do("MatMul", nil, y, m)
	shape := lists.Each(perm[:rank-2], func(d int) int { return x.Type.Shape[d] })
	return e.Transpose(e.Reshape(y, append(shape, bins, parts)...), back...)
}

// realInverse is the matrix [half*2, n] from the first half of a spectrum to
// its real signal.
func realInverse(e *build.Node, dt tensor.DType, n, half int) *ir.Value {
	e.Want(half*2 <= maxSignal/n, "shape", "a transform of %d values is too large", n)
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
	return e.Data(tensor.FromFloats(dt, []int{half * 2, n}, m))
}

// stft is the transform of overlapping frames of a signal [N, length, 1 or 2],
// each times a window: [N, frames, bins, 2].
func stft(e *build.Node) []*ir.Value {
	x, step := e.Need(0, -1), e.Known(1, "the frame step")
	if x.Type.Rank() == 2 { // a real signal as PyTorch exports it; ONNX Runtime takes it, too
		x = e.Reshape(x, x.Type.Shape[0], x.Type.Shape[1], 1)
	}
	e.Want(x.Type.Rank() == 3, "rank", "the signal has shape %v, want batch, length and 1 (real) or 2 (complex)",
		x.Type.Shape)
	onesided := e.Bool("onesided", true)
	win := e.Input(2)
	length, in := x.Type.Shape[1], x.Type.Shape[2]
	n := 0
	if win != nil {
		e.Want(win.Type.Rank() == 1, "rank", "the window has shape %v, want one dimension", win.Type.Shape)
		n = win.Type.Shape[0]
	}
	if e.Input(3) != nil {
		l := e.Known(3, "the frame length")
		e.Want(len(l) == 1, "shape", "the frame length has %d values, want one", len(l))
		n = l[0]
	}
	e.Want(in == 1 || in == 2, "shape", "the signal has shape %v, want 1 (real) or 2 (complex) at the end",
		x.Type.Shape)
	e.Want(len(step) == 1 && step[0] >= 1 && n >= 1 && n <= length, "shape",
		"frames of %d every %v in a signal of %d, want positive numbers and frames that fit", n, step, length)
	if win != nil {
		e.Shaped(win, "window", n)
	}
	frames := (length-n)/step[0] + 1
	e.Want(frames <= maxSignal/n, "shape", "%d frames of %d values are too many", frames, n)
	at := lists.Make(frames*n, func(i int) int { return i/n*step[0] + i%n })
	y := e.Do("Gather", ir.Attrs{"axis": ir.Int(1)}, x, e.Ints(at...))
	y = e.Reshape(y, x.Type.Shape[0], frames, n, in)
	if win != nil {
		y = e.Do("Mul", nil, y, e.Reshape(win, n, 1))
	}
	bins := n
	if onesided {
		bins = n/2 + 1
	}
	y = e.Do("MatMul", nil, e.Reshape(y, x.Type.Shape[0], frames, n*in), fourier(e, x.Type.DType, n, in, bins, false))
	return []*ir.Value{e.Reshape(y, x.Type.Shape[0], frames, bins, 2)}
}

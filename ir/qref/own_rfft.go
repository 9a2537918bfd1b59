// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"fmt"
	"math"
)

// RealFFT is a real Fourier transform of a power of two in the fixed point of TensorFlow
// Lite Micro's audio front end (KISS FFT): a complex one of half the length in steps of 4,
// at last of 2, of which each divides by what it adds up.
type RealFFT[T int16 | int32] struct {
	Length  int // of the signal
	Inverse bool
	// Twiddles are exp(-2πik/n) of the complex transform, Super the turns between both
	// halves; pairs of parts. Inverse ones are conjugates.
	Twiddles, Super []T
}

// NewRealFFT makes the tables; the length is a power of two from 4 to 16384.
func NewRealFFT[T int16 | int32](length int, inverse bool) (*RealFFT[T], error) {
	if length < 4 || length > 1<<14 || length&(length-1) != 0 {
		return nil, fmt.Errorf("a transform of %d numbers, want a power of two from 4 to 16384", length)
	}
	f := &RealFFT[T]{Length: length, Inverse: inverse}
	n := length / 2
	turn := func(phase float64) []T {
		if inverse {
			phase = -phase
		}
		one := float64(sampleMax[T]())
		return []T{T(math.Floor(.5 + one*math.Cos(phase))), T(math.Floor(.5 + one*math.Sin(phase)))}
	}
	for i := range n {
		f.Twiddles = append(f.Twiddles, turn(-2*math.Pi*float64(i)/float64(n))...)
	}
	for i := range n / 2 {
		f.Super = append(f.Super, turn(-math.Pi*(float64(i+1)/float64(n)+.5))...)
	}
	return f, nil
}

func sampleMax[T int16 | int32]() int64 {
	if _, short := any(T(0)).(int16); short {
		return math.MaxInt16
	}
	return math.MaxInt32
}

// turned is a sum of products, rounded to the fraction bits of the type.
func turned[T int16 | int32](sum int64) T {
	if _, short := any(T(0)).(int16); short {
		return T((int32(sum) + 1<<14) >> 15)
	}
	return T((sum + 1<<30) >> 31)
}

// part is x/k, rounded as the transform does it.
func part[T int16 | int32](x T, k int64) T { return turned[T](int64(x) * (sampleMax[T]() / k)) }

func times[T int16 | int32](r, i T, w []T) (T, T) {
	return turned[T](int64(r)*int64(w[0]) - int64(i)*int64(w[1])),
		turned[T](int64(r)*int64(w[1]) + int64(i)*int64(w[0]))
}

// half is half of a sum, rounded down.
func half[T int16 | int32](a, b T) T { return T((int32(a) + int32(b)) >> 1) }

// complex transforms x, pairs of parts, into y.
func (f *RealFFT[T]) complex(x, y []T) {
	n := f.Length / 2
	var radix []int
	for m := n; m > 1; m /= radix[len(radix)-1] {
		if m%4 == 0 {
			radix = append(radix, 4)
		} else {
			radix = append(radix, 2)
		}
	}
	for o := range n {
		from, stride, rest, m := 0, 1, o, n
		for _, p := range radix {
			m /= p
			from += rest / m * stride
			rest %= m
			stride *= p
		}
		copy(y[2*o:2*o+2], x[2*from:])
	}
	m := 1
	for i := len(radix) - 1; i >= 0; i-- {
		stride := n / (m * radix[i])
		for at := 0; at < n; at += m * radix[i] {
			for k := range m {
				if radix[i] == 4 {
					f.four(y[2*(at+k):], m, k*stride)
				} else {
					f.two(y[2*(at+k):], m, k*stride)
				}
			}
		}
		m *= radix[i]
	}
}

func (f *RealFFT[T]) two(y []T, m, w int) {
	a, b := y[:2], y[2*m:][:2]
	for i := range 2 {
		a[i], b[i] = part(a[i], 2), part(b[i], 2)
	}
	r, i := times(b[0], b[1], f.Twiddles[2*w:])
	b[0], b[1] = a[0]-r, a[1]-i
	a[0], a[1] = a[0]+r, a[1]+i
}

func (f *RealFFT[T]) four(y []T, m, w int) {
	var v [4][]T
	for k := range v {
		v[k] = y[2*m*k:][:2]
		v[k][0], v[k][1] = part(v[k][0], 4), part(v[k][1], 4)
	}
	r1, i1 := times(v[1][0], v[1][1], f.Twiddles[2*w:])
	r2, i2 := times(v[2][0], v[2][1], f.Twiddles[4*w:])
	r3, i3 := times(v[3][0], v[3][1], f.Twiddles[6*w:])
	dr, di := v[0][0]-r2, v[0][1]-i2
	sr, si := v[0][0]+r2, v[0][1]+i2
	er, ei := r1+r3, i1+i3
	tr, ti := r1-r3, i1-i3
	if f.Inverse {
		tr, ti = -tr, -ti
	}
	v[2][0], v[2][1] = sr-er, si-ei
	v[0][0], v[0][1] = sr+er, si+ei
	v[1][0], v[1][1] = dr+ti, di-tr
	v[3][0], v[3][1] = dr-ti, di+tr
}

// Forward gives the Length/2+1 complex numbers of a signal, pairs of parts.
func (f *RealFFT[T]) Forward(x []T) []T {
	n := f.Length / 2
	z, y := make([]T, 2*n), make([]T, 2*n+2)
	f.complex(x, z)
	r, i := part(z[0], 2), part(z[1], 2)
	y[0], y[2*n] = r+i, r-i
	for k := 1; k <= n/2; k++ {
		ar, ai := part(z[2*k], 2), part(z[2*k+1], 2)
		br, bi := part(z[2*(n-k)], 2), part(-z[2*(n-k)+1], 2)
		sr, si := ar+br, ai+bi
		wr, wi := times(ar-br, ai-bi, f.Super[2*(k-1):])
		y[2*k], y[2*k+1] = half[T](sr, wr), half[T](si, wi)
		y[2*(n-k)], y[2*(n-k)+1] = half[T](sr, -wr), half[T](wi, -si)
	}
	return y
}

// Backward gives the signal of Length/2+1 complex numbers.
func (f *RealFFT[T]) Backward(x []T) []T {
	n := f.Length / 2
	z, y := make([]T, 2*n), make([]T, 2*n)
	z[0], z[1] = part(x[0]+x[2*n], 2), part(x[0]-x[2*n], 2)
	for k := 1; k <= n/2; k++ {
		ar, ai := part(x[2*k], 2), part(x[2*k+1], 2)
		br, bi := part(x[2*(n-k)], 2), part(-x[2*(n-k)+1], 2)
		sr, si := ar+br, ai+bi
		wr, wi := times(ar-br, ai-bi, f.Super[2*(k-1):])
		z[2*k], z[2*k+1] = sr+wr, si+wi
		z[2*(n-k)], z[2*(n-k)+1] = sr-wr, -(si - wi)
	}
	f.complex(z, y)
	return y
}

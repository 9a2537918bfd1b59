// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
	"math/bits"
)

// FixedFFT is a discrete Fourier transform of integers in 32-bit fixed point, for cores
// without an FPU: window and factors are 16-bit fractions (Q15), samples and everything
// between them 32-bit integers of one scale, which has room for every bin of every
// signal. It is the definition of nncc_spectrum_fixed_*, bit for bit.
type FixedFFT struct {
	// FFT has length and passes; its Twiddle is in Factors.
	*FFT
	Factors []int16
	// Window is in units of 1/32767 of its largest value; a sample times it loses Shift
	// bits.
	Window []int16
	Shift  int
	// Unit is the value of 1 in a spectrum, the square of Unit that in its powers.
	Unit float32
}

// MaxFixedFFT is the longest transform in fixed point: of longer ones samples would
// lose bits of 16.
const MaxFixedFFT = 1 << 14

// q15 is a fraction of 1, with 1 itself a unit lower.
func q15(v float64) int16 { return int16(min(math.RoundToEven(v*(1<<15)), 1<<15-1)) }

// NewFixedFFT is the transform of n integers, FFTLength(n) and at most MaxFixedFFT, of
// which none exceeds peak in magnitude, times the scale and the window, that is not all
// zero.
func NewFixedFFT(n, peak int, scale float64, window []float64) *FixedFFT {
	t := &FixedFFT{FFT: NewFFT(n), Window: make([]int16, len(window))}
	for _, f := range t.Twiddle {
		t.Factors = append(t.Factors, q15(float64(f)))
	}
	largest := 0.0
	for _, w := range window {
		largest = max(largest, math.Abs(w))
	}
	if largest == 0 {
		return t
	}
	const one = 1<<15 - 1
	for i, w := range window {
		t.Window[i] = int16(math.RoundToEven(w / largest * one))
	}
	// A bin has at most n times the largest sample, twice that before the split is halved.
	for int64(peak)*one*int64(n)>>t.Shift > 1<<29 {
		t.Shift++
	}
	t.Unit = float32(math.Ldexp(scale*largest/one, t.Shift))
	return t
}

// FixedFFTError bounds the error of a bin of a transform in fixed point: the first as a
// part of sqrt(n) times the root of the sum of the squares of its samples (factors are
// rounded to 2^-15 of 1, once in each pass, in butterflies, the split and the window),
// the second in units of the result (every pass rounds by half a unit, which grows with
// the passes behind it).
func FixedFFTError(n int) (part, units float64) {
	return float64(3*len(planFFT(n).Radix)+4) * 0x1p-15, 4 * float64(n)
}

// weigh is sample v times factor j of the window, rounded half up.
func (t *FixedFFT) weigh(v, j int) int32 {
	return shiftHalfUp(int32(v)*int32(t.Window[j]), t.Shift)
}

// shiftHalfUp is v / 2^by, rounded half up.
func shiftHalfUp(v int32, by int) int32 {
	if by == 0 {
		return v
	}
	return (v>>(by-1) + 1) >> 1
}

// complexInt is a complex number of integers.
type complexInt struct{ re, im int32 }

func (a complexInt) add(b complexInt) complexInt { return complexInt{a.re + b.re, a.im + b.im} }
func (a complexInt) sub(b complexInt) complexInt { return complexInt{a.re - b.re, a.im - b.im} }

// half is the half, rounded half up.
func (a complexInt) half() complexInt {
	return complexInt{shiftHalfUp(a.re, 1), shiftHalfUp(a.im, 1)}
}

// turn is the product with a fraction, rounded half up.
func (a complexInt) turn(by int) complexInt {
	f := q15(float64(turns[by]))
	return complexInt{roundQ15(int64(a.re) * int64(f)), roundQ15(int64(a.im) * int64(f))}
}

// mul is the product with a complex fraction: sums of products are rounded once.
func (a complexInt) mul(re, im int16) complexInt {
	return complexInt{
		roundQ15(int64(a.re)*int64(re) - int64(a.im)*int64(im)),
		roundQ15(int64(a.re)*int64(im) + int64(a.im)*int64(re)),
	}
}

func roundQ15(v int64) int32 { return int32((v + 1<<14) >> 15) }

// down is a - i*b, up is a + i*b.
func (a complexInt) down(b complexInt) complexInt { return complexInt{a.re + b.im, a.im - b.re} }
func (a complexInt) up(b complexInt) complexInt   { return complexInt{a.re - b.im, a.im + b.re} }

func (t *FixedFFT) complex(x []complexInt) []complexInt {
	return transform(t.FFT, x, func(a complexInt, i int) complexInt { return a.mul(t.Factors[i], t.Factors[i+1]) })
}

// Real transforms n integers, 0 outside of the window, which begins at lead, into bins
// complex numbers, at most n: real and imaginary part, in units of Unit.
func (t *FixedFFT) Real(samples func(j int) int, lead, bins int) []int32 {
	z := make([]complexInt, t.M)
	for j := range t.Window {
		v, i := t.weigh(samples(j), j), lead+j
		switch {
		case t.M == t.N:
			z[i].re = v
		case i%2 == 0:
			z[i/2].re = v
		default:
			z[i/2].im = v
		}
	}
	z = t.complex(z)
	out := z
	if t.M != t.N {
		out = make([]complexInt, t.M+1)
		t.split(z, out)
	}
	y := make([]int32, 0, 2*bins)
	for k := range bins {
		c := out[min(k, t.N-k)]
		if 2*k > t.N {
			c.im = -c.im
		}
		y = append(y, c.re, c.im)
	}
	return y
}

// split turns the transform of pairs of samples into that of the samples, bins 0 to M.
func (t *FixedFFT) split(z, out []complexInt) {
	m := t.M
	w := t.Factors[len(t.Factors)-2*((m-1)/2):]
	out[0], out[m] = complexInt{re: z[0].re + z[0].im}, complexInt{re: z[0].re - z[0].im}
	for k := 1; 2*k < m; k++ {
		a, b := z[k], z[m-k]
		e := complexInt{a.re + b.re, a.im - b.im}
		o := complexInt{a.re - b.re, a.im + b.im}.mul(w[2*k-2], w[2*k-1])
		out[k] = e.add(o).half()
		mirrored := e.sub(o)
		out[m-k] = complexInt{mirrored.re, -mirrored.im}.half()
	}
	if m%2 == 0 {
		out[m/2] = complexInt{z[m/2].re, -z[m/2].im}
	}
}

// Numbers are the numbers of a spectrum as float32.
func (t *FixedFFT) Numbers(spectrum []int32) []float32 {
	y := make([]float32, len(spectrum))
	for i, v := range spectrum {
		y[i] = float32(v) * t.Unit
	}
	return y
}

// Powers are the squared magnitudes of a spectrum as float32: of the upper 15 bits of the
// larger part, rounded down.
func (t *FixedFFT) Powers(spectrum []int32) []float32 {
	y := make([]float32, len(spectrum)/2)
	unit := t.Unit * t.Unit
	for k := range y {
		re, im := magnitude(spectrum[2*k]), magnitude(spectrum[2*k+1])
		drop := max(bits.Len32(re|im)-15, 0)
		re, im = re>>drop, im>>drop
		y[k] = float32(math.Ldexp(float64(float32(re*re+im*im)*unit), 2*drop))
	}
	return y
}

func magnitude(v int32) uint32 {
	if v < 0 {
		v = -v
	}
	return uint32(v)
}

// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"fmt"
	"math"
	"math/bits"
)

// FFT is a discrete Fourier transform of N real numbers, or of N complex ones, by
// Stockham's passes of radix 4, 2, 3 and 5. It is the definition of nncc_spectrum_*:
// every operation below is one rounded float32 operation, in the order of the C, so
// both give the same bits.
type FFT struct {
	N int
	// M is the length of the complex transform inside: N/2 where N is even and the
	// numbers are real, a sample of even and one of odd index as one complex number.
	M int
	// Radix of the passes in order; their product is M.
	Radix []int
	// Twiddle has for each pass with a length L of its own and m = L/radix the factors
	// exp(-2i*pi*p*k/L), p = 1..m-1, for k = 1, for k = 2, ... k = radix-1; then, where M
	// is N/2, those of the split, -i*exp(-2i*pi*k/N), k = 1..(M-1)/2. Pairs of real and
	// imaginary part.
	Twiddle []float32
}

// MaxFFTPasses is NNCC_FFT_PASSES of nncc_signal.h.
const MaxFFTPasses = 12

// turns are the constants of the butterflies of radix 3 and 5.
var turns = [...]float32{bySin60: float32(math.Sin(math.Pi / 3)), byCos72: float32(math.Cos(2 * math.Pi / 5)),
	byCos144: float32(math.Cos(4 * math.Pi / 5)), bySin72: float32(math.Sin(2 * math.Pi / 5)),
	bySin144: float32(math.Sin(4 * math.Pi / 5))}

// FFTLength reports whether there is an FFT for n real numbers: at least 2, without
// prime factors above 5.
func FFTLength(n int) bool {
	_, ok := fftRadices(fftInner(n))
	return n >= 2 && ok
}

func fftInner(n int) int {
	if n%2 == 0 {
		return n / 2
	}
	return n
}

// fftRadices: those of 4 go first, so that the strides of later passes are multiples
// of 4.
func fftRadices(m int) (r []int, ok bool) {
	for _, f := range []int{4, 2, 3, 5} {
		for m > 1 && m%f == 0 {
			r, m = append(r, f), m/f
		}
	}
	return r, m == 1 && len(r) <= MaxFFTPasses
}

// planFFT is a transform without its factors.
func planFFT(n int) *FFT {
	t := &FFT{N: n, M: fftInner(n)}
	t.Radix, _ = fftRadices(t.M)
	return t
}

// NewFFT is the transform of n real numbers; FFTLength(n) must hold.
func NewFFT(n int) *FFT {
	t := planFFT(n)
	add := func(angle float64) { // in turns
		s, c := math.Sincos(2 * math.Pi * angle)
		t.Twiddle = append(t.Twiddle, float32(c), float32(-s))
	}
	length := t.M
	for _, r := range t.Radix {
		m := length / r
		for k := 1; k < r; k++ {
			for p := 1; p < m; p++ {
				add(float64(p*k) / float64(length))
			}
		}
		length = m
	}
	if t.M != n {
		for k := 1; 2*k < t.M; k++ {
			add(0.25 + float64(k)/float64(n))
		}
	}
	return t
}

// FFTProducts is how many multiplications the transform of n real numbers takes: four
// for each factor, and those of butterflies of radix 3 and 5.
func FFTProducts(n int) int {
	t := planFFT(n)
	products, length, s := 0, t.M, 1
	for _, r := range t.Radix {
		m := length / r
		products += 4 * (r - 1) * (m - 1) * s
		products += map[int]int{3: 4, 5: 16}[r] * m * s
		length, s = m, s*r
	}
	if t.M != t.N {
		products += 4 * ((t.M - 1) / 2)
	}
	return products
}

// complex32 is a complex number with rounded parts: Go may fuse complex64's.
type complex32 struct{ re, im float32 }

func (a complex32) add(b complex32) complex32 { return complex32{a.re + b.re, a.im + b.im} }
func (a complex32) sub(b complex32) complex32 { return complex32{a.re - b.re, a.im - b.im} }
func (a complex32) by(f float32) complex32    { return complex32{float32(a.re * f), float32(a.im * f)} }
func (a complex32) half() complex32           { return a.by(0.5) }
func (a complex32) turn(by int) complex32     { return a.by(turns[by]) }

func (a complex32) conj() complex32 { return complex32{a.re, -a.im} }

func (a complex32) ends() (sum, difference complex32) {
	return complex32{re: a.re + a.im}, complex32{re: a.re - a.im}
}

// mul is the product with a twiddle factor, four products, each rounded.
func (a complex32) mul(w complex32) complex32 {
	return complex32{float32(a.re*w.re) - float32(a.im*w.im), float32(a.re*w.im) + float32(a.im*w.re)}
}

// down is a - i*b, up is a + i*b.
func (a complex32) down(b complex32) complex32 { return complex32{a.re + b.im, a.im - b.re} }
func (a complex32) up(b complex32) complex32   { return complex32{a.re - b.im, a.im + b.re} }

// complexNumber is a complex number whose arithmetic is rounded as the transform says.
type complexNumber[C any] interface {
	add(b C) C
	sub(b C) C
	down(b C) C // a - i*b
	up(b C) C   // a + i*b
	turn(by int) C
	half() C
	conj() C
	// ends are re + im and re - im.
	ends() (C, C)
}

// Numbers of turns.
const (
	bySin60 = iota
	byCos72
	byCos144
	bySin72
	bySin144
)

// butterfly is the transform of r numbers, in place.
func butterfly[C complexNumber[C]](v []C) {
	switch a, b := v[0], v[1]; len(v) {
	case 2:
		v[0], v[1] = a.add(b), a.sub(b)
	case 3:
		sum, turned := b.add(v[2]), b.sub(v[2]).turn(bySin60)
		rest := a.sub(sum.half())
		v[0], v[1], v[2] = a.add(sum), rest.down(turned), rest.up(turned)
	case 4:
		even, odd := a.add(v[2]), a.sub(v[2])
		sum, diff := b.add(v[3]), b.sub(v[3])
		v[0], v[1], v[2], v[3] = even.add(sum), odd.down(diff), even.sub(sum), odd.up(diff)
	case 5:
		s1, d1, s2, d2 := b.add(v[4]), b.sub(v[4]), v[2].add(v[3]), v[2].sub(v[3])
		m1 := a.add(s1.turn(byCos72)).add(s2.turn(byCos144))
		m2 := a.add(s1.turn(byCos144)).add(s2.turn(byCos72))
		t1 := d1.turn(bySin72).add(d2.turn(bySin144))
		t2 := d1.turn(bySin144).sub(d2.turn(bySin72))
		v[0], v[1], v[2], v[3], v[4] = a.add(s1).add(s2), m1.down(t1), m2.down(t2), m2.up(t2), m1.up(t1)
	}
}

// transform transforms M complex numbers, of which mul makes the product with a factor,
// counted in numbers of Twiddle; x is overwritten.
func transform[C complexNumber[C]](t *FFT, x []C, mul func(a C, factor int) C) []C {
	y := make([]C, t.M)
	length, s, at := t.M, 1, 0
	v := make([]C, 5)
	for _, r := range t.Radix {
		m := length / r
		for p := range m {
			for q := range s {
				for k := range r {
					v[k] = x[q+s*(p+k*m)]
				}
				butterfly(v[:r])
				y[q+s*r*p] = v[0]
				for k := 1; k < r; k++ {
					if p > 0 {
						v[k] = mul(v[k], at+2*((k-1)*(m-1)+p-1))
					}
					y[q+s*(r*p+k)] = v[k]
				}
			}
		}
		at += 2 * (r - 1) * (m - 1)
		length, s, x, y = m, s*r, y, x
	}
	return x
}

// spectrum are the first bins numbers, at most N, of the transform of N real numbers, which are x, or pairs of them.
// What mul gives is the product with a factor, counted in numbers of Twiddle; of pairs the first number and the one in
// the middle become outer, the other ones inner.
func spectrum[C complexNumber[C]](t *FFT, x []C, bins int, mul func(a C, factor int) C, outer, inner func(C) C) []C {
	z := transform(t, x, mul)
	out := z
	if m := t.M; m != t.N {
		out = make([]C, m+1)
		out[0], out[m] = outer(z[0]).ends()
		for k := 1; 2*k < m; k++ {
			e, o := z[k].add(z[m-k].conj()), mul(z[k].sub(z[m-k].conj()), len(t.Twiddle)-2*((m-1)/2)+2*k-2)
			out[k], out[m-k] = inner(e.add(o)), inner(e.sub(o).conj())
		}
		if m%2 == 0 {
			out[m/2] = outer(z[m/2]).conj()
		}
	}
	y := make([]C, bins)
	for k := range y {
		if y[k] = out[min(k, t.N-k)]; 2*k > t.N {
			y[k] = y[k].conj()
		}
	}
	return y
}

// Real transforms n real numbers, which are halves of the samples, into bins complex
// ones (real, imaginary part): bins is at most N.
func (t *FFT) Real(half []float32, bins int) []float32 {
	z := make([]complex32, t.M)
	for i := range z {
		if t.M == t.N {
			z[i].re = half[i] + half[i]
		} else {
			z[i] = complex32{half[2*i], half[2*i+1]}
		}
	}
	mul := func(a complex32, i int) complex32 { return a.mul(complex32{t.Twiddle[i], t.Twiddle[i+1]}) }
	twice := func(a complex32) complex32 { return a.add(a) }
	y := make([]float32, 0, 2*bins)
	for _, c := range spectrum(t, z, bins, mul, twice, func(a complex32) complex32 { return a }) {
		y = append(y, c.re, c.im)
	}
	return y
}

// Power is the square of the magnitude of every number of a spectrum.
func Power(spectrum []float32) []float32 {
	y := make([]float32, len(spectrum)/2)
	for k := range y {
		re, im := spectrum[2*k], spectrum[2*k+1]
		y[k] = float32(re*re) + float32(im*im)
	}
	return y
}

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
func (a complexInt) conj() complexInt            { return complexInt{a.re, -a.im} }

func (a complexInt) ends() (sum, difference complexInt) {
	return complexInt{re: a.re + a.im}, complexInt{re: a.re - a.im}
}

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
	mul := func(a complexInt, i int) complexInt { return a.mul(t.Factors[i], t.Factors[i+1]) }
	y := make([]int32, 0, 2*bins)
	for _, c := range spectrum(t.FFT, z, bins, mul, func(a complexInt) complexInt { return a }, complexInt.half) {
		y = append(y, c.re, c.im)
	}
	return y
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

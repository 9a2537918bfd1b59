// SPDX-License-Identifier: Apache-2.0

package qref

import "math"

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

func (t *FFT) complex(x []complex32) []complex32 {
	return transform(t, x, func(a complex32, i int) complex32 {
		return a.mul(complex32{t.Twiddle[i], t.Twiddle[i+1]})
	})
}

// Real transforms n real numbers, which are halves of the samples, into bins complex
// ones (real, imaginary part): bins is at most N.
func (t *FFT) Real(half []float32, bins int) []float32 {
	z := make([]complex32, t.M)
	out := make([]complex32, max(bins, t.N/2+1))
	if t.M == t.N {
		for i, h := range half {
			z[i].re = h + h
		}
		copy(out, t.complex(z)[:t.N/2+1])
	} else {
		for i := range z {
			z[i] = complex32{half[2*i], half[2*i+1]}
		}
		t.split(t.complex(z), out)
	}
	y := make([]float32, 0, 2*bins)
	for k := range bins {
		c := out[min(k, t.N-k)]
		if 2*k > t.N {
			c.im = -c.im
		}
		y = append(y, c.re, c.im)
	}
	return y
}

// split turns the transform of pairs of halved samples into that of the samples,
// bins 0 to M.
func (t *FFT) split(z, out []complex32) {
	m := t.M
	w := t.Twiddle[len(t.Twiddle)-2*((m-1)/2):]
	even, odd := z[0].re+z[0].re, z[0].im+z[0].im
	out[0], out[m] = complex32{re: even + odd}, complex32{re: even - odd}
	for k := 1; 2*k < m; k++ {
		a, b := z[k], z[m-k]
		e := complex32{a.re + b.re, a.im - b.im}
		o := complex32{a.re - b.re, a.im + b.im}.mul(complex32{w[2*k-2], w[2*k-1]})
		out[k] = e.add(o)
		out[m-k] = complex32{e.re - o.re, -(e.im - o.im)}
	}
	if m%2 == 0 {
		out[m/2] = complex32{z[m/2].re + z[m/2].re, -(z[m/2].im + z[m/2].im)}
	}
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

// FFTError bounds the error of a bin of the transform of n real numbers, as a part of
// sqrt(n) times the root of the sum of their squares, which no bin exceeds: each pass
// rounds a number at most eight times, the split four times and the window once.
func FFTError(n int) float64 {
	return float64(8*len(planFFT(n).Radix)+5) * 0x1p-24
}

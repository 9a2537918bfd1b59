// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
	"math/bits"
)

// The normalisations are in fixed point: sums and variance are exact integers,
// the reciprocal of the deviation has 20 bits, a result one rounding of its own.
// README.md bounds the error.

// MaxNorm is the largest number of values that are normalised together.
const MaxNorm = 1 << 22

// NormFixed is nncc_norm_s8_params, which NewNorm finds.
type NormFixed struct{ Eps, EpsShift, Up, Root, Shift int32 }

// Norm are the constants of a normalisation.
type Norm struct {
	Fixed NormFixed
	// A and B are the factor, of 16 bits, and the summand of every channel or
	// element of a row.
	A, B []int32
}

// NewNorm finds the constants for the normalisation of n values each. scale are
// the factors, bias the summands or nil, as real numbers; epsilon is that of the
// operator. There are none for numbers that are not finite, or for an epsilon of
// over 2^100 variances. A scale of over 2^16 steps of the output may count as
// fewer, with its bias: all but values next to where they cancel saturate.
func NewNorm(n int, epsilon float64, in, out QP, scale, bias []float64) (*Norm, bool) {
	most := 0.0
	for _, s := range scale {
		most = max(most, math.Abs(s)/float64(out.Scale))
	}
	if n < 1 || n > MaxNorm || math.IsInf(most, 0) || most != most || !(epsilon >= 0) {
		return nil, false
	}
	// a = scale * 2^e, normalised values have f fraction bits: both as many as they
	// can have, with at most 16 in the result, and at least one.
	length := bits.Len(uint(n - 1)) // of n rounded up to a power of two
	bound := 30 - (length+1)/2      // of f
	e := 15
	for e > 17-bound && math.Round(math.Ldexp(most, e)) > math.MaxInt16 {
		e--
	}
	f := min(bound, 32-e)
	m := &Norm{A: make([]int32, len(scale)), B: make([]int32, len(scale))}
	m.Fixed.Shift = int32(f + e - 16)
	if !m.Fixed.epsilon(n, length, epsilon, float64(in.Scale)) {
		return nil, false
	}
	m.Fixed.Root = int32(f) + m.Fixed.Up/2
	for i, s := range scale {
		a := math.Round(math.Ldexp(s/float64(out.Scale), e))
		counts := min(1, math.MaxInt16/math.Abs(a))
		m.A[i] = int32(math.Round(a * counts))
		b := float64(out.Zero) + 0.5
		if bias != nil {
			b += bias[i] * counts / float64(out.Scale)
		}
		// Beyond these bounds every sum saturates.
		b = math.Floor(math.Ldexp(b, int(m.Fixed.Shift)))
		if !(b == b) {
			return nil, false
		}
		m.B[i] = int32(max(-1<<30, min(b, 1<<30)))
	}
	return m, true
}

// epsilon finds Up, as large as V * 2^up and epsilon leave room for in 62 bits,
// and even; and epsilon itself in 31 bits.
func (p *NormFixed) epsilon(n, length int, epsilon, scale float64) bool {
	eps := epsilon / scale / scale * float64(n) * float64(n)
	up := 60 - 16 - 2*length
	if _, e := math.Frexp(eps); eps > 0 {
		up = min(up, 61-e)
	}
	up &^= 1
	if up < -62 || math.IsInf(eps, 0) || eps != eps {
		return false
	}
	p.Up = int32(up)
	eps = math.Ldexp(eps, up)
	for eps >= 1<<31-1 {
		eps /= 2
		p.EpsShift++
	}
	p.Eps = int32(math.Round(eps))
	return true
}

// sums are the sum and the sum of squares of values.
func sums(x []int8) (sum, square int64) {
	for _, v := range x {
		sum, square = sum+int64(v), square+int64(v)*int64(v)
	}
	return sum, square
}

func high32(a, b uint32) uint32 { return uint32(uint64(a) * uint64(b) >> 32) }

// scale is nncc_norm_of: a normalised value is x * scale - offset. square is n
// times the sum of squares, sum times sum taken off where sum is subtracted.
func (p *NormFixed) scale(n int, sum int64, v uint64) (scale int32, offset int64) {
	if v == 0 {
		return 0, 0
	}
	if p.Up >= 0 {
		v <<= uint(p.Up)
	} else {
		v >>= uint(-p.Up)
	}
	v += uint64(uint32(p.Eps)) << uint(p.EpsShift)
	d := min(bits.LeadingZeros64(v), 62) &^ 1
	m := uint32(v << uint(d) >> 32)
	y := 2867741933 - high32(m, 3527526616-high32(m, 1759361713))
	for range 2 {
		y = uint32(uint64(y) * uint64(0x30000000-high32(m, high32(y, y))) >> 29)
	}
	e := uint(max(1, min(62-int(p.Root)-d/2, 62)))
	half := int64(1) << (e - 1)
	return int32(uint32((uint64(n)*uint64(y) + uint64(half)) >> e)), (sum*int64(y) + half) >> e
}

// narrow is v / 2^shift, saturated.
func (p *NormFixed) narrow(v int32) int8 { return int8(max(-128, min(v>>uint(p.Shift), 127))) }

// LayerNormParams is nncc_layer_norm_s8_params.
type LayerNormParams struct {
	Norm         NormFixed
	Rows, Len    int32
	Center, Zero int32
}

// Terms are a and b as nncc_layer_norm_s8 reads them: six words for four
// elements.
func (m *Norm) Terms() []int32 {
	var out []int32
	for i := 0; i < len(m.A); i += 4 {
		var a, b [4]int32
		copy(a[:], m.A[i:])
		copy(b[:], m.B[i:])
		out = append(out, a[0]&0xffff|a[1]<<16, a[2]&0xffff|a[3]<<16)
		out = append(out, b[:]...)
	}
	return out
}

// Pairs are a and b as nncc_group_norm_s8 reads them.
func (m *Norm) Pairs() []int32 {
	var out []int32
	for i, a := range m.A {
		out = append(out, a, m.B[i])
	}
	return out
}

// LayerNorm is nncc_layer_norm_s8 with the constants of m.
func LayerNorm(p *LayerNormParams, m *Norm, x, y []int8) {
	n := int(p.Len)
	for at := 0; at < len(x); at += n {
		row := x[at : at+n]
		sum, square := sums(row)
		v := uint64(int64(n)*square - sum*sum)
		if p.Center == 0 {
			z := int64(p.Zero)
			v = uint64(int64(n) * (square - 2*z*sum + int64(n)*z*z))
			sum = int64(n) * z
		}
		scale, offset := p.Norm.scale(n, sum, v)
		for i, v := range row {
			t := int32(v)*scale - int32(offset)
			u := int32(int64(t)*int64(m.A[i])>>16) + m.B[i]
			y[at+i] = p.Norm.narrow(u)
		}
	}
}

// GroupNormParams is nncc_group_norm_s8_params; Groups equal to Channels is
// instance normalisation.
type GroupNormParams struct {
	Norm                             NormFixed
	Batch, Spatial, Channels, Groups int32
}

// GroupNorm is nncc_group_norm_s8 on data [Batch,Spatial,Channels] with the
// constants of m.
func GroupNorm(p *GroupNormParams, m *Norm, x, y []int8) {
	channels := int(p.Channels)
	width, image := channels/int(p.Groups), int(p.Spatial)*channels
	for b := range int(p.Batch) {
		for g := range int(p.Groups) {
			at := b*image + g*width
			p.group(m, x[at:], y[at:], g*width, width)
		}
	}
}

// group normalises one group, of channels first and on, in an image that begins
// at its first value.
func (p *GroupNormParams) group(m *Norm, x, y []int8, first, width int) {
	channels, count := int(p.Channels), int(p.Spatial)*width
	var sum, square int64
	for s := range int(p.Spatial) {
		a, b := sums(x[s*channels:][:width])
		sum, square = sum+a, square+b
	}
	scale, offset := p.Norm.scale(count, sum, uint64(int64(count)*square-sum*sum))
	for c := range width {
		a := int64(m.A[first+c])
		by := int32((int64(scale)*a + 1<<15) >> 16)
		add := m.B[first+c] - int32((offset*a+1<<15)>>16)
		for s := range int(p.Spatial) {
			at := s*channels + c
			y[at] = p.Norm.narrow(int32(x[at])*by + add)
		}
	}
}

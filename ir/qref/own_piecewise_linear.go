// SPDX-License-Identifier: Apache-2.0

package qref

import "math"

// PiecewiseLinear is nncc_piecewise_linear_params: (q*Mult + Bias) >> Shift with the
// constants Pos for q >= Split and Neg below, clamped.
type PiecewiseLinear struct {
	PosMult, PosBias, NegMult, NegBias int64
	Count, Split                       int32
	PosShift, NegShift                 int32
	ActMin, ActMax                     int32
}

// Apply is the function's value for one input.
func (p *PiecewiseLinear) Apply(q int32) int32 {
	v := (int64(q)*p.PosMult + p.PosBias) >> uint(p.PosShift)
	if q < p.Split {
		v = (int64(q)*p.NegMult + p.NegBias) >> uint(p.NegShift)
	}
	return int32(min(max(v, int64(p.ActMin)), int64(p.ActMax)))
}

// line is a straight line by two of its points, in steps of the output.
type line struct{ mult, bias float64 }

// FitPiecewiseLinear finds the constants that give want[q-from] for every q: a line
// for inputs below their zero point and one from there on. exact is the
// function of q less that zero point before rounding, in steps of the output
// less outZero. ok is false where there are no such constants.
func FitPiecewiseLinear(from, inZero, outZero int32, want []int32, exact func(d int32) float64) (p *PiecewiseLinear,
	ok bool) {
	split := inZero
	p = &PiecewiseLinear{Split: split, ActMin: math.MaxInt32, ActMax: math.MinInt32}
	for _, y := range want {
		p.ActMin, p.ActMax = min(p.ActMin, y), max(p.ActMax, y)
	}
	at := func(q int32) int32 { return want[q-from] }
	end := from + int32(len(want))
	side := func(lo, hi int32, set func(mult, bias int64, shift int32)) bool {
		if lo >= hi {
			set(0, 0, 0)
			return true
		}
		for _, f := range candidates(p, lo, hi, inZero, at, exact) {
			shift := int32(45)
			if _, e := math.Frexp(f.mult); f.mult != 0 {
				shift = min(max(45-int32(e), 0), 46)
			}
			mult := int64(math.Round(math.Ldexp(f.mult, int(shift))))
			bias := int64(math.Round(math.Ldexp(f.bias, int(shift)))) + int64(outZero)<<uint(shift) - mult*int64(inZero)
			half := int64(1) << uint(shift) >> 1
			for _, add := range []int64{half, half - 1, half + 1} { // ties up, or down
				set(mult, bias+add, shift)
				good := true
				for q := lo; q < hi && good; q++ {
					good = p.Apply(q) == at(q)
				}
				if good {
					return true
				}
			}
		}
		return false
	}
	pos := func(m, b int64, s int32) { p.PosMult, p.PosBias, p.PosShift = m, b, s }
	neg := func(m, b int64, s int32) { p.NegMult, p.NegBias, p.NegShift = m, b, s }
	ok = side(max(from, split), end, pos) && side(from, min(split, end), neg)
	return p, ok
}

// candidates are lines that the function may follow for inputs lo to hi: the
// one through its values where no limit cuts them off, and constants.
func candidates(p *PiecewiseLinear, lo, hi, inZero int32, at func(q int32) int32, exact func(d int32) float64) []line {
	first, last := int32(math.MaxInt32), int32(math.MinInt32)
	for q := lo; q < hi; q++ {
		if y := at(q); y > p.ActMin && y < p.ActMax {
			first, last = min(first, q-inZero), max(last, q-inZero)
		}
	}
	var out []line
	if first < last {
		m := (exact(last) - exact(first)) / float64(last-first)
		out = append(out, line{m, exact(first) - m*float64(first)})
		for _, d := range []int32{first, last} {
			if d != 0 {
				out = append(out, line{exact(d) / float64(d), 0})
			}
		}
	}
	return append(out, line{0, math.Round(exact(lo - inZero))}, line{0, math.Round(exact(hi - 1 - inZero))})
}

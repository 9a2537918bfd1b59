// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// Every Scale equals the two-step requantisation at every accumulator of a
// random range, and most scales of networks have one.
func TestOneMultiply(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found, tried := 0, 4000
	for range tried {
		mult := int32(1<<30) + r.Int32N(1<<30)
		if r.IntN(20) == 0 {
			mult = []int32{1 << 30, 1<<31 - 1}[r.IntN(2)]
		}
		shift, offset := -int32(r.IntN(31)), int32(r.IntN(256))
		if r.IntN(2) == 0 {
			offset -= 128
		}
		lo, hi := -r.Int64N(1<<uint(r.IntN(20))), r.Int64N(1<<uint(r.IntN(20)))
		s, why := OneMultiply(mult, shift, lo, hi, offset)
		if why != "" {
			continue
		}
		found++
		step := max(1, (hi-lo)/5000)
		for v := lo; v <= hi; v += 1 + r.Int64N(step) {
			want := int64(fixp.Requantize(int32(v), mult, shift)) + int64(offset)
			got := s.Apply(v)
			testenv.Require(t, got == want, "mult %d shift %d offset %d, sum %d in [%d,%d]: %+v gives %d, want %d",
				mult, shift, offset, v, lo, hi, s, got, want)
		}
	}
	testenv.Check(t, found >= tried/2, "only %d of %d have a scale", found, tried)
	t.Logf("%d of %d", found, tried)
}

// Every Upper equals the two-step requantisation at every accumulator of a
// random range.
func TestUpperHalf(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	found, tried := 0, 4000
	for range tried {
		mult := int32(1<<30) + r.Int32N(1<<30)
		if r.IntN(20) == 0 {
			mult = []int32{1 << 30, 1<<31 - 1, 0}[r.IntN(3)]
		}
		shift, offset := -int32(r.IntN(31)), int32(r.IntN(256))-128
		lo, hi := -r.Int64N(1<<uint(r.IntN(20))), r.Int64N(1<<uint(r.IntN(20)))
		u, why := UpperHalf(mult, shift, lo, hi, offset)
		if why != "" {
			continue
		}
		found++
		step := max(1, (hi-lo)/5000)
		for v := lo; v <= hi; v += 1 + r.Int64N(step) {
			want := int64(fixp.Requantize(int32(v), mult, shift)) + int64(offset)
			got := u.Apply(v)
			testenv.Require(t, got == want, "mult %d shift %d offset %d, sum %d in [%d,%d]: %+v gives %d, want %d",
				mult, shift, offset, v, lo, hi, u, got, want)
			if sum := v << uint(u.K); int64(int32(sum)) != sum {
				t.Fatalf("sum %d in [%d,%d] shifted by %d does not fit", v, lo, hi, u.K)
			}
		}
	}
	testenv.Check(t, found >= tried/2, "only %d of %d have one", found, tried)
	t.Logf("%d of %d", found, tried)
}

// TestDoubtful: where a sum is not in doubt its result is that of double, near every
// change of it, too; few are.
func TestDoubtful(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	sums, doubtful, found := 0, 0, 0
	for range 300 {
		terms := 1 << r.IntN(13)
		in, out, n := float64(r.Float32()), float64(r.Float32()), float64(1+r.IntN(terms))
		if r.IntN(3) == 0 {
			out = in // results lie in the middle
		}
		size := int64(terms) << 15
		m, doubt := Doubtful(in/out/n, size, 0)
		if doubt == 0 {
			continue
		}
		found++
		for range 2000 {
			acc := r.Int64N(2*size+1) - size
			if r.IntN(2) == 0 { // at a change
				acc = min(max(int64((math.Round(float64(acc)*in/out/n)+0.5)*n*out/in)+int64(r.IntN(3)-1), -size), size)
			}
			v := acc*int64(m.Mult) + m.Bias
			sums++
			if rest := v & (1<<m.Shift - 1); rest < int64(doubt) || rest >= 1<<m.Shift-int64(doubt) {
				doubtful++
				continue
			}
			if want := math.Round(float64(acc) * in / n / out); float64(v>>m.Shift) != want {
				t.Fatalf("%d of at most %d times %g/%g/%g: %d, want %g", acc, size, in, out, n, v>>m.Shift, want)
			}
		}
	}
	testenv.Check(t, found >= 200 && doubtful <= sums/4, "%d forms of 300, %d of %d sums in doubt", found, doubtful,
		sums)
}

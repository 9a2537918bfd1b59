// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/vec"
)

// minScale keeps products of two scales representable in float32.
const minScale = 0x1p-60

// affine is an int8 quantisation under search: real = scale*(q-zero).
type affine struct {
	scale float64
	zero  float64
}

// affineOf covers [lo, hi], widened to hold zero, with 256 steps; zero is
// exact, and lies at -128 or 127 where the range begins or ends there.
func affineOf(lo, hi float64) affine {
	lo, hi = min(lo, 0), max(hi, 0)
	s := float64(float32((hi - lo) / 255))
	if !(s > 0) {
		return affine{1.0 / 128, 0}
	}
	s = max(s, minScale)
	return affine{s, min(max(math.Round(-128-lo/s), -128), 127)}
}

func (a affine) quant() *ir.Quant { return ir.PerTensor(float32(a.scale), int32(a.zero)) }

func affineFrom(q *ir.Quant) affine {
	return affine{float64(q.Scale[0]), float64(q.Zero[0])}
}

// cost is the expected error of a quantisation.
type cost func(a affine) float64

// squaredError is the sum of the squared errors of all points, by their weights.
func squaredError(x, w []float64) cost {
	return func(a affine) float64 {
		return vec.RoundingError(x, w, 1/a.scale, -128-a.zero, 127-a.zero) * a.scale * a.scale
	}
}

// ends of a range.
type ends struct{ lo, hi bool }

// around is how many steps to each side of an end are tried: more than one step before.
const around = 4.0

// search finds the range with the least cost: both ends are moved inwards in
// turn, in steps that become finer, but for those that are fixed.
func search(lo, hi float64, fixed ends, c cost) affine {
	lo, hi = min(lo, 0), max(hi, 0)
	fullLo, fullHi := lo, hi
	best := affineOf(lo, hi)
	least := c(best)
	try := func(l, h float64) {
		if fixed.lo {
			l = fullLo
		}
		if fixed.hi {
			h = fullHi
		}
		if l > 0 || h < 0 || l < fullLo*1.02 || h > fullHi*1.02 || h-l <= 0 {
			return
		}
		a := affineOf(l, h)
		if a == best { // as where an end at zero is moved
			return
		}
		if e := c(a); e < least {
			best, least, lo, hi = a, e, l, h
		}
	}
	for f := 1.0; f > 0.02; f -= 1.0 / 64 { // both ends together
		try(fullLo*f, fullHi*f)
	}
	for _, step := range []float64{1.0 / 16, 1.0 / 48, 1.0 / 144} {
		for range 3 {
			l, h := lo, hi
			for k := -around; k <= around; k++ {
				if k != 0 {
					try(l, h+k*step*h)
				}
			}
			l, h = lo, hi
			for k := -around; k <= around; k++ {
				if k != 0 {
					try(l+k*step*l, h)
				}
			}
			if l == lo && h == hi {
				break
			}
		}
	}
	return best
}

// keptShare are 99.99 % of elements, as float64 divides.
const keptShare = 0.9998999999999999

// percentile keeps the given share of elements, and leaves out half of the others at each end.
func percentile(x, w []float64, zeros, keep float64) (lo, hi float64) {
	order := ir.Identity(len(x))
	if !slices.IsSorted(x) { // as those of a histogram are
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	}
	total := zeros
	for _, v := range w {
		total += v
	}
	cut := total * (1 - keep) / 2
	sum := 0.0
	for _, i := range order {
		if x[i] > 0 {
			break
		}
		if sum += w[i]; sum > cut {
			lo = x[i]
			break
		}
	}
	sum = 0
	for _, i := range slices.Backward(order) {
		if x[i] < 0 {
			break
		}
		if sum += w[i]; sum > cut {
			hi = x[i]
			break
		}
	}
	return lo, hi
}

// parallel calls f for 0 ... n-1, on so many cores, and gives the errors that ended it in their order.
func parallel(workers, n int, f func(worker, i int)) []error {
	errs := make([]error, n)
	var next atomic.Int64
	work := func(w int) {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			errs[i] = fail.Caught(func() { f(w, i) })
		}
	}
	if workers = min(workers, n); workers <= 1 {
		work(0)
		return errs
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { work(w) })
	}
	wg.Wait()
	return errs
}

// ParallelEach calls f(0) ... f(n-1) on all cores; the first error ends the caller.
func ParallelEach(n int, f func(i int)) {
	fail.Check(cmp.Or(parallel(runtime.GOMAXPROCS(0), n, func(_, i int) { f(i) })...))
}

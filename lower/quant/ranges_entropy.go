// SPDX-License-Identifier: Apache-2.0

package quant

import "math"

// entropyBins is the resolution of the reference distribution.
const entropyBins = 2048

// divergence is the Kullback-Leibler divergence of the elements from what a
// quantisation makes of them, after Migacz, "8-bit inference with TensorRT"
// (2017): the reference keeps the mass outside the range in its outermost
// bins, the candidate spreads each level's mass over the bins that the level
// covers and that are not empty. Elements that are zero take no part.
func divergence(x, w []float64, lo, hi float64) cost {
	width := (hi - lo) / entropyBins
	hist := make([]float64, entropyBins)
	for i, v := range x {
		hist[min(max(int((v-lo)/width), 0), entropyBins-1)] += w[i]
	}
	own := make([]float64, entropyBins) // h*log(h)
	level := make([]int, entropyBins)
	for i, h := range hist {
		own[i] = timesLog(h)
	}
	var mass, ref [256]float64
	var used [256]int
	return func(a affine) float64 {
		first, last := -1, -1
		below, above := 0.0, 0.0 // mass outside of the range
		for i, h := range hist {
			c := lo + (float64(i)+0.5)*width
			switch q := math.RoundToEven(c/a.scale) + a.zero; {
			case q < -128:
				below += h
			case q > 127:
				above += h
			default:
				if first < 0 {
					first = i
				}
				last = i
				level[i] = int(q) + 128
			}
		}
		if first < 0 {
			return math.Inf(1)
		}
		clear(mass[:])
		clear(ref[:])
		clear(used[:])
		kept, sum := 0.0, 0.0
		for i := first; i <= last; i++ {
			l, r := level[i], hist[i]
			mass[l] += hist[i]
			kept += hist[i]
			if i == first || i == last { // they get what lies outside
				if i == first {
					r += below
				}
				if i == last {
					r += above
				}
				sum += timesLog(r)
			} else {
				sum += own[i]
			}
			ref[l] += r
			if r > 0 {
				used[l]++
			}
		}
		if kept == 0 {
			return math.Inf(1)
		}
		// The sum of p*log(p/q), where q is the same in all bins of a level.
		const floor = 1e-12 // a level without mass where the reference has some
		total := kept + below + above
		kl := sum/total - math.Log(total)
		for l, r := range ref {
			if r > 0 {
				kl -= r / total * math.Log(max(mass[l]/kept/float64(used[l]), floor))
			}
		}
		return kl
	}
}

// timesLog is x*log(x).
func timesLog(x float64) float64 {
	if x == 0 {
		return 0
	}
	return x * math.Log(x)
}

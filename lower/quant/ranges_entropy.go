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
	ref := make([]float64, entropyBins)
	level := make([]int, entropyBins)
	var mass [256]float64
	var used [256]int
	return func(a affine) float64 {
		first, last := -1, -1
		for i := range hist {
			c := lo + (float64(i)+0.5)*width
			q := math.RoundToEven(c/a.scale) + a.zero
			level[i] = int(q)
			if q >= -128 && q <= 127 {
				if first < 0 {
					first = i
				}
				last = i
			}
		}
		if first < 0 {
			return math.Inf(1)
		}
		copy(ref, hist)
		for i := 0; i < first; i++ {
			ref[first] += hist[i]
		}
		for i := last + 1; i < len(hist); i++ {
			ref[last] += hist[i]
		}
		clear(mass[:])
		clear(used[:])
		total, kept := 0.0, 0.0
		for i := first; i <= last; i++ {
			l := level[i] + 128
			mass[l] += hist[i]
			kept += hist[i]
			total += ref[i]
			if ref[i] > 0 {
				used[l]++
			}
		}
		if kept == 0 {
			return math.Inf(1)
		}
		const floor = 1e-12 // a level without mass where the reference has some
		kl := 0.0
		for i := first; i <= last; i++ {
			if ref[i] == 0 {
				continue
			}
			l := level[i] + 128
			p, q := ref[i]/total, mass[l]/kept/float64(used[l])
			kl += p * math.Log(p/max(q, floor))
		}
		return kl
	}
}

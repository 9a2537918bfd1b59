// SPDX-License-Identifier: Apache-2.0

package quant

import "math"

// entropyBins is the resolution of the reference distribution, levels how many a candidate has.
const entropyBins, levels = 2048, 256

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
	// Sums over the bins before each one: levels are stretches of bins.
	mass, own, used := make([]float64, entropyBins+1), make([]float64, entropyBins+1), make([]int, entropyBins+1)
	for i, h := range hist {
		mass[i+1], own[i+1], used[i+1] = mass[i]+h, own[i]+timesLog(h), used[i]
		if h > 0 {
			used[i+1]++
		}
	}
	return func(a affine) float64 {
		begin := func(q float64) int { // of the bins whose middles are of level q or more
			return int(min(max(math.Ceil(((q-a.zero-0.5)*a.scale-lo)/width-0.5), 0), entropyBins))
		}
		first, last := begin(-128), begin(128)-1
		if first > last || used[last+1] == used[first] {
			return math.Inf(1)
		}
		// The outermost bins get what lies outside.
		below, above, kept := mass[first], mass[entropyBins]-mass[last+1], mass[last+1]-mass[first]
		sum := timesLog(hist[first] + below + above)
		if first < last {
			sum = timesLog(hist[first]+below) + own[last] - own[first+1] + timesLog(hist[last]+above)
		}
		// The sum of p*log(p/q), where q is the same in all bins of a level.
		total := kept + below + above
		kl := sum/total - math.Log(total)
		// Of every level that has elements, or gets what lies outside: its share, and the logarithm of what
		// the candidate gives each bin.
		var shares, logs [levels]float64
		n := 0
		for q, from := -127.0, first; q <= 128; q++ {
			to := begin(q)
			if to == from {
				continue
			}
			bins, m := used[to]-used[from], 0.0
			if bins > 0 {
				m = mass[to] - mass[from]
			}
			r := m
			if from == first {
				if r += below; hist[first] == 0 && below > 0 {
					bins++
				}
			}
			if to == last+1 {
				if r += above; hist[last] == 0 && above > 0 && !(first == last && below > 0) {
					bins++
				}
			}
			if bins > 0 {
				shares[n], logs[n] = r/total, max(m/kept/float64(bins), massFloor)
				n++
			}
			from = to
		}
		quickLogs(logs[:n])
		for i, l := range logs[:n] {
			kl -= float64(shares[i] * l)
		}
		return kl
	}
}

// massFloor is what a bin of a level without mass is given where the reference has some.
const massFloor = 1e-12

// logParts are the inverses of the middles of equal parts of the numbers from 1 to 2, and their
// logarithms.
var logParts = func() (p [128]struct{ inverse, log float64 }) {
	for i := range p {
		middle := 1 + (float64(i)+0.5)/float64(len(p))
		p[i].inverse, p[i].log = 1/middle, math.Log(middle)
	}
	return p
}()

// quickLogs gives every x, which is positive and not denormal, its natural logarithm, to 14 digits.
func quickLogs(x []float64) {
	for i, v := range x {
		bits := math.Float64bits(v)
		p := &logParts[bits>>45&127]
		d := float64(math.Float64frombits(bits&(1<<52-1)|1023<<52)*p.inverse) - 1
		series := 1.0/5 - float64(d*(1.0/6)) // of log(1+d)
		series = 1.0/4 - float64(d*series)
		series = 1.0/3 - float64(d*series)
		series = 1.0/2 - float64(d*series)
		series = 1 - float64(d*series)
		x[i] = float64(float64(int(bits>>52)-1023)*math.Ln2) + p.log + float64(d*series)
	}
}

// timesLog is x*log(x).
func timesLog(x float64) float64 {
	if x == 0 {
		return 0
	}
	return x * math.Log(x)
}

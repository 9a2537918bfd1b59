// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
	"math/rand/v2"
	"testing"
)

var inf32 = float32(math.Inf(1))

// ownRand is the seeded generator of a test.
func ownRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6e6e6363)) }

// between returns a number in [lo, hi].
func between(r *rand.Rand, lo, hi int) int32 { return int32(lo + r.IntN(hi-lo+1)) }

// randF32 returns n values of a bell shape, scaled.
func randF32(r *rand.Rand, n int32, scale float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * scale)
	}
	return x
}

// near checks got against want within tol, relative to the largest magnitude
// of want (at least 1e-3).
func near(t *testing.T, what string, p any, got []float32, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	peak := 1e-3
	for _, w := range want {
		if !math.IsInf(w, 0) {
			peak = max(peak, math.Abs(w))
		}
	}
	for i, w := range want {
		g := float64(got[i])
		if g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= tol*peak {
			continue
		}
		t.Fatalf("%s: element %d is %g, want %g (largest %g)\n%+v", what, i, g, w, peak, p)
	}
}

// sumOf is a float64 sum together with the sum of its magnitudes, to which the
// rounding errors of a float32 sum are proportional.
type sumOf struct{ v, mag float64 }

func (s *sumOf) add(v float64) { s.v, s.mag = s.v+v, s.mag+math.Abs(v) }

// nearSums checks float32 sums, clamped to [lo, hi], against exact ones.
func nearSums(t *testing.T, what string, p any, got []float32, want []sumOf, lo, hi float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		v := min(max(w.v, float64(lo)), float64(hi))
		if math.Abs(float64(got[i])-v) > 5e-7*w.mag {
			t.Fatalf("%s: element %d is %g, want %g (magnitudes %g)\n%+v", what, i, got[i], v, w.mag, p)
		}
	}
}

// poisonF32 returns an output buffer full of NaN.
func poisonF32(n int32) []float32 {
	y := make([]float32, n)
	for i := range y {
		y[i] = float32(math.NaN())
	}
	return y
}

// The structs below mirror those of nncc_f32.h field by field.

type conv2dParams struct {
	Batch, InH, InW, InC int32
	OutH, OutW, OutC     int32
	KernelH, KernelW     int32
	StrideH, StrideW     int32
	DilationH, DilationW int32
	PadTop, PadLeft      int32
	Groups               int32
	ActMin, ActMax       float32
}

type depthwiseParams struct {
	Batch, InH, InW, InC int32
	OutH, OutW, Mult     int32
	KernelH, KernelW     int32
	StrideH, StrideW     int32
	DilationH, DilationW int32
	PadTop, PadLeft      int32
	ActMin, ActMax       float32
}

type pool2dParams struct {
	Batch, InH, InW, InC                 int32
	OutH, OutW                           int32
	KernelH, KernelW                     int32
	StrideH, StrideW                     int32
	DilationH, DilationW                 int32
	PadTop, PadLeft, PadBottom, PadRight int32
	CountIncludePad                      int32
}

// outSize is the output size of a window along one axis, 0 if it does not fit.
func outSize(in, before, after, kernel, dilation, stride int32, ceil bool) int32 {
	room := in + before + after - (kernel-1)*dilation - 1
	if room < 0 {
		return 0
	}
	if ceil {
		room += stride - 1
	}
	return room/stride + 1
}

// maybeBias returns a bias, or nil in one case of four.
func maybeBias(r *rand.Rand, n int32) []float32 {
	if r.IntN(4) == 0 {
		return nil
	}
	return randF32(r, n, 1)
}

func biasAt(b []float32, i int32) float64 {
	if b == nil {
		return 0
	}
	return float64(b[i])
}

// clamps returns the bounds of a fused activation: none, Relu, Relu6 or a narrow one.
func clamps(r *rand.Rand) (lo, hi float32) {
	switch r.IntN(4) {
	case 0:
		return 0, inf32
	case 1:
		return 0, 6
	case 2:
		return -0.5, 0.25
	}
	return -inf32, inf32
}

func randConv(r *rand.Rand) conv2dParams {
	for {
		g := between(r, 1, 3)
		if r.IntN(2) == 0 {
			g = 1
		}
		p := conv2dParams{
			Batch: between(r, 1, 2), InH: between(r, 1, 9), InW: between(r, 1, 9), InC: g * between(r, 1, 5),
			OutC: g * between(r, 1, 9), KernelH: between(r, 1, 4), KernelW: between(r, 1, 4),
			StrideH: between(r, 1, 3), StrideW: between(r, 1, 3), DilationH: between(r, 1, 3),
			DilationW: between(r, 1, 3),
			PadTop:    between(r, 0, 4), PadLeft: between(r, 0, 4), Groups: g,
		}
		if r.IntN(2) == 0 {
			p.DilationH, p.DilationW = 1, 1
		}
		p.ActMin, p.ActMax = clamps(r)
		p.OutH = outSize(p.InH, p.PadTop, between(r, 0, 4), p.KernelH, p.DilationH, p.StrideH, false)
		p.OutW = outSize(p.InW, p.PadLeft, between(r, 0, 4), p.KernelW, p.DilationW, p.StrideW, false)
		if p.OutH > 0 && p.OutW > 0 {
			return p
		}
	}
}

func TestOwnConv2dF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(1)
	for range 300 {
		p := randConv(r)
		cin, cout := p.InC/p.Groups, p.OutC/p.Groups
		x := randF32(r, p.Batch*p.InH*p.InW*p.InC, 1)
		w := randF32(r, p.OutC*p.KernelH*p.KernelW*cin, 1)
		b := maybeBias(r, p.OutC)
		y := poisonF32(p.Batch * p.OutH * p.OutW * p.OutC)
		d.call(t, "nncc_conv2d_f32", p, x, w, b, y)
		var want []sumOf
		for n := range p.Batch {
			for oy := range p.OutH {
				for ox := range p.OutW {
					for oc := range p.OutC {
						sum := sumOf{}
						sum.add(biasAt(b, oc))
						for ky := range p.KernelH {
							for kx := range p.KernelW {
								iy := oy*p.StrideH - p.PadTop + ky*p.DilationH
								ix := ox*p.StrideW - p.PadLeft + kx*p.DilationW
								if iy < 0 || iy >= p.InH || ix < 0 || ix >= p.InW {
									continue
								}
								for ic := range cin {
									xv := x[((n*p.InH+iy)*p.InW+ix)*p.InC+oc/cout*cin+ic]
									sum.add(float64(xv) * float64(w[((oc*p.KernelH+ky)*p.KernelW+kx)*cin+ic]))
								}
							}
						}
						want = append(want, sum)
					}
				}
			}
		}
		nearSums(t, "conv2d", p, y, want, p.ActMin, p.ActMax)
	}
}

func TestOwnDepthwiseF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(2)
	for range 200 {
		c := randConv(r)
		p := depthwiseParams{c.Batch, c.InH, c.InW, between(r, 1, 11), c.OutH, c.OutW, between(r, 1, 3), c.KernelH,
			c.KernelW,
			c.StrideH, c.StrideW, c.DilationH, c.DilationW, c.PadTop, c.PadLeft, c.ActMin, c.ActMax}
		outC := p.InC * p.Mult
		x := randF32(r, p.Batch*p.InH*p.InW*p.InC, 1)
		w := randF32(r, p.KernelH*p.KernelW*outC, 1)
		b := maybeBias(r, outC)
		y := poisonF32(p.Batch * p.OutH * p.OutW * outC)
		d.call(t, "nncc_depthwise_conv2d_f32", p, x, w, b, y)
		var want []sumOf
		for n := range p.Batch {
			for oy := range p.OutH {
				for ox := range p.OutW {
					for oc := range outC {
						sum := sumOf{}
						sum.add(biasAt(b, oc))
						for ky := range p.KernelH {
							for kx := range p.KernelW {
								iy := oy*p.StrideH - p.PadTop + ky*p.DilationH
								ix := ox*p.StrideW - p.PadLeft + kx*p.DilationW
								if iy < 0 || iy >= p.InH || ix < 0 || ix >= p.InW {
									continue
								}
								xv := x[((n*p.InH+iy)*p.InW+ix)*p.InC+oc/p.Mult]
								sum.add(float64(xv) * float64(w[(ky*p.KernelW+kx)*outC+oc]))
							}
						}
						want = append(want, sum)
					}
				}
			}
		}
		nearSums(t, "depthwise", p, y, want, p.ActMin, p.ActMax)
	}
}

// The reference scatters, as the ONNX text defines it; the kernel gathers.
func TestOwnConvTransposeF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(3)
	for range 300 {
		p := randConv(r)
		p.InH, p.InW = min(p.InH, 5), min(p.InW, 5)
		cin, cout := p.InC/p.Groups, p.OutC/p.Groups
		p.OutH = max(1, (p.InH-1)*p.StrideH+(p.KernelH-1)*p.DilationH+1-p.PadTop-between(r, 0, 2)+between(r, 0, 2))
		p.OutW = max(1, (p.InW-1)*p.StrideW+(p.KernelW-1)*p.DilationW+1-p.PadLeft-between(r, 0, 2)+between(r, 0, 2))
		x := randF32(r, p.Batch*p.InH*p.InW*p.InC, 1)
		w := randF32(r, p.OutC*p.KernelH*p.KernelW*cin, 1)
		b := maybeBias(r, p.OutC)
		y := poisonF32(p.Batch * p.OutH * p.OutW * p.OutC)
		d.call(t, "nncc_conv_transpose2d_f32", p, x, w, b, y)
		want := make([]sumOf, len(y))
		for n := range p.Batch {
			for iy := range p.InH {
				for ix := range p.InW {
					for ky := range p.KernelH {
						for kx := range p.KernelW {
							oy, ox := iy*p.StrideH+ky*p.DilationH-p.PadTop, ix*p.StrideW+kx*p.DilationW-p.PadLeft
							if oy < 0 || oy >= p.OutH || ox < 0 || ox >= p.OutW {
								continue
							}
							for oc := range p.OutC {
								for ic := range cin {
									xv := x[((n*p.InH+iy)*p.InW+ix)*p.InC+oc/cout*cin+ic]
									want[((n*p.OutH+oy)*p.OutW+ox)*p.OutC+
										oc].add(float64(xv) * float64(w[((oc*p.KernelH+ky)*p.KernelW+kx)*cin+ic]))
								}
							}
						}
					}
				}
			}
		}
		for i := range want {
			want[i].add(biasAt(b, int32(i)%p.OutC))
		}
		nearSums(t, "conv_transpose2d", p, y, want, p.ActMin, p.ActMax)
	}
}

func TestOwnMatrixF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(4)
	for range 100 {
		p := struct {
			Batch, InN, OutN int32
			ActMin, ActMax   float32
		}{Batch: between(r, 1, 3), InN: between(r, 1, 40), OutN: between(r, 1, 13)}
		p.ActMin, p.ActMax = clamps(r)
		x, w, b := randF32(r, p.Batch*p.InN, 1), randF32(r, p.OutN*p.InN, 1), maybeBias(r, p.OutN)
		y := poisonF32(p.Batch * p.OutN)
		d.call(t, "nncc_fully_connected_f32", p, x, w, b, y)
		var want []sumOf
		for n := range p.Batch {
			for o := range p.OutN {
				sum := sumOf{}
				sum.add(biasAt(b, o))
				for i := range p.InN {
					sum.add(float64(x[n*p.InN+i]) * float64(w[o*p.InN+i]))
				}
				want = append(want, sum)
			}
		}
		nearSums(t, "fully_connected", p, y, want, p.ActMin, p.ActMax)
	}
	for range 200 {
		var p struct {
			M, K, N                int32
			ARow, ACol, BRow, BCol int32
			Batch                  bcastParams
		}
		p.M, p.K, p.N = between(r, 1, 6), between(r, 1, 9), between(r, 1, 9)
		p.ARow, p.ACol, p.BRow, p.BCol = p.K, 1, p.N, 1
		if r.IntN(2) == 0 {
			p.ARow, p.ACol = 1, p.M
		}
		if r.IntN(2) == 0 {
			p.BRow, p.BCol = 1, p.K
		}
		var na, nb int32
		p.Batch, na, nb = randBcast(r, r.IntN(4), p.M*p.K, p.K*p.N)
		a, b := randF32(r, na, 1), randF32(r, nb, 1)
		pairs := p.Batch.pairs()
		y := poisonF32(int32(len(pairs)) * p.M * p.N)
		d.call(t, "nncc_batch_matmul_f32", p, a, b, y)
		var want []sumOf
		for _, o := range pairs {
			for i := range p.M {
				for j := range p.N {
					var sum sumOf
					for k := range p.K {
						sum.add(float64(a[o[0]+i*p.ARow+k*p.ACol]) * float64(b[o[1]+k*p.BRow+j*p.BCol]))
					}
					want = append(want, sum)
				}
			}
		}
		nearSums(t, "batch_matmul", p, y, want, -inf32, inf32)
	}
}

func randPool(r *rand.Rand) pool2dParams {
	for {
		p := pool2dParams{
			Batch: between(r, 1, 2), InH: between(r, 1, 9), InW: between(r, 1, 9), InC: between(r, 1, 6),
			KernelH: between(r, 1, 4), KernelW: between(r, 1, 4), StrideH: between(r, 1, 3), StrideW: between(r, 1, 3),
			DilationH: between(r, 1, 2), DilationW: between(r, 1, 2), CountIncludePad: between(r, 0, 1),
		}
		p.PadTop, p.PadBottom = between(r, 0, int(p.KernelH-1)), between(r, 0, int(p.KernelH-1))
		p.PadLeft, p.PadRight = between(r, 0, int(p.KernelW-1)), between(r, 0, int(p.KernelW-1))
		ceil := r.IntN(2) == 0
		p.OutH = outSize(p.InH, p.PadTop, p.PadBottom, p.KernelH, p.DilationH, p.StrideH, ceil)
		p.OutW = outSize(p.InW, p.PadLeft, p.PadRight, p.KernelW, p.DilationW, p.StrideW, ceil)
		if p.OutH > 0 && p.OutW > 0 {
			return p
		}
	}
}

// windows calls f for every output pixel with the indices of its pixels in the
// input (without channel) and the number of taps that count for an average.
func (p pool2dParams) windows(f func(taps []int32, count int)) {
	for n := range p.Batch {
		for oy := range p.OutH {
			for ox := range p.OutW {
				var taps []int32
				count := 0
				for ky := range p.KernelH {
					for kx := range p.KernelW {
						iy, ix := oy*p.StrideH-p.PadTop+ky*p.DilationH, ox*p.StrideW-p.PadLeft+kx*p.DilationW
						inside := iy >= 0 && iy < p.InH && ix >= 0 && ix < p.InW
						if inside {
							taps = append(taps, (n*p.InH+iy)*p.InW+ix)
						}
						if inside || p.CountIncludePad != 0 && iy < p.InH+p.PadBottom && ix < p.InW+p.PadRight {
							count++
						}
					}
				}
				f(taps, count)
			}
		}
	}
}

func TestOwnPoolF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(5)
	for range 300 {
		p := randPool(r)
		x := randF32(r, p.Batch*p.InH*p.InW*p.InC, 1)
		n := p.Batch * p.OutH * p.OutW * p.InC
		var wantMax, wantAvg, wantLp []float64
		power := between(r, 1, 3)
		p.windows(func(taps []int32, count int) {
			for c := range p.InC {
				m, s, l := math.Inf(-1), 0.0, 0.0
				for _, at := range taps {
					v := float64(x[at*p.InC+c])
					m, s, l = max(m, v), s+v, l+math.Pow(math.Abs(v), float64(power))
				}
				wantMax, wantAvg = append(wantMax, m), append(wantAvg, s/float64(max(count, 1)))
				wantLp = append(wantLp, math.Pow(l, 1/float64(power)))
			}
		})
		y := poisonF32(n)
		d.call(t, "nncc_max_pool2d_f32", p, x, y)
		near(t, "max_pool2d", p, y, wantMax, 0)
		y = poisonF32(n)
		d.call(t, "nncc_avg_pool2d_f32", p, x, y)
		near(t, "avg_pool2d", p, y, wantAvg, 1e-6)
		y = poisonF32(n)
		d.call(t, "nncc_lp_pool2d_f32", struct {
			P     pool2dParams
			Power int32
		}{p, power}, x, y)
		near(t, "lp_pool2d", p, y, wantLp, 2e-6)
	}
}

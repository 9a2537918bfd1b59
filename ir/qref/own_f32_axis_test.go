// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
	"math/rand/v2"
	"testing"
)

// axisParams mirrors nncc_axis_params.
type axisParams struct{ Outer, Axis, Inner int32 }

func randAxis(r *rand.Rand) axisParams {
	return axisParams{between(r, 1, 4), between(r, 1, 9), between(r, 1, 5)}
}

func (p axisParams) count() int32 { return p.Outer * p.Axis * p.Inner }

// lines calls f with the element positions along the axis, for every outer and
// inner index in output order.
func (p axisParams) lines(f func(at []int32)) {
	for o := range p.Outer {
		for i := range p.Inner {
			at := make([]int32, p.Axis)
			for k := range p.Axis {
				at[k] = (o*p.Axis+k)*p.Inner + i
			}
			f(at)
		}
	}
}

func TestOwnSoftmaxF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(20)
	for range 60 {
		p := randAxis(r)
		x := randF32(r, p.count(), 4)
		soft, logs, hard := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
		p.lines(func(at []int32) {
			peak, sum := at[0], 0.0
			for _, k := range at {
				if x[k] > x[peak] {
					peak = k
				}
			}
			hard[peak] = 1
			for _, k := range at {
				sum += math.Exp(float64(x[k] - x[peak]))
			}
			for _, k := range at {
				soft[k] = math.Exp(float64(x[k]-x[peak])) / sum
				logs[k] = float64(x[k]) - float64(x[peak]) - math.Log(sum)
			}
		})
		for name, want := range map[string][]float64{"softmax": soft, "log_softmax": logs, "hardmax": hard} {
			y := poisonF32(p.count())
			d.call(t, "nncc_"+name+"_f32", p, x, y)
			near(t, name, p, y, want, 1e-6)
		}
	}
}

func TestOwnReduceF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(21)
	sum := func(f func(v float64) float64) func([]float64) float64 {
		return func(x []float64) float64 {
			s := 0.0
			for _, v := range x {
				s += f(v)
			}
			return s
		}
	}
	self := func(v float64) float64 { return v }
	square := func(v float64) float64 { return v * v }
	ops := map[string]func([]float64) float64{
		"sum":         sum(self),
		"mean":        func(x []float64) float64 { return sum(self)(x) / float64(len(x)) },
		"l1":          sum(math.Abs),
		"l2":          func(x []float64) float64 { return math.Sqrt(sum(square)(x)) },
		"sum_square":  sum(square),
		"log_sum":     func(x []float64) float64 { return math.Log(sum(self)(x)) },
		"log_sum_exp": func(x []float64) float64 { return math.Log(sum(math.Exp)(x)) },
		"max": func(x []float64) float64 {
			m := x[0]
			for _, v := range x {
				m = max(m, v)
			}
			return m
		},
		"min": func(x []float64) float64 {
			m := x[0]
			for _, v := range x {
				m = min(m, v)
			}
			return m
		},
		"prod": func(x []float64) float64 {
			m := 1.0
			for _, v := range x {
				m *= v
			}
			return m
		},
	}
	for range 60 {
		p := randAxis(r)
		x := randF32(r, p.count(), 1)
		for name, f := range ops {
			in := x
			if name == "log_sum" {
				in = make([]float32, len(x))
				for i := range x {
					in[i] = float32(math.Abs(float64(x[i]))) + 0.01
				}
			}
			var want []float64
			p.lines(func(at []int32) {
				line := make([]float64, len(at))
				for i, k := range at {
					line[i] = float64(in[k])
				}
				want = append(want, f(line))
			})
			y := poisonF32(p.Outer * p.Inner)
			d.call(t, "nncc_reduce_"+name+"_f32", p, in, y)
			near(t, name, p, y, want, 2e-6)
		}
	}
}

func TestOwnArgCumsumF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(22)
	for range 80 {
		p := struct {
			axisParams
			SelectLast int32
		}{randAxis(r), between(r, 0, 1)}
		x := make([]float32, p.count())
		for i := range x {
			x[i] = float32(r.IntN(4))
		}
		for name, better := range map[string]func(a, b float32) bool{
			"argmax": func(a, b float32) bool { return a > b }, "argmin": func(a, b float32) bool { return a < b },
		} {
			var want []int64
			p.lines(func(at []int32) {
				best := 0
				for i, k := range at {
					if better(x[k], x[at[best]]) || p.SelectLast == 1 && x[k] == x[at[best]] {
						best = i
					}
				}
				want = append(want, int64(best))
			})
			y := make([]int64, p.Outer*p.Inner)
			d.call(t, "nncc_"+name+"_f32", p, x, y)
			for i := range y {
				if y[i] != want[i] {
					t.Fatalf("%s %+v: %d, want %d", name, p, y, want)
				}
			}
		}
		c := struct {
			axisParams
			Exclusive, Reverse int32
		}{p.axisParams, between(r, 0, 1), between(r, 0, 1)}
		want := make([]float64, len(x))
		c.lines(func(at []int32) {
			for i := range at {
				for k := range at {
					later := k < i
					if c.Reverse == 1 {
						later = k > i
					}
					if later || k == i && c.Exclusive == 0 {
						want[at[i]] += float64(x[at[k]])
					}
				}
			}
		})
		y := poisonF32(p.count())
		d.call(t, "nncc_cumsum_f32", c, x, y)
		near(t, "cumsum", c, y, want, 0)
	}
}

// normalise returns the values of x at the positions, with mean 0 (if centred)
// and variance 1.
func normalise(x []float32, at []int32, eps float64, centre bool) []float64 {
	mean, sq := 0.0, 0.0
	if centre {
		for _, k := range at {
			mean += float64(x[k])
		}
		mean /= float64(len(at))
	}
	for _, k := range at {
		sq += (float64(x[k]) - mean) * (float64(x[k]) - mean)
	}
	out := make([]float64, len(at))
	for i, k := range at {
		out[i] = (float64(x[k]) - mean) / math.Sqrt(sq/float64(len(at))+eps)
	}
	return out
}

func TestOwnNormF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(23)
	for range 60 {
		p := struct {
			Rows, Len int32
			Epsilon   float32
		}{between(r, 1, 4), between(r, 2, 30), 1e-3}
		x := randF32(r, p.Rows*p.Len, 2)
		for i := range x {
			x[i] += 1
		}
		scale, bias := randF32(r, p.Len, 1), maybeBias(r, p.Len)
		var layer, rms []float64
		for row := range p.Rows {
			at := make([]int32, p.Len)
			for i := range at {
				at[i] = row*p.Len + int32(i)
			}
			for i, v := range normalise(x, at, float64(p.Epsilon), true) {
				layer = append(layer, v*float64(scale[i])+biasAt(bias, int32(i)))
			}
			for i, v := range normalise(x, at, float64(p.Epsilon), false) {
				rms = append(rms, v*float64(scale[i]))
			}
		}
		y := poisonF32(p.Rows * p.Len)
		d.call(t, "nncc_layer_norm_f32", p, x, scale, bias, y)
		near(t, "layer_norm", p, y, layer, 3e-6)
		y = poisonF32(p.Rows * p.Len)
		d.call(t, "nncc_rms_norm_f32", p, x, scale, y)
		near(t, "rms_norm", p, y, rms, 3e-6)
	}
	for range 60 {
		g := between(r, 1, 3)
		p := struct {
			Batch, Spatial, Channels, Groups int32
			Epsilon                          float32
		}{between(r, 1, 2), between(r, 2, 12), g * between(r, 1, 4), g, 1e-3}
		x := randF32(r, p.Batch*p.Spatial*p.Channels, 2)
		scale, bias := randF32(r, p.Channels, 1), randF32(r, p.Channels, 1)
		want := make([]float64, len(x))
		width := p.Channels / g
		for b := range p.Batch {
			for gr := range g {
				var at []int32
				for s := range p.Spatial {
					for c := range width {
						at = append(at, (b*p.Spatial+s)*p.Channels+gr*width+c)
					}
				}
				for i, v := range normalise(x, at, float64(p.Epsilon), true) {
					c := at[i] % p.Channels
					want[at[i]] = v*float64(scale[c]) + float64(bias[c])
				}
			}
		}
		y := poisonF32(int32(len(x)))
		d.call(t, "nncc_group_norm_f32", p, x, scale, bias, y)
		near(t, "group_norm", p, y, want, 3e-6)
	}
	for range 40 {
		p := struct {
			Rows, Channels int32
			ActMin, ActMax float32
		}{Rows: between(r, 1, 9), Channels: between(r, 1, 9)}
		p.ActMin, p.ActMax = clamps(r)
		x := randF32(r, p.Rows*p.Channels, 1)
		scale, shift := randF32(r, p.Channels, 1), randF32(r, p.Channels, 1)
		var want []sumOf
		for i, v := range x {
			c := int32(i) % p.Channels
			var s sumOf
			s.add(float64(v) * float64(scale[c]))
			s.add(float64(shift[c]))
			want = append(want, s)
		}
		y := poisonF32(int32(len(x)))
		d.call(t, "nncc_scale_shift_f32", p, x, scale, shift, y)
		nearSums(t, "scale_shift", p, y, want, p.ActMin, p.ActMax)
	}
	for range 40 {
		p := struct {
			Rows, Channels, Size int32
			Alpha, Beta, Bias    float32
		}{between(r, 1, 4), between(r, 1, 9), between(r, 1, 6), 0.3, []float32{0.75, 0.5, 1, 0.6}[r.IntN(4)], 1}
		x := randF32(r, p.Rows*p.Channels, 2)
		var want []float64
		for i, v := range x {
			row, c, sq := int32(i)/p.Channels*p.Channels, int32(i)%p.Channels, 0.0
			for k := max(0, c-(p.Size-1)/2); k <= min(p.Channels-1, c+p.Size/2); k++ {
				sq += float64(x[row+k]) * float64(x[row+k])
			}
			want = append(want, float64(v)/math.Pow(float64(p.Bias)+float64(p.Alpha)/float64(p.Size)*sq,
				float64(p.Beta)))
		}
		y := poisonF32(int32(len(x)))
		d.call(t, "nncc_lrn_f32", p, x, y)
		near(t, "lrn", p, y, want, 2e-6)

		q := struct {
			axisParams
			Power int32
		}{randAxis(r), between(r, 1, 2)}
		x = randF32(r, q.count(), 2)
		want = make([]float64, len(x))
		q.lines(func(at []int32) {
			norm := 0.0
			for _, k := range at {
				norm += math.Pow(math.Abs(float64(x[k])), float64(q.Power))
			}
			for _, k := range at {
				want[k] = float64(x[k]) / math.Pow(norm, 1/float64(q.Power))
			}
		})
		y = poisonF32(int32(len(x)))
		d.call(t, "nncc_lp_norm_f32", q, x, y)
		near(t, "lp_norm", q, y, want, 2e-6)
	}
}

func TestOwnResizeF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(24)
	for range 60 {
		p := struct {
			Batch, InH, InW, Channels, OutH, OutW, TapsH, TapsW int32
			Outside                                             float32
		}{between(r, 1, 2), between(r, 1, 5), between(r, 1, 5), between(r, 1, 4), between(r, 1, 7), between(r, 1, 7),
			between(r, 1, 4), between(r, 1, 4), 7.5}
		table := func(out, taps, in int32) (index []int32, weight []float32) {
			for range out * taps {
				index = append(index, int32(r.IntN(int(in))))
			}
			if r.IntN(4) == 0 {
				index[0] = -1
			}
			return index, randF32(r, out*taps, 1)
		}
		x := randF32(r, p.Batch*p.InH*p.InW*p.Channels, 1)
		ih, wh := table(p.OutH, p.TapsH, p.InH)
		iw, ww := table(p.OutW, p.TapsW, p.InW)
		var want []sumOf
		for n := range p.Batch {
			for oy := range p.OutH {
				for ox := range p.OutW {
					for c := range p.Channels {
						var s sumOf
						if ih[oy*p.TapsH] < 0 || iw[ox*p.TapsW] < 0 {
							s.add(float64(p.Outside))
						} else {
							for a := oy * p.TapsH; a < (oy+1)*p.TapsH; a++ {
								for b := ox * p.TapsW; b < (ox+1)*p.TapsW; b++ {
									s.add(float64(x[((n*p.InH+ih[a])*p.InW+iw[b])*p.Channels+c]) * float64(
										wh[a]) * float64(ww[b]))
								}
							}
						}
						want = append(want, s)
					}
				}
			}
		}
		y := poisonF32(int32(len(want)))
		d.call(t, "nncc_resize_f32", p, x, ih, wh, iw, ww, y)
		nearSums(t, "resize", p, y, want, -inf32, inf32)
	}
}

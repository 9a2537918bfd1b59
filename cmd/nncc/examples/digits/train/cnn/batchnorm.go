// SPDX-License-Identifier: Apache-2.0

package cnn

import "math"

// Numbers of PyTorch's BatchNorm2d.
const (
	bnEpsilon  = 1e-5
	bnMomentum = 0.1 // the share of the batch in the running statistics
)

// batchNorm normalises each channel, by the batch's statistics while training
// and by the running ones afterwards.
type batchNorm struct {
	name      string
	gain, off *param
	mean, vr  []float32 // running
	inv       []float32 // 1/deviation of the last batch
	xhat      []float32 // normalised input of the last batch
	y, dx     act
}

func newBatchNorm(name string, c int) *batchNorm {
	b := &batchNorm{name: name, gain: newParam(c, false), off: newParam(c, false),
		mean: make([]float32, c), vr: make([]float32, c), inv: make([]float32, c)}
	for i := range c {
		b.gain.v[i], b.vr[i] = 1, 1
	}
	return b
}

func (b *batchNorm) params() []*param { return []*param{b.gain, b.off} }

// channelSums adds up f over all positions of a batch, for each channel, in two
// sums; f gets the place in the data and the channel.
func channelSums(x *act, f func(i, ch int) (float64, float64)) (s0, s1 []float64) {
	var p0, p1 [shards][]float64
	per := x.h * x.w * x.c
	parallel(x.n, func(shard, lo, hi int) {
		a0, a1 := make([]float64, x.c), make([]float64, x.c)
		for i := lo * per; i < hi*per; i += x.c {
			for ch := range x.c {
				v0, v1 := f(i+ch, ch)
				a0[ch] += v0
				a1[ch] += v1
			}
		}
		p0[shard], p1[shard] = a0, a1
	})
	s0, s1 = make([]float64, x.c), make([]float64, x.c)
	for shard := range shards {
		for ch := range p0[shard] {
			s0[ch] += p0[shard][ch]
			s1[ch] += p1[shard][ch]
		}
	}
	return s0, s1
}

func (b *batchNorm) forward(x *act, training bool) *act {
	y := b.y.fit(x.n, x.h, x.w, x.c)
	mean := b.mean
	if training {
		count := float64(x.n * x.h * x.w)
		sum, sq := channelSums(x, func(i, _ int) (float64, float64) {
			v := float64(x.v[i])
			return v, float64(v * v)
		})
		mean = make([]float32, x.c)
		for ch := range x.c {
			m := sum[ch] / count
			v := max(sq[ch]/count-float64(m*m), 0)
			mean[ch], b.inv[ch] = float32(m), float32(1/math.Sqrt(v+bnEpsilon))
			b.mean[ch] += float32(bnMomentum * (float32(m) - b.mean[ch]))
			b.vr[ch] += float32(bnMomentum * (float32(v*count/(count-1)) - b.vr[ch]))
		}
	} else {
		for ch := range x.c {
			b.inv[ch] = float32(1 / math.Sqrt(float64(b.vr[ch])+bnEpsilon))
		}
	}
	b.xhat = resize(b.xhat, len(x.v))
	per := x.h * x.w * x.c
	parallel(x.n, func(_, lo, hi int) {
		for i := lo * per; i < hi*per; i += x.c {
			for ch := range x.c {
				h := (x.v[i+ch] - mean[ch]) * b.inv[ch]
				b.xhat[i+ch] = h
				y.v[i+ch] = float32(b.gain.v[ch]*h) + b.off.v[ch]
			}
		}
	})
	return y
}

func (b *batchNorm) backward(dy *act) *act {
	count := float32(dy.n * dy.h * dy.w)
	sum, dot := channelSums(dy, func(i, _ int) (float64, float64) {
		d := float64(dy.v[i])
		return d, float64(d * float64(b.xhat[i]))
	})
	for ch := range dy.c {
		b.off.g[ch], b.gain.g[ch] = float32(sum[ch]), float32(dot[ch])
	}
	dx := b.dx.fit(dy.n, dy.h, dy.w, dy.c)
	per := dy.h * dy.w * dy.c
	parallel(dy.n, func(_, lo, hi int) {
		for i := lo * per; i < hi*per; i += dy.c {
			for ch := range dy.c {
				g := dy.v[i+ch] - float32(b.off.g[ch]/count) - float32(b.xhat[i+ch]*float32(b.gain.g[ch]/count))
				dx.v[i+ch] = float32(b.gain.v[ch]*b.inv[ch]) * g
			}
		}
	})
	return dx
}

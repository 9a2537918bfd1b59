// SPDX-License-Identifier: Apache-2.0

package cnn

import (
	"math"
	"math/rand/v2"

	"github.com/nncc/nncc/cmd/nncc/examples/digits/draw"
)

// Options are the numbers of a training run.
type Options struct {
	Seed   uint64 // of the order of the images
	Epochs int
	Batch  int
	Rate   float64 // highest learning rate, reached after a tenth of the run; then down to 0
	Decay  float64 // weight decay of convolutions and the dense layer
	// Epoch, if set, is told the mean loss and the share of right answers on the
	// training images after each epoch.
	Epoch func(epoch int, loss, right float64)
}

// momentum of the gradient descent.
const momentum = 0.9

// Train fits the network to labelled images by gradient descent with momentum
// on the cross entropy.
func (n *Net) Train(images []draw.Image, labels []int, o Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 1))
	var ps []*param
	for _, l := range n.layers {
		ps = append(ps, l.params()...)
	}
	perEpoch := len(images) / o.Batch
	total, warm := float64(o.Epochs*perEpoch), float64(o.Epochs*perEpoch)/10
	step := 0.0
	var x, grad act
	for epoch := range o.Epochs {
		order := rng.Perm(len(images))
		loss, right := 0.0, 0
		for b := range perEpoch {
			index := order[b*o.Batch : (b+1)*o.Batch]
			y := n.forward(batch(&x, images, index), true)
			want := make([]int, len(index))
			for i, k := range index {
				want[i] = labels[k]
			}
			l, r := crossEntropy(&grad, y, want)
			loss, right = loss+l, right+r
			d := &grad
			for i := len(n.layers) - 1; i >= 0; i-- {
				d = n.layers[i].backward(d)
			}
			rate := o.Rate * min(step/warm, (total-step)/(total-warm))
			step++
			for _, p := range ps {
				decay := 0.0
				if p.decay {
					decay = o.Decay
				}
				for i := range p.v {
					g := p.g[i] + float32(float32(decay)*p.v[i])
					p.m[i] = float32(momentum*p.m[i]) + g
					p.v[i] -= float32(float32(rate) * p.m[i])
				}
			}
		}
		if o.Epoch != nil {
			o.Epoch(epoch+1, loss/float64(perEpoch), float64(right)/float64(perEpoch*o.Batch))
		}
	}
}

// crossEntropy sets grad to the gradient of the mean loss at the scores y and
// returns that loss and the number of right answers.
func crossEntropy(grad, y *act, labels []int) (loss float64, right int) {
	grad.fit(y.n, 1, 1, y.c)
	for n, label := range labels {
		row, g := y.v[n*y.c:(n+1)*y.c], grad.v[n*y.c:(n+1)*y.c]
		best := argmax(row)
		if best == label {
			right++
		}
		sum := 0.0
		for _, v := range row {
			sum += exp(float64(v - row[best]))
		}
		for i, v := range row {
			p := exp(float64(v-row[best])) / sum
			if i == label {
				loss -= math.Log(max(p, 1e-30))
				p--
			}
			g[i] = float32(p / float64(y.n))
		}
	}
	return loss / float64(y.n), right
}

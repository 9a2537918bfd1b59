// SPDX-License-Identifier: Apache-2.0

// Package cnn is the network of the digits example: what it looks like, how it
// is trained and how it is written as an ONNX model. It is plain Go, without
// libraries and without randomness that a seed does not fix: on amd64 the same
// program gives the same weights, bit for bit, on any number of cores.
package cnn

import (
	"math/rand/v2"

	"github.com/nncc/nncc/cmd/nncc/examples/digits/draw"
)

// Net is the network. It is for one user at a time.
type Net struct{ layers []layer }

// New makes a network with random weights of a seed.
//
// Sizes are those of the maps behind each line, height x width x channels. The
// parts are those of many networks for microcontrollers: a plain convolution,
// depthwise separable ones, two additions around a block, global pooling.
func New(seed uint64) *Net {
	rng := rand.New(rand.NewPCG(seed, 0))
	convBN := func(name string, k, stride, in, out int, depthwise bool) []layer {
		return []layer{newConv(rng, name+".conv", k, stride, in, out, depthwise), newBatchNorm(name+".bn", out)}
	}
	var n Net
	add := func(l ...layer) { n.layers = append(n.layers, l...) }
	act := func(name string) *relu { return &relu{name: name + ".relu"} }

	add(convBN("stem", 3, 1, 1, 16, false)...) // 28x28x16
	add(act("stem"))

	add(convBN("down1.dw", 3, 2, 16, 16, true)...) // 14x14x16
	add(act("down1.dw"))
	add(convBN("down1.pw", 1, 1, 16, 32, false)...) // 14x14x32
	add(act("down1.pw"))

	body := append(convBN("res1.dw", 3, 1, 32, 32, true), act("res1.dw"))
	body = append(body, convBN("res1.pw", 1, 1, 32, 32, false)...)
	add(&residual{name: "res1", body: body}, act("res1"))

	add(convBN("down2.dw", 3, 2, 32, 32, true)...) // 7x7x32
	add(act("down2.dw"))
	add(convBN("down2.pw", 1, 1, 32, 40, false)...) // 7x7x40
	add(act("down2.pw"))

	add(&residual{name: "res2", body: convBN("res2", 3, 1, 40, 40, false)}, &relu{name: "res2.out"})

	add(&pool{name: "pool"}, newDense(rng, "fc", 40, draw.Classes))
	return &n
}

// forward gives the classes' scores before the softmax, [n, 10].
func (n *Net) forward(x *act, training bool) *act {
	for _, l := range n.layers {
		x = l.forward(x, training)
	}
	return x
}

// batch packs images, in the order of the given indices.
func batch(x *act, images []draw.Image, index []int) *act {
	x.fit(len(index), draw.Size, draw.Size, 1)
	for i, k := range index {
		copy(x.v[i*draw.Pixels:], images[k].Float32s())
	}
	return x
}

// Classify gives the most likely numeral of each image.
func (n *Net) Classify(images []draw.Image) []int {
	out := make([]int, 0, len(images))
	var x act
	for lo := 0; lo < len(images); lo += 64 {
		var index []int
		for i := lo; i < min(lo+64, len(images)); i++ {
			index = append(index, i)
		}
		y := n.forward(batch(&x, images, index), false)
		for i := range index {
			out = append(out, argmax(y.v[i*y.c:(i+1)*y.c]))
		}
	}
	return out
}

// argmax is the place of the largest element, the first of equal ones.
func argmax(v []float32) int {
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}

// Weights is the number of learned values.
func (n *Net) Weights() int {
	sum := 0
	for _, l := range n.layers {
		for _, p := range l.params() {
			sum += len(p.v)
		}
	}
	return sum
}

// SPDX-License-Identifier: Apache-2.0

package cnn

import (
	"bytes"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/cmd/nncc/examples/digits/draw"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
)

// Gradients against differences of the forward pass: for each kind of layer,
// with respect to the input and every parameter.
func TestGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		l       layer
		h, w, c int
	}{
		"conv":        {newConv(rng, "", 3, 1, 3, 5, false), 5, 4, 3},
		"conv stride": {newConv(rng, "", 3, 2, 3, 5, false), 5, 4, 3},
		"pointwise":   {newConv(rng, "", 1, 1, 3, 5, false), 3, 3, 3},
		"depthwise":   {newConv(rng, "", 3, 2, 4, 4, true), 6, 5, 4},
		"bn":          {newBatchNorm("", 3), 3, 3, 3},
		"relu":        {&relu{}, 3, 3, 3},
		"residual":    {&residual{body: []layer{newConv(rng, "", 3, 1, 3, 3, false)}}, 4, 4, 3},
		"pool":        {&pool{}, 4, 3, 5},
		"dense":       {newDense(rng, "", 6, 4), 1, 1, 6},
	} {
		x := new(act).fit(3, c.h, c.w, c.c)
		for i := range x.v {
			x.v[i] = float32(rng.NormFloat64())
			if name == "relu" && math.Abs(float64(x.v[i])) < 0.05 {
				x.v[i] = 0.5 // away from the corner
			}
		}
		y := c.l.forward(x, true)
		weight := make([]float32, len(y.v)) // the loss is the sum of weight*y
		for i := range weight {
			weight[i] = float32(rng.NormFloat64())
		}
		loss := func() float64 {
			sum := 0.0
			for i, v := range c.l.forward(x, true).v {
				sum += float64(weight[i]) * float64(v)
			}
			return sum
		}
		dy := new(act).fit(y.n, y.h, y.w, y.c)
		copy(dy.v, weight)
		dx := append([]float32(nil), c.l.backward(dy).v...)
		check := func(what string, v []float32, g []float32) {
			for range 20 {
				i := rng.IntN(len(v))
				const h = 1.0 / 64
				old := v[i]
				v[i] = old + h
				up := loss()
				v[i] = old - h
				down := loss()
				v[i] = old
				if want := (up - down) / (2 * h); math.Abs(want-float64(g[i])) > 2e-3*(1+math.Abs(want)) {
					t.Errorf("%s: gradient of %s[%d] = %g, differences give %g", name, what, i, g[i], want)
				}
			}
		}
		check("x", x.v, dx)
		for i, p := range c.l.params() {
			check([]string{"p0", "p1"}[i], p.v, append([]float32(nil), p.g...))
		}
	}
}

// The exported model computes what the network computes, here on a network with
// arbitrary statistics.
func TestExportComputesTheSame(t *testing.T) {
	n := New(3)
	images, labels := draw.Set(7, 20)
	n.Train(images, labels, Options{Seed: 1, Epochs: 1, Batch: 10, Rate: 0.05})
	b, err := proto.Marshal(n.Export())
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Parse(b, onnx.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range onnx.Check(m) {
		t.Errorf("check: %s", f.String())
	}
	g, err := onnx.Import(m, onnx.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var x act
	for i := range 5 {
		scores := n.forward(batch(&x, images, []int{i}), false)
		in := tensor.New(tensor.F32, []int{1, 1, draw.Size, draw.Size})
		copy(tensor.As[float32](in), images[i].Float32s())
		out, err := interp.Run(g, []*tensor.Dense{in}, nil)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, v := range scores.v {
			sum += math.Exp(float64(v))
		}
		for k, v := range scores.v {
			if want, got := math.Exp(float64(v))/sum, out[0].Float(k); math.Abs(want-got) > 1e-5 {
				t.Errorf("image %d, class %d: model %g, network %g", i, k, got, want)
			}
		}
	}
}

// The number of cores does not show in the result, nor does running again.
func TestTrainingIsDeterministic(t *testing.T) {
	images, labels := draw.Set(5, 40)
	once := func() []byte {
		n := New(1)
		n.Train(images, labels, Options{Seed: 1, Epochs: 2, Batch: 20, Rate: 0.1, Decay: 1e-3})
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(n.Export())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	a := once()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if !bytes.Equal(a, once()) {
		t.Error("one core gives other weights")
	}
	runtime.GOMAXPROCS(5)
	if !bytes.Equal(a, once()) {
		t.Error("five threads give other weights")
	}
}

func TestExp(t *testing.T) {
	for x := 0.0; x > -79; x -= 0.37 {
		if got, want := exp(x), math.Exp(x); math.Abs(got-want) > 1e-14*want {
			t.Errorf("exp(%g) = %g, want %g", x, got, want)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// equalPair are two layers whose channels between them can be rescaled.
type equalPair struct {
	first, second *ir.Node
	peak          []float64 // largest magnitude of every channel between them
	depthwise     bool      // second has one input channel for every output channel
}

// maxEqualExp bounds the exponents of the factors.
const maxEqualExp = 10

// equalize evens out the ranges of the channels between two convolutions, so
// that one scale for the whole tensor suits them all: channel i of the first
// layer is divided by a factor that the second layer's weights take up. Factors
// are powers of two and stand before and after positive homogeneous functions
// only (Relu, LeakyRelu, pooling), so the float model computes the same bits.
//
// Weights have a scale for every output channel, so the factor costs the first
// layer nothing. A depthwise second layer neither: its channels become equal.
// Another one has one scale for all its input channels; there the factor is
// the geometric mean of what the activations and what the weights want.
//
// Source: Nagel et al., "Data-Free Quantization Through Weight Equalization and
// Bias Correction" (2019), with the ranges that calibration sees in place of
// those guessed from weights.
func equalize(g *ir.Graph, samples []Sample) {
	var pairs []*equalPair
	at := map[*ir.Value]*equalPair{}
	for _, n := range g.Nodes {
		if p := pairFrom(g, n); p != nil {
			pairs = append(pairs, p)
			at[n.Out[0]] = p
		}
	}
	if len(pairs) == 0 {
		return
	}
	peaks := make([]map[*ir.Value][]float64, len(samples))
	forSamples(len(samples), g.Nodes, func(_, i int) {
		m := map[*ir.Value][]float64{}
		peaks[i] = m
		fail.Must(interp.Run(g, samples[i], func(v *ir.Value, d *tensor.Dense) {
			if at[v] != nil {
				m[v] = channelPeaks(d, 1)
			}
		}))
	})
	for _, p := range pairs {
		v := p.first.Out[0]
		p.peak = make([]float64, v.Type.Shape[1])
		for _, m := range peaks {
			for c, x := range m[v] {
				p.peak[c] = max(p.peak[c], x)
			}
		}
		p.apply(g)
	}
}

// pairFrom is the pair that begins with n, nil when there is none.
func pairFrom(g *ir.Graph, n *ir.Node) *equalPair {
	if n.Op != op.Conv && n.Op != op.ConvTranspose || !scalable(n) || n.ConstIn(1) == nil || n.Input(2) != nil &&
		n.ConstIn(2) == nil {
		return nil
	}
	v := n.Out[0]
	m := scaledReader(g, v)
	for m != nil && m.Op.Homogeneous {
		v = m.Out[0]
		m = scaledReader(g, v)
	}
	if m == nil || m.Op != op.Conv || m.ConstIn(1) == nil {
		return nil
	}
	return &equalPair{first: n, second: m, depthwise: m.In[1].Type.Shape[1] == 1 &&
		ir.AttrsOf[op.GroupAttr](m).Group > 1}
}

// scaledReader is the only reader of v, where that can take factors from it.
func scaledReader(g *ir.Graph, v *ir.Value) *ir.Node {
	if m := g.SoleUse(v); m != nil && scalable(m) && len(m.Out) == 1 && m.In[0] == v {
		return m
	}
	return nil
}

// scalable reports a float node whose absorbed activation, if any, is Relu.
func scalable(n *ir.Node) bool {
	if n.Quantised() || n.Out[0].Type.DType != tensor.F32 {
		return false
	}
	if !canAct(n.Op) {
		return true
	}
	lo, hi := op.ActBounds(n)
	return math.IsInf(hi, 1) && (lo == 0 || math.IsInf(lo, -1))
}

// factors are what the channels between the layers are divided by; nil: by nothing.
func (p *equalPair) factors() []float32 {
	peakW, w := make([]float64, len(p.peak)), p.second.ConstIn(1)
	read, _ := op.WeightChannels(p.second, w.Shape)
	for i := range w.Len() {
		c := read(i)
		peakW[c] = max(peakW[c], math.Abs(w.Float(i)))
	}
	top, topW := 0.0, 0.0
	for c, a := range p.peak {
		top, topW = max(top, a), max(topW, peakW[c])
	}
	factor := make([]float32, len(p.peak))
	moved := false
	for c, a := range p.peak {
		factor[c] = 1
		if !(a > 0) || !(peakW[c] > 0) {
			continue
		}
		e := math.Log2(a / top)
		if !p.depthwise {
			e = (e - math.Log2(peakW[c]/topW)) / 2
		}
		e = min(max(math.Round(e), -maxEqualExp), maxEqualExp)
		factor[c] = float32(math.Ldexp(1, int(e)))
		moved = moved || e != 0
	}
	if !moved {
		return nil
	}
	return factor
}

// apply moves the factors from the first layer to the second.
func (p *equalPair) apply(g *ir.Graph) {
	factor := p.factors()
	if factor == nil {
		return
	}
	scaled := func(d *tensor.Dense, by func(i int) float32) *tensor.Dense {
		x := tensor.As[float32](d)
		y := make([]float32, len(x))
		for i, f := range x {
			if y[i] = f * by(i); y[i]/by(i) != f { // left the range of float32
				return nil
			}
		}
		return tensor.Of(d.Shape, y)
	}
	w1, w2 := p.first.ConstIn(1), p.second.ConstIn(1)
	_, out := op.WeightChannels(p.first, w1.Shape)
	in, _ := op.WeightChannels(p.second, w2.Shape)
	a := scaled(w1, func(i int) float32 { return 1 / factor[out(i)] })
	b := scaled(w2, func(i int) float32 { return factor[in(i)] })
	var bias *tensor.Dense
	if d := p.first.ConstIn(2); d != nil {
		if bias = scaled(d, func(i int) float32 { return 1 / factor[i] }); bias == nil {
			return
		}
	}
	if a == nil || b == nil {
		return
	}
	set := func(n *ir.Node, i int, d *tensor.Dense) { g.SetInput(n, i, g.AddConst(n.In[i].Name, d)) }
	set(p.first, 1, a)
	set(p.second, 1, b)
	if bias != nil {
		set(p.first, 2, bias)
	}
}

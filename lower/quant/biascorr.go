// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// refine improves weights and biases of convolutions and matrix products, in
// order, with the quantised inputs that each layer really gets.
func (c *calibrator) refine() {
	samples := lockstepInputs(c.opt.Samples)
	runLockstep(c.before, c.g, c.opt.Samples, func(l *lockstep, nf, nq *ir.Node) {
		r, ok := c.rules[nq]
		if !ok && c.opt.Rounding == option.Adaptive && c.opt.Half != nil && c.opt.Half(nf) {
			c.adaptHalf(l, nf, nq)
		}
		if !ok || r.weight < 0 {
			return
		}
		l.keep = nq.In[0]
		if c.opt.Rounding == option.Adaptive {
			c.adapt(l, nf, nq, r)
		}
		if !c.opt.BiasCorrection || !c.averaged(nq) {
			return
		}
		want := lists.Map(samples, func(s Sample) []float64 { return c.all.noted[s.key()].means[nf.ID] })
		c.correctBias(l, nf, nq, want)
	})
}

// averaged reports a node whose bias can be corrected. The steps of a recurrence have one
// bias.
func (c *calibrator) averaged(n *ir.Node) bool {
	r, ok := c.rules[n]
	return ok && r.weight >= 0 && n.Op != op.MatMul && n.Series == ""
}

// layerMeans says what a survey notes for bias corrections: the means of the output channels of a layer of the float
// graph, without activations.
type layerMeans struct {
	id int // of the node
	p  *product
	w  []float32
	b  *tensor.Dense // or nil
}

// watchMeans are the layers whose biases can be corrected, by input.
func (c *calibrator) watchMeans() map[*ir.Value][]layerMeans {
	layers := map[*ir.Value][]layerMeans{}
	for _, n := range c.g.Nodes {
		if c.averaged(n) {
			l := layerMeans{id: n.ID, p: productOf(n), w: tensor.As[float32](n.ConstIn(1)), b: n.ConstIn(2)}
			layers[n.In[0]] = append(layers[n.In[0]], l)
		}
	}
	return layers
}

// correctBias shifts the biases of a layer so that the mean of every output
// channel over the samples is that of the float model.
// Source: Nagel et al., "Data-Free Quantization Through Weight Equalization
// and Bias Correction" (2019), the empirical form.
// want are its means by sample; those of the quantised layer follow from the means of what
// its weights see.
func (c *calibrator) correctBias(l *lockstep, nf, nq *ir.Node, want [][]float64) {
	q := l.constants(nq)
	p, k := productOf(nf), tensor.As[float32](q[1])
	got := make([][]float64, len(l.env))
	forSamples(len(got), []*ir.Node{nf}, func(_, s int) {
		got[s] = p.means(tensor.As[float32](l.value(s, nq.In[0], nil)), k, q[2])
	})
	_, w, ok := params(nq.In[c.rules[nq].weight].Def)
	if !ok {
		return
	}
	b := make([]float64, len(want[0]))
	if old := nf.Input(2); old != nil {
		k := old.Const.Floats()
		for i := range b {
			b[i] = k[i%len(k)]
		}
	}
	for i := range b {
		b[i] += shift(want, got, i)
	}
	c.setBias(nq, 2, b, w)
}

// shift is what channel ch lacks on average: the mean difference over the
// samples, drawn towards 0 as far as the samples disagree about it.
func shift(want, got [][]float64, ch int) float64 {
	n := float64(len(want))
	mean, spread := 0.0, 0.0
	for s := range want {
		mean += (want[s][ch] - got[s][ch]) / n
	}
	for s := range want {
		d := want[s][ch] - got[s][ch] - mean
		spread += d * d
	}
	if n < 2 || mean == 0 {
		return mean
	}
	spread /= n * (n - 1) // variance of the mean
	return mean * mean * mean / (mean*mean + spread)
}

// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// refine improves weights and biases of convolutions and matrix products, in
// order, with the quantised inputs that each layer really gets.
func (c *calibrator) refine(before *ir.Graph) error {
	means, err := c.floatMeans(before)
	if err != nil {
		return err
	}
	return runLockstep(before, c.g, c.opt.Samples, func(l *lockstep, nf, nq *ir.Node) error {
		r, ok := c.rules[nq]
		if !ok && c.opt.Rounding == option.Adaptive && c.opt.Half != nil && c.opt.Half(nf) {
			c.adaptHalf(l, nf, nq)
		}
		if !ok || r.weight < 0 {
			return nil
		}
		if c.opt.Rounding == option.Adaptive {
			if err := c.adapt(l, nf, nq, r); err != nil {
				return err
			}
		}
		if !c.correctable(nq) {
			return nil
		}
		return c.correctBias(l, nf, nq, means[nf.ID])
	})
}

// correctable reports a node of the quantised graph whose bias is corrected. The
// steps of a recurrence have one bias.
func (c *calibrator) correctable(n *ir.Node) bool {
	r, ok := c.rules[n]
	return ok && r.weight >= 0 && c.opt.BiasCorrection && n.Op != op.MatMul && n.Series == ""
}

// floatMeans are the means of the output channels of the float graph's layers, for
// every sample that lockstep looks at, by node.
func (c *calibrator) floatMeans(before *ir.Graph) (map[int][][]float64, error) {
	if !c.opt.BiasCorrection {
		return nil, nil
	}
	if c.opt.seen != nil && c.opt.seen.means != nil {
		return c.opt.seen.means, nil
	}
	in := lockstepInputs(c.opt.Samples)
	means := map[int][][]float64{}
	for _, n := range c.g.Nodes {
		if c.correctable(n) {
			means[n.ID] = make([][]float64, len(in))
		}
	}
	err := forSamples(len(in), before.Nodes, func(_, s int) error {
		r, err := interp.Start(before, in[s], nil)
		if err != nil {
			return err
		}
		for r.Left() > 0 {
			n := r.Next()
			if m := means[n.ID]; m != nil {
				out, err := ir.EvalOn(linearPart(n), r.Value)
				if err != nil {
					return err
				}
				m[s] = channelMeans(n, out[0])
			}
			if err := r.Step(); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && c.opt.seen != nil {
		c.opt.seen.means = means
	}
	return means, err
}

// correctBias shifts the biases of a layer so that the mean of every output
// channel over the samples is that of the float model.
// Source: Nagel et al., "Data-Free Quantization Through Weight Equalization
// and Bias Correction" (2019), the empirical form.
// want are its means by sample.
func (c *calibrator) correctBias(l *lockstep, nf, nq *ir.Node, want [][]float64) error {
	got := make([][]float64, len(l.env))
	err := l.eval(linearPart(nq), func(s int, out []*tensor.Dense) error {
		got[s] = channelMeans(nq, out[0])
		return nil
	})
	if err != nil {
		return err
	}
	_, w, ok := params(nq.In[c.rules[nq].weight].Def)
	if !ok {
		return nil
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
	return c.setBias(nq, 2, b, w)
}

// channelMeans is the mean of every output channel of n over positions.
func channelMeans(n *ir.Node, out *tensor.Dense) []float64 {
	shape := n.Out[0].Type.Shape
	axis := channelAxis(n)
	inner, dim := tensor.Strides(shape)[axis], shape[axis]
	count := float64(tensor.Count(shape)) / float64(dim)
	means := make([]float64, dim)
	x := tensor.As[float32](out)
	for at, ch := 0, 0; at < len(x); at, ch = at+inner, ch+1 {
		t := 0.0
		for _, v := range x[at : at+inner] {
			t += float64(v)
		}
		means[ch%dim] += t / count
	}
	return means
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

// channelAxis is the dimension of the output of a multiply-accumulate operator
// that counts channels.
func channelAxis(n *ir.Node) int {
	if n.Op == op.Conv || n.Op == op.ConvTranspose {
		return 1
	}
	return n.Out[0].Type.Rank() - 1
}

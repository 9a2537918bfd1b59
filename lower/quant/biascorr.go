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
		want := make([][]float64, len(means))
		for s := range means {
			want[s] = means[s][nf.ID]
		}
		return c.correctBias(l, nf, nq, want)
	})
}

// correctable reports a node of the quantised graph whose bias is corrected. The
// steps of a recurrence have one bias.
func (c *calibrator) correctable(n *ir.Node) bool {
	r, ok := c.rules[n]
	return ok && r.weight >= 0 && c.opt.BiasCorrection && n.Op != op.MatMul && n.Series == ""
}

// sampleMeans are the means of the output channels of the float graph's layers on one
// sample, by node.
type sampleMeans map[int][]float64

// floatMeans are those of every sample that lockstep looks at. A sample is run once for
// all candidates.
func (c *calibrator) floatMeans(before *ir.Graph) ([]sampleMeans, error) {
	if !c.opt.BiasCorrection {
		return nil, nil
	}
	in := lockstepInputs(c.opt.Samples)
	means := make([]sampleMeans, len(in))
	var left []int // samples that no candidate looked at
	for s := range in {
		if c.opt.seen != nil {
			means[s] = c.opt.seen.all.means[in[s].key()]
		}
		if means[s] == nil {
			left = append(left, s)
		}
	}
	layers := map[int]*ir.Node{} // by node, without activations
	for _, n := range c.g.Nodes {
		if c.correctable(n) {
			layers[n.ID] = nil
		}
	}
	for _, n := range before.Nodes {
		if _, ok := layers[n.ID]; ok {
			layers[n.ID] = linearPart(n)
		}
	}
	err := forSamples(len(left), before.Nodes, func(_, k int) (err error) {
		means[left[k]], err = meansOf(before, in[left[k]], layers)
		return err
	})
	if err == nil && c.opt.seen != nil {
		for _, s := range left {
			c.opt.seen.all.means[in[s].key()] = means[s]
		}
	}
	return means, err
}

// meansOf runs g on one sample. A layer is evaluated without its activation, which
// follows then: rounding keeps the order of numbers, so bounding before it is the same.
func meansOf(g *ir.Graph, in Sample, layers map[int]*ir.Node) (sampleMeans, error) {
	r, err := interp.Start(g, in, nil)
	if err != nil {
		return nil, err
	}
	means := sampleMeans{}
	for r.Left() > 0 {
		n := r.Next()
		bare := layers[n.ID]
		if bare == nil {
			if err := r.Step(); err != nil {
				return nil, err
			}
			continue
		}
		out, err := ir.EvalOn(bare, r.Value)
		if err != nil {
			return nil, err
		}
		means[n.ID] = channelMeans(n, out[0])
		out[0] = op.ClampAct(n, out[0])
		if err := r.StepTo(out); err != nil {
			return nil, err
		}
	}
	return means, nil
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

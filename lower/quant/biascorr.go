package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// refine improves weights and biases of convolutions and matrix products, in
// order, with the quantised inputs that each layer really gets.
func (c *calibrator) refine(before *ir.Graph) error {
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
		if !c.opt.BiasCorrection || nq.Op == op.MatMul || nq.Series != "" { // steps of a recurrence have one bias
			return nil
		}
		return c.correctBias(l, nf, nq, r)
	})
}

// correctBias shifts the biases of a layer so that the mean of every output
// channel over the samples is that of the float model.
// Source: Nagel et al., "Data-Free Quantization Through Weight Equalization
// and Bias Correction" (2019), the empirical form.
func (c *calibrator) correctBias(l *lockstep, nf, nq *ir.Node, r rule) error {
	want, err := l.channelMeans(linearPart(nf), l.envF)
	if err != nil {
		return err
	}
	got, err := l.channelMeans(linearPart(nq), l.envQ)
	if err != nil {
		return err
	}
	_, w, ok := params(nq.In[r.weight].Def)
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
	return c.resetBias(l, nq, b, w)
}

// resetBias replaces the bias of a node that lockstep is about to evaluate.
func (c *calibrator) resetBias(l *lockstep, n *ir.Node, b []float64, w *ir.Quant) error {
	if err := c.setBias(n, 2, b, w); err != nil {
		return err
	}
	return l.refresh(n.In[2].Def)
}

// channelMeans is the mean of every output channel over positions, for every
// sample.
func (l *lockstep) channelMeans(n *ir.Node, env []map[*ir.Value]*tensor.Dense) ([][]float64, error) {
	out, err := l.eval(n, env)
	if err != nil {
		return nil, err
	}
	shape := n.Out[0].Type.Shape
	axis := channelAxis(n)
	inner, dim := tensor.Strides(shape)[axis], shape[axis]
	count := float64(tensor.Count(shape)) / float64(dim)
	means := make([][]float64, len(out))
	for s, o := range out {
		means[s] = make([]float64, dim)
		x := tensor.As[float32](o[0])
		for at, ch := 0, 0; at < len(x); at, ch = at+inner, ch+1 {
			t := 0.0
			for _, v := range x[at : at+inner] {
				t += float64(v)
			}
			means[s][ch%dim] += t / count
		}
	}
	return means, nil
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

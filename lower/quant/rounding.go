package quant

import (
	"math"
	"sort"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
)

const (
	// maxDepth bounds the weights of one output channel that are rounded
	// together: the work grows with the third power.
	maxDepth = 1152
	// minRows and rowsPerWeight say how many positions a layer is looked at.
	minRows, rowsPerWeight = 2048, 4
	// damping is added to the diagonal, as a part of its mean: inputs that were
	// not seen, or hardly vary, must not take the errors of the others.
	damping = 0.1
)

// adapt rounds the weights of a node that lockstep is about to evaluate anew,
// so that the errors of an output channel's weights make up for each other:
// after each rounding the weights that are left move by what brings the results
// closest to those before it. The results are the ones on the inputs that the
// quantised network really has. A channel that does not gain keeps its
// integers.
//
// Source: Frantar et al., "GPTQ: Accurate Post-Training Quantization for
// Generative Pre-trained Transformers" (2022); Hassibi, Stork, "Optimal Brain
// Surgeon" (1993).
func (c *calibrator) adapt(l *lockstep, nf, nq *ir.Node, r rule) error {
	w, deq := nf.ConstIn(r.weight), nq.In[r.weight].Def
	p := productOf(nf)
	if w == nil || p == nil || p.depth < 2 || p.depth > maxDepth || deq == nil || len(deq.Out[0].Uses()) != 1 {
		return nil
	}
	_, q, ok := params(deq)
	if !ok {
		return nil
	}
	k := deq.In[0].Const.Clone()
	_, most := k.DType.IntRange()
	nearest := func(f float64) float64 { return min(max(math.RoundToEven(f), -float64(most)), float64(most)) }
	gained := make([]int, p.groups)
	// What a bias can make up for is no error.
	centred := c.opt.BiasCorrection && nq.Op != op.MatMul
	l.eachChannel(nq, p, centred, func(g, o int, h symmetric, r *rounder) func() {
		s := float64(q.ScaleAt(p.scale(g, o) % len(q.Scale)))
		v, old := make([]float64, p.depth), make([]float64, p.depth)
		for i := range v {
			v[i], old[i] = w.Float(p.weight(g, o, i))/s, float64(k.Int(p.weight(g, o, i)))
		}
		z, ok := r.improve(h, v, old, nearest)
		if !ok {
			return nil
		}
		return func() {
			gained[g]++
			for i := range z {
				k.SetInt(p.weight(g, o, i), int64(z[i]))
			}
		}
	})
	n := 0
	for _, k := range gained {
		n += k
	}
	if n == 0 {
		return nil
	}
	c.adapted++
	v, err := Linear(c.g, nq, op.DequantizeLinear, c.g.AddConst(deq.In[0].Name, k), deq.Out[0].Type.WithQuant(k.DType,
		q))
	if err != nil {
		return err
	}
	c.g.SetInput(nq, r.weight, v)
	return nil
}

// adaptHalf rounds the weights of a convolution that runs in bfloat16 to that
// format, in the same way. Its bias is left alone, so that means count as well.
func (c *calibrator) adaptHalf(l *lockstep, nf, nq *ir.Node) {
	w, p := nq.ConstIn(1), productOf(nf)
	if nq.Op != op.Conv && nq.Op != op.ConvTranspose || w == nil || p == nil || p.depth < 2 || p.depth > maxDepth {
		return
	}
	k := w.Cast(tensor.BF16).Cast(tensor.F32)
	l.eachChannel(nq, p, false, func(g, o int, h symmetric, r *rounder) func() {
		v, old := make([]float64, p.depth), make([]float64, p.depth)
		for i := range v {
			v[i], old[i] = w.Float(p.weight(g, o, i)), k.Float(p.weight(g, o, i))
		}
		z, ok := r.improve(h, v, old, toBF16)
		if !ok {
			return nil
		}
		return func() {
			for i := range z {
				k.SetFloat(p.weight(g, o, i), z[i])
			}
		}
	})
	c.g.SetInput(nq, 1, c.g.AddConst(nq.In[1].Name+".bf16", k))
	c.adapted++
}

// toBF16 is the nearest number of bfloat16.
func toBF16(f float64) float64 {
	return float64(math.Float32frombits(uint32(tensor.F32ToBF16(float32(f))) << 16))
}

// eachChannel calls f for every output channel of n, with the scalar products of
// the inputs of its weights on the samples, and then what these calls gave, one
// after another in a group.
func (l *lockstep) eachChannel(n *ir.Node, p *product, centred bool,
	f func(g, o int, h symmetric, r *rounder) (apply func())) {
	x := make([][]float32, len(l.env))
	for s := range x {
		x[s] = tensor.As[float32](l.value(s, n.In[0]))
	}
	at := positions(p, len(x))
	parallelEach(p.groups, func(g int) {
		h := gram(p.columns(x, g, at, centred))
		if r := newRounder(h); r != nil {
			apply := make([]func(), p.outs)
			parallelEach(p.outs, func(o int) { apply[o] = f(g, o, h, r) })
			for _, a := range apply {
				if a != nil {
					a()
				}
			}
		}
	})
}

// improve rounds weights v to a format; ok is false where the error is not less
// than that of old.
func (r *rounder) improve(h symmetric, v, old []float64, to func(float64) float64) (z []float64, ok bool) {
	z = r.round(v, to)
	was, now := make([]float64, len(v)), make([]float64, len(v))
	for i := range v {
		was[i], now[i] = v[i]-old[i], v[i]-z[i]
	}
	return z, h.form(now) < h.form(was)
}

// positions are the places of every sample's output that a layer is looked at:
// all of them, or as many as the depth asks for, evenly spread.
func positions(p *product, samples int) []int {
	n := min(p.positions, (max(minRows, rowsPerWeight*p.depth)+samples-1)/samples)
	at := make([]int, n)
	for i := range at {
		at[i] = i * p.positions / n
	}
	return at
}

// columns are the inputs of group g that a weight sees, for every weight.
func (p *product) columns(x [][]float32, g int, at []int, centred bool) [][]float64 {
	cols := make([][]float64, p.depth)
	parallelEach(p.depth, func(k int) {
		col := make([]float64, len(x)*len(at))
		for s := range x {
			p.column(x[s], g, k, at, col[s*len(at):][:len(at)])
		}
		if centred {
			mean := 0.0
			for _, v := range col {
				mean += v
			}
			mean /= float64(len(col))
			for i := range col {
				col[i] -= mean
			}
		}
		cols[k] = col
	})
	return cols
}

// rounder knows how an error in one weight is best made up for by others.
type rounder struct {
	order []int // of the weights: those that matter most first
	// u is upper triangular, in that order, with u'*u the inverse of the damped
	// matrix.
	u symmetric
}

// newRounder factors h, which stays as it is; nil where that is impossible.
func newRounder(h symmetric) *rounder {
	n := len(h)
	r := &rounder{order: make([]int, n)}
	mean := 0.0
	for i := range n {
		r.order[i] = i
		mean += h[i][i] / float64(n)
	}
	if !(mean > 0) || math.IsInf(mean, 0) {
		return nil
	}
	sort.SliceStable(r.order, func(a, b int) bool { return h[r.order[a]][r.order[a]] > h[r.order[b]][r.order[b]] })
	// Backwards, L*L' of the matrix is U*U' forwards, and the inverse of U is
	// the factor of the inverse.
	l := newSymmetric(n)
	for i := range n {
		for j := range n {
			l[i][j] = h[r.order[n-1-i]][r.order[n-1-j]]
		}
		l[i][i] += damping * mean
	}
	if !l.cholesky() {
		return nil
	}
	r.u = newSymmetric(n)
	parallelEach(n, func(c int) { // column c of the inverse of L
		x := make([]float64, n)
		l.inverseColumn(c, x)
		for i := c; i < n; i++ {
			r.u[n-1-i][n-1-c] = x[i]
		}
	})
	return r
}

// round gives the weights w as numbers of a format, by its rounding.
func (r *rounder) round(w []float64, to func(float64) float64) []float64 {
	v, z := make([]float64, len(w)), make([]float64, len(w))
	for i, k := range r.order {
		v[i] = w[k]
	}
	for i, k := range r.order {
		z[k] = to(v[i])
		vec.Axpy((z[k]-v[i])/r.u[i][i], r.u[i][i+1:], v[i+1:])
	}
	return z
}

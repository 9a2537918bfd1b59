// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
)

const (
	// maxDepth bounds the weights of one output channel that are rounded
	// together: the work grows with the third power.
	maxDepth = 1152
	// minRows and rowsPerWeight say how many positions a layer is looked at: with half as
	// many, one of the shared models lost more than a decibel.
	minRows, rowsPerWeight = 2048, 4
	// damping is added to the diagonal, as a part of its mean: inputs that were
	// not seen, or hardly vary, must not take the errors of the others.
	damping = 0.1
	// gramRows is how many places are added to scalar products at a time.
	gramRows = vec.Depth
	// together is how many channels are rounded at a time.
	together = 8
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
func (c *calibrator) adapt(l *lockstep, nf, nq *ir.Node, r rule) {
	w, deq := nf.ConstIn(r.weight), nq.In[r.weight].Def
	p := productOf(nf)
	if w == nil || p == nil || p.depth < 2 || p.depth > maxDepth || deq == nil || len(deq.Out[0].Uses()) != 1 {
		return
	}
	_, q, ok := params(deq)
	if !ok {
		return
	}
	k := deq.In[0].Const.Clone()
	_, most := k.DType.IntRange()
	nearest := func(f float64) float64 { return min(max(math.RoundToEven(f), -float64(most)), float64(most)) }
	gained := make([]int, p.groups)
	// What a bias can make up for is no error.
	centred := c.opt.BiasCorrection && nq.Op != op.MatMul
	l.eachChannel(nq, p, centred, nearest, func(g, o int, v, old []float64) {
		s := float64(q.ScaleAt(p.scale(g, o) % len(q.Scale)))
		for i := range v {
			v[i], old[i] = w.Float(p.weight(g, o, i))/s, float64(k.Int(p.weight(g, o, i)))
		}
	}, func(g, o int, z []float64) {
		gained[g]++
		for i := range z {
			k.SetInt(p.weight(g, o, i), int64(z[i]))
		}
	})
	n := lists.Sum(gained, func(k int) int { return k })
	if n == 0 {
		return
	}
	c.adapted++
	v := Linear(c.g, nq, op.DequantizeLinear, c.g.AddConst(deq.In[0].Name, k), deq.Out[0].Type.WithQuant(k.DType,
		q))
	c.g.SetInput(nq, r.weight, v)
}

// adaptHalf rounds the weights of a convolution that runs in bfloat16 to that
// format, in the same way. Its bias is left alone, so that means count as well.
func (c *calibrator) adaptHalf(l *lockstep, nf, nq *ir.Node) {
	w, p := nq.ConstIn(1), productOf(nf)
	if nq.Op != op.Conv && nq.Op != op.ConvTranspose || w == nil || p == nil || p.depth < 2 || p.depth > maxDepth {
		return
	}
	k := w.Cast(tensor.BF16).Cast(tensor.F32)
	l.eachChannel(nq, p, false, toBF16, func(g, o int, v, old []float64) {
		for i := range v {
			v[i], old[i] = w.Float(p.weight(g, o, i)), k.Float(p.weight(g, o, i))
		}
	}, func(g, o int, z []float64) {
		for i := range z {
			k.SetFloat(p.weight(g, o, i), z[i])
		}
	})
	c.g.SetInput(nq, 1, c.g.AddConst(nq.In[1].Name+".bf16", k))
	c.adapted++
}

// toBF16 is the nearest number of bfloat16.
func toBF16(f float64) float64 {
	return float64(math.Float32frombits(uint32(tensor.F32ToBF16(float32(f))) << 16))
}

// eachChannel rounds the weights of every output channel of n to a format. weights
// gives those of a channel, and what they are rounded to so far; keep gets what is
// better on the samples, one channel of a group after another.
func (l *lockstep) eachChannel(n *ir.Node, p *product, centred bool, to func(float64) float64,
	weights func(g, o int, v, old []float64), keep func(g, o int, z []float64)) {
	gram := l.gram(n, p, positions(p, len(l.env)), centred)
	ParallelEach(p.groups, func(g int) {
		h := gram(g)
		r := newRounder(h)
		if r == nil {
			return
		}
		better := make([][]float64, p.outs)
		ParallelEach((p.outs+together-1)/together, func(b int) {
			outs := min(together, p.outs-b*together)
			v, old := newMatrix(outs, p.depth), newMatrix(outs, p.depth)
			for o := range outs {
				weights(g, b*together+o, v[o], old[o])
			}
			r.improve(h, v, old, to, better[b*together:])
		})
		for o, z := range better {
			if z != nil {
				keep(g, o, z)
			}
		}
	})
}

// improve rounds the weights of channels to a format; of those whose error is less
// than that of old, z gets the result.
func (r *rounder) improve(h symmetric, v, old [][]float64, to func(float64) float64, z [][]float64) {
	rounded, now := r.round(v, to)
	for o := range v {
		for i := range v[o] {
			v[o][i] -= old[o][i]
		}
	}
	for o, was := range h.forms(v) {
		if now[o] < was && !slices.Equal(rounded[o], old[o]) {
			z[o] = rounded[o]
		}
	}
}

// positions are the places of every sample's output that a layer is looked at:
// all of them, or as many as the depth asks for, evenly spread.
func positions(p *product, samples int) []place {
	return p.spread((max(minRows, rowsPerWeight*p.depth) + samples - 1) / samples)
}

// spread are all places, or as many as most, evenly spread.
func (p *product) spread(most int) []place {
	at := make([]place, min(p.positions, most))
	for i := range at {
		at[i] = p.place(i * p.positions / len(at))
	}
	return at
}

// gram gives the matrix of a group of n, but for a factor: of integers where n's input is
// dequantised from int8 with one scale.
func (l *lockstep) gram(n *ir.Node, p *product, at []place, centred bool) func(g int) symmetric {
	if d := n.In[0].Def; d != nil && d.Op == op.DequantizeLinear {
		x := make([][]int8, len(l.env))
		t, q, ok := params(d)
		ok = ok && t == tensor.I8 && !q.PerAxis()
		for s := range x {
			if v := l.env[s][d.In[0]]; ok && v != nil {
				x[s] = tensor.As[int8](v)
			} else {
				ok = false
			}
		}
		if ok {
			return func(g int) symmetric { return p.gramInts(x, int16(q.Zero[0]), g, at, centred) }
		}
	}
	x := lists.Make(len(l.env), func(s int) []float32 { return tensor.As[float32](l.value(s, n.In[0], nil)) })
	return func(g int) symmetric { return p.gram(x, g, at, centred) }
}

// columnMemory and intMemory keep the memory of columns that were added up.
var columnMemory, intMemory sync.Pool

// pooled is so much memory of a pool, whatever is in it.
func pooled[T any](pool *sync.Pool, size int) *[]T {
	memory, _ := pool.Get().(*[]T)
	if memory == nil || cap(*memory) < size {
		return new(make([]T, size))
	}
	*memory = (*memory)[:size]
	return memory
}

// intRows is how many places of integers are added to scalar products at a time.
const intRows = 512

// gramInts is gram of integers, less zero: exact, and not times the square of their scale.
func (p *product) gramInts(x [][]int8, zero int16, g int, at []place, centred bool) symmetric {
	sums, rows := make([]float64, p.depth), len(x)*len(at)
	block := min(intRows, (rows+vec.IntBlock-1)/vec.IntBlock*vec.IntBlock)
	memory := pooled[int16](&intMemory, (p.depth+vec.IntRows-1)/vec.IntRows*vec.IntRows*block)
	defer intMemory.Put(memory)
	cols := *memory
	clear(cols[p.depth*block:])
	return p.products(rows, block, sums, centred, func(k, from, n int) {
		col := cols[k*block:][:block]
		columns(p, x, zero, g, k, at, from, col[:n])
		clear(col[n:])
	}, func(m symmetric, _ int, each inParts) {
		vec.AddSumsInts(block, cols, sums)
		vec.AddGramInts(p.depth, block, cols, m[0][:p.depth*p.depth], each)
	})
}

// gram is the matrix of the scalar products of the columns of group g: of the inputs
// that each weight sees at some places of every sample. centred: without their means.
func (p *product) gram(x [][]float32, g int, at []place, centred bool) symmetric {
	memory := pooled[float64](&columnMemory, p.depth*gramRows)
	defer columnMemory.Put(memory)
	cols := lists.Make(p.depth, func(k int) []float64 { return (*memory)[k*gramRows:][:gramRows] })
	sums := make([]float64, p.depth)
	return p.products(len(x)*len(at), gramRows, sums, centred, func(k, from, n int) {
		columns(p, x, 0, g, k, at, from, cols[k][:n])
		sums[k] += vec.Sum(cols[k][:n])
	}, func(m symmetric, n int, each inParts) { vec.AddGram(n, cols, m[0][:len(m)*len(m)], each) })
}

// inParts calls f(0) ... f(count-1), on some cores.
type inParts = func(count int, f func(i int))

// products adds up scalar products of columns, a block of rows after the other: write writes n rows of column k from
// one on, add adds them to the lower triangle. sums are those of the columns in the end.
func (p *product) products(rows, block int, sums []float64, centred bool, write func(k, from, n int),
	add func(m symmetric, n int, each inParts)) symmetric {
	each := ParallelEach
	if p.groups > 1 {
		each = inTurn // groups are computed side by side
	}
	m := newSymmetric(p.depth)
	for from := 0; from < rows; from += block {
		n := min(block, rows-from)
		each(p.depth, func(k int) { write(k, from, n) })
		add(m, n, each)
	}
	m.mirror()
	if centred {
		m.centre(sums, rows)
	}
	return m
}

// columns writes rows of column k, those of the places of one sample behind those of another, from one on.
func columns[T int8 | float32, D int16 | float64](p *product, x [][]T, zero D, g, k int, at []place, from int,
	col []D) {
	for i := 0; i < len(col); {
		s, first := (from+i)/len(at), (from+i)%len(at)
		part := at[first:min(len(at), first+len(col)-i)]
		column(p, x[s], zero, g, k, part, col[i:])
		i += len(part)
	}
}

// centre takes the means of columns with the given sums, of so many rows, off their products.
func (m symmetric) centre(sums []float64, rows int) {
	for i, row := range m {
		for j := range row {
			row[j] -= sums[i] * sums[j] / float64(rows)
		}
	}
}

// rounder knows how an error in one weight is best made up for by others.
type rounder struct {
	order []int // of the weights: those that matter most first
	// l is the lower triangle with l*l' the damped matrix, its rows and columns in the
	// opposite order.
	l       symmetric
	damping float64 // what was added to the diagonal
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
	r.damping = damping * mean
	sort.SliceStable(r.order, func(a, b int) bool { return h[r.order[a]][r.order[a]] > h[r.order[b]][r.order[b]] })
	r.l = newSymmetric(n)
	for i := range n {
		for j := range i + 1 {
			r.l[i][j] = h[r.order[n-1-i]][r.order[n-1-j]]
		}
		r.l[i][i] += r.damping
	}
	if !r.l.cholesky() {
		return nil
	}
	return r
}

// round gives the weights w of channels as numbers of a format, by its rounding,
// and the errors of the results, but for a factor. After each rounding the weights
// that are left make up for its error as far as they can: with the errors d, the
// square of l'*d is that of the results, element i depends on the weights from i on,
// and is least where weight i is rounded from what the others leave to it. These
// are the integers of GPTQ, without an inverse (Chen et al., "The Geometry of LLM
// Quantization: GPTQ as Babai's Nearest Plane Algorithm", 2025). All channels go
// through a row of l together, since reading it takes longer than working with it.
func (r *rounder) round(w [][]float64, to func(float64) float64) (z [][]float64, errs []float64) {
	n := len(r.order)
	left, z, errs := newMatrix(len(w), n), newMatrix(len(w), n), make([]float64, len(w))
	for i := n - 1; i >= 0; i-- {
		k, row, size := r.order[n-1-i], r.l[i][:i], r.l[i][i]
		for o := range w {
			f := w[o][k] + left[o][i]/size
			q := to(f)
			d := w[o][k] - q
			vec.Axpy(d, row, left[o])
			z[o][k] = q
			f = (f - q) * size
			errs[o] += float64(f*f) - float64(r.damping*d*d)
		}
	}
	return z, errs
}

// symmetric is a square symmetric matrix, its rows in full.
type symmetric [][]float64

func newSymmetric(n int) symmetric { return newMatrix(n, n) }

// newMatrix has its rows one behind the other.
func newMatrix(rows, cols int) [][]float64 {
	m := make([][]float64, rows)
	all := make([]float64, rows*cols)
	for i := range m {
		m[i] = all[i*cols:][:cols]
	}
	return m
}

// mirror makes the upper triangle that of the lower one.
func (m symmetric) mirror() {
	for i := range m {
		for j := range i {
			m[j][i] = m[i][j]
		}
	}
}

// inTurn calls f(0) ... f(count-1).
func inTurn(count int, f func(i int)) {
	for i := range count {
		f(i)
	}
}

// dots writes the scalar products of x and rows, which may be longer.
func dots(x []float64, rows [][]float64, out []float64) {
	i := 0
	for ; i+4 <= len(rows); i += 4 {
		four := vec.Dot4(x, (*[4][]float64)(rows[i:]))
		copy(out[i:], four[:])
	}
	for ; i < len(rows); i++ {
		out[i] = vec.Dot(x, rows[i][:len(x)])
	}
}

// forms are x'*m*x of several x.
func (m symmetric) forms(x [][]float64) []float64 {
	sums, part := make([]float64, len(x)), make([]float64, len(x))
	for i, row := range m {
		dots(row[:i], x, part)
		for o, v := range x {
			sums[o] += float64(v[i] * (2*part[o] + float64(row[i]*v[i])))
		}
	}
	return sums
}

// panel is how many columns of a factor are known before the rows below them are
// worked on, rowBlock how many of these rows are work for one core.
const panel, rowBlock = 32, 16

// cholesky replaces the lower triangle of m by L with m = L*L'; false when m is
// not positive definite.
func (m symmetric) cholesky() bool {
	for from := 0; from < len(m); from += panel {
		to := min(from+panel, len(m))
		for j := from; j < to; j++ {
			d := m[j][j] - vec.Dot(m[j][:j], m[j][:j])
			if !(d > 0) || math.IsInf(d, 0) {
				return false
			}
			m[j][j] = math.Sqrt(d)
			m.below(j, j+1, to)
		}
		rest := len(m) - to
		ParallelEach((rest+rowBlock-1)/rowBlock, func(b int) {
			first := to + b*rowBlock
			for j := from; j < to; j++ {
				m.below(j, first, min(first+rowBlock, len(m)))
			}
		})
	}
	return true
}

// below is column j of the factor in some rows, whose columns before j are known.
func (m symmetric) below(j, from, to int) {
	var sum [rowBlock + panel]float64
	dots(m[j][:j], m[from:to], sum[:])
	for i := from; i < to; i++ {
		m[i][j] = (m[i][j] - sum[i-from]) / m[j][j]
	}
}

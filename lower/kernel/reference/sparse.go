// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// sparse are the weights [out, in] of a layer as nncc_sparse_f32 has them.
type sparse struct {
	rows, in, out int
	background    float32
	runs          []int // for each output how many, then first input and length of each
	count         int   // of runs
	weights       []float32
}

// sparseShare: runs have at most one weight in this many. On its way a product takes
// about twice what one of a dense layer takes, and a run as much as two.
const sparseShare = 3

// sparseFacts are the runs of a Gemm or MatMul with one constant right matrix.
var sparseFacts = kernel.NewFact(func(n *kernel.Node) (*sparse, string) {
	if why := flatRight.Check(n); why != "" {
		return nil, why
	}
	c := n.In[1].Const
	if c == nil || c.DType != tensor.F32 {
		return nil, fmt.Sprintf("the right matrix %s is no float32 constant", n.In[1])
	}
	p := rightMatrix(n)
	b := &sparse{rows: p.rows, in: p.in, out: p.out}
	if why := b.pack(p.w); why != "" {
		return nil, why
	}
	return b, ""
})

// sparseGap: runs so close to each other are one.
const sparseGap = 2

// majority is the one number that can make up more than half of w: where it does not,
// any number.
func majority(w []float32) (m float32) {
	lead := 0
	for _, v := range w {
		switch {
		case v == m:
			lead++
		case lead == 0:
			m, lead = v, 1
		default:
			lead--
		}
	}
	return m + 0 // never -0
}

// pack finds the runs, or says why there is nothing to gain.
func (b *sparse) pack(w []float32) (why string) {
	b.background = majority(w)
	others := 0
	for _, v := range w {
		if v != b.background {
			others++
		}
	}
	if others*sparseShare > len(w) {
		return fmt.Sprintf("no number makes up %d in %d of the %d weights", sparseShare-1, sparseShare, len(w))
	}
	for o := range b.out {
		row, at := w[o*b.in:(o+1)*b.in], len(b.runs)
		b.runs = append(b.runs, 0)
		for first := 0; first < b.in; first++ {
			if row[first] == b.background {
				continue
			}
			end := first + 1
			for i := end; i < min(b.in, end+1+sparseGap); i++ {
				if row[i] != b.background {
					end = i + 1
				}
			}
			b.runs = append(b.runs, first, end-first)
			b.runs[at]++
			b.count++
			for _, v := range row[first:end] {
				b.weights = append(b.weights, v-b.background)
			}
			first = end
		}
	}
	work := len(b.weights) + 2*b.count
	if b.background != 0 {
		work += b.in
	}
	if b.in <= 1 || work*sparseShare > len(w) {
		return fmt.Sprintf("%d of %d weights are others than the most frequent one, in %d runs: want at most one in %d",
			len(b.weights), len(w), b.count, sparseShare)
	}
	return ""
}

// sparseRow is a filter bank.
var sparseRow = row("nncc_sparse_f32", "NNCC-SPARSE-F32",
	"matrix product with runs of weights on a background, bias and clamp", natural,
	kernel.Rules{cond.Float32(), cond.NotEmpty, flatRight, cond.Constant(1),
		sparseFacts.Exists("SPARSE", "most weights are one number")}, func(l *lowering, n *kernel.Node) {
		b := sparseFacts.Must(n)
		var bias call.Arg = call.Null{}
		if n.Op == op.Gemm {
			bias = l.gemmBias(b.out)
		}
		f := append(ints("batch", b.rows, "in_n", b.in, "out_n", b.out), call.F("background", f32(b.background)))
		w := b.weights
		if len(w) == 0 {
			w = []float32{0}
		}
		l.low.Unused = []int{1}
		l.call("nncc_sparse_f32", params("nncc_sparse_params", append(f, actFields(n.Node)...)...), l.in(0),
			intBlob("runs", b.runs), f32Blob("weights", w), bias, l.out(0))
	}, op.Gemm, op.MatMul)

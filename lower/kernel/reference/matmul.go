// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// flatRight: one right matrix, so that the product is a fully connected layer.
// A right matrix computed at run time must be [N, K] already.
var flatRight = cond.New("RIGHT-MATRIX", "one right matrix, constant (or transposed) for all products",
	func(n *kernel.Node) string {
		b := n.In[1]
		if n.Op == op.Gemm {
			switch {
			case ir.AttrsOf[op.GemmAttrs](n).TransA != 0:
				return "transA is 1, want 0"
			case b.Const == nil && ir.AttrsOf[op.GemmAttrs](n).TransB == 0:
				return fmt.Sprintf("the right matrix %s is computed at run time, want a constant", b)
			case ir.AttrsOf[op.AlphaAttr](n).Alpha != 1 && b.Const == nil:
				return fmt.Sprintf("alpha is %v with a right matrix computed at run time, want 1",
					ir.AttrsOf[op.AlphaAttr](n).Alpha)
			}
			return addendWhy(n.Node)
		}
		g, err := op.MatMulGeometry(n.Node)
		switch {
		case err != nil:
			return err.Error()
		case b.Const == nil:
			return fmt.Sprintf("the right matrix %s is computed at run time, want a constant", b)
		case b.Type.Elems() != g.K*g.N:
			return fmt.Sprintf("the right operand has shape %v, want one matrix", b.Type.Shape)
		case !g.Flat():
			return "the left matrices are broadcast, want each used once"
		}
		return ""
	})

// addendWhy is why Gemm's addend is no bias with one value a column.
func addendWhy(n *ir.Node) string {
	c := n.Input(2)
	if c == nil {
		return ""
	}
	s := c.Type.Shape
	switch {
	case len(s) == 2 && s[0] != 1:
		return fmt.Sprintf("the addend has shape %v, want one value a column", s)
	case c.Const != nil:
		return ""
	case c.Type.Elems() != n.Out[0].Type.Shape[1]:
		return fmt.Sprintf("the addend computed at run time has shape %v, want one value a column", s)
	case ir.AttrsOf[op.BetaAttr](n).Beta != 1:
		return fmt.Sprintf("beta is %v with an addend computed at run time, want 1", ir.AttrsOf[op.BetaAttr](n).Beta)
	}
	return ""
}

// fullyConnectedRow computes Gemm and MatMul with one right matrix.
var fullyConnectedRow = row("nncc_fully_connected_f32", "NNCC-FC-F32",
	"matrix product with one right matrix, bias and clamp", natural,
	kernel.Rules{cond.Float32(), cond.NotEmpty, flatRight}, func(l *lowering, n *kernel.Node) {
		var rows, k, cols int
		var bias call.Arg = call.Null{}
		w := call.Arg(nil)
		if n.Op == op.Gemm {
			g := kernel.Gemm.Must(n)
			rows, k, cols = g.M, g.K, g.N
			bias = l.gemmBias(cols)
			w = l.gemmWeights()
		} else {
			g := kernel.MatMul.Must(n)
			rows, k, cols = len(g.A)*g.M, g.K, g.N
			w = l.arranged(1, []int{k, cols}, []int{1, 0})
		}
		f := append(ints("batch", rows, "in_n", k, "out_n", cols), actFields(n.Node)...)
		l.call("nncc_fully_connected_f32", params("nncc_fully_connected_params", f...), l.in(0), w, bias, l.out(0))
	}, op.Gemm, op.MatMul)

// gemmWeights is Gemm's right matrix as [N, K], alpha folded in.
func (l *lowering) gemmWeights() call.Arg {
	if l.n.In[1].Const == nil {
		return l.in(1)
	}
	return blob("weights", gemmRight(l.n))
}

// gemmRight is Gemm's constant right matrix as [N, K], alpha folded in.
func gemmRight(n *ir.Node) *tensor.Dense {
	c := n.In[1].Const
	if ir.AttrsOf[op.GemmAttrs](n).TransB == 0 {
		c = c.Transpose([]int{1, 0})
	}
	return scaled(c, ir.AttrsOf[op.AlphaAttr](n).Alpha)
}

// gemmBias is Gemm's addend as one value a column, beta folded in.
func (l *lowering) gemmBias(cols int) call.Arg {
	v := l.n.Input(2)
	if v == nil || v.Const == nil {
		return l.in(2)
	}
	return blob("bias", gemmAddend(l.n, cols))
}

// gemmAddend is Gemm's constant addend as one value a column, beta folded in.
func gemmAddend(n *ir.Node, cols int) *tensor.Dense {
	d := scaled(n.Input(2).Const, ir.AttrsOf[op.BetaAttr](n).Beta)
	if d.Len() == 1 && cols > 1 {
		d = tensor.Of([]int{cols}, slices.Repeat(tensor.As[float32](d), cols))
	}
	return d
}

// scaled is d times a factor, in float32.
func scaled(d *tensor.Dense, k float32) *tensor.Dense {
	if k == 1 {
		return d
	}
	v := slices.Clone(tensor.As[float32](d))
	for i := range v {
		v[i] *= k
	}
	return tensor.Of(d.Shape, v)
}

// matrixParams are the parameters of nncc_batch_matmul_f32.
func matrixParams(m, k, n, aRow, aCol, bRow, bCol int, batch call.Nested) *call.Struct {
	f := ints("m", m, "k", k, "n", n, "a_row", aRow, "a_col", aCol, "b_row", bRow, "b_col", bCol)
	return params("nncc_batch_matmul_params", append(f, call.F("batch", batch))...)
}

// batchMatMulRow computes MatMul of two run-time operands, or with broadcasting.
var batchMatMulRow = row("nncc_batch_matmul_f32", "NNCC-MATMUL-F32",
	"products of run-time matrices with broadcast batch dimensions", natural,
	kernel.Rules{cond.Float32(), cond.NotEmpty, cond.Rank}, func(l *lowering, n *kernel.Node) {
		g := kernel.MatMul.Must(n)
		l.call("nncc_batch_matmul_f32", matrixParams(g.M, g.K, g.N, g.K, 1, g.N, 1, matBatch(n.Node, g)), l.in(0),
			l.in(1), l.out(0))
		l.clampF32()
	}, op.MatMul)

// matBatch are the batch dimensions with the distance, in elements, of the
// matrices of both operands.
func matBatch(n *ir.Node, g *op.MatGeom) call.Nested {
	st := func(v *ir.Value, size int) []int {
		s := v.Type.Shape
		if len(s) < 2 {
			s = nil
		} else {
			s = s[:len(s)-2]
		}
		s = padLeft(s, len(g.Batch))
		out := tensor.Strides(s)
		for i := range out {
			out[i] *= size
			if s[i] == 1 {
				out[i] = 0
			}
		}
		return out
	}
	dims, s := merge(g.Batch, st(n.In[0], g.M*g.K), st(n.In[1], g.K*g.N))
	if tensor.Count(g.Batch) == 1 {
		dims, s = nil, [][]int{nil, nil}
	}
	if len(dims) == 0 {
		return call.Nested{Fields: ints("rank", 0)}
	}
	return call.Nested{Fields: append(ints("rank", len(dims)), list("dims", dims), list("a_stride", s[0]),
		list("b_stride", s[1]))}
}

// gemmRow computes every other Gemm: product, then alpha, then beta*C.
var gemmRow = row("nncc_batch_matmul_f32", "NNCC-GEMM-F32", "product of two run-time matrices, scaled, with addend",
	natural, kernel.Rules{cond.Float32(), cond.NotEmpty}, func(l *lowering, n *kernel.Node) {
		g := kernel.Gemm.Must(n)
		aRow, aCol, bRow, bCol := g.K, 1, g.N, 1
		if ir.AttrsOf[op.GemmAttrs](n).TransA != 0 {
			aRow, aCol = 1, g.M
		}
		if ir.AttrsOf[op.GemmAttrs](n).TransB != 0 {
			bRow, bCol = 1, g.K
		}
		out := n.Out[0].Type
		l.call("nncc_batch_matmul_f32", matrixParams(g.M, g.K, g.N, aRow, aCol, bRow, bCol,
			call.Nested{Fields: ints("rank", 0)}), l.in(0), l.in(1), l.out(0))
		if a := ir.AttrsOf[op.AlphaAttr](n).Alpha; a != 1 {
			l.scale(out, l.outputOperand(), a, l.out(0))
		}
		if n.Input(2) != nil && ir.AttrsOf[op.BetaAttr](n).Beta != 0 {
			c := l.broadcast(2, out)
			if b := ir.AttrsOf[op.BetaAttr](n).Beta; b != 1 {
				s := l.scratch(tensor.F32, out.Elems())
				l.scale(out, c, b, s)
				c = operand{Arg: s, Strides: tensor.Strides(out.Shape)}
			}
			y := l.outputOperand()
			l.call("nncc_add_f32", bcastParams(out, y, c), y.Arg, c.Arg, y.Arg)
		}
		l.clampF32()
	}, op.Gemm)

// scale is y = x * k over the output's space.
func (l *lowering) scale(out ir.Type, x operand, k float32, y call.Arg) {
	c := operand{Arg: array("const", []float32{k}), Strides: make([]int, out.Rank())}
	l.call("nncc_mul_f32", bcastParams(out, x, c), x.Arg, c.Arg, y)
}

// rightProduct is a Gemm or MatMul with one constant right matrix.
type rightProduct struct {
	rows, in, out int
	w             []float32 // [out, in]
	bias          []float32 // nil: none
}

// rightMatrix is the product without its addend.
func rightMatrix(n *kernel.Node) *rightProduct {
	if n.Op == op.Gemm {
		g := kernel.Gemm.Must(n)
		return &rightProduct{rows: g.M, in: g.K, out: g.N, w: tensor.As[float32](gemmRight(n.Node))}
	}
	g := kernel.MatMul.Must(n)
	return &rightProduct{rows: len(g.A) * g.M, in: g.K, out: g.N,
		w: tensor.As[float32](n.In[1].Const.Reshaped([]int{g.K, g.N}).Transpose([]int{1, 0}))}
}

var products = kernel.NewFact(func(n *kernel.Node) (*rightProduct, string) {
	for _, why := range []string{flatRight.Check(n), cond.Constant(1, 2).Check(n)} {
		if why != "" {
			return nil, why
		}
	}
	for i, what := range []string{"", "right matrix", "addend"} {
		if v := n.Input(i); i > 0 && v != nil && v.Const.DType != tensor.F32 {
			return nil, fmt.Sprintf("the %s is %s, want float32", what, v.Const.DType.ONNXName())
		}
	}
	p := rightMatrix(n)
	if n.Op == op.Gemm && n.Input(2) != nil {
		p.bias = tensor.As[float32](gemmAddend(n.Node, p.out))
	}
	if p.out < 2 {
		return nil, "the product has one column, want two or more: records of packed weights have at least 4"
	}
	return p, ""
})

// packedProductRow is a matrix product as a convolution of 1x1 over the rows.
var packedProductRow = row("nncc_conv2d_packed_f32", "",
	"matrix product with one constant right matrix, 8 columns of some rows at a time", natural,
	kernel.Rules{floatUnit, ownKernels,
		products.Exists("RIGHT-MATRIX", "one constant right matrix of two columns or more"),
		cond.Float32(), cond.NotEmpty}, func(l *lowering, n *kernel.Node) {
		l.low.Unused = unusedTail(n.Node)
		p := products.Must(n)
		one := []int{1}
		g := &op.ConvGeom{N: 1, CIn: p.in, COut: p.out, Windows: op.Windows{In: []int{p.rows},
			Out: []int{p.rows}, Kernel: one, Strides: one, Dilations: one, PadBegin: []int{0}}}
		channels := ints("in_c", p.in, "out_c", p.out, "groups", 1)
		l.call(l.low.Kernel, packedParams(n.Node, convPacked, g, channels), l.in(0), p.pack(), l.out(0))
	}, op.Gemm, op.MatMul)

// pack is the records of all columns.
func (p *rightProduct) pack() *call.Blob {
	bias := func(c int) float32 {
		if p.bias == nil {
			return 0
		}
		return p.bias[c%len(p.bias)]
	}
	return packedBlob(records(nil, p.out, p.in, bias, func(c, i int) float32 { return p.w[c*p.in+i] }))
}

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
	return cond.If(b.in <= 1 || work*sparseShare > len(w),
		"%d of %d weights are others than the most frequent one, in %d runs: want at most one in %d", len(b.weights),
		len(w), b.count, sparseShare)
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
			indexArray("runs", b.runs), array("weights", w), bias, l.out(0))
	}, op.Gemm, op.MatMul)

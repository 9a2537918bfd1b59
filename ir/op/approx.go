// SPDX-License-Identifier: Apache-2.0

package op

import (
	"sync"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
)

// Approximate gives a function that evaluates n, a convolution or matrix product of
// float32, with sums in float32: with errors of some millionths, for what is measured in
// decibels. The order of sums is defined, so that the results are the same bits on every
// processor. w are the weights, input 1, and b is the bias, input 2, where these are
// constants; nil otherwise. What they are packed to is kept by the function, which only
// looks at the other inputs and writes every element of y. It is nil where n is none of
// these.
func Approximate(n *ir.Node, w, b *tensor.Dense) func(in []*tensor.Dense, y []float32) {
	for i, v := range n.In {
		if i > 2 || v == nil || v.Type.DType != tensor.F32 || v.Type.Elems() == 0 {
			return nil
		}
	}
	if n.Out[0].Type.Elems() == 0 || n.Input(2) != nil && b == nil {
		return nil
	}
	lo, hi := ActBounds(n)
	s := vec.Sums{Lo: float32(lo), Hi: float32(hi)}
	switch n.Op {
	case Conv:
		if g, err := ConvGeometry(n); err == nil && w != nil && len(g.In) <= 2 {
			s.Row = floats[float32](b)
			return newApproxConv(g, tensor.As[float32](w), s)
		}
	case Gemm:
		return approxGemm(n, w, b, s)
	case MatMul:
		return approxMatMul(n, w, s)
	}
	return nil
}

const (
	// approxColumns are the columns of a piece of work, a multiple of all tiles.
	approxColumns = 512
	// approxWork is how many multiplications it takes to share them out: others are done
	// beside those of other samples.
	approxWork = 1 << 22
	// approxBlock is how many numbers are laid out and summed up at a time, but for a row at
	// least: they fit a cache, and are little beside the values.
	approxBlock = 1 << 17
)

// lefts packs left sides of products, m x k or of the transpose, in memory that is used again.
type lefts struct {
	trans     bool
	m, k, lda int
	free      sync.Pool
}

func (l *lefts) pack(x []float32) *vec.Single {
	if s, ok := l.free.Get().(*vec.Single); ok {
		s.Set(l.trans, x, l.lda)
		return s
	}
	return vec.PackSingle(l.trans, l.m, l.k, x, l.lda)
}

// shareApprox calls f for n columns in pieces.
func shareApprox(work, n int, f func(from, count int)) {
	if work < approxWork {
		f(0, n)
		return
	}
	parallel((n+approxColumns-1)/approxColumns, func(i int) {
		from := i * approxColumns
		f(from, min(approxColumns, n-from))
	})
}

// rowsFrom are the places of rows that are apart.
func rowsFrom(count, apart int) []int {
	return lists.Make(count, func(i int) int { return i * apart })
}

// approxConv is a convolution in up to two dimensions.
type approxConv struct {
	*ConvGeom
	ci, co, in, out int           // channels of a group, elements of a plane
	left            []*vec.Single // by group
	sums            []vec.Sums    // by group
	at              []int         // what each weight sees, from the first channel on
	*planes                       // nil: the input is the right side of the products
	rows, n, size   int           // of what is laid out at a time: rows, sums, elements of a plane
	blocks          [][]cut       // of an image: what is laid out of a plane
}

func newApproxConv(g *ConvGeom, w []float32, s vec.Sums) func(in []*tensor.Dense, y []float32) {
	c := &approxConv{ConvGeom: g, blocks: make([][]cut, 1), ci: g.CIn / g.Group, co: g.COut / g.Group,
		in: product(g.In), out: product(g.Out)}
	k := c.ci * g.Taps()
	direct := g.Taps() == 1 && product(g.Strides) == 1 && c.in == c.out
	for grp := range g.Group {
		t := s
		if s.Row != nil {
			t.Row = s.Row[grp*c.co:][:c.co]
		}
		c.left = append(c.left, vec.PackSingle(false, c.co, k, w[grp*c.co*k:][:c.co*k], k))
		c.sums = append(c.sums, t)
	}
	if direct {
		c.at = rowsFrom(k, c.in)
		return c.eval
	}
	c.planes = newPlanes(g)
	height, pitch, width := c.planes.out[1], c.planes.pitch, c.planes.out[2]
	for c.rows = height; c.rows > 1 && c.ci*c.planes.size(c.rows)+c.co*c.rows*pitch > approxBlock; {
		c.rows = (c.rows + 1) / 2
	}
	c.blocks, c.n, c.size = nil, (c.rows-1)*pitch+width, c.planes.size(c.rows)
	for first := 0; first < height; first += c.rows {
		c.blocks = append(c.blocks, c.cuts(first, c.rows))
	}
	for ch := range c.ci {
		for _, a := range c.taps(c.rows) {
			c.at = append(c.at, ch*c.size+a)
		}
	}
	return c.eval
}

func (c *approxConv) eval(args []*tensor.Dense, y []float32) {
	x := tensor.As[float32](args[0])
	part := func(job int) {
		i, block := job/len(c.blocks), job%len(c.blocks) // image and group
		x, y := x[i*c.ci*c.in:][:c.ci*c.in], y[i*c.co*c.out:][:c.co*c.out]
		if c.planes == nil {
			c.times(i%c.Group, x, y, c.out)
			return
		}
		buf := singles(c.co*c.n + c.ci*c.size + vec.MostColumns)
		defer singlesPool.Put(buf)
		apart, laid := (*buf)[:c.co*c.n], (*buf)[c.co*c.n:]
		for ch := range c.ci {
			c.lay(laid[ch*c.size:][:c.size], x[ch*c.in:][:c.in], c.blocks[block])
		}
		c.times(i%c.Group, laid, apart, c.n)
		first, width := block*c.rows, c.planes.out[2]
		rows := min(c.rows, c.planes.out[1]-first)
		for ch := range c.co {
			copyRows(y[ch*c.out+first*width:], apart[ch*c.n:][:c.n], rows, width, width, c.pitch, 1)
		}
	}
	jobs := c.N * c.Group * len(c.blocks)
	if len(y)*len(c.at) >= approxWork {
		parallel(jobs, part)
		return
	}
	for i := range jobs {
		part(i)
	}
}

// times computes n sums of every output channel of a group, n apart.
func (c *approxConv) times(grp int, x, y []float32, n int) {
	if n*c.co*len(c.at) < approxWork { // the function below would be made for each call
		c.left[grp].Times(n, c.at, x, &c.sums[grp], y, n)
		return
	}
	shareApprox(n*c.co*len(c.at), n, func(from, count int) {
		c.left[grp].Times(count, c.at, x[from:], &c.sums[grp], y[from:], n)
	})
}

// approxGemm is a matrix product with constant weights, and a bias for each column.
func approxGemm(n *ir.Node, w, b *tensor.Dense, s vec.Sums) func(in []*tensor.Dense, y []float32) {
	g, err := GemmGeometry(n)
	a := ir.AttrsOf[GemmAttrs](n)
	if err != nil || w == nil || a.TransA != 0 || a.Alpha != 1 || b != nil && (a.Beta != 1 || b.Len() != g.N) {
		return nil
	}
	if b != nil && len(b.Shape) > 0 && b.Shape[len(b.Shape)-1] != g.N {
		return nil // a bias for each row
	}
	right := tensor.As[float32](w)
	if a.TransB != 0 {
		right = transposed(g.K, g.N, right, g.K)
	}
	s.Col = floats[float32](b)
	return approxRight(g.M, g.K, g.N, right, s)
}

// approxRight multiplies m x k by the constant k x n.
func approxRight(m, k, n int, right []float32, s vec.Sums) func(in []*tensor.Dense, y []float32) {
	at, rows := rowsFrom(k, n), &lefts{m: m, k: k, lda: k}
	return func(args []*tensor.Dense, y []float32) {
		rows.times(n, tensor.As[float32](args[0]), right, at, &s, y)
	}
}

// times is y = x*right, with n columns, the rows of right at the given places.
func (l *lefts) times(n int, x, right []float32, at []int, s *vec.Sums, y []float32) {
	left := l.pack(x)
	defer l.free.Put(left)
	shareApprox(l.m*l.k*n, n, func(from, count int) {
		t := *s
		if t.Col != nil {
			t.Col = t.Col[from:]
		}
		left.Times(count, at, right[from:], &t, y[from:], n)
	})
}

// approxMatMul multiplies by constant weights, w, or, where that is nil, by input 1.
func approxMatMul(n *ir.Node, w *tensor.Dense, s vec.Sums) func(in []*tensor.Dense, y []float32) {
	g, err := MatMulGeometry(n)
	if err != nil || g.K == 0 {
		return nil
	}
	if w != nil && g.Flat() {
		return approxRight(len(g.A)*g.M, g.K, g.N, tensor.As[float32](w), s)
	}
	if w != nil {
		return nil
	}
	at, rows := rowsFrom(g.K, g.N), &lefts{m: g.M, k: g.K, lda: g.K}
	return func(args []*tensor.Dense, y []float32) {
		a, b := tensor.As[float32](args[0]), tensor.As[float32](args[1])
		for i := range g.A {
			rows.times(g.N, a[g.A[i]*g.M*g.K:], b[g.B[i]*g.K*g.N:], at, &s, y[i*g.M*g.N:])
		}
	}
}

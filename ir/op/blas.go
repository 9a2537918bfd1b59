// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
)

type float interface{ float32 | float64 }

// summable are the types of sums; integers wrap as an accumulator's do.
type summable interface{ float64 | int32 | int64 }

// gemm is c = alpha*op(a)*op(b) + beta*c with row-major matrices; op(a) is
// m x k and op(b) is k x n. The order of summation depends on the sizes only,
// never on the number of cores.
func gemm[T summable](ta, tb bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	switch a := any(a).(type) {
	case []int32:
		gemmInt(ta, tb, m, n, k, int32(alpha), a, lda, any(b).([]int32), ldb, int32(beta), any(c).([]int32), ldc)
	case []int64:
		gemmInt(ta, tb, m, n, k, int64(alpha), a, lda, any(b).([]int64), ldb, int64(beta), any(c).([]int64), ldc)
	case []float64:
		right := any(b).([]float64)
		if tb && k > 0 {
			right, ldb = transposed(k, n, right, ldb), n
		}
		gemmDouble(ta, m, n, k, float64(alpha), a, lda, right, ldb, float64(beta), any(c).([]float64), ldc)
	}
}

// rowColumns are the columns of a product row by row: their part of the right side stays in a cache.
const rowColumns = 1 << 9

// gemmDouble is gemm by whichever way suits the sizes: all of them add the products of an element in
// their order. A zero on the left adds nothing, also to -0, unless what it meets is not finite: that
// is no number.
func gemmDouble(ta bool, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int) {
	if m >= leastRows && k > 0 && gemmTiled(ta, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		return
	}
	for j := 0; j < n && m > 0; j += rowColumns {
		gemmRows(ta, m, min(rowColumns, n-j), k, alpha, a, lda, b[min(j, len(b)):], ldb, beta, c[j:], ldc)
	}
}

// leastRows is how many rows it takes for packing the right side to pay.
const leastRows = 3

// gemmTiled is gemm with the tiles of vec; false, with nothing done, where they cannot.
func gemmTiled(ta bool, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int) bool {
	if beta != 0 && beta != 1 {
		return false
	}
	left, ok := vec.Pack(ta, m, k, alpha, a, lda)
	if !ok {
		return false
	}
	defer left.Release()
	if beta == 0 {
		for i := range m {
			clear(c[i*ldc:][:n])
		}
	}
	return left.AddTo(n, b, ldb, c, ldc, parallel)
}

// gemmRows is gemm row by row.
func gemmRows(ta bool, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int) {
	down, along := lda, 1
	if ta {
		down, along = 1, lda
	}
	for i := range m {
		row := c[i*ldc:][:n]
		switch beta {
		case 0:
			clear(row)
		case 1:
		default:
			for j := range row {
				row[j] *= beta
			}
		}
		stays := vec.NoNegativeZero(1, n, row, n)
		for l := range k {
			f, right := alpha*a[i*down+l*along], b[l*ldb:][:n]
			if f != 0 || stays {
				vec.Axpy(f, right, row)
				continue
			}
			for j, v := range right {
				if v-v != 0 {
					row[j] = math.NaN()
				}
			}
		}
	}
}

// transposed is the k x n matrix whose transpose, n x k, b holds.
func transposed[T any](k, n int, b []T, ldb int) []T {
	const tile = 32
	out := make([]T, k*n)
	for j0 := 0; j0 < n; j0 += tile {
		for i0 := 0; i0 < k; i0 += tile {
			for j := j0; j < min(j0+tile, n); j++ {
				for i := i0; i < min(i0+tile, k); i++ {
					out[i*n+j] = b[j*ldb+i]
				}
			}
		}
	}
	return out
}

func gemmInt[T int32 | int64](ta, tb bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T,
	ldc int) {
	for i := 0; i < m; i++ {
		row := c[i*ldc:][:n]
		for j := range row {
			row[j] *= beta
		}
		for l := 0; l < k; l++ {
			v := alpha
			if ta {
				v *= a[l*lda+i]
			} else {
				v *= a[i*lda+l]
			}
			if v == 0 {
				continue
			}
			if tb {
				for j := range row {
					row[j] += v * b[j*ldb+l]
				}
				continue
			}
			src := b[l*ldb:][:n]
			for j, x := range src {
				row[j] += v * x
			}
		}
	}
}

// inFloat runs f64 on in, widened, and rounds the results once to the type of
// in[0]. A reference should not depend on the order of its sums: rounded once,
// values that lie on the edge between two quantisation steps fall to the same
// side as with the fused multiply-adds of other runtimes. Inputs of these indices f64
// widens itself, piece by piece.
func inFloat(in []*tensor.Dense, f64 func(in []*tensor.Dense) []*tensor.Dense, pieces ...int) []*tensor.Dense {
	dt := in[0].DType
	if dt == tensor.F64 {
		return f64(in)
	}
	wide := make([]*tensor.Dense, len(in))
	for i, d := range in {
		if d != nil && d.DType.IsFloat() && !slices.Contains(pieces, i) {
			d = d.Cast(tensor.F64)
		}
		wide[i] = d
	}
	out := f64(wide)
	for i, d := range out {
		if d != nil && d.DType == tensor.F64 {
			out[i] = d.Cast(dt)
		}
	}
	return out
}

// floats is the typed data of an optional tensor; nil when it is absent.
func floats[T float](d *tensor.Dense) []T {
	if d == nil {
		return nil
	}
	return tensor.As[T](d)
}

// opt is input i, or nil when it is absent.
func opt(in []*tensor.Dense, i int) *tensor.Dense {
	if i < len(in) {
		return in[i]
	}
	return nil
}

// panelElements is about how much of a right side a panel holds: 1 MiB.
const panelElements = 1 << 17

// panelMemory keeps the memory of panels that were used: a calibration runs each layer
// hundreds of times.
var panelMemory = sync.Pool{New: func() any { return new([]float64) }}

// rightSide is the right side of a float product, k x n, or n x k if trans. The product
// reads it in panels of columns, so that no widened or transposed copy of a
// network's weights is made as a whole.
type rightSide struct {
	k, n   int
	trans  bool
	narrow []float32 // or wide
	wide   []float64
}

// rightOf is d as the right side of a product; d may be of any float type.
func rightOf(d *tensor.Dense, k, n int, trans bool) *rightSide {
	r := &rightSide{k: k, n: n, trans: trans}
	if d.DType == tensor.F32 {
		r.narrow = tensor.As[float32](d)
	} else {
		r.wide = tensor.As[float64](d.Cast(tensor.F64))
	}
	return r
}

// gemmPanels is gemm with b for op(b), in float64; the panels are computed on all cores.
// Every element of c is the same sum in the same order as without panels.
func gemmPanels(ta bool, m int, alpha float64, a []float64, lda int, b *rightSide, beta float64, c []float64) {
	if b.wide != nil && !b.trans {
		gemm(ta, false, m, b.n, b.k, alpha, a, lda, b.wide, max(b.n, 1), beta, c, max(b.n, 1))
		return
	}
	cols := min(max(panelElements/max(b.k, 1)&^63, 64), max(b.n, 1))
	parallel((b.n+cols-1)/cols, func(i int) {
		j := i * cols
		width := min(cols, b.n-j)
		memory := panelMemory.Get().(*[]float64)
		defer panelMemory.Put(memory)
		if cap(*memory) < b.k*width {
			*memory = make([]float64, b.k*width)
		}
		panel := (*memory)[:b.k*width]
		if b.narrow != nil {
			columns(panel, b, b.narrow, j, width)
		} else {
			columns(panel, b, b.wide, j, width)
		}
		gemm(ta, false, m, width, b.k, alpha, a, lda, panel, width, beta, c[j:], b.n)
	})
}

// columns fills panel, k x width, with the columns of b from j on; data is what b holds.
func columns[T float](panel []float64, b *rightSide, data []T, j, width int) {
	if !b.trans {
		for l := range b.k {
			row := panel[l*width:][:width]
			for i, v := range data[l*b.n+j:][:width] {
				row[i] = float64(v)
			}
		}
		return
	}
	const tile = 32
	for i0 := 0; i0 < width; i0 += tile {
		for l0 := 0; l0 < b.k; l0 += tile {
			for i := i0; i < min(i0+tile, width); i++ {
				for l, v := range data[(j+i)*b.k+l0 : (j+i)*b.k+min(l0+tile, b.k)] {
					panel[(l0+l)*width+i] = float64(v)
				}
			}
		}
	}
}

// parallel calls f(0) ... f(n-1) on all cores. Results must not depend on the
// order. A panic in f is raised again in the caller, where EvalNode turns it
// into an error that names the node.
func parallel(n int, f func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := 0; i < n; i++ {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var fault atomic.Value
	var wg sync.WaitGroup
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() {
				if r := recover(); r != nil {
					fault.CompareAndSwap(nil, panicValue{r})
				}
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		}()
	}
	wg.Wait()
	if p, ok := fault.Load().(panicValue); ok {
		panic(p.v)
	}
}

type panicValue struct{ v any }

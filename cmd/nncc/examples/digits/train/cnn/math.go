// SPDX-License-Identifier: Apache-2.0

package cnn

import (
	"math"
	"runtime"
	"sync"
)

// shards is the number of parts into which the samples of a batch are divided.
// Sums over a batch are made within a shard and then over the shards in order,
// so that the number of cores does not show in the result.
const shards = 8

// act is a batch of feature maps: n samples of h x w positions with c channels,
// channels innermost.
type act struct {
	n, h, w, c int
	v          []float32
}

// fit gives the act another shape; its contents are then undefined.
func (a *act) fit(n, h, w, c int) *act {
	a.n, a.h, a.w, a.c = n, h, w, c
	a.v = resize(a.v, n*h*w*c)
	return a
}

// resize gives a slice of n elements with undefined contents, reusing s.
func resize(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

// parallel runs f for each shard with the samples [lo, hi) that belong to it.
func parallel(n int, f func(shard, lo, hi int)) {
	work := make(chan int, shards)
	for s := range shards {
		work <- s
	}
	close(work)
	var wg sync.WaitGroup
	for range min(shards, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for s := range work {
				if lo, hi := s*n/shards, (s+1)*n/shards; lo < hi {
					f(s, lo, hi)
				}
			}
		})
	}
	wg.Wait()
}

// axpy adds a*x to y. The conversion keeps compilers from fusing multiplication
// and addition, which would round differently on other machines.
func axpy(y []float32, a float32, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += float32(a * x[i])
	}
}

// axpy4 adds a0*x0 + a1*x1 + a2*x2 + a3*x3 to y.
func axpy4(y []float32, a0, a1, a2, a3 float32, x0, x1, x2, x3 []float32) {
	x0, x1, x2, x3 = x0[:len(y)], x1[:len(y)], x2[:len(y)], x3[:len(y)]
	for i := range y {
		y[i] += float32(a0*x0[i]) + float32(a1*x1[i]) + float32(a2*x2[i]) + float32(a3*x3[i])
	}
}

// matmul adds a·b to c: a is m x k, b is k x n, all row-major.
func matmul(c, a, b []float32, m, k, n int) {
	for i := range m {
		ci, ai := c[i*n:(i+1)*n], a[i*k:(i+1)*k]
		j := 0
		for ; j+4 <= k; j += 4 {
			axpy4(ci, ai[j], ai[j+1], ai[j+2], ai[j+3], b[j*n:], b[(j+1)*n:], b[(j+2)*n:], b[(j+3)*n:])
		}
		for ; j < k; j++ {
			axpy(ci, ai[j], b[j*n:])
		}
	}
}

// matmulT adds aᵀ·b to c: a is m x k, b is m x n, c is k x n.
func matmulT(c, a, b []float32, m, k, n int) {
	i := 0
	for ; i+4 <= m; i += 4 {
		a0, a1, a2, a3 := a[i*k:(i+1)*k], a[(i+1)*k:(i+2)*k], a[(i+2)*k:(i+3)*k], a[(i+3)*k:(i+4)*k]
		b0, b1, b2, b3 := b[i*n:(i+1)*n], b[(i+1)*n:(i+2)*n], b[(i+2)*n:(i+3)*n], b[(i+3)*n:(i+4)*n]
		for j := range k {
			axpy4(c[j*n:(j+1)*n], a0[j], a1[j], a2[j], a3[j], b0, b1, b2, b3)
		}
	}
	for ; i < m; i++ {
		for j := range k {
			axpy(c[j*n:(j+1)*n], a[i*k+j], b[i*n:(i+1)*n])
		}
	}
}

// transpose gives the n x m transpose of an m x n matrix.
func transpose(a []float32, m, n int) []float32 {
	t := make([]float32, len(a))
	for i := range m {
		for j := range n {
			t[j*m+i] = a[i*n+j]
		}
	}
	return t
}

// exp is e to the x for x <= 0. math.Exp differs in the last bit between
// processors with and without fused multiply-add, and training would spread
// that over all weights.
func exp(x float64) float64 {
	if x < -80 {
		return 0
	}
	k := math.Round(x / math.Ln2)
	r := x - float64(k*math.Ln2)
	sum, term := 1.0, 1.0
	for i := 1; i <= 14; i++ {
		term *= r / float64(i)
		sum += term
	}
	return math.Ldexp(sum, int(k))
}

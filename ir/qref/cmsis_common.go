// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref/cmsis"
)

// The cmsis_*.go files compute, in Go and byte for byte, what the CMSIS-NN
// functions of revision 99f736a6 compute on every core (plain C, DSP and MVE
// builds agree). Tensors are flat NHWC []int8. Every kernel checks that the
// slices fit the dimensions and returns an error otherwise; it never panics on
// bad dimensions.

// Dims are the dimensions of an NHWC tensor, as cmsis_nn_dims. A convolution
// filter is {N: output channels, H, W, C: input channels per group}.
type Dims struct{ N, H, W, C int }

// Size is the number of elements.
func (d Dims) Size() int { return d.N * d.H * d.W * d.C }

func (d Dims) String() string { return fmt.Sprintf("%dx%dx%dx%d", d.N, d.H, d.W, d.C) }

// Tile is a vertical and a horizontal value.
type Tile = cmsis.Tile

// badArgs reports arguments that do not fit together.
func badArgs(kernel, format string, args ...any) error {
	return fmt.Errorf("%s: %s", kernel, fmt.Sprintf(format, args...))
}

// checkDims reports a dimension below one.
func checkDims(kernel, what string, d Dims) error {
	if d.N < 1 || d.H < 1 || d.W < 1 || d.C < 1 {
		return badArgs(kernel, "%s has dimensions %v, want at least 1 each", what, d)
	}
	return nil
}

// checkLen reports a slice that is too short or too long.
func checkLen(kernel, what string, got, want int) error {
	if got != want {
		return badArgs(kernel, "%s has %d elements, want %d", what, got, want)
	}
	return nil
}

// checkOptional is checkLen for a slice that may be nil.
func checkOptional(kernel, what string, got, want int) error {
	if got == 0 {
		return nil
	}
	return checkLen(kernel, what, got, want)
}

// firstErr returns the first error of a list of checks.
func firstErr(errs ...error) error {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

// parallelWork is the number of multiplications below which a kernel runs on
// the calling goroutine.
const parallelWork = 1 << 17

// parallel calls f for contiguous parts of [0, n), on several goroutines where
// the total work (in multiplications) is worth it. Parts are independent: the
// result does not depend on their number.
func parallel(n, work int, f func(from, to int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers < 2 || work < parallelWork {
		f(0, n)
		return
	}
	parts := min(n, 4*workers) // several per worker: rows at the border are cheaper
	next := make(chan int, parts)
	for i := range parts {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range next {
				f(i*n/parts, (i+1)*n/parts)
			}
		})
	}
	wg.Wait()
}

// dot4 adds x[i]*w[i] to four sums at once.
func dot4(x []int32, w0, w1, w2, w3 []int8, a, b, c, d int32) (int32, int32, int32, int32) {
	n := len(x)
	w0, w1, w2, w3 = w0[:n], w1[:n], w2[:n], w3[:n]
	for i, v := range x {
		a += v * int32(w0[i])
		b += v * int32(w1[i])
		c += v * int32(w2[i])
		d += v * int32(w3[i])
	}
	return a, b, c, d
}

// dot1 adds x[i]*w[i] to one sum.
func dot1(x []int32, w []int8, a int32) int32 {
	w = w[:len(x)]
	for i, v := range x {
		a += v * int32(w[i])
	}
	return a
}

// quantOut is the end of every kernel: requantise, add the output offset, clamp.
func quantOut(r fixp.Rounding, acc, mult, shift, offset, lo, hi int32) int8 {
	return int8(fixp.Clamp(r.Requantize(acc, mult, shift)+offset, lo, hi))
}

// matRow computes one row of a product: out[j] = quantised bias[j] + sum of
// x[i]*w[j*len(x)+i]. step is 1 where mult and shift are per output, else 0.
func matRow(r fixp.Rounding, x []int32, w []int8, bias []int32, mult, shift []int32, step int, offset, lo, hi int32,
	out []int8) {
	k := len(x)
	j := 0
	for ; j+4 <= len(out); j += 4 {
		var a, b, c, d int32
		if bias != nil {
			a, b, c, d = bias[j], bias[j+1], bias[j+2], bias[j+3]
		}
		o := j * k
		a, b, c, d = dot4(x, w[o:], w[o+k:], w[o+2*k:], w[o+3*k:], a, b, c, d)
		q := j * step
		out[j] = quantOut(r, a, mult[q], shift[q], offset, lo, hi)
		out[j+1] = quantOut(r, b, mult[q+step], shift[q+step], offset, lo, hi)
		out[j+2] = quantOut(r, c, mult[q+2*step], shift[q+2*step], offset, lo, hi)
		out[j+3] = quantOut(r, d, mult[q+3*step], shift[q+3*step], offset, lo, hi)
	}
	for ; j < len(out); j++ {
		var a int32
		if bias != nil {
			a = bias[j]
		}
		a = dot1(x, w[j*k:], a)
		out[j] = quantOut(r, a, mult[j*step], shift[j*step], offset, lo, hi)
	}
}

// window returns the kernel taps [lo, hi) that fall inside the data: tap k
// reads element start + k*dilation of extent elements.
func window(start, extent, kernel, dilation int) (lo, hi int) {
	if start < 0 {
		lo = (dilation - 1 - start) / dilation
	}
	if last := extent - 1 - start; last >= 0 {
		hi = min(kernel, last/dilation+1)
	}
	return lo, hi
}

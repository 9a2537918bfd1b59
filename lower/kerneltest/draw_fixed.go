// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"fmt"

	"github.com/nncc/nncc/ir"
)

// some is how many images or rows there are, now and then none, which kernels refuse.
func (w *drawer) some() int {
	if w.Chance(10) {
		return 0
	}
	return w.In(1, 3)
}

// resizeFixed is a bilinear resize of plain int8, up or down, at corners or centres.
func (w *drawer) resizeFixed() *ir.Graph {
	if w.quantised() {
		return nil // of numbers, not of what they stand for
	}
	x := w.value(fmt.Sprintf("i8[%d,%d,%d,%d]", w.some(), w.In(1, 7), w.In(1, 7), w.In(1, 5)), "")
	at := w.One(0, 1, 2)
	return w.node("nncc.ResizeFixed", fmt.Sprintf("height=%d, width=%d, align_corners=%d, half_pixel_centers=%d",
		w.In(1, 12), w.In(1, 12), at&1, at>>1), 1, x)
}

// signalFFT is a Fourier transform of rows of int16 or int32, there or back.
func (w *drawer) signalFFT() *ir.Graph {
	if w.quantised() {
		return nil
	}
	length, inverse := 1<<w.In(2, 7), w.In(0, 1)
	size := length + 2
	if inverse == 0 {
		size = w.In(1, length)
	}
	t := "i16"
	if w.Chance(50) {
		t = "i32"
	}
	x := w.value(fmt.Sprintf("%s[%d,%d]", t, w.some(), size), "")
	return w.node("nncc.SignalFFT", fmt.Sprintf("length=%d, inverse=%d", length, inverse), 1, x)
}

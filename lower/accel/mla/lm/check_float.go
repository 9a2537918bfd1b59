// SPDX-License-Identifier: Apache-2.0

package lm

// Checks of the operations of bfloat16 and of the borders between formats.

// bounds skips act_min and act_max, of which any value is harmless.
func (k *checker) bounds() {
	k.f()
	k.f()
}

func checkConv2DBF16(k *checker) {
	k.bounds()
	outC, out, ok := k.convolution(2)
	if !ok {
		return
	}
	if k.has(2) {
		k.all(2, outC, 4)
	}
	k.all(3, out, 2)
}

func checkMaxPoolBF16(k *checker) {
	k.bounds()
	batch, inH, inW, inC := k.dim("batch"), k.dim("in_h"), k.dim("in_w"), k.dim("in_c")
	outH, outW := k.dim("out_h"), k.dim("out_w")
	kh, kw, sh, sw, dh, dw := k.dim("kernel_h"), k.dim("kernel_w"), k.dim("stride_h"), k.dim("stride_w"),
		k.dim("dilation_h"), k.dim("dilation_w")
	pt, pl := k.in("pad_top", 0, maxDim), k.in("pad_left", 0, maxDim)
	k.axis(outH, sh, pt, kh, dh)
	k.axis(outW, sw, pl, kw, dw)
	k.all(0, u(batch, inH, inW, inC), 2)
	out := u(batch, outH, outW, inC)
	k.all(1, out, 2)
	k.cost = mul(out, u(kh, kw)+1)
	k.macs = mul(out, u(kh, kw))
}

func checkBinaryBF16(k *checker) {
	k.bounds()
	k.in("op", 0, 2)
	k.pairOf(2, 2, 2)
}

// count reads a number of elements, and claims them of operand 0 and the
// result, operand y.
func (k *checker) count(in uint64, y int, out uint64) {
	n := u(k.in("count", 1, MaxBytes))
	k.all(0, n, in)
	k.all(y, n, out)
	k.cost = n
}

func checkTableBF16(k *checker) {
	k.count(2, 2, 2)
	k.all(1, 1<<16, 2)
}

func checkToBF16(k *checker)   { k.count(4, 1, 2) }
func checkFromBF16(k *checker) { k.count(2, 1, 4) }

// border reads outer, axis and inner of a conversion with a scale and a zero
// point for every index of axis.
func (k *checker) border(in, out uint64) {
	outer, axis, inner := k.lanes()
	n := u(outer, axis, inner)
	k.all(0, n, in)
	k.all(1, uint64(axis), 4)
	k.words(2, uint64(axis), "zero point", func(v int64) bool { return v >= -128 && v <= 127 })
	k.all(3, n, out)
	k.cost = n
}

func checkQuantize(k *checker)   { k.border(4, 1) }
func checkDequantize(k *checker) { k.border(1, 4) }

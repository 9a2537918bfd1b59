// SPDX-License-Identifier: Apache-2.0

package lm

import "encoding/binary"

// A check per opcode: reads the parameters in their order, claims what the
// operation reads and writes, and counts its steps.

// Operand numbers of the multiply-accumulate operations.
const (
	macX = iota
	macW
	macBias
	macMult
	macShift
	macY
)

func (k *checker) channels(n uint64) {
	if k.has(macBias) {
		k.all(macBias, n, 4)
	}
	k.all(macMult, n, 4)
	k.shifts(macShift, n)
}

// convolution reads the shape of a convolution and claims input and weights, of
// elements of size bytes; ok is false where its groups make no sense.
func (k *checker) convolution(size uint64) (outC, out uint64, ok bool) {
	batch, inH, inW, inC := k.dim("batch"), k.dim("in_h"), k.dim("in_w"), k.dim("in_c")
	outH, outW, channels := k.dim("out_h"), k.dim("out_w"), k.dim("out_c")
	kh, kw, sh, sw, dh, dw := k.dim("kernel_h"), k.dim("kernel_w"), k.dim("stride_h"), k.dim("stride_w"),
		k.dim("dilation_h"), k.dim("dilation_w")
	pt, pl := k.in("pad_top", -maxDim, maxDim), k.in("pad_left", -maxDim, maxDim)
	spreadH, spreadW, transposed, groups := k.dim("spread_h"), k.dim("spread_w"), k.flag("transposed"), k.dim("groups")
	if inC%groups != 0 || channels%groups != 0 {
		k.want(false, "%d groups of %d and %d channels", groups, inC, channels)
		return 0, 0, false
	}
	k.axis(outH, sh, pt, kh, dh)
	k.axis(outW, sw, pl, kw, dw)
	k.want(u(inH, spreadH) <= maxReach && u(inW, spreadW) <= maxReach, "spread by %d and %d is too large", spreadH,
		spreadW)
	taps := u(kh, kw, inC/groups)
	k.all(macX, u(batch, inH, inW, inC), size)
	k.all(macW, mul(uint64(channels), taps), size)
	out = u(batch, outH, outW, channels)
	k.cost = mul(out, taps+1)
	k.macs = mul(out, taps)
	if transposed != 0 { // as ONNX counts it: every input element times every tap
		k.macs = u(batch, inH, inW, inC, channels/groups, kh, kw)
	}
	return uint64(channels), out, true
}

func checkConv2D(k *checker) {
	outC, out, ok := k.convolution(1)
	k.offset("in_offset")
	k.byte8("out_offset")
	k.clamp()
	if !ok {
		return
	}
	k.channels(outC)
	k.all(macY, out, 1)
}

func checkDepthwise(k *checker) {
	batch, inH, inW, inC := k.dim("batch"), k.dim("in_h"), k.dim("in_w"), k.dim("in_c")
	outH, outW, mult := k.dim("out_h"), k.dim("out_w"), k.dim("mult_c")
	kh, kw, sh, sw, dh, dw := k.dim("kernel_h"), k.dim("kernel_w"), k.dim("stride_h"), k.dim("stride_w"),
		k.dim("dilation_h"), k.dim("dilation_w")
	pt, pl := k.in("pad_top", -maxDim, maxDim), k.in("pad_left", -maxDim, maxDim)
	k.offset("in_offset")
	k.byte8("out_offset")
	k.clamp()
	k.axis(outH, sh, pt, kh, dh)
	k.axis(outW, sw, pl, kw, dw)
	channels := u(inC, mult)
	k.all(macX, u(batch, inH, inW, inC), 1)
	k.all(macW, mul(channels, u(kh, kw)), 1)
	k.channels(channels)
	out := mul(u(batch, outH, outW), channels)
	k.all(macY, out, 1)
	k.cost = mul(out, u(kh, kw)+1)
	k.macs = mul(out, u(kh, kw))
}

func checkMatMul(k *checker) {
	b0, b1, m, depth, n := k.dim("batch0"), k.dim("batch1"), k.dim("m"), k.dim("k"), k.dim("n")
	var st [3][MaxDims]int64
	for i := range st {
		for d := range 4 {
			st[i][d] = k.in("a step", 0, maxStep)
		}
	}
	columns := u(1)
	if k.flag("per_column") != 0 {
		columns = uint64(n)
	}
	k.offset("a_offset")
	k.offset("b_offset")
	k.byte8("out_offset")
	k.clamp()
	k.reach(macX, space{rank: 4, dims: [MaxDims]int64{b0, b1, m, depth}}, st[0], 0, 1)
	k.reach(macW, space{rank: 4, dims: [MaxDims]int64{b0, b1, depth, n}}, st[1], 0, 1)
	if k.has(macBias) {
		k.all(macBias, uint64(n), 4)
	}
	k.all(macMult, columns, 4)
	k.shifts(macShift, columns)
	k.reach(macY, space{rank: 4, dims: [MaxDims]int64{b0, b1, m, n}}, st[2], 0, 1)
	out := u(b0, b1, m, n)
	k.cost = mul(out, uint64(depth)+1)
	k.macs = mul(out, uint64(depth))
}

// pair reads an iteration space for operands 0 and 1, and claims them and as
// many elements of the output, operand y.
func (k *checker) pair(y int, size uint64) { k.pairOf(1, y, size) }

// pairOf is pair for operands of elements of in bytes.
func (k *checker) pairOf(in uint64, y int, size uint64) {
	s := k.space()
	k.steps(0, s, 0, in)
	k.steps(1, s, 0, in)
	k.all(y, s.count, size)
	k.cost = s.count
}

func (k *checker) shift(name string) { k.in(name, -62, 31) }

func checkAdd(k *checker) {
	k.pair(2, 1)
	for range 2 {
		k.offset("offset")
		k.i()
		k.shift("shift")
	}
	k.in("left_shift", 0, 22)
	k.byte8("out_offset")
	k.i()
	k.shift("out_shift")
	k.clamp()
}

func checkMul(k *checker) {
	k.pair(2, 1)
	k.offset("offset1")
	k.offset("offset2")
	k.byte8("out_offset")
	k.i()
	k.shift("shift")
	k.clamp()
}

func (k *checker) pool() {
	k.f()
	k.f()
	batch, inH, inW, inC := k.dim("batch"), k.dim("in_h"), k.dim("in_w"), k.dim("in_c")
	outH, outW := k.dim("out_h"), k.dim("out_w")
	kh, kw, sh, sw, dh, dw := k.dim("kernel_h"), k.dim("kernel_w"), k.dim("stride_h"), k.dim("stride_w"),
		k.dim("dilation_h"), k.dim("dilation_w")
	pt, pl := k.in("pad_top", 0, maxDim), k.in("pad_left", 0, maxDim)
	k.in("pad_bottom", 0, maxDim)
	k.in("pad_right", 0, maxDim)
	k.flag("count_include_pad")
	k.byte8("center")
	k.byte8("out_zero")
	k.flag("rescale")
	k.clamp()
	k.axis(outH, sh, pt, kh, dh)
	k.axis(outW, sw, pl, kw, dw)
	k.want(u(kh, kw) <= maxArea, "a window of %d elements", u(kh, kw))
	k.all(0, u(batch, inH, inW, inC), 1)
	out := u(batch, outH, outW, inC)
	k.all(1, out, 1)
	k.cost = mul(out, u(kh, kw)+1)
	k.macs = mul(out, u(kh, kw))
}

func checkAvgPool(k *checker) { k.pool() }
func checkMaxPool(k *checker) { k.pool() }

// lanes reads outer, axis and inner.
func (k *checker) lanes() (outer, axis, inner int64) {
	return k.dim("outer"), k.dim("axis"), k.dim("inner")
}

func checkSoftmax(k *checker) {
	outer, axis, inner := k.lanes()
	k.in("mult", 0, 1<<31-1)
	shift := k.in("shift", 0, 31)
	least := k.in("diff_min", -(1 << 30), 0)
	k.want(axis <= 4095, "axis is %d, want at most 4095", axis)
	k.want(min(-least, 255)<<uint(shift) <= 1<<31, "diff_min %d shifted by %d", least, shift)
	n := u(outer, axis, inner)
	k.all(0, n, 1)
	k.all(1, n, 1)
	k.cost = mul(n, 3)
}

// norm reads the constants of a normalisation in fixed point.
func (k *checker) norm() {
	k.in("eps", 0, 1<<31-1)
	k.in("eps_shift", 0, 31)
	k.in("up", -62, 62)
	k.in("root", -62, 124)
	k.in("shift", 1, 24)
}

func checkLayerNorm(k *checker) {
	k.norm()
	rows, size := k.dim("rows"), k.in("len", 1, maxArea)
	k.flag("center")
	k.byte8("zero")
	n := u(rows, size)
	k.all(0, n, 1)
	k.all(1, mul(u(size+3)/4, 6), 4)
	k.all(2, n, 1)
	k.cost = mul(n, 2)
}

func checkGroupNorm(k *checker) {
	k.norm()
	batch, spatial, channels, groups := k.dim("batch"), k.dim("spatial"), k.dim("channels"), k.dim("groups")
	k.want(channels%groups == 0, "%d groups of %d channels", groups, channels)
	k.want(u(spatial, channels)/uint64(groups) <= maxArea, "a group of %d elements",
		u(spatial, channels)/uint64(groups))
	n := u(batch, spatial, channels)
	k.all(0, n, 1)
	k.all(1, mul(uint64(channels), 2), 4)
	k.all(2, n, 1)
	k.cost = mul(n, 2)
}

func checkTable256(k *checker) {
	n := u(k.in("count", 1, MaxBytes))
	k.all(0, n, 1)
	k.all(1, 256, 1)
	k.all(2, n, 1)
	k.cost = n
}

func checkTable2(k *checker) {
	k.pair(4, 1)
	most := 0
	for _, r := range k.data(2, 256, 1) {
		most = max(most, int(r))
	}
	k.all(3, uint64(most+1)*256, 1)
}

func checkXor80(k *checker) {
	n := u(k.in("count", 1, MaxBytes))
	k.all(0, n, 1)
	k.all(1, n, 1)
	k.cost = n
}

// affine are n linear functions: |bias| at most 2^62, shift 0 to 62.
func (k *checker) affine(i int, n uint64) {
	for d := k.data(i, n, 16); len(d) > 0; d = d[16:] {
		bias, shift := int64(binary.LittleEndian.Uint64(d)), int32(binary.LittleEndian.Uint32(d[12:]))
		if bias > 1<<62 || bias < -1<<62 || shift < 0 || shift > 62 {
			k.want(false, "operand %s: bias %d and shift %d", k.info.Operands[i].Name, bias, shift)
			return
		}
	}
}

func checkScaleShift(k *checker) {
	rows, channels := k.dim("rows"), k.dim("channels")
	k.clamp()
	n := u(rows, channels)
	k.all(0, n, 1)
	k.affine(1, uint64(channels))
	k.all(2, n, 1)
	k.cost = n
}

func checkPRelu(k *checker) {
	rows, channels := k.dim("rows"), k.dim("channels")
	k.byte8("in_zero")
	k.clamp()
	n := u(rows, channels)
	k.all(0, n, 1)
	k.affine(1, 1)
	k.affine(2, uint64(channels))
	k.all(3, n, 1)
	k.cost = n
}

func checkSum(k *checker) {
	k.pair(4, 1)
	k.in("shift", 0, 31)
	k.clamp()
	for i := 2; i < 4; i++ {
		k.words(i, 256, "entry", func(v int64) bool { return v < 1<<30 && v > -1<<30 })
	}
}

func checkDiv(k *checker) {
	k.pair(3, 1)
	k.byte8("a_zero")
	k.byte8("out_zero")
	k.clamp()
	k.words(2, 256, "reciprocal", func(v int64) bool {
		r := uint32(int32(v))
		return r&63 >= 1 && r&63 <= 31 && r&0x7fffffff>>6 < 1<<24
	})
}

func checkBinary(k *checker) {
	k.f()
	k.f()
	k.f()
	k.byte8("a_zero")
	k.byte8("b_zero")
	k.byte8("out_zero")
	k.clamp()
	k.in("op", 0, 6)
	k.pair(2, 1)
}

func checkCopyND(k *checker) {
	size := k.elem()
	rank := k.rank()
	x, y := k.in("x_offset", 0, maxReach), k.in("y_offset", 0, maxReach)
	s := k.sizes(rank)
	k.steps(0, s, x, size)
	k.steps(1, s, y, size)
	k.cost = s.count
}

func checkCopyRows(k *checker) {
	rows := k.dim("rows")
	block, xp, yp := k.in("block", 1, MaxBytes), k.in("x_pitch", 0, MaxBytes), k.in("y_pitch", 0, MaxBytes)
	k.want(yp >= block || rows == 1, "y_pitch is %d, less than the block of %d", yp, block)
	k.all(0, u(rows-1, xp)+uint64(block), 1)
	k.all(1, u(rows-1, yp)+uint64(block), 1)
	k.cost = u(rows, block)
}

func checkFill(k *checker) {
	size := k.elem()
	n := u(k.in("count", 1, MaxBytes))
	k.all(0, 1, size)
	k.all(1, n, size)
	k.cost = n
}

func checkPad(k *checker) {
	size := k.elem()
	rank, mode := k.rank(), k.in("mode", 0, 3)
	in, out, before := k.sizes(rank), k.sizes(rank), k.list()
	for d := range rank {
		k.want(before[d] >= -maxDim && before[d] <= maxDim, "before is %d in dimension %d", before[d], d)
	}
	k.all(0, in.count, size)
	if mode == 0 {
		k.want(k.has(1), "operand value is missing")
	}
	if k.has(1) {
		k.all(1, 1, size)
	}
	k.all(2, out.count, size)
	k.cost = out.count
}

func checkResizeNearest(k *checker) {
	batch, inH, inW, outH, outW := k.dim("batch"), k.dim("in_h"), k.dim("in_w"), k.dim("out_h"), k.dim("out_w")
	pixel := k.dim("pixel")
	low := int64(0)
	if k.has(3) {
		low = -1
		k.all(3, uint64(pixel), 1)
	}
	k.all(0, u(batch, inH, inW, pixel), 1)
	k.words(1, uint64(outH), "index", func(v int64) bool { return v >= low && v < inH })
	k.words(2, uint64(outW), "index", func(v int64) bool { return v >= low && v < inW })
	out := u(batch, outH, outW, pixel)
	k.all(4, out, 1)
	k.cost = out
}

func checkResize(k *checker) {
	k.f()
	k.f()
	batch, inH, inW, ch, outH, outW := k.dim("batch"), k.dim("in_h"), k.dim("in_w"), k.dim("channels"),
		k.dim("out_h"), k.dim("out_w")
	tapsH, tapsW, den := k.dim("taps_h"), k.dim("taps_w"), k.in("den", 1, maxReach)
	k.byte8("in_zero")
	k.byte8("out_zero")
	k.flag("rescale")
	k.byte8("outside")
	k.all(0, u(batch, inH, inW, ch), 1)
	sum := u(255, k.samples(1, outH, tapsH, inH), k.samples(3, outW, tapsW, inW))
	k.want(sum+uint64(den)/2 < 1<<31, "weights sum up to %d", sum)
	out := u(batch, outH, outW, ch)
	k.all(5, out, 1)
	k.cost = mul(out, u(tapsH, tapsW)+1)
}

// samples checks an axis of Resize, indices in operand i and weights behind
// it, and gives the largest sum of weights of an output element.
func (k *checker) samples(i int, out, taps, in int64) int64 {
	index, weight := k.data(i, u(out, taps), 4), k.data(i+1, u(out, taps), 2)
	if k.err != nil {
		return 0
	}
	most := int64(0)
	for o := range int(out) {
		sum := int64(0)
		first := int32(binary.LittleEndian.Uint32(index[o*int(taps)*4:]))
		for t := range int(taps) {
			at := o*int(taps) + t
			v := int64(int32(binary.LittleEndian.Uint32(index[at*4:])))
			if first >= 0 && (v < 0 || v >= in) || first < -1 {
				k.want(false, "operand %s: index %d is out of range", k.info.Operands[i].Name, v)
				return 0
			}
			w := int64(int16(binary.LittleEndian.Uint16(weight[at*2:])))
			sum += max(w, -w)
		}
		most = max(most, sum)
	}
	return most
}

func checkGather(k *checker) {
	outer, axis, block, count := k.dim("outer"), k.dim("axis"), k.in("block", 1, MaxBytes), k.dim("count")
	size := k.i()
	if size != 4 && size != 8 {
		k.want(false, "index_bytes is %d, want 4 or 8", size)
		return
	}
	k.all(0, u(outer, axis, block), 1)
	k.all(1, uint64(count), uint64(size))
	n := u(outer, count, block)
	k.all(2, n, 1)
	k.cost = n
}

func checkReduceSum(k *checker) {
	k.f()
	k.f()
	outer, axis, inner := k.lanes()
	k.dim("divisor")
	k.byte8("in_zero")
	k.byte8("out_zero")
	k.flag("rescale")
	k.clamp()
	k.want(axis <= maxArea, "axis is %d, want at most %d", axis, maxArea)
	k.all(0, u(outer, axis, inner), 1)
	k.all(1, u(outer, inner), 1)
	k.cost = u(outer, axis, inner)
}

func checkReduce(k *checker) {
	outer, axis, inner := k.lanes()
	k.all(0, u(outer, axis, inner), 1)
	k.all(1, u(outer, inner), 1)
	k.cost = u(outer, axis, inner)
}

func checkArg(k *checker) {
	outer, axis, inner := k.lanes()
	k.flag("select_last")
	k.all(0, u(outer, axis, inner), 1)
	k.all(1, u(outer, inner), 8)
	k.cost = u(outer, axis, inner)
}

func checkWhere(k *checker) {
	size := k.elem()
	s := k.space()
	k.steps(0, s, 0, 1)
	k.steps(1, s, 0, size)
	k.steps(2, s, 0, size)
	k.all(3, s.count, size)
	k.cost = s.count
}

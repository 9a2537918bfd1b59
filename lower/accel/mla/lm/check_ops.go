// SPDX-License-Identifier: Apache-2.0

package lm

import "encoding/binary"

// A check per opcode: claims what the operation reads and writes beside what its row says,
// and counts its steps, which are the elements of the result so far. Parameters lie within
// their ranges (ranges in checker.go).

// Operand numbers of the multiply-accumulate operations.
const (
	macX = iota
	macW
	macBias
	macMult
	macShift
	macY
)

// sums counts the work of results that are each of so many terms.
func (k *checker) sums(taps uint64) { k.cost, k.macs = mul(k.cost, taps+1), mul(k.cost, taps) }

// window checks both axes of a window that slides.
func (k *checker) window() {
	k.axis("out_h", "stride_h", "pad_top", "kernel_h", "dilation_h")
	k.axis("out_w", "stride_w", "pad_left", "kernel_w", "dilation_w")
}

// convolution claims weights, of elements of size bytes.
func (k *checker) convolution(size uint64) {
	in, channels, groups := k.v("in_c"), k.v("out_c"), k.v("groups")
	want(in%groups == 0 && channels%groups == 0, "%d groups of %d and %d channels", groups, in, channels)
	k.window()
	want(k.of("in_h spread_h") <= maxReach && k.of("in_w spread_w") <= maxReach, "spread by %d and %d is too large",
		k.v("spread_h"), k.v("spread_w"))
	taps := mul(k.of("kernel_h kernel_w"), uint64(in/groups))
	k.all(macW, mul(uint64(channels), taps), size)
	k.sums(taps)
	if k.v("transposed") != 0 { // as ONNX counts it: every input element times every tap
		k.macs = mul(k.of("batch in_h in_w in_c"), uint64(channels/groups), k.of("kernel_h kernel_w"))
	}
}

func checkConv2D(k *checker) {
	k.convolution(1)
	k.shifts(macShift, k.of("out_c"))
}

func checkDepthwise(k *checker) {
	k.window()
	k.shifts(macShift, k.of("in_c mult_c"))
	k.sums(k.of("kernel_h kernel_w"))
}

func checkMatMul(k *checker) {
	columns := uint64(1)
	if k.v("per_column") != 0 {
		columns = k.of("n")
	}
	k.all(macMult, columns, 4)
	k.shifts(macShift, columns)
	for _, x := range []struct {
		operand           int
		name, rows, depth string
	}{{macX, "a_", "m", "k"}, {macW, "b_", "k", "n"}, {macY, "y_", "m", "n"}} {
		s, step := space{rank: 4}, [MaxDims]int64{}
		for d, dim := range []string{"batch0", "batch1", x.rows, x.depth} {
			s.dims[d], step[d] = k.v(dim), k.v(x.name+dim)
		}
		k.reach(x.operand, s, step, 0, 1)
	}
	k.cost = k.of("batch0 batch1 m n")
	k.sums(k.of("k"))
}

// pair claims operands 0 and 1, of elements of in bytes, over an iteration
// space, and as many elements of the output, operand y.
func (k *checker) pair(in uint64, y int, size uint64) {
	s := k.sizes("dims")
	k.reach(0, s, k.list("a_stride"), 0, in)
	k.reach(1, s, k.list("b_stride"), 0, in)
	k.all(y, s.count, size)
	k.cost = s.count
}

func checkPair(k *checker) { k.pair(1, 2, 1) }

// pool is a window without weights.
func (k *checker) pool() {
	k.window()
	k.sums(k.of("kernel_h kernel_w"))
}

func checkPool(k *checker) {
	area := k.of("kernel_h kernel_w")
	want(area <= maxArea, "a window of %d elements", area)
	k.pool()
}

func checkSoftmax(k *checker) {
	least, shift := k.v("diff_min"), k.v("shift")
	want(k.v("axis") <= 4095, "axis is %d, want at most 4095", k.v("axis"))
	want(min(-least, 255)<<uint(shift) <= 1<<31, "diff_min %d shifted by %d", least, shift)
	k.cost = mul(k.cost, 3)
}

func checkLayerNorm(k *checker) {
	k.all(1, mul(u(k.v("len")+3)/4, 6), 4)
	k.cost = mul(k.cost, 2)
}

func checkGroupNorm(k *checker) {
	channels, groups := k.v("channels"), k.v("groups")
	want(channels%groups == 0, "%d groups of %d channels", groups, channels)
	size := k.of("spatial channels") / uint64(groups)
	want(size <= maxArea, "a group of %d elements", size)
	k.cost = mul(k.cost, 2)
}

func checkTable2(k *checker) {
	k.pair(1, 4, 1)
	most := 0
	for _, r := range k.data(2, 256, 1) {
		most = max(most, int(r))
	}
	k.all(3, uint64(most+1)*256, 1)
}

// affine are n linear functions: |bias| at most 2^62, shift 0 to 62.
func (k *checker) affine(i int, n uint64) {
	for d := k.data(i, n, 16); len(d) > 0; d = d[16:] {
		bias, shift := int64(binary.LittleEndian.Uint64(d)), int32(binary.LittleEndian.Uint32(d[12:]))
		want(bias <= 1<<62 && bias >= -1<<62 && shift >= 0 && shift <= 62, "operand %s: bias %d and shift %d",
			k.info.Operands[i].Name, bias, shift)
	}
}

func checkPRelu(k *checker) {
	k.affine(1, 1)
	k.affine(2, k.of("channels"))
}

func checkSum(k *checker) {
	k.pair(1, 4, 1)
	for i := 2; i < 4; i++ {
		k.words(i, 256, "entry", func(v int64) bool { return v < 1<<30 && v > -1<<30 })
	}
}

func checkDiv(k *checker) {
	k.pair(1, 3, 1)
	k.words(2, 256, "reciprocal", func(v int64) bool {
		r := uint32(int32(v))
		return r&63 >= 1 && r&63 <= 31 && r&0x7fffffff>>6 < 1<<24
	})
}

func checkCopyND(k *checker) {
	s, size := k.sizes("dims"), k.of("elem")
	k.reach(0, s, k.list("x_stride"), k.v("x_offset"), size)
	k.reach(1, s, k.list("y_stride"), k.v("y_offset"), size)
	k.cost = s.count
}

func checkCopyRows(k *checker) {
	rows, block, yp := k.v("rows"), k.v("block"), k.v("y_pitch")
	want(yp >= block || rows == 1, "y_pitch is %d, less than the block of %d", yp, block)
	k.all(0, u(rows-1, k.v("x_pitch"))+uint64(block), 1)
	k.all(1, u(rows-1, yp)+uint64(block), 1)
	k.cost = u(rows, block)
}

func checkPad(k *checker) {
	size, in, out, before := k.of("elem"), k.sizes("in_dims"), k.sizes("out_dims"), k.list("before")
	for d := range in.rank {
		want(before[d] >= -maxDim && before[d] <= maxDim, "before is %d in dimension %d", before[d], d)
	}
	k.all(0, in.count, size)
	want(k.v("mode") != 0 || k.has(1), "operand value is missing")
	k.all(2, out.count, size)
	k.cost = out.count
}

func checkResizeNearest(k *checker) {
	low := int64(0)
	if k.has(3) {
		low = -1
	}
	for i, axis := range []string{"h", "w"} {
		k.words(1+i, k.of("out_"+axis), "index", func(v int64) bool { return v >= low && v < k.v("in_"+axis) })
	}
}

func checkResize(k *checker) {
	sum := u(255, k.samples(1, k.v("out_h"), k.v("taps_h"), k.v("in_h")),
		k.samples(3, k.v("out_w"), k.v("taps_w"), k.v("in_w")))
	want(sum+k.of("den")/2 < 1<<31, "weights sum up to %d", sum)
	k.cost = mul(k.cost, k.of("taps_h taps_w")+1)
}

// samples checks an axis of Resize, indices in operand i and weights behind
// it, and gives the largest sum of weights of an output element.
func (k *checker) samples(i int, out, taps, in int64) int64 {
	index, weight := k.data(i, u(out, taps), 4), k.data(i+1, u(out, taps), 2)
	most := int64(0)
	for o := range int(out) {
		sum := int64(0)
		first := int32(binary.LittleEndian.Uint32(index[o*int(taps)*4:]))
		for t := range int(taps) {
			at := o*int(taps) + t
			v := int64(int32(binary.LittleEndian.Uint32(index[at*4:])))
			want(first == -1 || first >= 0 && v >= 0 && v < in, "operand %s: index %d is out of range",
				k.info.Operands[i].Name, v)
			w := int64(int16(binary.LittleEndian.Uint16(weight[at*2:])))
			sum += max(w, -w)
		}
		most = max(most, sum)
	}
	return most
}

func checkGather(k *checker) {
	size := k.v("index_bytes")
	want(size == 4 || size == 8, "index_bytes is %d, want 4 or 8", size)
	k.all(1, k.of("count"), uint64(size))
}

// reduce counts the elements that are read.
func (k *checker) reduce() { k.cost = k.of("outer axis inner") }

func checkReduceSum(k *checker) {
	want(k.v("axis") <= maxArea, "axis is %d, want at most %d", k.v("axis"), maxArea)
	k.reduce()
}

func checkWhere(k *checker) {
	s, size := k.sizes("dims"), k.of("elem")
	k.reach(0, s, k.list("c_stride"), 0, 1)
	k.reach(1, s, k.list("a_stride"), 0, size)
	k.reach(2, s, k.list("b_stride"), 0, size)
	k.all(3, s.count, size)
	k.cost = s.count
}

// checkBorder is of a conversion with a scale and a zero point for every index of axis.
func checkBorder(k *checker) {
	k.words(2, k.of("axis"), "zero point", func(v int64) bool { return v >= -128 && v <= 127 })
}

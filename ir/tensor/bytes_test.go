// SPDX-License-Identifier: Apache-2.0

package tensor

import (
	"bytes"
	"math"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestBytes: the memory image is little-endian, a byte for each small element,
// and reads back as it was.
func TestBytes(t *testing.T) {
	for _, c := range []struct {
		d    *Dense
		want []byte
	}{
		{Of([]int{2}, []float32{1, float32(math.Copysign(0, -1))}), []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x80}},
		{Of([]int{1}, []float64{-2}), []byte{0, 0, 0, 0, 0, 0, 0, 0xc0}},
		{Of([]int{3}, []int8{-1, 0, 127}), []byte{0xff, 0, 0x7f}},
		{Of([]int{2}, []uint8{1, 255}), []byte{1, 0xff}},
		{Of([]int{2}, []int16{-2, 258}), []byte{0xfe, 0xff, 2, 1}},
		{Of([]int{1}, []uint16{0x1234}), []byte{0x34, 0x12}},
		{Of([]int{1}, []int32{-3}), []byte{0xfd, 0xff, 0xff, 0xff}},
		{Of([]int{1}, []uint32{0x01020304}), []byte{4, 3, 2, 1}},
		{Of([]int{1}, []int64{-4}), []byte{0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{Of([]int{1}, []uint64{5}), []byte{5, 0, 0, 0, 0, 0, 0, 0}},
		{Of([]int{2}, []bool{true, false}), []byte{1, 0}},
		{New(I4, []int{3}), []byte{0, 0, 0}},
		{New(F16, []int{2}), []byte{0, 0, 0, 0}},
		{New(F32, []int{0}), []byte{}},
	} {
		got := c.d.Bytes()
		testenv.Check(t, bytes.Equal(got, c.want), "%s%v: % x, want % x", c.d.DType, c.d.Shape, got, c.want)
		back, err := FromBytes(c.d.DType, c.d.Shape, c.want)
		if err != nil || !Equal(back, c.d) {
			t.Errorf("%s%v reads back as %v, %v", c.d.DType, c.d.Shape, back, err)
		}
		testenv.Check(t, testenv.Err(FromBytes(c.d.DType, c.d.Shape, append(c.want, 0))) != nil,
			"%s%v: a byte too many is no error", c.d.DType, c.d.Shape)
	}
}

// TestCastFloats: what integers cannot hold is the same on every machine.
func TestCastFloats(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	in := []float64{nan, inf, -inf, 1e30, -1e30, 300.7, -1.5, 1 << 63, -1 << 63}
	for _, c := range []struct {
		to   DType
		want []int64
	}{
		{I8, []int64{0, -1, 0, -1, 0, 44, -1, -1, 0}},
		{U16, []int64{0, 65535, 0, 65535, 0, 300, 65535, 65535, 0}},
		{I64, []int64{0, math.MaxInt64, math.MinInt64, math.MaxInt64, math.MinInt64, 300, -1, math.MaxInt64,
			math.MinInt64}},
		{U64, []int64{0, -2048, math.MinInt64, -2048, math.MinInt64, 300, -1, math.MinInt64, math.MinInt64}},
		{Bool, []int64{1, 1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		d := Of([]int{len(in)}, in).Cast(c.to)
		for i, want := range c.want {
			if got := d.Int(i); got != want {
				t.Errorf("%g as %s is %d, want %d", in[i], c.to, got, want)
			}
		}
	}
}

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

// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/ethosu/npu"
	"github.com/nncc/nncc/lower/kernel"
)

// area is bytes of a region: of the model's constants, of an input or result, or of the working memory, where the
// plan says at which byte.
type area struct {
	region int
	at     int64
	bytes  int64
	within *area // of which it is a part, at bytes behind the beginning
	maps   []*fmap
	parts  bool   // others lie in it
	copied bool   // of an input or result for which there is no region
	data   []byte // of a constant
}

// root is the area that a part lies in, and how far from its beginning.
func (a *area) root() (*area, int64) {
	at := int64(0)
	for a.within != nil {
		at += a.at
		a = a.within
	}
	return a, at
}

// fmap is a value as the device sees it: H×W×C elements in an area.
type fmap struct {
	npu.FeatureMap
	area *area
	from int64
	ring int // rows of the area, which come again and again; 0: all there are
	row  int // of the whole map, the first
}

// laid is a type in the order in which values lie in memory: channels last where there are four dimensions.
func laid(t ir.Type) ir.Type {
	if t.Rank() == 4 {
		return t.WithOrder(ir.NHWC(4))
	}
	return t.WithOrder(nil)
}

// dims are the dimensions of a type for the device.
func dims(t ir.Type) (h, w, c int) {
	p := laid(t).Phys()
	h, w, c = 1, 1, 1
	for i, n := range p {
		switch len(p) - 1 - i {
		case 0:
			c = n
		case 1:
			w = n
		default:
			h *= n
		}
	}
	return h, w, c
}

// newMap is a map of its own in an area.
func newMap(t ir.Type, a *area) *fmap {
	h, w, c := dims(t)
	m := shaped(h, w, c, 8*t.DType.Size(), t.DType.IsSigned(), a)
	if q := t.Quant; q != nil {
		m.Zero = int64(q.Zero[0])
	}
	return m
}

// shaped is a map of given sizes at the beginning of an area, its rows behind each other.
func shaped(h, w, c, bits int, signed bool, a *area) *fmap {
	size := int64(bits / 8)
	m := &fmap{npu.FeatureMap{H: h, W: w, C: c, Bits: bits, Signed: signed, StrideX: int64(c) * size,
		StrideY: int64(w*c) * size, StrideC: size}, a, 0, 0, 0}
	if a.maps = append(a.maps, m); a.bytes == 0 {
		a.bytes = int64(h*w*c) * size
	}
	return m
}

// view is another map of the same area, changed.
func (m *fmap) view(change func(v *fmap)) *fmap {
	v := *m
	change(&v)
	m.area.maps = append(m.area.maps, &v)
	return &v
}

// span is the bytes from the first to the last element.
func (m *fmap) span() int64 {
	if m.ring > 0 {
		return int64(m.ring) * m.StrideY
	}
	if m.Brick {
		return int64(m.H-1)*m.StrideY + int64(m.C+15)/16*m.StrideC
	}
	return int64(m.H-1)*m.StrideY + int64(m.W-1)*m.StrideX + int64(m.C*m.Bits/8)
}

// address is where an element lies by its number in memory order.
func (m *fmap) address(i int) int64 {
	return m.from + int64(i/m.C/m.W)*m.StrideY + int64(i/m.C%m.W)*m.StrideX + int64(i%m.C)*int64(m.Bits/8)
}

// placed is the feature map with its addresses.
func (m *fmap) placed() npu.FeatureMap {
	f := m.FeatureMap
	root, at := m.area.root()
	f.Region, f.H0, f.H1, f.W0 = root.region, f.H, f.H, f.W
	if f.Base[0] = root.at + at + m.from; m.ring > 0 {
		f.H0, f.Base[2] = min(m.H, m.ring-m.row%m.ring), f.Base[0]
		f.Base[0] += int64(m.row%m.ring) * m.StrideY
	}
	return f
}

// brick lets maps lie in runs of 16 channels, which the device reads in longer bursts, where that takes no more memory
// and every layer sees the whole map.
func (b *builder) brick() {
	for _, l := range b.layers {
		if a := l.out.area; a.maps[0].C%unit == 0 && b.bricks(a) {
			a.lay()
		}
	}
}

// bricks says that an area's maps may lie in runs of channels.
func (b *builder) bricks(a *area) bool {
	first := a.maps[0]
	return a.region == working && a.within == nil && !a.parts && !b.fixed[a] && !first.Brick && first.from == 0 &&
		first.span() == a.bytes && a.alike()
}

// alike says that all of an area's maps are the same.
func (a *area) alike() bool {
	return !slices.ContainsFunc(a.maps, func(m *fmap) bool {
		return m.FeatureMap != a.maps[0].FeatureMap || m.from != 0
	})
}

// lay lays an area's maps in runs of channels.
func (a *area) lay() {
	for _, m := range a.maps {
		size := int64(m.Bits / 8)
		m.Brick, m.StrideX, m.StrideC = true, unit*size, int64(m.W)*unit*size
		m.StrideY = int64(m.C+unit-1) / unit * m.StrideC
		a.bytes = m.span()
	}
}

// loops describe numbers as counters with a step each, the fastest first; false: they are none.
func loops(v []int64) ([][2]int64, bool) {
	var out [][2]int64
	n := len(v)
	for period := 1; period < n; {
		step, count := v[period]-v[0], 1
		for (count+1)*period <= n && v[count*period]-v[(count-1)*period] == step {
			count++
		}
		if n%(period*count) != 0 {
			return nil, false
		}
		out = append(out, [2]int64{int64(count), step})
		period *= count
	}
	for i, x := range v {
		at, left := v[0], int64(i)
		for _, l := range out {
			at += left % l[0] * l[1]
			left /= l[0]
		}
		if at != x {
			return nil, false
		}
	}
	return out, true
}

// numbered is data of a type whose elements are their numbers in memory order, from first on.
func numbered(t ir.Type, first int) *tensor.Dense {
	t = laid(t)
	v, strides := make([]int32, t.Elems()), kernel.Strides(t)
	for i := range v {
		at, left := first, i
		for d := t.Rank() - 1; d >= 0; d-- {
			at += left % t.Shape[d] * strides[d]
			left /= t.Shape[d]
		}
		v[i] = int32(at)
	}
	return tensor.Of(t.Shape, v)
}

// inMemory gives numbers of a logical tensor in memory order.
func inMemory(t ir.Type, d *tensor.Dense) []int64 {
	out := make([]int64, d.Len())
	for i, at := range numbered(t, 0).Data.([]int32) {
		out[at] = d.Int(i)
	}
	return out
}

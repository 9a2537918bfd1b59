// SPDX-License-Identifier: Apache-2.0

package npu

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Memory is a region: its bytes, which of them are known, and whether it may be written.
type Memory struct {
	Data     []byte
	Known    []bool
	ReadOnly bool
}

// Constant is a region that is read only.
func Constant(b []byte) *Memory { return &Memory{b, slices.Repeat([]bool{true}, len(b)), true} }

// Scratch is a region of which nothing is known.
func Scratch(n int) *Memory { return &Memory{Data: make([]byte, n), Known: make([]bool, n)} }

// Put stores bytes from outside; an error says what does not fit.
func (m *Memory) Put(at int, b []byte) error {
	if at < 0 || at > len(m.Data)-len(b) {
		return fmt.Errorf("%d bytes at %d of a region of %d", len(b), at, len(m.Data))
	}
	copy(m.Data[at:], b)
	for i := range b {
		m.Known[at+i] = true
	}
	return nil
}

// Get reads bytes for outside.
func (m *Memory) Get(at int, b []byte) error {
	if at < 0 || at > len(m.Data)-len(b) {
		return fmt.Errorf("%d bytes at %d of a region of %d", len(b), at, len(m.Data))
	}
	if i := slices.Index(m.Known[at:at+len(b)], false); i >= 0 {
		return fmt.Errorf("byte %d, which nothing has written", at+i)
	}
	copy(b, m.Data[at:])
	return nil
}

// box is a part of a feature map, upper ends excluded.
type box struct{ y0, x0, c0, y1, x1, c1 int }

func (f *FeatureMap) all() box { return box{y1: f.H, x1: f.W, c1: f.C} }

func (f *FeatureMap) elems() int { return f.H * f.W * f.C }

func (f *FeatureMap) bytes() int64 { return int64(f.Bits / 8) }

// step is how many channels lie one behind the other.
func (f *FeatureMap) step() int {
	if f.Brick {
		return 16
	}
	return f.C
}

// runs gives every run of neighbours of a part: where its first lies, its number in the part, how many.
func (f *FeatureMap) runs(b box, visit func(at int64, i, n int)) {
	size, step := f.bytes(), f.step()
	across := f.StrideX
	if f.Brick {
		across = 16 * size
	}
	for y := b.y0; y < b.y1; y++ {
		for x := b.x0; x < b.x1; x++ {
			t, ty, tx := f.tile(y, x)
			row := f.Base[t] + int64(ty)*f.StrideY + int64(tx)*across
			for c := b.c0; c < b.c1; {
				n := min(b.c1, (c/step+1)*step) - c
				visit(row+int64(c/step)*f.StrideC+int64(c%step)*size,
					((y-b.y0)*(b.x1-b.x0)+x-b.x0)*(b.c1-b.c0)+c-b.c0, n)
				c += n
			}
		}
	}
}

// tile is the tile of an element, with its place there.
func (f *FeatureMap) tile(y, x int) (t, ty, tx int) {
	switch {
	case x >= f.W0 && y >= f.H1:
		return 3, y - f.H1, x - f.W0
	case x >= f.W0:
		return 1, y, x - f.W0
	case y >= f.H0:
		return 2, y - f.H0, x
	}
	return 0, y, x
}

// span is bytes from, up to to.
type span struct{ from, to int64 }

// spans are the bytes of a part, in order and merged.
func (f *FeatureMap) spans(b box) []span {
	var out []span
	f.runs(b, func(at int64, _, n int) {
		out = appendSpan(out, span{at, at + int64(n)*f.bytes()})
	})
	return merged(out)
}

// appendSpan joins neighbours at once, which keeps lists short.
func appendSpan(out []span, s span) []span {
	if k := len(out) - 1; k >= 0 && out[k].to == s.from {
		out[k].to = s.to
		return out
	}
	return append(out, s)
}

func merged(s []span) []span {
	slices.SortFunc(s, func(a, b span) int { return int(a.from - b.from) })
	out := s[:0]
	for _, x := range s {
		if k := len(out) - 1; k >= 0 && out[k].to >= x.from {
			out[k].to = max(out[k].to, x.to)
			continue
		}
		out = append(out, x)
	}
	return out
}

// meet is a byte that is in both lists; -1: there is none.
func meet(a, b []span) int64 {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if from := max(a[i].from, b[j].from); from < min(a[i].to, b[j].to) {
			return from
		}
		if a[i].to < b[j].to {
			i++
		} else {
			j++
		}
	}
	return -1
}

// access is bytes that an operation reads or writes.
type access struct {
	what   string
	region int
	spans  []span
}

func (r Range) access(what string) access {
	return access{what, r.Region, []span{{r.From, r.From + r.Bytes}}}
}

func (f *FeatureMap) access(what string) access { return access{what, f.Region, f.spans(f.all())} }

// within checks that an operation may read or write there.
func (m *machine) within(a access, write bool) error {
	r := m.regions[a.region]
	if r == nil {
		return fmt.Errorf("%s is in region %s, which there is not", a.what, regionName(a.region))
	}
	if write && r.ReadOnly {
		return fmt.Errorf("%s is written to region %s, which is read only", a.what, regionName(a.region))
	}
	for _, s := range a.spans {
		if s.from < 0 || s.to > int64(len(r.Data)) {
			return fmt.Errorf("%s is at %d to %d of region %s, which has %d bytes", a.what, s.from, s.to,
				regionName(a.region), len(r.Data))
		}
		if write {
			continue
		}
		if i := slices.Index(r.Known[s.from:s.to], false); i >= 0 {
			return fmt.Errorf("%s reads byte %d of region %s, which nothing has written", a.what, s.from+int64(i),
				regionName(a.region))
		}
	}
	return nil
}

// load reads a feature map without its zero point.
func (m *machine) load(f *FeatureMap) []int32 {
	data, out, z := m.regions[f.Region].Data, make([]int32, f.elems()), int32(f.Zero)
	f.runs(f.all(), func(at int64, i, n int) {
		for k := range n {
			switch b := data[at+int64(k)*f.bytes():]; {
			case f.Bits == 32:
				out[i+k] = int32(binary.LittleEndian.Uint32(b)) - z
			case f.Bits == 16 && f.Signed:
				out[i+k] = int32(int16(binary.LittleEndian.Uint16(b))) - z
			case f.Bits == 16:
				out[i+k] = int32(binary.LittleEndian.Uint16(b)) - z
			case f.Signed:
				out[i+k] = int32(int8(b[0])) - z
			default:
				out[i+k] = int32(b[0]) - z
			}
		}
	})
	return out
}

// store writes a feature map.
func (m *machine) store(f *FeatureMap, v []int32) {
	r := m.regions[f.Region]
	f.runs(f.all(), func(at int64, i, n int) {
		for k := range n {
			switch b := r.Data[at+int64(k)*f.bytes():]; f.Bits {
			case 32:
				binary.LittleEndian.PutUint32(b, uint32(v[i+k]))
			case 16:
				binary.LittleEndian.PutUint16(b, uint16(v[i+k]))
			default:
				b[0] = byte(v[i+k])
			}
		}
	})
}

// know marks what was written, or what no longer holds anything.
func (m *machine) know(a access, known bool) {
	r := m.regions[a.region]
	for _, s := range a.spans {
		for i := s.from; i < s.to; i++ {
			r.Known[i] = known
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package program

import (
	"math"

	"github.com/nncc/nncc/ir/tensor"
)

// Fill is what an operand of a step holds in place of what was computed: eight bytes,
// little-endian, repeated from its first byte to its last. They are noise where Mask has
// ones, XORed with Base.
type Fill struct {
	Step          int
	Offset, Bytes uint32 // as of Address
	Mask, Base    uint64
}

// Extreme is one kind of data for all steps.
type Extreme struct {
	Name  string
	Fills []Fill // in the order of the steps
}

// Extremes are kinds of data at the ends of what operands can hold, with which branches
// that depend on data go all ways: the operands of every step, filled while the program runs
// step by step. Only data is filled: floats, bools, and quantised or narrow integers.
// 32- and 64-bit integers, which may be indices or sizes, stay as they were computed.
func (p *Program) Extremes() []Extreme {
	var out []Extreme
	for _, k := range kinds {
		e := Extreme{Name: k.name}
		for i, s := range p.Steps {
			for n, x := range s.In {
				if x.Buffer < 0 || x.Unread {
					continue
				}
				v, ok := k.value(&p.Buffers[x.Buffer], n)
				if !ok {
					continue
				}
				p.extent(x.Buffer).runs(func(at, bytes int) {
					e.Fills = append(e.Fills, Fill{i, uint32(at), uint32(bytes), v.mask, v.base})
				})
				if k.last != nil {
					e.Fills = append(e.Fills, p.ends(i, x.Buffer, k)...)
				}
			}
		}
		out = append(out, e)
	}
	return out
}

// mostLines is how many lines of a value ramps are made for: in more, the whole is one.
const mostLines = 32

// ends are the fills that make ramps of the lines of a value, over what is there: behind their first half comes what
// lies between the ends, and in the last element what kind.last gives. A search from the beginning goes to the end,
// and every step up is a new extreme.
func (p *Program) ends(step, buffer int, k kind) []Fill {
	b, x := &p.Buffers[buffer], p.extent(buffer)
	e, rank := endsOf(b), b.Type.Rank()
	size, line := e.bits/8, x.bytes
	if rank > 0 && x.pitch == 0 {
		if n := b.Type.Shape[rank-1] * size; n > 0 && x.bytes%n == 0 && x.bytes/n <= mostLines {
			line = n
		}
	}
	var out []Fill
	x.runs(func(at, bytes int) {
		for from := at; from+line <= at+bytes && line > size; from += line {
			middle := from + line/2/size*size
			last := from + line - size
			out = append(out, Fill{step, uint32(middle), uint32(last - middle), 0, e.all(e.zero).base},
				Fill{step, uint32(last), uint32(size), 0, e.all(k.last(e)).base})
		}
	})
	return out
}

// bits are two or more elements: noise under mask, XORed with base.
type bits struct{ mask, base uint64 }

// ends are the elements of a type that kinds of data are made of.
type ends struct {
	bits              int    // of an element
	least, most, zero uint64 // in its low bits
	noise, near       bits   // any value; values near zero
	odd               [3]bits
}

// kind is one kind of data: what operand n of a step holds.
type kind struct {
	name string
	of   func(e *ends, n int) bits
	last func(e *ends) uint64 // makes ramps: lines end in it; nil without
}

var kinds = []kind{
	{"least", func(e *ends, _ int) bits { return e.all(e.least) }, nil},
	{"most", func(e *ends, _ int) bits { return e.all(e.most) }, nil},
	{"zero", func(e *ends, _ int) bits { return e.all(e.zero) }, nil},
	{"least and most in turn", func(e *ends, _ int) bits { return e.turns(e.least, e.most) }, nil},
	{"least and most in pairs", func(e *ends, _ int) bits { return e.turns(e.most, e.most, e.least, e.least) }, nil},
	{"first operand least, others most", func(e *ends, n int) bits { return e.all(pick(n == 0, e.least, e.most)) },
		nil},
	{"first operand most, others least", func(e *ends, n int) bits { return e.all(pick(n == 0, e.most, e.least)) },
		nil},
	{"noise", func(e *ends, _ int) bits { return e.noise }, nil},
	{"up at the end", func(e *ends, _ int) bits { return e.all(e.least) }, func(e *ends) uint64 { return e.most }},
	{"down at the end", func(e *ends, _ int) bits { return e.all(e.most) }, func(e *ends) uint64 { return e.least }},
	{"sawtooth", func(e *ends, _ int) bits { return e.turns(e.least, e.zero, e.zero, e.most) }, nil},
	{"noise near zero", func(e *ends, _ int) bits { return e.near }, nil},
	{"denormal", func(e *ends, _ int) bits { return e.odd[0] }, nil},
	{"infinite", func(e *ends, _ int) bits { return e.odd[1] }, nil},
	{"not a number", func(e *ends, _ int) bits { return e.odd[2] }, nil},
}

func pick(first bool, a, b uint64) uint64 {
	if first {
		return a
	}
	return b
}

// value is what a buffer holds; false where data of its type is not filled.
func (k *kind) value(b *Buffer, operand int) (bits, bool) {
	e := endsOf(b)
	if e == nil {
		return bits{}, false
	}
	return k.of(e, operand), true
}

// turns are elements in turn.
func (e *ends) turns(list ...uint64) bits {
	var v uint64
	for i := range 64 / e.bits {
		v |= list[i%len(list)] << (i * e.bits)
	}
	return bits{base: v}
}

func (e *ends) all(v uint64) bits { return e.turns(v) }

// noisy are elements with noise under a mask.
func (e *ends) noisy(mask, base uint64) bits { return bits{e.turns(mask).base, e.turns(base).base} }

// endsOf are the ends of a buffer's type, nil where it is not filled.
func endsOf(b *Buffer) *ends {
	d := b.Type.DType
	switch d {
	case tensor.F32:
		return floatEnds(32, 23, uint64(math.Float32bits(math.MaxFloat32)))
	case tensor.F64:
		return floatEnds(64, 52, math.Float64bits(math.MaxFloat64))
	case tensor.F16:
		return floatEnds(16, 10, 0x7bff)
	case tensor.BF16:
		return floatEnds(16, 7, 0x7f7f)
	case tensor.Bool:
		e := &ends{bits: 8, most: 1}
		e.noise = e.noisy(1, 0)
		e.near, e.odd = e.noise, [3]bits{e.noise, e.noise, e.noise}
		return e
	case tensor.I8, tensor.U8, tensor.I16, tensor.U16:
		return integerEnds(d, b)
	}
	return nil
}

// floatEnds are those of a float of so many bits, with so many of them behind the point;
// infinity follows the largest number.
func floatEnds(size, fraction int, largest uint64) *ends {
	sign, ones := uint64(1)<<(size-1), uint64(1)<<fraction-1
	one := (uint64(1)<<(size-2-fraction) - 1) << fraction
	e := &ends{bits: size, least: largest | sign, most: largest}
	e.noise = e.noisy(sign|ones, one)
	e.near = e.noisy(sign|ones, one-8<<fraction) // some 256ths
	e.odd = [3]bits{e.noisy(ones>>1, 1), e.turns(largest+1, largest+1|sign), e.all(largest + 2)}
	return e
}

// integerEnds are those of a narrow integer.
func integerEnds(d tensor.DType, b *Buffer) *ends {
	e := &ends{bits: d.Bits()}
	least, most := d.IntRange()
	field := uint64(1)<<e.bits - 1
	e.least, e.most = uint64(least)&field, uint64(most)&field
	if q := b.Type.Quant; q != nil {
		e.zero = uint64(q.Zero[0]) & field
	}
	e.noise, e.near = e.noisy(field, 0), e.noisy(7, e.zero)
	// What only floats have: a few ones among zeros, mostly least and mostly most.
	e.odd = [3]bits{e.noisy(1, e.zero), e.noisy(3, e.least), e.noisy(3, e.most)}
	return e
}

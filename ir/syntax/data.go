// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/tensor"
)

// Data reads a constant's elements: {1,2,3}, splat 0, base64 "..." (the
// little-endian memory image), or, for people who write tests, rand SEED.
func (p *Parser) Data(dt tensor.DType, shape []int) *tensor.Dense {
	pos := p.Tok.Pos
	n := tensor.Count(shape)
	switch {
	case p.Accept("{"):
		return p.numbers(pos, dt, shape, n)
	case p.IsWord("splat"):
		p.Advance()
		p.spend(pos, n)
		one := tensor.New(dt, nil)
		p.elem(one, 0)
		d := tensor.New(dt, shape)
		tensor.Gather(d, one, shape, make([]int, len(shape)), 0)
		return d
	case p.IsWord("rand"):
		p.Advance()
		seed := p.Int()
		p.spend(pos, n)
		return Rand(uint64(seed), dt, shape)
	case p.IsWord("base64"):
		p.Advance()
		b, err := base64.StdEncoding.DecodeString(p.Take(String, "a base64 string"))
		p.RefuseAt(err != nil, pos, "%v", err)
		p.RefuseAt(len(b) != n*dt.Size(), pos, "%s%v needs %d bytes, got %d", dt, shape, n*dt.Size(), len(b))
		if lo, hi := dt.IntRange(); dt == tensor.I4 || dt == tensor.U4 || dt == tensor.Bool {
			for _, x := range b {
				v := int64(x)
				if dt == tensor.I4 {
					v = int64(int8(x))
				}
				p.RefuseAt(v < lo || v > hi, pos, "%d is no %s", v, dt)
			}
		}
		d, err := tensor.FromBytes(dt, shape, b)
		p.RefuseAt(err != nil, pos, "%v", err)
		return d
	}
	p.Failf("found %s, want {...}, splat, rand or base64", p.Tok)
	panic("unreachable")
}

func (p *Parser) spend(pos, n int) {
	p.RefuseAt(n > p.budget, pos, "more than %d elements made by splat and rand", splatBudget)
	p.budget -= n
}

// numbers reads the list after its opening brace. The tensor is made only
// when the count is right, so that memory follows the text.
func (p *Parser) numbers(pos int, dt tensor.DType, shape []int, n int) *tensor.Dense {
	var parts []*tensor.Dense
	const chunk = 256
	k := 0
	for ; !p.Is("}"); k++ {
		if k == n {
			p.Failf("too many numbers for %s%v", dt, shape)
		}
		if k%chunk == 0 {
			parts = append(parts, tensor.New(dt, []int{chunk}))
		}
		p.elem(parts[len(parts)-1], k%chunk)
		if !p.Accept(",") {
			k++
			break
		}
	}
	p.Want("}")
	p.RefuseAt(k != n, pos, "%s%v needs %d numbers, got %d", dt, shape, n, k)
	d := tensor.New(dt, []int{n})
	for i := range k {
		d.CopyElem(i, parts[i/chunk], i%chunk)
	}
	return d.Reshaped(shape)
}

// IsFloat reports whether the present Token can only be a float.
func (p *Parser) IsFloat() bool {
	switch p.Tok.Kind {
	case Number:
		return true
	case Ident:
		t := p.Tok.Text
		return t == "inf" || t == "nan" || t == "NaN" || strings.HasPrefix(t, "f0x")
	}
	return false
}

// IsInteger reports whether a number has neither point nor exponent.
func IsInteger(s string) bool { return !strings.ContainsAny(s, ".einfEINF") }

// float reads a float of the given width and returns its bits.
func (p *Parser) float(bits int) uint64 {
	t := p.Tok
	if !p.IsFloat() {
		p.Failf("found %s, want a number", t)
	}
	p.Advance()
	if h, ok := strings.CutPrefix(t.Text, "f0x"); ok {
		v, err := strconv.ParseUint(h, 16, bits)
		if err != nil {
			p.FailAt(t.Pos, "malformed bits %s of a %d-bit float", t.Text, bits)
		}
		return v
	}
	width := max(bits, 32)
	v, err := strconv.ParseFloat(t.Text, width)
	if err != nil || strings.ContainsAny(t.Text, "xXpP_") {
		p.FailAt(t.Pos, "malformed or too large number %s", t.Text)
	}
	switch bits {
	case 64:
		return math.Float64bits(v)
	case 32:
		if v != v {
			return 0x7fc00000
		}
		return uint64(math.Float32bits(float32(v)))
	}
	panic(bug.Errorf("float width"))
}

// Float32 reads a float.
func (p *Parser) Float32() float32 { return math.Float32frombits(uint32(p.float(32))) }

// elem reads one element of d.
func (p *Parser) elem(d *tensor.Dense, i int) {
	t := p.Tok
	switch s := d.Data.(type) {
	case []float32:
		s[i] = p.Float32()
		return
	case []float64:
		s[i] = math.Float64frombits(p.float(64))
		return
	case []bool:
		if !p.IsWord("true") && !p.IsWord("false") {
			p.Failf("found %s, want true or false", t)
		}
		s[i] = t.Text == "true"
		p.Advance()
		return
	case []uint64:
		v, err := strconv.ParseUint(p.Take(Number, "a number"), 10, 64)
		if err != nil {
			p.FailAt(t.Pos, "%s is no u64", t)
		}
		s[i] = v
		return
	case []uint16:
		if d.DType != tensor.U16 {
			if strings.HasPrefix(t.Text, "f0x") {
				v, err := strconv.ParseUint(t.Text[3:], 16, 16)
				if err != nil {
					p.Failf("malformed bits %s of a 16-bit float", t)
				}
				s[i] = uint16(v)
				p.Advance()
				return
			}
			d.SetFloat(i, float64(p.Float32()))
			return
		}
	}
	v, err := strconv.ParseInt(p.Take(Number, "a number"), 10, 64)
	lo, hi := d.DType.IntRange()
	if err != nil || v < lo || v > hi {
		p.FailAt(t.Pos, "%s is no %s", t, d.DType)
	}
	d.SetInt(i, v)
}

// Rand is a seeded tensor for tests: floats roughly normal with standard
// deviation 0.5, rounded to multiples of 1/1024 so that text stays short;
// integers over the whole range of 8-bit types and below 100 in magnitude for
// wider ones; the same on every machine.
func Rand(seed uint64, dt tensor.DType, shape []int) *tensor.Dense {
	d := tensor.New(dt, shape)
	x := seed*0x9e3779b97f4a7c15 + 0x632be59bd9b4e019
	next := func() uint64 { // splitmix64
		x += 0x9e3779b97f4a7c15
		z := x
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
	lo, hi := int64(0), int64(0)
	if !dt.IsFloat() {
		lo, hi = dt.IntRange()
		lo, hi = max(lo, -100), min(hi, 100)
		if dt.Bits() == 8 {
			lo, hi = dt.IntRange()
		}
	}
	for i, n := 0, d.Len(); i < n; i++ {
		r := next()
		if dt.IsFloat() {
			sum := int64(r&0xffff) + int64(r>>16&0xffff) + int64(r>>32&0xffff) + int64(r>>48) - 2*0xffff
			d.SetFloat(i, float64(sum*1774/0x20000)/1024)
			continue
		}
		d.SetInt(i, lo+int64(r%uint64(hi-lo+1)))
	}
	return d
}

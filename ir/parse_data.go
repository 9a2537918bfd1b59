package ir

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/tensor"
)

// data reads a constant's elements: {1,2,3}, splat 0, base64 "..." (the
// little-endian memory image), or, for people who write tests, rand SEED.
func (p *parser) data(dt tensor.DType, shape []int) *tensor.Dense {
	pos := p.tok.pos
	n := tensor.Count(shape)
	switch {
	case p.accept("{"):
		return p.numbers(pos, dt, shape, n)
	case p.isWord("splat"):
		p.advance()
		p.spend(pos, n)
		one := tensor.New(dt, nil)
		p.elem(one, 0)
		d := tensor.New(dt, shape)
		tensor.Gather(d, one, shape, make([]int, len(shape)), 0)
		return d
	case p.isWord("rand"):
		p.advance()
		seed := p.int()
		p.spend(pos, n)
		return Rand(uint64(seed), dt, shape)
	case p.isWord("base64"):
		p.advance()
		b, err := base64.StdEncoding.DecodeString(p.take(tStr, "a base64 string"))
		if err != nil {
			p.fail(pos, "%v", err)
		}
		if len(b) != n*dt.Size() {
			p.fail(pos, "%s%v needs %d bytes, got %d", dt, shape, n*dt.Size(), len(b))
		}
		if lo, hi := dt.IntRange(); dt == tensor.I4 || dt == tensor.U4 || dt == tensor.Bool {
			for _, x := range b {
				v := int64(x)
				if dt == tensor.I4 {
					v = int64(int8(x))
				}
				if v < lo || v > hi {
					p.fail(pos, "%d is no %s", v, dt)
				}
			}
		}
		d, err := tensor.FromBytes(dt, shape, b)
		if err != nil {
			p.fail(pos, "%v", err)
		}
		return d
	}
	p.failf("found %s, want {...}, splat, rand or base64", p.tok)
	panic("unreachable")
}

func (p *parser) spend(pos, n int) {
	if n > p.budget {
		p.fail(pos, "more than %d elements made by splat and rand", splatBudget)
	}
	p.budget -= n
}

// numbers reads the list after its opening brace. The tensor is made only
// when the count is right, so that memory follows the text.
func (p *parser) numbers(pos int, dt tensor.DType, shape []int, n int) *tensor.Dense {
	var parts []*tensor.Dense
	const chunk = 256
	k := 0
	for ; !p.is("}"); k++ {
		if k == n {
			p.failf("too many numbers for %s%v", dt, shape)
		}
		if k%chunk == 0 {
			parts = append(parts, tensor.New(dt, []int{chunk}))
		}
		p.elem(parts[len(parts)-1], k%chunk)
		if !p.accept(",") {
			k++
			break
		}
	}
	p.want("}")
	if k != n {
		p.fail(pos, "%s%v needs %d numbers, got %d", dt, shape, n, k)
	}
	d := tensor.New(dt, []int{n})
	for i := range k {
		copyElem(d, i, parts[i/chunk], i%chunk)
	}
	return d.Reshaped(shape)
}

// copyElem moves one element bit for bit.
func copyElem(dst *tensor.Dense, i int, src *tensor.Dense, j int) {
	switch s := src.Data.(type) {
	case []float32:
		dst.Data.([]float32)[i] = s[j]
	case []float64:
		dst.Data.([]float64)[i] = s[j]
	case []uint16:
		dst.Data.([]uint16)[i] = s[j]
	default:
		dst.SetInt(i, src.Int(j))
	}
}

// isFloat reports whether the present token can only be a float.
func (p *parser) isFloat() bool {
	switch p.tok.kind {
	case tNum:
		return true
	case tIdent:
		t := p.tok.text
		return t == "inf" || t == "nan" || t == "NaN" || strings.HasPrefix(t, "f0x")
	}
	return false
}

func isInteger(s string) bool { return !strings.ContainsAny(s, ".einfEINF") }

// float reads a float of the given width and returns its bits.
func (p *parser) float(bits int) uint64 {
	t := p.tok
	if !p.isFloat() {
		p.failf("found %s, want a number", t)
	}
	p.advance()
	if h, ok := strings.CutPrefix(t.text, "f0x"); ok {
		v, err := strconv.ParseUint(h, 16, bits)
		if err != nil {
			p.fail(t.pos, "malformed bits %s of a %d-bit float", t.text, bits)
		}
		return v
	}
	width := max(bits, 32)
	v, err := strconv.ParseFloat(t.text, width)
	if err != nil || strings.ContainsAny(t.text, "xXpP_") {
		p.fail(t.pos, "malformed or too large number %s", t.text)
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
	panic("BUG: float width")
}

func (p *parser) float32() float32 { return math.Float32frombits(uint32(p.float(32))) }

// elem reads one element of d.
func (p *parser) elem(d *tensor.Dense, i int) {
	t := p.tok
	switch s := d.Data.(type) {
	case []float32:
		s[i] = p.float32()
		return
	case []float64:
		s[i] = math.Float64frombits(p.float(64))
		return
	case []bool:
		if !p.isWord("true") && !p.isWord("false") {
			p.failf("found %s, want true or false", t)
		}
		s[i] = t.text == "true"
		p.advance()
		return
	case []uint64:
		v, err := strconv.ParseUint(p.take(tNum, "a number"), 10, 64)
		if err != nil {
			p.fail(t.pos, "%s is no u64", t)
		}
		s[i] = v
		return
	case []uint16:
		if d.DType != tensor.U16 {
			if strings.HasPrefix(t.text, "f0x") {
				v, err := strconv.ParseUint(t.text[3:], 16, 16)
				if err != nil {
					p.failf("malformed bits %s of a 16-bit float", t)
				}
				s[i] = uint16(v)
				p.advance()
				return
			}
			d.SetFloat(i, float64(p.float32()))
			return
		}
	}
	v, err := strconv.ParseInt(p.take(tNum, "a number"), 10, 64)
	lo, hi := d.DType.IntRange()
	if err != nil || v < lo || v > hi {
		p.fail(t.pos, "%s is no %s", t, d.DType)
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

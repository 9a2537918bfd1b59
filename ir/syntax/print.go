// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/tensor"
)

// smallConst is the largest constant that is printed as a list of numbers.
const smallConst = 64

// splatBudget bounds the elements that one text may create by splat and rand,
// so that a short text cannot claim much memory. The printer keeps to the
// same budget and falls back to base64 beyond it.
const splatBudget = 1 << 22

// Printer collects text that a Parser reads.
type Printer struct {
	strings.Builder
	brief  bool
	budget int // elements that splat may still stand for
}

// NewPrinter is an empty printer. With brief, constants that are too long for a
// list of numbers are elided as "...", which people can read and Parser refuses.
func NewPrinter(brief bool) *Printer { return &Printer{brief: brief, budget: splatBudget} }

// Name is %name, quoted when it has other characters than the lexer takes for
// those of a plain one.
func Name(name string) string {
	if name == "" {
		return `%""`
	}
	for i := 0; i < len(name); i++ {
		if !isNameByte(name[i]) {
			return "%" + strconv.Quote(name)
		}
	}
	return "%" + name
}

// FloatText is the shortest text that reads back as the same bits. NaNs other
// than the canonical one are given by their bits: f0x7fc00001.
func FloatText(v float64, bits int, raw uint64) string {
	switch {
	case v != v:
		if bits == 32 && raw == 0x7fc00000 {
			return "nan"
		}
		return fmt.Sprintf("f0x%x", raw)
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	if bits == 16 {
		bits = 32
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

// elemText is element i of d as Parse reads it.
func elemText(d *tensor.Dense, i int) string {
	switch s := d.Data.(type) {
	case []float32:
		return FloatText(float64(s[i]), 32, uint64(math.Float32bits(s[i])))
	case []float64:
		return FloatText(s[i], 64, math.Float64bits(s[i]))
	case []uint16:
		if d.DType != tensor.U16 {
			return FloatText(d.Float(i), 16, uint64(s[i]))
		}
	case []uint64:
		return strconv.FormatUint(s[i], 10)
	case []bool:
		return strconv.FormatBool(s[i])
	}
	return strconv.FormatInt(d.Int(i), 10)
}

// Data prints the elements of a tensor.
func (p *Printer) Data(d *tensor.Dense) {
	n := d.Len()
	if n > 1 && n <= p.budget && uniform(d, n) {
		p.budget -= n
		p.WriteString("splat " + elemText(d, 0))
		return
	}
	if n <= smallConst {
		p.WriteByte('{')
		for i := 0; i < n; i++ {
			if i > 0 {
				p.WriteByte(',')
			}
			p.WriteString(elemText(d, i))
		}
		p.WriteByte('}')
		return
	}
	if p.brief {
		p.WriteString("...")
		return
	}
	p.WriteString(`base64 "`)
	p.WriteString(base64.StdEncoding.EncodeToString(d.Bytes()))
	p.WriteByte('"')
}

// uniform reports that all elements have the same bits.
func uniform(d *tensor.Dense, n int) bool {
	if d.DType.IsFloat() {
		b, k := d.Bytes(), d.DType.Size()
		for i := k; i < len(b); i++ {
			if b[i] != b[i-k] {
				return false
			}
		}
		return true
	}
	if s, ok := d.Data.([]uint64); ok {
		return !slices.ContainsFunc(s, func(v uint64) bool { return v != s[0] })
	}
	for i := 1; i < n; i++ {
		if d.Int(i) != d.Int(0) {
			return false
		}
	}
	return true
}

// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
)

// Type reads what types.Type.String writes.
func (p *Parser) Type() types.Type {
	pos := p.Tok.Pos
	name := p.Take(Ident, "a type such as f32[1,3]")
	dt, ok := tensor.ParseDType(name)
	if !ok {
		p.FailAt(pos, "no element type %q", name)
	}
	t := types.Type{DType: dt, Shape: []int{}}
	p.Want("[")
	for !p.Is("]") {
		t.Shape = append(t.Shape, p.Int())
		if !p.Accept(",") {
			break
		}
	}
	p.Want("]")
	if len(t.Shape) > 64 {
		p.FailAt(pos, "%d dimensions, at most 64 are possible", len(t.Shape))
	}
	if _, err := tensor.Elems(t.Shape); err != nil {
		p.FailAt(pos, "%v", err)
	}
	if p.Tok.Kind == Order {
		t.Order = []int{}
		for _, s := range strings.Split(p.Tok.Text, ".") {
			v, err := strconv.Atoi(s)
			if p.Tok.Text == "" && len(t.Shape) == 0 {
				break
			}
			if err != nil || v >= len(t.Shape) || slices.Contains(t.Order, v) {
				p.Failf("memory order %s is no permutation of %d dimensions", p.Tok, len(t.Shape))
			}
			t.Order = append(t.Order, v)
		}
		if len(t.Order) != len(t.Shape) {
			p.Failf("memory order %s is no permutation of %d dimensions", p.Tok, len(t.Shape))
		}
		p.Advance()
	}
	if p.IsWord("q") {
		p.Advance()
		t.Quant = p.quant(t)
	}
	return t
}

func (p *Parser) quant(t types.Type) *types.Quant {
	pos := p.Tok.Pos
	q := &types.Quant{Axis: -1}
	want := 1
	p.Want("(")
	if p.IsWord("axis") {
		p.Advance()
		p.Want("=")
		if q.Axis = p.Int(); q.Axis < 0 || q.Axis >= len(t.Shape) {
			p.FailAt(pos, "quantisation axis %d of rank %d", q.Axis, len(t.Shape))
		}
		want = t.Shape[q.Axis]
		p.Accept(",")
	}
	for !p.Is(")") {
		q.Scale = append(q.Scale, p.Float32())
		p.Want(":")
		zp := p.Tok.Pos
		z := p.Int()
		if int(int32(z)) != z {
			p.FailAt(zp, "zero point %d does not fit 32 bits", z)
		}
		q.Zero = append(q.Zero, int32(z))
		if !p.Accept(",") {
			break
		}
	}
	p.Want(")")
	if len(q.Scale) != want {
		p.FailAt(pos, "%d scales, want %d", len(q.Scale), want)
	}
	return q
}

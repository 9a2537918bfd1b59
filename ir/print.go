package ir

import (
	"encoding/base64"
	"fmt"
	"io"
	"math"
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

// String is the text form of the graph; Parse reads it back exactly, except
// for IDs, which are numbered anew. The grammar is in README.md.
func (g *Graph) String() string {
	var b strings.Builder
	g.WriteText(&b, false)
	return b.String()
}

// WriteText writes the text form. With brief, constants that are too long for
// a list of numbers are elided as "...", which people can read and Parse
// refuses.
func (g *Graph) WriteText(w io.Writer, brief bool) {
	p := &printer{brief: brief, budget: splatBudget}
	p.graph(g, "", "graph")
	io.WriteString(w, p.String())
}

type printer struct {
	strings.Builder
	brief  bool
	budget int
}

func (p *printer) graph(g *Graph, indent, keyword string) {
	fmt.Fprintf(p, "%s%s %s {\n", indent, keyword, strconv.Quote(g.Name))
	in := indent + "  "
	for _, v := range g.In {
		fmt.Fprintf(p, "%sin %s : %s\n", in, valueName(v), v.Type)
	}
	done := map[*Value]bool{}
	constant := func(v *Value) {
		if v == nil || v.Const == nil || done[v] {
			return
		}
		done[v] = true
		fmt.Fprintf(p, "%sconst %s : %s = ", in, valueName(v), v.Type)
		p.data(v.Const)
		p.WriteByte('\n')
	}
	for _, n := range g.Nodes {
		for _, v := range n.In {
			constant(v)
		}
		p.node(n, in)
	}
	for i, v := range g.Out {
		constant(v)
		fmt.Fprintf(p, "%sout %s = %s\n", in, strconv.Quote(g.OutNames[i]), valueName(v))
	}
	fmt.Fprintf(p, "%s}\n", indent)
}

func (p *printer) node(n *Node, indent string) {
	p.WriteString(indent)
	for i, v := range n.Out {
		if i > 0 {
			p.WriteString(", ")
		}
		fmt.Fprintf(p, "%s : %s", valueName(v), v.Type)
	}
	p.WriteString(" = ")
	if n.Op.Domain != "" {
		p.WriteString(n.Op.Domain + ".")
	}
	p.WriteString(n.Op.Name + "(")
	for i, v := range n.In {
		if i > 0 {
			p.WriteString(", ")
		}
		p.WriteString(valueName(v))
	}
	p.WriteByte(')')
	if len(n.Attrs) > 0 {
		p.WriteString(" {")
		for i, name := range n.Attrs.Names() {
			if i > 0 {
				p.WriteString(", ")
			}
			p.WriteString(name + "=")
			p.attr(n.Attrs[name])
		}
		p.WriteByte('}')
	}
	if len(n.Out) == 0 || n.Name != n.Out[0].Name {
		p.WriteString(" name " + strconv.Quote(n.Name))
	}
	for i, o := range n.Origin {
		if i == 0 {
			p.WriteString(" from ")
		} else {
			p.WriteString(", ")
		}
		p.WriteString(strconv.Quote(o))
	}
	p.WriteByte('\n')
	for _, b := range n.Body {
		p.graph(b, indent+"  ", "body")
	}
}

// valueName is %name, quoted when the name has other characters than the
// lexer takes for a plain one.
func valueName(v *Value) string {
	if v == nil {
		return "-"
	}
	if v.Name == "" {
		return `%""`
	}
	for i := 0; i < len(v.Name); i++ {
		if !isNameByte(v.Name[i]) {
			return "%" + strconv.Quote(v.Name)
		}
	}
	return "%" + v.Name
}

func (p *printer) attr(a Attr) {
	switch a.Kind {
	case AttrInt:
		fmt.Fprint(p, a.Int)
	case AttrFloat:
		p.WriteString(attrFloat(a.Float))
	case AttrString:
		p.WriteString(strconv.Quote(a.String))
	case AttrInts:
		list(p, "ints", a.Ints, func(v int64) string { return strconv.FormatInt(v, 10) })
	case AttrFloats:
		list(p, "floats", a.Floats, attrFloat)
	case AttrStrings:
		list(p, "strings", a.Strings, strconv.Quote)
	case AttrTensor:
		if a.Tensor == nil {
			p.WriteString("none")
			return
		}
		p.WriteString(Type{DType: a.Tensor.DType, Shape: a.Tensor.Shape}.String() + " ")
		p.data(a.Tensor)
	}
}

// list prints [a,b]; an empty list carries its kind: ints[].
func list[T any](p *printer, kind string, s []T, f func(T) string) {
	if len(s) == 0 {
		p.WriteString(kind)
	}
	p.WriteByte('[')
	for i, v := range s {
		if i > 0 {
			p.WriteByte(',')
		}
		p.WriteString(f(v))
	}
	p.WriteByte(']')
}

// attrFloat prints a float so that it cannot be taken for an integer.
func attrFloat(f float32) string {
	s := floatText(float64(f), 32, uint64(math.Float32bits(f)))
	if strings.ContainsAny(s, ".einf") {
		return s
	}
	return s + ".0"
}

// floatText is the shortest text that reads back as the same bits. NaNs other
// than the canonical one are given by their bits: f0x7fc00001.
func floatText(v float64, bits int, raw uint64) string {
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
		return floatText(float64(s[i]), 32, uint64(math.Float32bits(s[i])))
	case []float64:
		return floatText(s[i], 64, math.Float64bits(s[i]))
	case []uint16:
		if d.DType != tensor.U16 {
			return floatText(d.Float(i), 16, uint64(s[i]))
		}
	case []uint64:
		return strconv.FormatUint(s[i], 10)
	case []bool:
		return strconv.FormatBool(s[i])
	}
	return strconv.FormatInt(d.Int(i), 10)
}

func (p *printer) data(d *tensor.Dense) {
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
		for _, v := range s {
			if v != s[0] {
				return false
			}
		}
		return true
	}
	for i := 1; i < n; i++ {
		if d.Int(i) != d.Int(0) {
			return false
		}
	}
	return true
}

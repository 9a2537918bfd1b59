// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/syntax"
)

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
	p := &printer{syntax.NewPrinter(brief)}
	p.graph(g, "", "graph")
	io.WriteString(w, p.String())
}

type printer struct {
	*syntax.Printer
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
		p.Data(v.Const)
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

// label writes what a node is called by, if there is such.
func (p *printer) label(what, name string) {
	if name != "" {
		p.WriteString(" " + what + " " + strconv.Quote(name))
	}
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
	p.label("series", n.Series)
	p.label("chain", n.Chain)
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

// valueName is %name, or "-" for an absent operand.
func valueName(v *Value) string {
	if v == nil {
		return "-"
	}
	return syntax.Name(v.Name)
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
		p.Data(a.Tensor)
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
	s := syntax.FloatText(float64(f), 32, uint64(math.Float32bits(f)))
	if strings.ContainsAny(s, ".einf") {
		return s
	}
	return s + ".0"
}

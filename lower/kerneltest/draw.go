// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
)

// Precision is what the data and weights of a drawn layer are.
type Precision string

// The precisions of programs, quantised bytes without sign, and plain numbers
// of any other type.
const (
	Float   Precision = "float32"
	Int8    Precision = "int8"
	Int4    Precision = "int8 with int4 weights"
	Int16x8 Precision = "int16x8"
	Uint8   Precision = "uint8"
	Plain   Precision = "other types"
)

// Precisions are all of them.
var Precisions = []Precision{Float, Int8, Int4, Int16x8, Uint8, Plain}

// Draw is a graph of one random node of operator d, named by prefix, and
// whether it is valid; nil where what was drawn is no node at all. Of each
// operator there are forms that some kernels take and others refuse. Nodes that
// are not valid, as the verifier has them, are there to be refused.
func Draw(r *rand.Rand, d *ir.OpDef, p Precision, prefix string) (g *ir.Graph, valid bool) {
	w := &drawer{dice: dice{r}, op: d, p: p, prefix: prefix}
	if f := special[d.Name]; f != nil && w.Chance(85) {
		g = f(w)
	} else if fs := formsOf()[d]; len(fs) > 0 {
		g = w.form(fs[w.IntN(len(fs))])
	}
	if g == nil || len(g.Nodes) != 1 {
		return nil, false
	}
	if len(g.In) > 0 && g.In[0].Type.Quant == nil && w.Chance(4) { // a scale where none belongs
		g.In[0].Type.Quant = ir.PerTensor(0.5, 0)
	}
	return g, len(g.Verify()) == 0
}

// special draw what has more freedom than a form can say.
var special map[string]func(w *drawer) *ir.Graph

func init() {
	special = map[string]func(w *drawer) *ir.Graph{
		"Conv": (*drawer).conv, "ConvTranspose": (*drawer).conv, "Gemm": (*drawer).gemm, "MatMul": (*drawer).matMul,
		"MaxPool": (*drawer).pool, "AveragePool": (*drawer).pool,
		"Relayout": (*drawer).relayout,
		"Fused":    (*drawer).fused, "QLSTM": (*drawer).recurrent, "QGRU": (*drawer).recurrent,
		"SVDF": (*drawer).svdf, "ResizeFixed": (*drawer).resizeFixed, "SignalFFT": (*drawer).signalFFT,
		"Constant": (*drawer).constant,
	}
}

// Special reports an operator that has more freedom than a form can say.
func Special(d *ir.OpDef) bool { return special[d.Name] != nil }

// FormsOf is the number of forms of an operator.
func FormsOf(d *ir.OpDef) int { return len(formsOf()[d]) }

// oneForm is an operator with attributes and its operands.
type oneForm struct {
	class, operands, results []string
	name, attrs              string
}

// formsOf are the forms of every operator.
var formsOf = sync.OnceValue(func() map[*ir.OpDef][]oneForm {
	m := map[*ir.OpDef][]oneForm{}
	for _, t := range slices.Concat(Forms, Templates) {
		operands, results, ops := t.Parts()
		for _, o := range ops {
			name, attrs, _ := strings.Cut(o, "{")
			domain, base := "", name
			if i := strings.LastIndexByte(name, '.'); i >= 0 {
				domain, base = name[:i], name[i+1:]
			}
			d := op.Get(domain, base)
			bug.If(d == nil, "no operator %s", name)
			m[d] = append(m[d], oneForm{t.Class, operands, results, name, strings.TrimSuffix(attrs, "}")})
		}
	}
	return m
})

// drawer writes a graph of one node as IR text.
type drawer struct {
	dice
	op     *ir.OpDef
	p      Precision
	prefix string
	text   strings.Builder
	n      int
	plain  string    // the element type of Plain
	first  string    // the quantisation of the first quantised operand
	scale  float64   // its scale
	out    string    // the quantisation of the result; "": drawn
	scales []float32 // of the weights
	block  bool      // a 3x3 convolution of many outputs, which some kernels want
	types  []string  // of the results of a form: T is the data's
}

func (w *drawer) quantised() bool { return w.p != Float && w.p != Plain }

// data is the element type of the data.
func (w *drawer) data() string {
	switch w.p {
	case Float:
		return "f32"
	case Int16x8:
		return "i16"
	case Uint8:
		return "u8"
	case Plain:
		return w.plain
	}
	return "i8"
}

// quant is a random quantisation of data, with its scale.
func (w *drawer) quant() (string, float64) {
	s := 0.01 + 0.1*w.Float64()
	switch w.p {
	case Float, Plain:
		return "", 0
	case Int16x8:
		s = []float64{s / 128, 1.0 / 32768, math.Ldexp(1, -w.In(9, 14))}[w.IntN(3)]
		return fmt.Sprintf(" q(%g:0)", float32(s)), s
	case Uint8:
		return fmt.Sprintf(" q(%g:%d)", float32(s), w.One(0, 128, 255, w.In(0, 255))), s
	}
	return fmt.Sprintf(" q(%g:%d)", float32(s), w.One(-128, -128, 127, 0, w.In(-128, 127))), s
}

// like is the quantisation of a further operand: that of the first where the
// operator moves integers, and sometimes elsewhere.
func (w *drawer) like() string {
	if w.first != "" && w.alike(w.op, 25) {
		return w.first
	}
	q, s := w.quant()
	if w.first == "" {
		w.first, w.scale = q, s
	}
	return q
}

// alike: a value has the units of the first operand, mostly where integers are moved or chosen among, else in a share
// of cases.
func (w *drawer) alike(d *ir.OpDef, share int) bool {
	chooses := w.op == op.Min || w.op == op.Max || w.op == op.Resize
	return d.Quant == ir.QMove && w.Chance(95) || chooses && w.Chance(60) || w.Chance(share)
}

func shapeText(shape []int) string { return "[" + commas(shape...) + "]" }

// value declares a graph input, or a constant of the data given.
func (w *drawer) value(typ, data string) string {
	w.n++
	name := fmt.Sprintf("%%%s_v%d", w.prefix, w.n)
	if data == "" {
		fmt.Fprintf(&w.text, "in %s : %s\n", name, typ)
	} else {
		fmt.Fprintf(&w.text, "const %s : %s = %s\n", name, typ, data)
	}
	return name
}

func (w *drawer) rand() string { return fmt.Sprintf("rand %d", w.In(1, 1<<30)) }

// input is a data input.
func (w *drawer) input(shape ...int) string {
	q := w.like()
	return w.value(w.data()+shapeText(shape)+q, "")
}

// node finishes the graph: the operator with its results, quantised as w.out
// says or at random.
func (w *drawer) node(name, attrs string, results int, in ...string) *ir.Graph {
	for len(in) > 0 && in[len(in)-1] == "-" {
		in = in[:len(in)-1]
	}
	var outs []string
	for i := range results {
		outs = append(outs, fmt.Sprintf("%%%s_y%d", w.prefix, i))
	}
	fmt.Fprintf(&w.text, "%s = %s(%s) {%s} name \"%s_n\"\n", strings.Join(outs, ", "), name, strings.Join(in, ", "),
		attrs, w.prefix)
	for i := range results {
		fmt.Fprintf(&w.text, "out \"%s_o%d\" = %%%s_y%d\n", w.prefix, i, w.prefix, i)
	}
	g, err := ir.Parse("graph \"g\" {\n"+w.text.String()+"}\n", op.Get)
	if err != nil {
		return nil
	}
	n := g.Nodes[len(g.Nodes)-1]
	if n.Op.MACs != nil && w.Chance(70) {
		symmetric(n.In)
	}
	for i, v := range n.Out {
		if i >= len(w.types) || w.types[i] != "f32" {
			w.quantise(n, v)
		}
	}
	return g
}

// symmetric takes the least number from weights, as quantisers do.
func symmetric(in []*ir.Value) {
	for _, v := range in {
		if v == nil || v.Const == nil || v.Type.Quant == nil {
			continue
		}
		lo, _ := v.Type.DType.IntRange()
		for i := range v.Const.Len() {
			v.Const.SetInt(i, max(v.Const.Int(i), lo+1))
		}
	}
}

// quantise gives a result that has the type of the data a quantisation.
func (w *drawer) quantise(n *ir.Node, v *ir.Value) {
	if !w.quantised() || n.Op.Quant == ir.QNone || v.Type.Quant != nil {
		return
	}
	want := w.data()
	if v.Type.DType.String() != want && !v.Type.DType.IsFloat() {
		return
	}
	q := w.out
	switch {
	case q != "":
	case n.Op == op.Softmax && w.Chance(80):
		q = map[string]string{"i8": " q(0.00390625:-128)", "u8": " q(0.00390625:0)",
			"i16": " q(0.000030517578125:0)"}[want]
	case n.Op == op.Requantize && w.Chance(60):
		want = []string{"i8", "u8", "i16"}[w.IntN(3)]
		q = map[string]string{"i8": " q(0.05:3)", "u8": w.flipped(), "i16": " q(0.0005:0)"}[want]
	case w.first != "" && w.alike(n.Op, 35):
		q = w.first
	default:
		q, _ = w.quant()
	}
	t := bug.Must(parseType(want + "[]" + q))
	v.Type = v.Type.WithQuant(t.DType, t.Quant)
}

// flipped is the quantisation of uint8 for the reals of the first operand, if
// that is int8.
func (w *drawer) flipped() string {
	var s float64
	var z int
	if _, err := fmt.Sscanf(w.first, " q(%g:%d)", &s, &z); err != nil || w.data() != "i8" {
		return " q(0.05:130)"
	}
	return fmt.Sprintf(" q(%g:%d)", float32(s), z+128)
}

func parseType(s string) (ir.Type, error) {
	g, err := ir.Parse("graph \"t\" {\nin %x : "+s+"\n}\n", op.Get)
	if err != nil {
		return ir.Type{}, err
	}
	return g.In[0].Type, nil
}

// form fills in the holes of a form.
func (w *drawer) form(f oneForm) *ir.Graph {
	class := f.class
	if class == nil {
		class = []string{"f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u32", "u64", "bool"}
	}
	if w.p != Plain && w.p != Float && len(class) == 1 && class[0] == "bool" {
		return nil // truth values have no scale
	}
	w.plain = class[w.IntN(len(class))]
	sizes := map[string]int{}
	for _, c := range "ABCD" {
		sizes[string(c)] = w.One(1, 2, 3, 4, 5, w.In(1, 9))
	}
	if w.Chance(20) {
		sizes["B"] = w.One(8, 16, 17)
	}
	if w.Chance(7) {
		sizes["ABCD"[w.IntN(4):][:1]] = 0
	}
	dims := func(s string) []int {
		var out []int
		for _, x := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) {
			n, ok := sizes[x]
			if !ok {
				fmt.Sscan(x, &n)
			}
			out = append(out, n)
		}
		return out
	}
	var args []string
	for _, o := range f.operands {
		if o == "-" || o == "" {
			args = append(args, "-")
			continue
		}
		kind, decl, _ := strings.Cut(o, " ")
		decl, data, _ := strings.Cut(decl, " = ")
		i := strings.IndexByte(decl, '[')
		dt, shape, q := decl[:i], dims(strings.TrimSuffix(decl[i+1:], "]")), ""
		if dt == "T" {
			dt = w.data()
			if q = w.like(); kind == "c" && w.quantised() && w.op.Quant != ir.QMove && w.Chance(20) {
				dt, q = "f32", "" // parameters are often floats beside quantised data
			}
		}
		switch {
		case kind == "x":
			data = ""
		case data == "rand":
			data = w.rand()
		case strings.HasPrefix(data, "fill "):
			data = "splat " + data[len("fill "):]
		}
		for k, n := range sizes {
			data = strings.ReplaceAll(data, k, fmt.Sprint(n))
		}
		args = append(args, w.value(dt+shapeText(shape)+q, data))
	}
	w.types = f.results
	return w.node(f.name, f.attrs, len(f.results), args...)
}

// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// EinsumAttrs are the attributes of Einsum.
type EinsumAttrs struct {
	Equation string `attr:",required"`
}

// Einsum is the Einstein summation of its inputs by the equation: letters name
// dimensions, "..." broadcast ones, a letter that is not in the result is
// summed over, one that occurs twice in an input takes the diagonal.
var Einsum = def(ir.OpDef{
	Name: "Einsum", Doc: "Einstein summation",
	Attrs: ir.Declare[EinsumAttrs](), MinIn: 1, MaxIn: -1,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, numTypes)
		wantSameTypes(n, ir.Identity(len(n.In))...)
		g := fail.Must(EinsumGeometry(n))
		return one(ir.T(n.In[0].Type.DType, g.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g := fail.Must(EinsumGeometry(n))
		dt := in[0].DType
		if dt.IsInt() {
			data := lists.Map(in, func(d *tensor.Dense) []int64 { return d.Int64s() })
			return outs(tensor.Of(g.Shape, einsum(g, data)).Cast(dt))
		}
		data := lists.Map(in, func(d *tensor.Dense) []float64 { return floatsOf(d) })
		return outs(fromFloats(dt, g.Shape, einsum(g, data)))
	},
	Pattern: ir.OutFusable,
	MACs: func(n *ir.Node) int64 {
		g := fail.Must(EinsumGeometry(n))
		return int64(product(g.Shape)) * int64(product(g.Sum))
	},
	Work: func(n *ir.Node) int64 { // the position of every factor is computed afresh
		g := fail.Must(EinsumGeometry(n))
		return work(product(g.Shape), product(g.Sum), len(n.In), len(g.Sum)+1)
	},
})

// EinsumGeom is an equation resolved against shapes: loops over the result's
// dimensions Shape and over the summed ones Sum, with the strides of every
// input along them, first the result's, then the summed ones.
type EinsumGeom struct {
	Shape, Sum []int
	Strides    [][]int
}

// maxEinsum bounds the steps of a summation, so that none runs for hours.
const maxEinsum = 1 << 34

// EinsumGeometry parses and checks the equation of an Einsum node. The
// dimensions behind "..." are named by digits internally.
func EinsumGeometry(n *ir.Node) (_ *EinsumGeom, err error) {
	defer fail.Catch(&err)
	p, result := parseEinsum(n)
	return p.geometry(result)
}

// EinsumTerms are the names of the dimensions of each input and of the result, a byte
// each, and their sizes; an input of size 1 is broadcast. Digits are those behind "...".
func EinsumTerms(n *ir.Node) (terms []string, result string, size map[byte]int, err error) {
	defer fail.Catch(&err)
	p, result := parseEinsum(n)
	return p.terms, result, p.size, nil
}

func parseEinsum(n *ir.Node) (p *einsumParser, result string) {
	equation := ir.AttrsOf[EinsumAttrs](n).Equation
	p = &einsumParser{n: n, equation: equation, size: map[byte]int{}, times: map[byte]int{}}
	left, right, explicit := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	fail.Check(p.readTerms(strings.Split(left, ",")))
	if explicit {
		t, ok := p.spell(right, -1)
		if !ok {
			fail.Check(p.errf("the result %q is not a list of different letters", right))
		}
		return p, t
	}
	right = einsumDigits[:p.wide] // the broadcast dimensions, then letters that occur once, sorted
	for c := byte('A'); c <= 'z'; c++ {
		if p.times[c] == 1 {
			right += string(c)
		}
	}
	return p, right
}

// einsumDigits stand for the dimensions of "..." in terms.
const einsumDigits = "0123456789"

// einsumParser reads the equation of an Einsum.
type einsumParser struct {
	n           *ir.Node
	equation    string
	terms       []string // one an input, with digits in place of "..."
	wide        int      // dimensions that the widest "..." stands for
	size, times map[byte]int
	order       string // the letters, as they first occur
}

func (p *einsumParser) errf(format string, args ...any) error {
	d := ir.Errf(p.n, "equation", format, args...)
	d.Msg = "equation " + p.equation + ": " + d.Msg
	return d
}

// spell replaces "..." by the digits of its dimensions, aligned at the end. A rank
// below 0 is that of the result, whose letters are different.
func (p *einsumParser) spell(t string, rank int) (string, bool) {
	k := p.wide
	if rank >= 0 && strings.Contains(t, "...") {
		k = rank - (len(t) - 3)
	}
	if k < 0 {
		return "", false
	}
	t = strings.Replace(t, "...", einsumDigits[p.wide-k:p.wide], 1)
	for i, c := range t {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		twice := rank < 0 && strings.IndexByte(t, byte(c)) != i
		if !letter && !strings.ContainsRune(einsumDigits[:p.wide], c) || twice {
			return "", false
		}
	}
	return t, rank < 0 || len(t) == rank
}

// readTerms reads the terms of the inputs and finds the sizes of their letters; those
// of size 1 are broadcast.
func (p *einsumParser) readTerms(terms []string) error {
	n := p.n
	if len(terms) != len(n.In) {
		return p.errf("%d terms for %d inputs", len(terms), len(n.In))
	}
	for i, t := range terms {
		if strings.Contains(t, "...") {
			p.wide = max(p.wide, n.In[i].Type.Rank()-(len(t)-3))
		}
	}
	if p.wide > len(einsumDigits) {
		return p.errf("... stands for %d dimensions", p.wide)
	}
	for i, term := range terms {
		s := n.In[i].Type.Shape
		t, ok := p.spell(term, len(s))
		if !ok {
			return p.errf("term %q does not fit input %d of shape %v", term, i, s)
		}
		p.terms = append(p.terms, t)
		for d := range len(t) {
			fail.Check(p.readLetter(t[d], s[d]))
		}
	}
	return nil
}

// readLetter notes a dimension of size n that is called c.
func (p *einsumParser) readLetter(c byte, n int) error {
	if p.times[c]++; p.times[c] == 1 {
		p.size[c] = n
		p.order += string(c)
	}
	switch size := p.size[c]; {
	case size == n || n == 1:
	case size == 1:
		p.size[c] = n
	default:
		return p.errf("dimension %q has sizes %d and %d", string(c), size, n)
	}
	return nil
}

// geometry is that of the terms with a result, which names its dimensions.
func (p *einsumParser) geometry(result string) (*EinsumGeom, error) {
	g := &EinsumGeom{Shape: []int{}}
	loops := result
	for i := range len(result) {
		if p.times[result[i]] == 0 {
			return nil, p.errf("the result names %q, which no term has", result[i:i+1])
		}
		g.Shape = append(g.Shape, p.size[result[i]])
	}
	for i := range len(p.order) {
		if c := p.order[i]; strings.IndexByte(result, c) < 0 {
			loops += string(c)
			g.Sum = append(g.Sum, p.size[c])
		}
	}
	steps := 1
	for _, d := range slices.Concat(g.Shape, g.Sum) {
		if steps *= d; steps > maxEinsum {
			return nil, p.errf("more than %d products: too large", maxEinsum)
		}
	}
	for i, t := range p.terms {
		s := p.n.In[i].Type.Shape
		full, st := tensor.Strides(s), make([]int, len(loops))
		for d := range len(t) {
			if s[d] != 1 {
				st[strings.IndexByte(loops, t[d])] += full[d]
			}
		}
		g.Strides = append(g.Strides, st)
	}
	return g, nil
}

func einsum[T float64 | int64](g *EinsumGeom, in [][]T) []T {
	y := make([]T, product(g.Shape))
	r := len(g.Shape)
	count := product(g.Sum)
	parallel(len(y), func(o int) {
		base := make([]int, len(in))
		for k := range in {
			rest := o
			for d := r - 1; d >= 0; d-- {
				base[k] += rest % g.Shape[d] * g.Strides[k][d]
				rest /= g.Shape[d]
			}
		}
		pos := newIndex(g.Sum)
		var acc T
		for range count {
			v := T(1)
			for k, d := range in {
				v *= d[base[k]+pos.dot(g.Strides[k][r:])]
			}
			acc += v
			pos.next()
		}
		y[o] = acc
	})
	return y
}

// Det is the determinant of the square matrices in the last two dimensions, by
// elimination with the largest pivot.
var Det = def(ir.OpDef{
	Name: "Det", Doc: "determinant of square matrices", MinIn: 1,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, floatTypes)
		x := n.In[0].Type.Shape
		r := len(x)
		refuse(n, r < 2 || x[r-1] != x[r-2], "shape", "input 0 (%s) has shape %v, want square matrices at the end",
			n.In[0], x)
		return one(ir.T(n.In[0].Type.DType, x[:r-2]...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x := in[0]
		r := len(x.Shape)
		m := x.Shape[r-1]
		v := x.Floats()
		y := lists.Make(product(x.Shape[:r-2]), func(i int) float64 { return determinant(v[i*m*m:(i+1)*m*m], m) })
		return outs(fromFloats(x.DType, x.Shape[:r-2], y))
	},
	Pattern: ir.Opaque,
	Work: func(n *ir.Node) int64 {
		x := n.In[0].Type.Shape
		m := x[len(x)-1]
		return work(n.In[0].Type.Elems(), m) / 8
	},
})

// determinant overwrites a, an m by m matrix.
func determinant(a []float64, m int) float64 {
	det := 1.0
	for c := range m {
		p := c
		for r := c + 1; r < m; r++ {
			if math.Abs(a[r*m+c]) > math.Abs(a[p*m+c]) {
				p = r
			}
		}
		if a[p*m+c] == 0 {
			return 0
		}
		if p != c {
			det = -det
			for k := range m {
				a[p*m+k], a[c*m+k] = a[c*m+k], a[p*m+k]
			}
		}
		det *= a[c*m+c]
		for r := c + 1; r < m; r++ {
			f := a[r*m+c] / a[c*m+c]
			for k := c; k < m; k++ {
				a[r*m+k] -= float64(f * a[c*m+k])
			}
		}
	}
	return det
}

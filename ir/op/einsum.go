package op

import (
	"strings"

	"github.com/nncc/nncc/ir"
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
		if err := wantType(n, 0, numTypes); err != nil {
			return nil, err
		}
		if err := wantSameTypes(n, ir.Identity(len(n.In))...); err != nil {
			return nil, err
		}
		g, err := EinsumGeometry(n)
		if err != nil {
			return nil, err
		}
		return one(ir.T(n.In[0].Type.DType, g.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g, err := EinsumGeometry(n)
		if err != nil {
			return nil, err
		}
		dt := in[0].DType
		if dt.IsInt() {
			data := make([][]int64, len(in))
			for i, d := range in {
				data[i] = d.Int64s()
			}
			return outs(tensor.Of(g.Shape, einsum(g, data)).Cast(dt))
		}
		data := make([][]float64, len(in))
		for i, d := range in {
			data[i] = floatsOf(d)
		}
		return outs(fromFloats(dt, g.Shape, einsum(g, data)))
	},
	Pattern: ir.OutFusable,
	MACs: func(n *ir.Node) int64 {
		g, err := EinsumGeometry(n)
		if err != nil {
			return 0
		}
		return int64(product(g.Shape)) * int64(product(g.Sum))
	},
	Work: func(n *ir.Node) int64 { // the position of every factor is computed afresh
		g, err := EinsumGeometry(n)
		if err != nil {
			return 0
		}
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
func EinsumGeometry(n *ir.Node) (*EinsumGeom, error) {
	eq := strings.ReplaceAll(ir.AttrsOf[EinsumAttrs](n).Equation, " ", "")
	left, right, explicit := strings.Cut(eq, "->")
	terms := strings.Split(left, ",")
	bad := func(format string, args ...any) (*EinsumGeom, error) {
		d := ir.Errf(n, "equation", format, args...)
		d.Msg = "equation " + ir.AttrsOf[EinsumAttrs](n).Equation + ": " + d.Msg
		return nil, d
	}
	if len(terms) != len(n.In) {
		return bad("%d terms for %d inputs", len(terms), len(n.In))
	}
	wide := 0 // dimensions that the widest "..." stands for
	for i, t := range terms {
		if strings.Contains(t, "...") {
			wide = max(wide, n.In[i].Type.Rank()-(len(t)-3))
		}
	}
	const digits = "0123456789"
	if wide > len(digits) {
		return bad("... stands for %d dimensions", wide)
	}
	// spell replaces "..." by the digits of its dimensions, aligned at the end
	spell := func(t string, rank int) (string, bool) {
		k := wide
		if rank >= 0 && strings.Contains(t, "...") {
			k = rank - (len(t) - 3)
		}
		if k < 0 {
			return "", false
		}
		t = strings.Replace(t, "...", digits[wide-k:wide], 1)
		for i, c := range t {
			letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
			if !letter && !strings.ContainsRune(digits[:wide], c) || rank < 0 && strings.IndexByte(t, byte(c)) != i {
				return "", false
			}
		}
		return t, rank < 0 || len(t) == rank
	}
	size, times, order := map[byte]int{}, map[byte]int{}, ""
	for i := range terms {
		s := n.In[i].Type.Shape
		t, ok := spell(terms[i], len(s))
		if !ok {
			return bad("term %q does not fit input %d of shape %v", terms[i], i, s)
		}
		terms[i] = t
		for d := range len(t) {
			c := t[d]
			if times[c]++; times[c] == 1 {
				size[c] = s[d]
				order += string(c)
			}
			switch {
			case size[c] == s[d] || s[d] == 1:
			case size[c] == 1:
				size[c] = s[d]
			default:
				return bad("dimension %q has sizes %d and %d", string(c), size[c], s[d])
			}
		}
	}
	if !explicit { // the broadcast dimensions, then letters that occur once, sorted
		right = digits[:wide]
		for c := byte('A'); c <= 'z'; c++ {
			if times[c] == 1 {
				right += string(c)
			}
		}
	} else {
		t, ok := spell(right, -1)
		if !ok {
			return bad("the result %q is not a list of different letters", right)
		}
		right = t
	}
	g := &EinsumGeom{Shape: []int{}}
	loops := right
	for i := range len(right) {
		if times[right[i]] == 0 {
			return bad("the result names %q, which no term has", right[i:i+1])
		}
		g.Shape = append(g.Shape, size[right[i]])
	}
	for i := range len(order) {
		if c := order[i]; strings.IndexByte(right, c) < 0 {
			loops += string(c)
			g.Sum = append(g.Sum, size[c])
		}
	}
	steps := 1
	for _, d := range append(append([]int(nil), g.Shape...), g.Sum...) {
		if steps *= d; steps > maxEinsum {
			return bad("more than %d products: too large", maxEinsum)
		}
	}
	for i, t := range terms {
		s := n.In[i].Type.Shape
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

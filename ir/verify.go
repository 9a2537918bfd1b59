package ir

import (
	"fmt"
	"slices"
)

// Verify checks the structure of the graph: SSA, topological order, use
// lists, types against Infer, constants against their types, memory orders
// and quantisation parameters. It returns everything that is wrong.
func (g *Graph) Verify() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	defined := map[*Value]bool{}
	names := map[string]bool{}
	def := func(v *Value) {
		if defined[v] {
			bad("%s is defined twice", v)
		}
		if names[v.Name] {
			bad("two values are called %s", v)
		}
		defined[v], names[v.Name] = true, true
		for _, e := range checkType(v.Type) {
			bad("%s: %s", v, e)
		}
	}
	for _, v := range g.In {
		def(v)
	}
	uses := map[*Value]int{}
	listed := map[Use]*Value{} // by the use lists; a search in them would be quadratic in their length
	for _, n := range g.Nodes {
		for i, v := range n.In {
			if v == nil {
				continue
			}
			if uses[v]++; uses[v] == 1 {
				for _, u := range v.uses {
					listed[u] = v
				}
			}
			if listed[Use{n, i}] != v {
				bad("%s: use list of %s lacks input %d", n, v, i)
			}
			if v.Const != nil {
				if !defined[v] {
					def(v)
				}
				if v.Const.DType != v.Type.DType || !slices.Equal(v.Const.Shape, v.Type.Shape) {
					bad("%s: constant %s holds %s, its type is %s", n, v, v.Const, v.Type)
				}
			} else if !defined[v] {
				bad("%s: input %s is read before it is defined", n, v)
			}
		}
		for i, v := range n.Out {
			if v.Def != n || v.Index != i {
				bad("%s: output %d does not point back", n, i)
			}
			def(v)
		}
		types, err := InferNode(n)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for i, v := range n.Out {
			if !slices.Equal(types[i].Shape, v.Type.Shape) {
				bad("%s: output %s has shape %v, inference says %v", n, v, v.Type.Shape, types[i].Shape)
			}
			if v.Type.Quant == nil && !n.Quantised() && types[i].DType != v.Type.DType {
				bad("%s: output %s has type %s, inference says %s", n, v, v.Type.DType, types[i].DType)
			}
		}
		for _, b := range n.Body {
			errs = append(errs, b.Verify()...)
		}
	}
	for v, k := range uses {
		if len(v.uses) != k {
			bad("%s: %d uses listed, %d found", v, len(v.uses), k)
		}
	}
	for i, v := range g.Out {
		if !defined[v] && v.Const == nil {
			bad("graph output %s is never defined", g.OutNames[i])
		}
		if !slices.Contains(g.outs[v], i) {
			bad("graph output %s was put there behind the graph's back", g.OutNames[i])
		}
	}
	return errs
}

func checkType(t Type) []string {
	var e []string
	if t.Order != nil {
		s := slices.Clone(t.Order)
		slices.Sort(s)
		if !slices.Equal(s, Identity(len(t.Shape))) {
			e = append(e, fmt.Sprintf("memory order %v is no permutation of %d dimensions", t.Order, len(t.Shape)))
		}
	}
	if q := t.Quant; q != nil {
		want := 1
		if q.Axis >= 0 {
			if q.Axis >= len(t.Shape) {
				return append(e, fmt.Sprintf("quantisation axis %d of rank %d", q.Axis, len(t.Shape)))
			}
			want = t.Shape[q.Axis]
		}
		if len(q.Scale) != want || len(q.Zero) != want {
			e = append(e, fmt.Sprintf("%d scales and %d zero points, want %d", len(q.Scale), len(q.Zero), want))
		}
		if !t.DType.IsInt() {
			e = append(e, "quantised but of type "+t.DType.String())
		}
	}
	return e
}

// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/lists"
)

const (
	// MinPoints is how many layers a model is made of at least.
	MinPoints = 16
	// pointsEach is how many fitted layers a coefficient stands on at least.
	pointsEach = 3
	// folds of the cross-validation by which features are chosen.
	folds = 5
	// simpler is how much worse than the best a model with fewer features may be.
	simpler = 1.03
)

// Fit makes a model for each key with enough points, and one for each kind of
// layer of an instruction set over all variants, for those without one. The
// coefficients have the least sum of squared relative errors, none is negative:
// nothing that a kernel does saves instructions. What the points do not say all of
// stays as before: models of other keys, and of kinds that were made of more.
func Fit(points []Point, before map[Key]*Model) []*Model {
	by := map[Key][]Point{}
	for _, p := range points {
		by[p.Key] = append(by[p.Key], p)
		if p.Make != anyMake && p.Kind.Alike() {
			k := Key{anyMake, p.ISA, string(p.Kind)}
			by[k] = append(by[k], p)
		}
	}
	out := maps.Clone(before)
	for k, ps := range by {
		switch {
		case k.Make != anyMake && len(ps) >= MinPoints:
			out[k] = fitVariant(k, ps)
		case k.Make != anyMake:
			delete(out, k)
		case before[k] == nil || len(ps) >= before[k].Points:
			out[k] = fitPooled(k, ps)
		}
	}
	return slices.SortedFunc(maps.Values(out), func(a, b *Model) int { return byName(a.Key, b.Key) })
}

// fitVariant fits a model to the points that are not held out. Features leave it
// one by one, the least needed first; of the models on the way, that with the
// fewest features is taken which predicts points beyond its own about as well as
// any.
func fitVariant(k Key, ps []Point) *Model {
	train, held := split(ps)
	x := newSystem(train, candidates(k, ps))
	active := x.all()
	best, bestError := []int(nil), math.Inf(1)
	type step struct {
		features []int
		error    float64
	}
	var path []step
	for {
		active = x.positive(active)
		if len(active) == 0 {
			break
		}
		if len(active)*pointsEach <= len(train) {
			e := x.crossValidated(active)
			path = append(path, step{slices.Clone(active), e})
			bestError = min(bestError, e)
		}
		active = x.without(active)
	}
	for _, s := range path {
		if s.error <= bestError*simpler+1e-6 {
			best = s.features
		}
	}
	m := x.model(k, best)
	m.Points = len(ps)
	m.Error = max(bestError, rms(m, held), rms(m, train)) * (1 + 1/math.Sqrt(float64(len(train))))
	m.Worst = max(worst(m, ps), m.Error)
	for _, p := range ps {
		m.Covers |= traitsOf(&p.Geometry)
	}
	return m
}

// fitPooled fits a model to all variants; its error is that of predicting each
// variant by the others, which is what it is used for.
func fitPooled(k Key, ps []Point) *Model {
	x := newSystem(ps, pooled)
	m := x.model(k, x.positive(x.all()))
	m.Points, m.Covers = len(ps), 1<<len(traitNames)-1
	variants := map[string]int{}
	for _, p := range ps {
		if _, ok := variants[p.Variant]; !ok {
			variants[p.Variant] = len(variants)
		}
	}
	sum := 0.0
	for _, of := range variants {
		out := func(p *Point) bool { return variants[p.Variant] == of }
		y := x.only(func(p *Point) bool { return !out(p) })
		q := y.model(k, y.positive(y.all()))
		for i := range ps {
			if out(&ps[i]) {
				e := relative(q, &ps[i])
				sum += e * e
				m.Worst = max(m.Worst, e)
			}
		}
	}
	m.Error = math.Sqrt(sum / float64(len(ps)))
	m.Worst = max(m.Worst, 1)
	return m
}

// candidates are the features of all kinds that points have, and what some functions
// have besides, by the name that the manifest gives them.
func candidates(key Key, ps []Point) []string {
	var out []string
	for _, kind := range allKinds {
		if !slices.ContainsFunc(ps, func(p Point) bool { return p.Kind == kind }) {
			continue
		}
		list := features[kind]
		for _, m := range moreFeatures {
			named := func(part string) bool { return strings.Contains(key.Variant, part) }
			if m.kind == kind && slices.ContainsFunc(words(m.parts), named) {
				list = slices.Concat(list, words(m.features))
			}
		}
		for _, f := range list {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

func relative(m *Model, p *Point) float64 {
	return math.Abs(m.Predict(&p.Geometry)-p.Instructions) / p.Instructions
}

// rms is the root of the mean square of the relative error.
func rms(m *Model, ps []Point) float64 {
	sum := 0.0
	for i := range ps {
		e := relative(m, &ps[i])
		sum += e * e
	}
	return math.Sqrt(sum / float64(max(1, len(ps))))
}

func worst(m *Model, ps []Point) float64 {
	return lists.Max(ps, func(p Point) float64 { return relative(m, &p) })
}

// system is a least squares problem: rows are points, columns features, both
// divided by the point's instructions, so that every right side is 1.
type system struct {
	points []Point
	names  []string
	rows   [][]float64
	gram   [][]float64
	rhs    []float64
}

func newSystem(ps []Point, names []string) *system {
	x := &system{points: ps, names: names}
	for i := range ps {
		v := values(&ps[i].Geometry, names)
		for j := range v {
			v[j] /= ps[i].Instructions
		}
		x.rows = append(x.rows, v)
	}
	x.sum()
	return x
}

// sum makes the normal equations.
func (x *system) sum() {
	n := len(x.names)
	x.gram, x.rhs = make([][]float64, n), make([]float64, n)
	for i := range x.gram {
		x.gram[i] = make([]float64, n)
	}
	for _, v := range x.rows {
		for i := range v {
			if v[i] == 0 {
				continue
			}
			x.rhs[i] += v[i]
			for j := range v {
				x.gram[i][j] += v[i] * v[j]
			}
		}
	}
}

// only is the system of some points.
func (x *system) only(keep func(p *Point) bool) *system {
	y := &system{names: x.names}
	for i := range x.points {
		if keep(&x.points[i]) {
			y.points, y.rows = append(y.points, x.points[i]), append(y.rows, x.rows[i])
		}
	}
	y.sum()
	return y
}

func (x *system) all() []int {
	return lists.Make(len(x.names), func(i int) int { return i })
}

// positive are the features of a set with a coefficient above 0.
func (x *system) positive(set []int) []int {
	c := x.solve(set)
	var out []int
	for i, f := range set {
		if c[i] > 0 {
			out = append(out, f)
		}
	}
	return out
}

// without is a set without the feature that is missed least.
func (x *system) without(set []int) []int {
	var best []int
	least := math.Inf(1)
	for i := range set {
		s := slices.Delete(slices.Clone(set), i, i+1)
		if e := x.residual(s, x.solve(s)); e < least {
			least, best = e, s
		}
	}
	return best
}

// residual is the sum of squares that a solution leaves, from the normal
// equations.
func (x *system) residual(set []int, c []float64) float64 {
	r := float64(len(x.rows))
	for i, f := range set {
		r -= 2 * c[i] * x.rhs[f]
		for j, g := range set {
			r += c[i] * c[j] * x.gram[f][g]
		}
	}
	return r
}

// crossValidated is the error of predicting each fold by the others.
func (x *system) crossValidated(set []int) float64 {
	sum := 0.0
	for fold := range uint32(folds) {
		in := func(p *Point) bool { return p.draw(1)%folds == fold }
		y := x.only(func(p *Point) bool { return !in(p) })
		c := y.solve(set)
		for r := range x.points {
			if !in(&x.points[r]) {
				continue
			}
			e := -1.0
			for i, f := range set {
				e += c[i] * x.rows[r][f]
			}
			sum += e * e
		}
	}
	return math.Sqrt(sum / float64(max(1, len(x.points))))
}

// model is the solution with some features.
func (x *system) model(k Key, set []int) *Model {
	m := &Model{Key: k}
	for i, c := range x.solve(set) {
		if c <= 0 {
			continue
		}
		name := x.names[set[i]]
		of, err := feature(name)
		if err == nil {
			m.terms = append(m.terms, term{name, rounded(c), of})
		}
	}
	return m
}

// rounded has the four digits that the table has.
func rounded(c float64) float64 {
	d := math.Pow(10, 3-math.Floor(math.Log10(c)))
	return math.Round(c*d) / d
}

// solve finds the coefficients of a set of features, none negative, by an active
// set: features come in while they help, and leave when they would turn
// negative (C. L. Lawson, R. J. Hanson, Solving Least Squares Problems, 1974).
func (x *system) solve(set []int) []float64 {
	n := len(set)
	c, passive := make([]float64, n), make([]bool, n)
	for range 3 * n {
		in, most := -1, 1e-9
		for i, f := range set {
			if passive[i] || x.gram[f][f] == 0 {
				continue
			}
			g := x.rhs[f]
			for j, h := range set {
				g -= c[j] * x.gram[f][h]
			}
			if g /= math.Sqrt(x.gram[f][f] * float64(len(x.rows))); g > most {
				in, most = i, g
			}
		}
		if in < 0 {
			break
		}
		passive[in] = true
		if !x.settle(set, passive, c) {
			passive[in], c[in] = false, 0
			break
		}
	}
	return c
}

// settle moves c to the solution over the passive features, and takes out those
// that would turn negative; false where the equations have none.
func (x *system) settle(set []int, passive []bool, c []float64) bool {
	for {
		p := lists.Where(len(set), func(i int) bool { return passive[i] })
		s, ok := x.unconstrained(set, p)
		if !ok {
			return false
		}
		step := 1.0
		for k, i := range p {
			if s[k] <= 0 {
				step = min(step, c[i]/(c[i]-s[k]))
			}
		}
		for k, i := range p {
			c[i] += step * (s[k] - c[i])
		}
		if step == 1 {
			return true
		}
		for _, i := range p {
			if c[i] <= 1e-12 {
				c[i], passive[i] = 0, false
			}
		}
	}
}

// unconstrained solves the normal equations of the features set[p...] by
// Cholesky's factorisation, with columns of one length.
func (x *system) unconstrained(set, p []int) ([]float64, bool) {
	n := len(p)
	scale, b := make([]float64, n), make([]float64, n)
	a := make([][]float64, n)
	for i, k := range p {
		scale[i] = 1 / math.Sqrt(x.gram[set[k]][set[k]])
		b[i] = x.rhs[set[k]] * scale[i]
		a[i] = make([]float64, n)
		for j := range i + 1 {
			a[i][j] = x.gram[set[k]][set[p[j]]] * scale[i] * scale[j]
		}
		a[i][i] += 1e-10
	}
	for i := range n {
		for j := range i + 1 {
			v := a[i][j]
			for k := range j {
				v -= a[i][k] * a[j][k]
			}
			if i != j {
				a[i][j] = v / a[j][j]
			} else if v <= 0 {
				return nil, false
			} else {
				a[i][i] = math.Sqrt(v)
			}
		}
	}
	for i := range n {
		for k := range i {
			b[i] -= a[i][k] * b[k]
		}
		b[i] /= a[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			b[i] -= a[k][i] * b[k]
		}
		b[i] /= a[i][i]
	}
	for i := range b {
		b[i] *= scale[i]
	}
	return b, true
}

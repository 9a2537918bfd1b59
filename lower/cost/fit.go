package cost

import (
	"math"
	"sort"
)

// fitSweeps bounds the iteration; it ends earlier when nothing moves.
const fitSweeps = 20000

// Fit makes a model for each key: the coefficients of the terms, none of them
// negative (nothing that a kernel does saves instructions), that have the least
// sum of squared relative errors. Cyclic coordinate descent on the normal
// equations: small, and the same on every machine up to rounding.
func Fit(points []Point) []*Model {
	by := map[Key][]Point{}
	var keys []Key
	for _, p := range points {
		if by[p.Key] == nil {
			keys = append(keys, p.Key)
		}
		by[p.Key] = append(by[p.Key], p)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	var out []*Model
	for _, k := range keys {
		if len(by[k]) >= minPoints {
			out = append(out, fit(k, by[k]))
		}
	}
	return out
}

// minPoints is how many layers a model is made of at least.
const minPoints = 16

func fit(k Key, ps []Point) *Model {
	n := len(terms)
	rows := make([][]float64, len(ps))
	gram, rhs := make([][]float64, n), make([]float64, n)
	for i := range gram {
		gram[i] = make([]float64, n)
	}
	for r, p := range ps {
		v := values(&p.Shape)
		for i := range v {
			v[i] /= p.Instructions
		}
		rows[r] = v
		for i := range v {
			rhs[i] += v[i]
			for j := range v {
				gram[i][j] += v[i] * v[j]
			}
		}
	}
	x := make([]float64, n)
	for range fitSweeps {
		moved := 0.0
		for i := range x {
			if gram[i][i] == 0 {
				continue
			}
			g := rhs[i]
			for j := range x {
				if j != i && x[j] != 0 {
					g -= gram[i][j] * x[j]
				}
			}
			next := math.Max(0, g/gram[i][i])
			moved = math.Max(moved, math.Abs(next-x[i])*math.Sqrt(gram[i][i]))
			x[i] = next
		}
		if moved < 1e-7 {
			break
		}
	}
	m := &Model{Key: k, Points: len(ps), Coeff: map[string]float64{}}
	for i, t := range terms {
		// What adds less than one part in ten thousand on every layer is noise.
		most := 0.0
		for _, v := range rows {
			most = math.Max(most, x[i]*v[i])
		}
		if most > 1e-4 {
			m.Coeff[t.name] = x[i]
		}
	}
	for _, p := range ps {
		e := math.Abs(m.Predict(p.Shape)-p.Instructions) / p.Instructions
		m.Error += e * e
		m.Worst = math.Max(m.Worst, e)
	}
	m.Error = math.Sqrt(m.Error / float64(len(ps)))
	return m
}

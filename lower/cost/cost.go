// Package cost predicts how many instructions a layer takes: linear models over
// terms of its shape, one for each kernel, instruction set and make of kernels,
// fitted to what QEMU counted (README.md). It knows shapes and names, nothing
// of graphs.
package cost

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir/bug"
)

// Key names a model.
type Key struct {
	Make  string // "cmsis-nn": an installed library; "nncc": nncc's portable sources
	ISA   string // "mve", "dsp", "c"
	Route string // the function that does the work
}

func (k Key) String() string { return k.Make + " " + k.ISA + " " + k.Route }

// Shape is what a price depends on; images are counted in N, one-dimensional
// layers have height 1. Element-wise layers have their elements in C.
type Shape struct {
	N, IH, IW, C   int
	OH, OW, OC     int
	KH, KW, SH, SW int
	DH, DW, PH, PW int
	Groups         int
}

// Point is one measured layer.
type Point struct {
	Key
	Shape
	Instructions float64
}

// Price is what a layer costs an inference.
type Price struct {
	Instructions float64
	Kernel       string  // the function that would run
	Error        float64 // relative: how far the model behind it is off
	Worst        float64 // at worst, of what was measured
	Unknown      string  // why there is no price; "" when there is one
}

// Model is a fitted sum of terms.
type Model struct {
	Key
	Points    int
	Error     float64 // root of the mean square of the relative error over the points
	Worst     float64 // the largest relative error
	Coeff     map[string]float64
	Low, High Shape // the range of the points
}

// Predict is the number of instructions of one call. Each product is rounded by
// itself, so that every machine computes the same.
func (m *Model) Predict(s Shape) float64 {
	v := values(&s)
	sum := 0.0
	for i, t := range terms {
		if c := m.Coeff[t.name]; c != 0 {
			p := float64(c * v[i])
			sum = float64(sum + p)
		}
	}
	return sum
}

//go:embed fitted.csv
var fitted string

// Models are the fitted models by key.
var Models = sync.OnceValue(func() map[Key]*Model {
	m, err := ReadModels(strings.NewReader(fitted))
	if err != nil {
		panic(bug.Errorf("fitted.csv: %w", err))
	}
	return m
})

// ReadModels reads lines of make, isa, route, points, error, worst, then terms
// as name=coefficient.
func ReadModels(r io.Reader) (map[Key]*Model, error) {
	rows, err := lines(r)
	if err != nil {
		return nil, err
	}
	out := map[Key]*Model{}
	for _, row := range rows {
		if len(row) < 6 {
			return nil, fmt.Errorf("%v: want at least 6 fields", row)
		}
		m := &Model{Key: Key{row[0], row[1], row[2]}, Coeff: map[string]float64{}}
		if m.Points, err = strconv.Atoi(row[3]); err != nil {
			return nil, err
		}
		for i, p := range []*float64{&m.Error, &m.Worst} {
			if *p, err = strconv.ParseFloat(row[4+i], 64); err != nil {
				return nil, err
			}
		}
		for _, f := range row[6:] {
			name, v, _ := strings.Cut(f, "=")
			if m.Coeff[name], err = strconv.ParseFloat(v, 64); err != nil {
				return nil, fmt.Errorf("%s: %w", f, err)
			}
			if !known(name) {
				return nil, fmt.Errorf("%s: unknown term %q", m.Key, name)
			}
		}
		out[m.Key] = m
	}
	return out, nil
}

func (m *Model) row() []string {
	out := []string{m.Make, m.ISA, m.Route, strconv.Itoa(m.Points), fmt.Sprintf("%.4f", m.Error),
		fmt.Sprintf("%.4f", m.Worst)}
	for _, t := range terms {
		if c := m.Coeff[t.name]; c != 0 {
			out = append(out, fmt.Sprintf("%s=%.4g", t.name, c))
		}
	}
	return out
}

// lines reads CSV with # comments and rows of different length.
func lines(r io.Reader) ([][]string, error) {
	c := csv.NewReader(r)
	c.Comment, c.FieldsPerRecord = '#', -1
	return c.ReadAll()
}

func (s *Shape) fields() []*int {
	return []*int{&s.N, &s.IH, &s.IW, &s.C, &s.OH, &s.OW, &s.OC, &s.KH, &s.KW, &s.SH, &s.SW, &s.DH, &s.DW, &s.PH, &s.PW,
		&s.Groups}
}

// ReadPoints reads what WritePoints wrote.
func ReadPoints(r io.Reader) ([]Point, error) {
	rows, err := lines(r)
	if err != nil {
		return nil, err
	}
	var out []Point
	for _, row := range rows {
		var p Point
		f := p.Shape.fields()
		if len(row) != 4+len(f) {
			return nil, fmt.Errorf("%v: want %d fields", row, 4+len(f))
		}
		p.Key = Key{row[0], row[1], row[2]}
		for i, x := range f {
			if *x, err = strconv.Atoi(row[3+i]); err != nil {
				return nil, err
			}
		}
		if p.Instructions, err = strconv.ParseFloat(row[len(row)-1], 64); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// WritePoints writes a line for each point.
func WritePoints(w io.Writer, ps []Point) error {
	c := csv.NewWriter(w)
	for _, p := range ps {
		row := []string{p.Make, p.ISA, p.Route}
		for _, x := range p.Shape.fields() {
			row = append(row, strconv.Itoa(*x))
		}
		if err := c.Write(append(row, strconv.FormatFloat(p.Instructions, 'f', 0, 64))); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// WriteModels writes a line for each model.
func WriteModels(w io.Writer, ms []*Model) error {
	c := csv.NewWriter(w)
	for _, m := range ms {
		if err := c.Write(m.row()); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

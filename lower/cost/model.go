// SPDX-License-Identifier: Apache-2.0

package cost

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// anyMake is the make of models over all variants of a kind: estimates for
// variants that nobody measured.
const anyMake = "any"

// Model is a fitted sum of features.
type Model struct {
	Key
	Points int
	// Error is the root of the mean square of the relative error on layers that
	// were not fitted, Worst the largest relative error of any measured layer.
	Error, Worst float64
	Covers       traits
	terms        []term
}

// term is a feature with its coefficient: instructions each.
type term struct {
	name  string
	coeff float64
	of    func(c *counts) float64
}

// Predict is the number of instructions of one call. Each product is rounded by
// itself, so that every machine computes the same.
func (m *Model) Predict(g *Geometry) float64 {
	c := count(g)
	sum := 0.0
	for _, t := range m.terms {
		p := float64(t.coeff * t.of(c))
		sum = float64(sum + p)
	}
	return sum
}

// Coefficients are how many features the model has.
func (m *Model) Coefficients() int { return len(m.terms) }

//go:embed fitted.csv
var fitted string

// Models are the fitted models by key.
var Models = sync.OnceValue(func() map[Key]*Model {
	m, err := ReadModels(strings.NewReader(fitted))
	bug.If(err != nil, "fitted.csv: %w", err)
	return m
})

// kindOn is a kind of layer on an instruction set.
type kindOn struct {
	isa  string
	kind Kind
}

// measuredKinds are those for which there are models.
var measuredKinds = sync.OnceValue(func() map[kindOn]bool {
	out := map[kindOn]bool{}
	for k := range Models() {
		if k.Make == anyMake {
			out[kindOn{k.ISA, Kind(k.Variant)}] = true
		}
	}
	return out
})

// modelColumns are those of fitted.csv before the terms, feature=coefficient.
var modelColumns = []string{"make", "isa", "variant", "points", "error", "worst", "covers"}

// ReadModels reads what WriteModels wrote.
func ReadModels(r io.Reader) (map[Key]*Model, error) {
	rows, err := lines(r, modelColumns)
	if err != nil {
		return nil, err
	}
	out := map[Key]*Model{}
	for _, row := range rows {
		var m *Model
		if err := fail.Caught(func() { m = readModel(row) }); err != nil {
			return nil, fmt.Errorf("%v: %w", row[:min(3, len(row))], err)
		}
		out[m.Key] = m
	}
	return out, nil
}

func readModel(row []string) *Model {
	fail.If(len(row) < len(modelColumns), "%d fields, want at least %d", len(row), len(modelColumns))
	m := &Model{Key: Key{row[0], row[1], row[2]}, Points: fail.Must(strconv.Atoi(row[3])), Error: number(row[4]),
		Worst: number(row[5])}
	for _, w := range words(row[6]) {
		i := slices.Index(traitNames, w)
		fail.If(i < 0, "unknown form %q", w)
		m.Covers |= 1 << i
	}
	for _, f := range row[len(modelColumns):] {
		name, v, _ := strings.Cut(f, "=")
		m.terms = append(m.terms, term{name, number(v), fail.Must(feature(name))})
	}
	return m
}

func number(s string) float64 { return fail.Must(strconv.ParseFloat(s, 64)) }

func (m *Model) row() []string {
	var covers []string
	for i, name := range traitNames {
		if m.Covers>>i&1 != 0 {
			covers = append(covers, name)
		}
	}
	out := []string{m.Make, m.ISA, m.Variant, strconv.Itoa(m.Points), fmt.Sprintf("%.4f", m.Error),
		fmt.Sprintf("%.4f", m.Worst), strings.Join(covers, " ")}
	for _, t := range m.terms {
		out = append(out, fmt.Sprintf("%s=%.4g", t.name, t.coeff))
	}
	return out
}

// WriteModels writes a line for each model.
func WriteModels(w io.Writer, ms []*Model) error {
	rows := lists.Each(ms, func(m *Model) []string { return m.row() })
	return writeLines(w, modelColumns, rows)
}

// lines reads CSV whose first row is the columns; rows may be longer.
func lines(r io.Reader, columns []string) ([][]string, error) {
	c := csv.NewReader(r)
	c.FieldsPerRecord = -1
	rows, err := c.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || !slices.Equal(rows[0], columns) {
		return nil, fmt.Errorf("want the columns %s", strings.Join(columns, ","))
	}
	return rows[1:], nil
}

func writeLines(w io.Writer, columns []string, rows [][]string) error {
	c := csv.NewWriter(w)
	if err := c.WriteAll(append([][]string{columns}, rows...)); err != nil {
		return err
	}
	return c.Error()
}

//go:embed unpriced.csv
var unpricedTable string

// unpricedRow says of variants why they have no model, or none for some forms of layers.
type unpricedRow struct {
	isas    []string
	pattern string // as path.Match has it
	why     string
}

var unpriced = sync.OnceValue(func() []unpricedRow {
	rows, err := lines(strings.NewReader(unpricedTable), []string{"isa", "variant", "why"})
	bug.If(err != nil, "unpriced.csv: %w", err)
	return lists.Map(rows, func(r []string) unpricedRow { return unpricedRow{strings.Fields(r[0]), r[1], r[2]} })
})

// Unpriced is the reason for which a variant has no model on the target, or none
// for every form of layer; "" where none is stated.
func (t *Target) Unpriced(variant string) string {
	for _, r := range unpriced() {
		if ok, err := path.Match(r.pattern, variant); err != nil {
			panic(bug.Errorf("unpriced.csv: %s: %w", r.pattern, err))
		} else if ok && slices.Contains(r.isas, t.ISA) {
			return r.why
		}
	}
	return ""
}

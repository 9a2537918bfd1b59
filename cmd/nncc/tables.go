// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower"
)

// table prints rows for people, or v as JSON.
func (c *cli) table(v any, rows [][]string) error {
	if c.cfg.JSON {
		return c.json(v)
	}
	fmt.Fprint(c.out, text.Table(rows))
	return nil
}

func noArgs(args []string) error {
	if len(args) > 0 {
		return &driver.UsageError{Msg: "unexpected argument " + args[0] + "; the verb's -h shows what it takes"}
	}
	return nil
}

type opRow struct {
	Name    string   `json:"name"`
	Domain  string   `json:"domain"`
	Doc     string   `json:"doc"`
	Pattern string   `json:"pattern"`
	Quant   string   `json:"quantised"`
	Attrs   []string `json:"attributes"`
}

var patternNames = map[ir.Pattern]string{ir.Elementwise: "element-wise", ir.Broadcast: "broadcast",
	ir.Injective: "injective", ir.Reduce: "reduction", ir.OutFusable: "out-fusable", ir.Opaque: "opaque"}
var quantNames = map[ir.QuantKind]string{ir.QFloat: "float64 rule", ir.QMove: "moves integers",
	ir.QInt: "integer kernel", ir.QNone: "-"}

func (c *cli) ops(args []string) error {
	if err := noArgs(args); err != nil {
		return err
	}
	var all []opRow
	rows := [][]string{{"operator", "domain", "fusion", "on int8", "about"}}
	for _, d := range op.All() {
		r := opRow{Name: d.Name, Domain: d.Domain, Doc: d.Doc, Pattern: patternNames[d.Pattern],
			Quant: quantNames[d.Quant], Attrs: []string{}}
		if r.Domain == "" {
			r.Domain = "ai.onnx"
		}
		for _, a := range d.Attrs {
			r.Attrs = append(r.Attrs, a.Name)
		}
		all = append(all, r)
		rows = append(rows, []string{r.Name, r.Domain, r.Pattern, r.Quant, r.Doc})
	}
	return c.table(all, rows)
}

// stageRow is a row of `nncc passes`.
type stageRow struct {
	Name        string   `json:"name"`
	Doc         string   `json:"doc"`
	Numerics    string   `json:"numerics"`
	LeastSQNR   float64  `json:"least_sqnr_db,omitempty"` // that a lossy stage has to leave
	When        []string `json:"when"`                    // all have to hold
	Requires    []string `json:"requires"`                // invariants, explained in invariants
	Establishes []string `json:"establishes"`
	After       []string `json:"after"`              // stages that have to stand before
	Required    string   `json:"required,omitempty"` // why it cannot be switched off
}

// newStageRow describes a stage.
func newStageRow(t *lower.Stage) stageRow {
	r := stageRow{Name: t.Name, Doc: t.Doc, Numerics: t.Numerics.String(), LeastSQNR: t.LeastSQNR, Required: t.Required,
		When: []string{}, Requires: []string{}, Establishes: []string{}, After: []string{}}
	for _, c := range t.When {
		r.When = append(r.When, c.Name)
	}
	for _, i := range t.Requires {
		r.Requires = append(r.Requires, i.Name)
	}
	for _, i := range t.Establishes {
		r.Establishes = append(r.Establishes, i.Name)
	}
	for _, o := range t.After {
		r.After = append(r.After, o.Stage)
	}
	return r
}

func (c *cli) passes(args []string) error {
	if err := noArgs(args); err != nil {
		return err
	}
	var all []stageRow
	rows := [][]string{{"stage", "numerics", "off", "requires", "establishes", "about"}}
	for _, t := range lower.Table {
		r := newStageRow(t)
		all = append(all, r)
		off := "no"
		if t.Required == "" {
			off = "yes"
		}
		about := t.Doc
		if len(r.When) > 0 {
			about += " [" + strings.Join(r.When, "; ") + "]"
		}
		rows = append(rows, []string{r.Name, r.Numerics, off, orDash(r.Requires), orDash(r.Establishes), about})
	}
	return c.table(all, rows)
}

func orDash(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ", ")
}

// wrap breaks text at spaces into lines of at most n characters.
func wrap(text string, n int) []string {
	var out []string
	for _, w := range strings.Fields(text) {
		if k := len(out) - 1; k >= 0 && len(out[k])+1+len(w) <= n {
			out[k] += " " + w
		} else {
			out = append(out, w)
		}
	}
	return out
}

package main

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower"
)

// table prints rows for people, or v as JSON.
func (c *cli) table(v any, rows [][]string) error {
	if c.cfg.JSON {
		return c.json(v)
	}
	fmt.Fprint(c.out, driver.Table(rows))
	return nil
}

func noArgs(args []string) error {
	if len(args) > 0 {
		return &driver.UsageError{Msg: "unexpected argument " + args[0]}
	}
	return nil
}

func (c *cli) boards(args []string) error {
	if len(args) > 1 {
		return noArgs(args[1:])
	}
	if len(args) == 1 {
		s, err := boards.Load(args[0])
		if err != nil {
			return &driver.InputError{Err: err}
		}
		if c.cfg.JSON {
			return c.json(s)
		}
		rows := [][]string{{"key", "value", "from"}}
		for _, o := range s.Why() {
			rows = append(rows, []string{o.Key, o.Value, fmt.Sprintf("%s:%d", o.File, o.Line)})
		}
		return c.table(nil, rows)
	}
	var all []*boards.Spec
	rows := [][]string{{"board", "core", "machine", "about"}}
	for _, n := range boards.List() {
		s, err := boards.Load(n)
		if err != nil {
			return err
		}
		all = append(all, s)
		machine := s.Runner.Machine
		if s.Runner.StandsIn != "" {
			machine += " (stands in)"
		}
		rows = append(rows, []string{s.Name, s.Core, machine, s.Doc})
	}
	return c.table(all, rows)
}

type opRow struct {
	Name    string   `json:"name"`
	Domain  string   `json:"domain"`
	Doc     string   `json:"doc"`
	Pattern string   `json:"pattern"`
	Quant   string   `json:"quantised"`
	Attrs   []string `json:"attributes"`
}

var patternNames = map[ir.Pattern]string{ir.Elementwise: "element-wise", ir.Broadcast: "broadcast", ir.Injective: "injective", ir.Reduce: "reduction", ir.OutFusable: "out-fusable", ir.Opaque: "opaque"}
var quantNames = map[ir.QuantKind]string{ir.QFloat: "float64 rule", ir.QMove: "moves integers", ir.QInt: "integer kernel", ir.QNone: "-"}

func (c *cli) ops(args []string) error {
	if err := noArgs(args); err != nil {
		return err
	}
	var all []opRow
	rows := [][]string{{"operator", "domain", "fusion", "on int8", "about"}}
	for _, d := range op.All() {
		r := opRow{Name: d.Name, Domain: d.Domain, Doc: d.Doc, Pattern: patternNames[d.Pattern], Quant: quantNames[d.Quant], Attrs: []string{}}
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

type passRow struct {
	Name     string `json:"name"`
	Doc      string `json:"doc"`
	Numerics string `json:"numerics"`
}

func (c *cli) passes(args []string) error {
	if err := noArgs(args); err != nil {
		return err
	}
	var all []passRow
	rows := [][]string{{"pass", "numerics", "about"}}
	for _, p := range lower.AllPasses() {
		all = append(all, passRow{p.Name, p.Doc, p.Numerics.String()})
		rows = append(rows, []string{p.Name, p.Numerics.String(), p.Doc})
	}
	return c.table(all, rows)
}

type kernelRow struct {
	Name    string   `json:"name"`
	Library string   `json:"library"`
	Doc     string   `json:"doc"`
	Ops     []string `json:"ops"`
	Rules   []struct {
		Code string `json:"code"`
		Doc  string `json:"doc"`
	} `json:"rules"`
}

func (c *cli) kernels(args []string) error {
	if err := noArgs(args); err != nil {
		return err
	}
	var all []kernelRow
	rows := [][]string{{"kernel", "library", "operators", "applies when"}}
	for _, k := range lower.AllKernels() {
		r := kernelRow{Name: k.Name, Library: k.Library, Doc: k.Doc}
		for _, o := range k.Ops {
			r.Ops = append(r.Ops, o.Name)
		}
		for i, x := range k.Rules {
			r.Rules = append(r.Rules, struct {
				Code string `json:"code"`
				Doc  string `json:"doc"`
			}{x.Code, x.Doc})
			first := []string{"", "", ""}
			if i == 0 {
				first = []string{k.Name, k.Library, strings.Join(r.Ops, " ")}
			}
			rows = append(rows, append(first, x.Code+": "+x.Doc))
		}
		if len(k.Rules) == 0 {
			rows = append(rows, []string{k.Name, k.Library, strings.Join(r.Ops, " "), "always"})
		}
		all = append(all, r)
	}
	return c.table(all, rows)
}

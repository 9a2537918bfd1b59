// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/ir/qref/cmsis"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
)

// kernelRow is a kernel, or a function of CMSIS-NN that kernels reach.
type kernelRow struct {
	Name    string     `json:"name"`
	Library string     `json:"library"`
	Doc     string     `json:"doc"`
	Ops     []string   `json:"ops"`
	Rules   []ruleRow  `json:"rules"`
	Facts   []kernFact `json:"facts,omitempty"`
}

type ruleRow struct {
	Code string `json:"code"`
	Doc  string `json:"doc"`
}

// kernFact is a row of the knowledge base.
type kernFact struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Builds string `json:"builds"` // mve, dsp, c
	When   string `json:"when,omitempty"`
	Value  string `json:"value,omitempty"`
	Until  string `json:"until,omitempty"` // first revision without the defect
	Says   string `json:"says,omitempty"`
	Source string `json:"source"` // of CMSIS-NN at revision
	Rev    string `json:"revision"`
}

// kernels prints every kernel with its rules, and what is known of CMSIS-NN.
func (c *cli) kernels(args []string) error {
	if err := noArgs(args); err != nil {
		return err
	}
	facts := map[string][]kernFact{}
	var order []string
	for _, r := range cmsis.Rows() {
		if facts[r.Function] == nil {
			order = append(order, r.Function)
		}
		facts[r.Function] = append(facts[r.Function], kernFact{r.ID, r.Kind.String(), r.Builds.String(), r.WhenText,
			r.Value, r.Until, r.Says, r.Source, cmsis.Revision})
	}
	all := []kernelRow{}
	taken := map[string]bool{}
	for _, k := range lower.AllKernels() {
		r := kernelRow{Name: k.Name, Library: k.Library, Doc: k.Doc, Ops: []string{}, Rules: []ruleRow{}}
		for _, o := range k.Ops {
			r.Ops = append(r.Ops, o.Name)
		}
		for _, x := range k.Rules {
			r.Rules = append(r.Rules, ruleRow{x.Code, x.Doc})
		}
		if k.Library == cmsisnn.Library && !taken[k.Name] {
			r.Facts, taken[k.Name] = facts[k.Name], true
		}
		all = append(all, r)
	}
	for _, name := range order {
		if !taken[name] {
			all = append(all, kernelRow{Name: name, Library: cmsisnn.Library, Doc: "function of the library",
				Ops: []string{}, Rules: []ruleRow{}, Facts: facts[name]})
		}
	}
	if c.cfg.JSON {
		return c.json(all)
	}
	// Some take fifty operators: a block each, not a row.
	for i, r := range all {
		if i > 0 {
			fmt.Fprintln(c.out)
		}
		fmt.Fprintf(c.out, "%s (%s): %s\n", r.Name, r.Library, r.Doc)
		if len(r.Ops) > 0 {
			for _, l := range wrap("for "+strings.Join(r.Ops, ", "), 110) {
				fmt.Fprintf(c.out, "  %s\n", l)
			}
		}
		for _, x := range r.Rules {
			fmt.Fprintf(c.out, "  %s: %s\n", x.Code, x.Doc)
		}
		for _, x := range r.Facts {
			fmt.Fprintf(c.out, "  %s\n", x)
		}
	}
	fmt.Fprintf(c.out, "\nWhat CMSIS-NN does is that of revision %s; builds are mve (Helium), dsp and c.\n",
		cmsis.Revision)
	return nil
}

// String is the fact on one line.
func (f kernFact) String() string {
	s := fmt.Sprintf("%s %s", f.ID, f.Kind)
	if f.Builds != cmsis.All.String() {
		s += " (" + f.Builds + ")"
	}
	if f.Value != "" {
		s += " " + f.Value
	}
	if f.When != "" {
		s += " if " + f.When
	}
	if f.Says != "" {
		s += ": " + f.Says
	}
	if f.Until != "" {
		s += " (until " + f.Until + ")"
	}
	return s + " [" + f.Source + "]"
}

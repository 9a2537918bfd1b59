// SPDX-License-Identifier: Apache-2.0

package align

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower/option"
)

// Options of Run.
type Options struct {
	Mode option.Align
	// PadInput allows channels of graph inputs to be added.
	PadInput bool
	// HardCoded reports a Reshape whose target shape the model spells out; nil:
	// all of them. Others follow their input.
	HardCoded func(n *ir.Node) bool
	// Price is asked in mode AlignAuto.
	Price Pricer
	// Chosen, when set, are the rows of another graph of the same model, as
	// compiled: what was padded there is padded here to the same sizes, and
	// nothing else.
	Chosen []Row
}

// Result says what was found and done.
type Result struct {
	Rows []Row
	// Inputs are the graph inputs that got more channels, with the number that
	// they had.
	Inputs map[string]int
	Padded int // dims that were padded
}

// Run finds the axes of g that are no multiples of four, decides which to pad
// and pads them. Results of the graph do not change.
func Run(g *ir.Graph, o Options) *Result {
	r := &Result{Rows: []Row{}, Inputs: map[string]int{}}
	if o.Mode == option.AlignNever {
		return r
	}
	a := analyse(g, &o)
	needs := a.needs()
	if o.Chosen != nil {
		a.choose(needs)
	}
	a.findLayers(needs)
	all := groups(needs)
	for _, gr := range all {
		gr.freeze()
	}
	if o.Mode == option.AlignAuto && o.Chosen == nil {
		a.decide(all)
	}
	for _, gr := range all {
		r.Rows = append(r.Rows, a.rows(gr)...)
	}
	r.order(needs)
	for _, v := range g.In {
		if x := a.values[v]; grown(x) {
			r.Inputs[v.Name] = x[channelAxis(v)].size()
		}
	}
	a.apply()
	return r
}

// choose asks for the sizes of other rows, and for no change elsewhere.
func (a *analysis) choose(needs []*need) {
	size := map[string]int{}
	a.rowOf = map[string]*Row{}
	for i := range a.opt.Chosen {
		r := &a.opt.Chosen[i]
		if a.rowOf[r.key()] == nil {
			a.rowOf[r.key()] = r
		}
		if r.Status == Patched {
			size[r.key()] = r.Target
		}
	}
	for _, d := range needs {
		if d.exactly = size[d.key()]; d.exactly == 0 {
			d.exactly = d.x.size()
		}
		d.blocked = nil // nncc's own choice avoids the defect
	}
}

func (a *analysis) rows(g *group) []Row {
	var rows []Row
	for _, d := range g.needs {
		grows := d.x.padded() != d.x.size()
		if !d.violated() && (!grows || a.opt.Mode == option.AlignAlways) {
			continue
		}
		r := Row{Node: d.n.Label(), Op: d.op, Constraint: d.constraint, Current: d.x.size(), Target: d.target(),
			Class: a.class(d), Status: Kept, Source: d.source, Gain: g.gain, Reason: g.why}
		if grows {
			r.Status, r.Target = Patched, d.x.padded()
		}
		switch l, no := g.held[d]; {
		case no:
			r.Class, r.Status, r.Gain, r.Reason, r.Code = Locked, Locked, 0, l.Text, l.Code
			r.Target = d.target()
		case a.opt.Chosen != nil && a.rowOf[d.key()] != nil:
			r.Gain, r.Reason = a.rowOf[d.key()].Gain, a.rowOf[d.key()].Reason
		case a.opt.Chosen != nil && !grows:
			r.Reason = "the compiled program does not pad it"
		case grows && g.why == "":
			r.Reason = a.reason(d)
		}
		rows = append(rows, r)
	}
	return rows
}

// layer is a node with weights on a dim: its index in the graph, and its name.
type layer struct {
	at   int
	name string
}

// named is how many layers a row names, and maxLayers how many of a dim are
// known: one more for the row's own, and one that says that there are more.
const named, maxLayers = 6, named + 2

// findLayers finds, for every dim that needs mention, the first nodes with weights on
// it.
func (a *analysis) findLayers(needs []*need) {
	a.layersOf = map[*dim][]layer{}
	for _, d := range needs {
		for t := range d.x.each {
			a.layersOf[t.d] = nil
		}
	}
	for i, n := range a.g.Nodes {
		name := n.Label()
		note := func(x axis) {
			for t := range x.each {
				l, asked := a.layersOf[t.d]
				if asked && len(l) < maxLayers &&
					!slices.ContainsFunc(l, func(o layer) bool { return o.name == name }) {
					a.layersOf[t.d] = append(l, layer{i, name})
				}
			}
		}
		for k := range n.In {
			if v := n.Input(k); v == nil || v.Const == nil || n.Op.Name == "DequantizeLinear" {
				continue
			}
			for _, x := range a.in(n, k) {
				note(x)
			}
		}
		if n.Op.Name == "Conv" && len(n.In) > 0 { // weights behind DequantizeLinear
			note(a.in(n, 0)[1])
			note(a.out(n, 0)[1])
		}
	}
}

// layers are the nodes with weights on a dim that the need's axis shares, the
// first of them.
func (a *analysis) layers(d *need) []string {
	var all []layer
	for t := range d.x.each {
		all = append(all, a.layersOf[t.d]...)
	}
	lists.Sort(all, func(x, y layer) int { return x.at - y.at })
	var out []string
	for _, l := range all {
		if !slices.Contains(out, l.name) {
			if out = append(out, l.name); len(out) == maxLayers {
				break
			}
		}
	}
	return out
}

// class is FREE when only the need's own layer has weights on the dimension.
func (a *analysis) class(d *need) string {
	if len(a.layers(d)) > 1 {
		return Coupled
	}
	return Free
}

func (a *analysis) reason(d *need) string {
	l := slices.DeleteFunc(a.layers(d), func(s string) bool { return s == d.n.Label() })
	if len(l) == 0 {
		return "no other layer has weights on this dimension"
	}
	if len(l) > named {
		l = append(l[:named:named], "...")
	}
	return fmt.Sprintf("padded together with %s", strings.Join(l, ", "))
}

// order sorts rows as the seed of this table has them: what was patched, what
// was kept, what is locked, each in the order of the nodes.
func (r *Result) order(needs []*need) {
	at := map[string]int{}
	for i, d := range needs {
		at[d.key()] = i
	}
	status := map[string]int{Patched: 0, Kept: 1, Locked: 2}
	lists.Sort(r.Rows, func(x, y Row) int {
		if s := status[x.Status] - status[y.Status]; s != 0 {
			return s
		}
		return at[x.key()] - at[y.key()]
	})
	for _, w := range r.Rows {
		if w.Status == Patched {
			r.Padded++
		}
	}
}

// Table shows rows for people.
func Table(list []Row) string {
	rows := [][]string{{"Node", "Op", "Constraint", "Current", "Target", "Status"}}
	for _, w := range list {
		rows = append(rows, []string{w.Node, w.Op, w.Constraint, fmt.Sprint(w.Current), fmt.Sprint(w.Target), w.Status})
	}
	width := make([]int, len(rows[0]))
	for _, w := range rows {
		for i, c := range w {
			width[i] = max(width[i], len(c))
		}
	}
	var b strings.Builder
	for k, w := range rows {
		line := ""
		for i, c := range w {
			if i > 0 {
				line += " | "
			}
			line += fmt.Sprintf("%-*s", width[i], c)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if k == 0 {
			b.WriteString(strings.Repeat("-", len(line)) + "\n")
		}
	}
	return b.String()
}

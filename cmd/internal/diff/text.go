// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/text"
)

// shownLayers bounds the layers of a model that are shown, without JSON.
const shownLayers = 100

// Text is the comparison for people.
func (d *Diff) Text() string {
	d = text.Lines(d)
	var b strings.Builder
	fmt.Fprintf(&b, "%s -> %s\n", d.Old.label(), d.New.label())
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for i := range d.Models {
		r := &d.Models[i]
		fmt.Fprintf(&b, "\n%s: %s\n", r.head(), r.Status)
		b.WriteString(text.Table(r.table("figure", "old", "new", "change")))
		if rows := r.layerTable(); len(rows) > 1 {
			fmt.Fprintf(&b, "\n%s", text.Table(rows))
		}
		if rest := len(r.Layers) - shownLayers; rest > 0 {
			fmt.Fprintf(&b, "and %d more layers (--json has all)\n", rest)
		}
		fmt.Fprintf(&b, "%s\n", r.counted())
	}
	for _, g := range d.Gates {
		if !g.Exceeded {
			fmt.Fprintf(&b, "gate %s: %s: holds\n", g.Limit, g.Model)
		}
	}
	return b.String()
}

func (s *Side) label() string {
	if s.Version == "" {
		return s.Path
	}
	return s.Path + " (nncc " + s.Version + ")"
}

func (r *Row) head() string {
	if r.OldName != "" {
		return fmt.Sprintf("%s (before %s) on %s", r.Name, r.OldName, r.Board)
	}
	return r.Name + " on " + r.Board
}

// title is the name of a figure of these models: state adds to the arena where they have some.
func (r *Row) title(m *metric) string {
	if m.key == "ram" && max(r.old.state(), r.now.state()) > 0 {
		return m.title + " and state"
	}
	return m.title
}

// table are the figures of a model.
func (r *Row) table(head ...string) [][]string {
	rows := [][]string{head}
	for i := range r.Metrics {
		c := &r.Metrics[i]
		title := r.title(c.metric)
		if c.Unit == "bytes" {
			title += ", bytes"
		}
		if c.Basis != "" {
			title += " (" + c.Basis + ")"
		}
		rows = append(rows, []string{title, c.side(c.Old), c.side(c.New), c.change()})
	}
	return rows
}

// counted says how many layers there are of each kind.
func (r *Row) counted() string {
	n := map[string]int{"same": r.LayersSame}
	for _, l := range r.Layers {
		n[l.Status]++
	}
	var s []string
	for _, k := range []string{"same", "changed", "renamed", "added", "removed"} {
		if n[k] > 0 {
			s = append(s, fmt.Sprintf("%d %s", n[k], k))
		}
	}
	if len(s) == 0 {
		return "no layers"
	}
	return "layers: " + strings.Join(s, ", ")
}

// layerColumns are the figures of layers that are shown.
var layerColumns = []string{"instructions", "cycles", "weights", "ram", "sqnr"}

// layerTable has a row for every layer that is not the same, with the columns in
// which something changed.
func (r *Row) layerTable() [][]string {
	cols := r.layerKeys()
	head := []string{"layer", "what"}
	for _, k := range cols {
		head = append(head, find(k).title)
	}
	rows := [][]string{append(head, "kernel")}
	for i := range r.Layers[:min(len(r.Layers), shownLayers)] {
		l := &r.Layers[i]
		row := []string{l.Name, l.what()}
		for _, k := range cols {
			row = append(row, l.of(k).cell())
		}
		rows = append(rows, append(row, l.kernels()))
	}
	return rows
}

// layerKeys are the figures of layers in which something changed.
func (r *Row) layerKeys() []string {
	var keys []string
	for _, k := range layerColumns {
		if slices.ContainsFunc(r.Layers, func(l Layer) bool { return l.of(k) != nil }) {
			keys = append(keys, k)
		}
	}
	return keys
}

// of is the change of a figure; nil: none.
func (l *Layer) of(key string) *Change {
	for i := range l.Changes {
		if l.Changes[i].Metric == key {
			return &l.Changes[i]
		}
	}
	return nil
}

func (c *Change) cell() string {
	switch {
	case c == nil:
		return ""
	case c.Delta != nil:
		return c.change()
	case c.New != nil:
		return c.metric.number(*c.New)
	}
	return "was " + c.metric.number(*c.Old)
}

func (l *Layer) what() string {
	switch {
	case l.OldName != "":
		return "was " + l.OldName
	case l.PartOf != "":
		return "now in " + l.PartOf
	}
	return l.Status
}

func (l *Layer) kernels() string {
	switch {
	case l.Status == "removed":
		return "was " + l.OldKernel
	case l.OldKernel != "":
		return l.OldKernel + " -> " + l.Kernel
	}
	return l.Kernel
}

// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/lists"
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
	head := append([]string{"layer", "what"}, lists.Map(cols, func(k string) string { return find(k).title })...)
	rows := [][]string{append(head, "kernel")}
	for i := range r.Layers[:min(len(r.Layers), shownLayers)] {
		l := &r.Layers[i]
		row := append([]string{l.Name, l.what()}, lists.Map(cols, func(k string) string { return l.of(k).cell() })...)
		rows = append(rows, append(row, l.kernels()))
	}
	return rows
}

// layerKeys are the figures of layers in which something changed.
func (r *Row) layerKeys() []string {
	return lists.Filter(layerColumns, func(k string) bool {
		return slices.ContainsFunc(r.Layers, func(l Layer) bool { return l.of(k) != nil })
	})
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

// mostMarkdown bounds the text: a comment of GitHub holds 65,536 characters.
const mostMarkdown = 60_000

// mostItems bounds the gates and notes.
const mostItems = 20

// markdownName bounds a name in a table.
const markdownName = 100

// Markdown is the comparison as a comment of a pull request: gates and figures,
// the layers folded away.
func (d *Diff) Markdown() string {
	d = text.Lines(d)
	var b strings.Builder
	fmt.Fprintf(&b, "### nncc: %s\n\n", d.verdict())
	var items []string
	for _, g := range d.Exceeded() {
		items = append(items, fmt.Sprintf("**%s exceeded:** %s", escape(text.Short(g.Limit, markdownName)),
			escape(text.Short(g.Reason, 800))))
	}
	items = append(items, lists.Map(d.Notes, func(n string) string { return escape(text.Short(n, 800)) })...)
	for i, s := range items {
		if i == mostItems {
			fmt.Fprintf(&b, "- and %d more\n", len(items)-i)
			break
		}
		fmt.Fprintf(&b, "- %s\n", s)
	}
	for i := range d.Models {
		r := &d.Models[i]
		if b.Len() > mostMarkdown {
			fmt.Fprintf(&b, "\nand %d more models\n", len(d.Models)-i)
			break
		}
		r.markdown(&b, d.Gates)
	}
	if d.Old.Version != d.New.Version {
		fmt.Fprintf(&b, "\nnncc %s before, %s now.\n", escape(d.Old.Version), escape(d.New.Version))
	}
	return b.String()
}

// verdict is the comparison in a few words.
func (d *Diff) verdict() string {
	if n := len(d.Exceeded()); n == 1 {
		return "1 gate exceeded"
	} else if n > 0 {
		return fmt.Sprintf("%d gates exceeded", n)
	}
	for _, r := range d.Models {
		if r.Status != "same" {
			if len(d.Gates) > 0 {
				return "changed, within the limits"
			}
			return "changed"
		}
	}
	return "nothing changed"
}

func (r *Row) markdown(b *strings.Builder, gates []Gate) {
	fmt.Fprintf(b, "\n**%s**: %s\n\n", escape(text.Short(r.head(), 2*markdownName)), r.Status)
	rows := r.table("figure", "old", "new", "change", "limit")
	for i := range r.Metrics {
		limit := ""
		for _, g := range gates {
			if g.Model == r.Name && g.Board == r.Board && g.Metric == r.Metrics[i].Metric {
				if _, limit, _ = strings.Cut(g.Limit, "="); g.Exceeded {
					limit += " exceeded"
				}
			}
		}
		rows[i+1] = append(rows[i+1], limit)
	}
	tableMarkdown(b, rows, mostMarkdown)
	layers := r.layerTable()
	if len(layers) == 1 {
		return
	}
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n", escape(r.counted()))
	if rest := tableMarkdown(b, layers, mostMarkdown) + max(len(r.Layers)-shownLayers, 0); rest > 0 {
		fmt.Fprintf(b, "\nand %d more layers\n", rest)
	}
	b.WriteString("\n</details>\n")
}

// tableMarkdown writes rows, the first of which is the head, as long as the text has
// not more than most bytes; it gives how many are left out.
func tableMarkdown(b *strings.Builder, rows [][]string, most int) int {
	for i, row := range rows {
		if b.Len() > most {
			return len(rows) - i
		}
		for _, cell := range row {
			fmt.Fprintf(b, "| %s ", escape(text.Short(text.Names(cell), markdownName)))
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	return 0
}

// escape keeps what a name has from being read as Markdown, HTML or a mention. An
// underscore within a word is none of these.
func escape(s string) string { return edges.ReplaceAllString(escapes.Replace(s), "${1}&#95;") }

// edges are underscores behind anything but a letter or digit.
var edges = regexp.MustCompile(`(^|[^A-Za-z0-9_])_`)

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "&#64;", "|", "&#124;", "\\", "&#92;",
	"`", "&#96;", "*", "&#42;", "[", "&#91;", "]", "&#93;", "~", "&#126;", "://", ":&#47;&#47;", "#", "&#35;", "__",
	"&#95;&#95;", "\n", " ")

// HTML is the comparison as one page: figures, layers, and the arenas of both sides on
// one scale.
func (d *Diff) HTML() []byte {
	c := &report.Comparison{Old: d.Old.label(), New: d.New.label(), Verdict: d.verdict(), Notes: d.Notes}
	for _, g := range d.Exceeded() {
		c.Exceeded = append(c.Exceeded, g.Model+", "+g.Limit+": "+g.Reason)
	}
	for i := range d.Models {
		c.Models = append(c.Models, d.Models[i].compared(d.Gates))
	}
	return report.DiffPage(c)
}

func (r *Row) compared(gates []Gate) report.ComparedModel {
	m := report.ComparedModel{Name: r.head(), Status: r.Status, Counted: r.counted()}
	rows := r.table()
	for i, row := range rows[1:] {
		x := &r.Metrics[i]
		f := report.ComparedFigure{Title: row[0], Old: row[1], New: row[2], Change: row[3]}
		if x.Old != nil {
			f.OldValue = *x.Old
		}
		if x.New != nil {
			f.NewValue = *x.New
		}
		f.Worse, f.Better = x.direction()
		for _, g := range gates {
			if g.Model == r.Name && g.Board == r.Board && g.Metric == x.Metric {
				_, f.Limit, _ = strings.Cut(g.Limit, "=")
				f.Exceeded = f.Exceeded || g.Exceeded
			}
		}
		if f.Exceeded {
			f.Limit += " exceeded"
		}
		m.Figures = append(m.Figures, f)
	}
	keys := r.layerKeys()
	m.Columns = append(m.Columns, lists.Map(keys, func(k string) string { return find(k).title })...)
	for i := range r.Layers {
		l := &r.Layers[i]
		x := report.ComparedLayer{Name: l.Name, Op: l.Op, What: l.what(), Kernel: l.kernels()}
		for _, k := range keys {
			c := report.ComparedCell{Text: l.of(k).cell()}
			if at := l.of(k); at != nil {
				c.Worse, c.Better = at.direction()
			}
			x.Cells = append(x.Cells, c)
		}
		m.Layers = append(m.Layers, x)
	}
	m.Arenas = append(arena("Arena, old", r.old), arena("Arena, new", r.now)...)
	return m
}

// direction says whether a figure got worse or better.
func (c *Change) direction() (worse, better bool) {
	if c.Delta == nil || *c.Delta == 0 {
		return false, false
	}
	worse = *c.Delta > 0 != c.metric.more
	return worse, !worse
}

func arena(title string, m *Model) []report.ComparedArena {
	if m == nil || m.Memory.Arena == nil {
		return nil
	}
	return []report.ComparedArena{{Title: title + ": " + count(*m.Memory.Arena) + " bytes",
		Bytes: int(*m.Memory.Arena), Steps: len(m.Layers), Buffers: m.Memory.Buffers}}
}

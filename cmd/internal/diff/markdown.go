// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/nncc/nncc/frontend/text"
)

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
	for _, n := range d.Notes {
		items = append(items, escape(text.Short(n, 800)))
	}
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

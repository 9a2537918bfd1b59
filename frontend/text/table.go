// SPDX-License-Identifier: Apache-2.0

package text

import "strings"

const maxCell = 400

// maxName bounds a word in a table, in characters: exporters call what they fused after all
// of its parts, in hundreds of them.
const maxName = 60

// Names shortens the words of a text that are longer than names are: their beginnings and
// ends stay. It is for tables that people read; JSON has names whole.
func Names(s string) string {
	if len(s) <= maxName {
		return s
	}
	words := strings.Split(s, " ")
	for i, w := range words {
		if r := []rune(w); len(r) > maxName {
			words[i] = string(r[:maxName/3]) + "…" + string(r[len(r)-(maxName-maxName/3-1):])
		}
	}
	return strings.Join(words, " ")
}

// Table aligns columns, MACs, instructions and row numbers on the right: the layout of
// all tables on the command line. The first row is the header.
func Table(rows [][]string) string {
	width := make([]int, len(rows[0]))
	shown := make([][]string, len(rows))
	for i, r := range rows {
		for _, c := range r {
			shown[i] = append(shown[i], Short(Names(Line(c)), maxCell))
		}
	}
	rows = shown
	for _, r := range rows {
		for i, c := range r {
			width[i] = max(width[i], len([]rune(c)))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		for i, c := range r {
			pad := strings.Repeat(" ", width[i]-len([]rune(c)))
			if i > 0 {
				b.WriteString("  ")
			}
			if rows[0][i] == "MACs" || rows[0][i] == "#" || rows[0][i] == "instructions" {
				b.WriteString(pad + c)
			} else if i == len(r)-1 {
				b.WriteString(c)
			} else {
				b.WriteString(c + pad)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

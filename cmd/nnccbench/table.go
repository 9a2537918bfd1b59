// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/fail"
)

// figures are what a network takes on a core. Zero values are not known.
type figures struct {
	Instructions, Cycles float64 // millions of an inference
	Ratio                float64 // instructions to those with a linked CMSIS-NN
	Arena, Code          float64 // KiB
}

// row is a network.
type row struct {
	Network string
	On      []figures // core by core
}

// core is a group of columns.
type core struct {
	Name  string  // such as M55
	Error float64 // of the estimate of cycles, relative
}

// table is that of the document, between the lines begin and end.
type table struct {
	Cores   []core
	Library string // the version of CMSIS-NN that ratios are to, "" if there are none
	Rows    []row
}

const (
	begin = "<!-- zoo: written by make bench -->"
	end   = "<!-- /zoo -->"
)

// String is the table in Markdown with the lines around it.
func (t *table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| network ", begin)
	rule := "| --- |"
	for _, c := range t.Cores {
		fmt.Fprintf(&b, "| %s: instr. | cycles | ratio | arena | code ", c.Name)
		rule += strings.Repeat(" --: |", 5)
	}
	fmt.Fprintf(&b, "|\n%s\n", rule)
	for _, r := range t.Rows {
		fmt.Fprintf(&b, "| %s ", r.Network)
		for _, f := range r.On {
			ratio := "-"
			if f.Ratio > 0 {
				ratio = fmt.Sprintf("%.2f", f.Ratio)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s ", digits(f.Instructions), digits(f.Cycles), ratio,
				digits(f.Arena), digits(f.Code))
		}
		b.WriteString("|\n")
	}
	fmt.Fprintf(&b, "\n%s\n%s\n", t.legend(), end)
	return b.String()
}

// legend says what the columns are.
func (t *table) legend() string {
	var errs []string
	for _, c := range t.Cores {
		errs = append(errs, fmt.Sprintf("%s %.0f %%", c.Name, 100*c.Error))
	}
	s := "Millions of instructions and of estimated cycles without wait states (give or take: " +
		strings.Join(errs, ", ") + ");\narena and code in KiB."
	if t.Library != "" {
		s += " Ratio: instructions to those of the same network with CMSIS-NN " + t.Library + " linked\n(`--kernels " +
			"cmsis-nn`)."
	}
	return s
}

// digits are three of a number, "-" for one that is not known.
func digits(v float64) string {
	if v <= 0 {
		return "-"
	}
	whole := 1
	for limit := 9.995; v >= limit && whole < 3; limit *= 10 {
		whole++
	}
	return strconv.FormatFloat(v, 'f', 3-whole, 64)
}

// section finds the table in a document: what is before and behind it.
func section(doc []byte) (before, text, after []byte, err error) {
	i, j := bytes.Index(doc, []byte(begin)), bytes.Index(doc, []byte(end+"\n"))
	if i < 0 || j < i {
		return nil, nil, nil, fmt.Errorf("no lines %q and %q", begin, end)
	}
	j += len(end) + 1
	return doc[:i], doc[i:j], doc[j:], nil
}

var (
	errorRE   = regexp.MustCompile(`(M\S+) (\d+) %`)
	libraryRE = regexp.MustCompile(`with CMSIS-NN (.*) linked`)
)

// parse reads what String writes.
func parse(text string) (_ *table, err error) {
	defer fail.Catch(&err)
	t := &table{}
	for _, m := range errorRE.FindAllStringSubmatch(text, -1) {
		percent := fail.Must(strconv.Atoi(m[2]))
		t.Cores = append(t.Cores, core{m[1], float64(percent) / 100})
	}
	if m := libraryRE.FindStringSubmatch(text); m != nil {
		t.Library = m[1]
	}
	var lines []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") {
			lines = append(lines, line)
		}
	}
	for _, line := range lines[min(2, len(lines)):] {
		r := fail.Must(parseRow(line, len(t.Cores)))
		t.Rows = append(t.Rows, *r)
	}
	return t, nil
}

func parseRow(line string, cores int) (*row, error) {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	if len(cells) != 1+5*cores {
		return nil, fmt.Errorf("%d cells, want %d: %s", len(cells), 1+5*cores, line)
	}
	r := &row{Network: strings.TrimSpace(cells[0]), On: make([]figures, cores)}
	for i, cell := range cells[1:] {
		f := &r.On[i/5]
		p := []*float64{&f.Instructions, &f.Cycles, &f.Ratio, &f.Arena, &f.Code}[i%5]
		if cell = strings.TrimSpace(cell); cell == "-" {
			continue
		}
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
		*p = v
	}
	return r, nil
}

// keep takes over the ratios of an earlier table where t has none.
func (t *table) keep(old *table) {
	if t.Library != "" {
		return
	}
	t.Library = old.Library
	for i, c := range t.Cores {
		for j, was := range old.Cores {
			if was.Name != c.Name {
				continue
			}
			for k := range t.Rows {
				for _, r := range old.Rows {
					if r.Network == t.Rows[k].Network {
						t.Rows[k].On[i].Ratio = r.On[j].Ratio
					}
				}
			}
		}
	}
}

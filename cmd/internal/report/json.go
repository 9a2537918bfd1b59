// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/lower"
)

// JSON is the report as it is written: indented, lists of numbers, histograms
// and tensors on one line each, ending in a line break.
func (r *Report) JSON() []byte {
	r.summarise()
	return flatGraph(flatNumbers(JSON(r)))
}

// JSON is the form of all JSON files: indented, ending in a line break. Where v has
// numbers that JSON has not (a model's outputs may be infinite), the nearest ones stand.
func JSON(v any) []byte {
	b, err := encoded(v)
	if errors.As(err, new(*json.UnsupportedValueError)) {
		b, err = encoded(text.Finite(v))
	}
	if err != nil {
		panic(bug.Errorf("report: %w", err))
	}
	return b
}

func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// flatNumbers puts lists of numbers of indented JSON on one line each: half of the
// lines of a report are numbers of shapes. A bracket at the end of a line opens a list,
// since no string holds a line break.
func flatNumbers(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for {
		i := bytes.Index(b, []byte("[\n"))
		if i < 0 {
			return append(out, b...)
		}
		out, b = append(out, b[:i+1]...), b[i+1:]
		n := bytes.IndexByte(b, ']')
		if n < 0 || !onlyNumbers(b[:n]) {
			continue
		}
		for k, f := range bytes.Fields(b[:n]) {
			if k > 0 {
				out = append(out, ' ')
			}
			out = append(out, f...)
		}
		b = b[n:]
	}
}

func onlyNumbers(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool {
		return !bytes.ContainsRune([]byte("0123456789+-.eE, \n"), rune(c))
	})
}

// flatGraph puts the histograms of indented JSON, and the objects of .graph that hold
// no others, on one line each: there are several for every layer.
func flatGraph(b []byte) []byte {
	lines := bytes.SplitAfter(b, []byte("\n"))
	out, within := make([]byte, 0, len(b)), false
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		switch {
		case bytes.Equal(l, []byte("  \"graph\": {\n")):
			within = true
		case within && bytes.HasPrefix(l, []byte("  }")):
			within = false
		}
		n := 0
		if within || bytes.HasSuffix(l, []byte("\"histogram\": {\n")) {
			n = leaf(lines[i:])
		}
		if n == 0 {
			out = append(out, l...)
			continue
		}
		out = append(out, bytes.TrimRight(l, "\n")...)
		for k := 1; k < n; k++ {
			if k > 1 && k+1 < n {
				out = append(out, ' ')
			}
			out = append(out, bytes.TrimSpace(lines[i+k])...)
		}
		out = append(out, '\n')
		i += n - 1
	}
	return out
}

// leaf counts the lines of the object that opens at the end of the first one; 0: there
// is none, or it holds others.
func leaf(lines [][]byte) int {
	if !bytes.HasSuffix(lines[0], []byte("{\n")) {
		return 0
	}
	for i, l := range lines[1:] {
		switch {
		case bytes.HasPrefix(bytes.TrimSpace(l), []byte("}")):
			return i + 2
		case bytes.HasSuffix(l, []byte("{\n")) || bytes.HasSuffix(l, []byte("[\n")):
			return 0
		}
	}
	return 0
}

// Tensors is the index of a folder of intermediate values, and what `run --tensors --json`
// prints of them.
type Tensors struct {
	Generator string `json:"generator"`
	Version   string `json:"version"`
	Model     string `json:"model"`
	Board     string `json:"board,omitempty"`
	// Runs is how many inferences or steps the files hold; several along a first axis.
	Runs    int         `json:"runs"`
	Tensors []TensorRow `json:"tensors"`
	Files   []string    `json:"files"`
}

// Golden is golden.json of a folder that verify --record wrote.
type Golden struct {
	Generator string   `json:"generator"`
	Version   string   `json:"version"`
	Model     string   `json:"model"`
	Board     string   `json:"board"`
	Cases     []string `json:"cases"` // where the inputs of case_0, case_1, ... are from
	Files     []string `json:"files"`
}

// TensorRow is a tensor of the model with the values of the program that stand for it, or
// one value of the program that stands for none.
type TensorRow struct {
	Model   *TensorFile  `json:"model"`
	Program []HeldTensor `json:"program"`
}

// TensorFile is a value with its file; integers that stand for reals have these in File,
// themselves in Raw.
type TensorFile struct {
	Name  string    `json:"name"`
	Node  string    `json:"node,omitempty"`
	Op    string    `json:"op,omitempty"`
	DType string    `json:"dtype"`
	Shape []int     `json:"shape"`
	Scale []float32 `json:"scale,omitempty"`
	Zero  []int32   `json:"zero_point,omitempty"`
	File  string    `json:"file"`
	Raw   string    `json:"raw_file,omitempty"`
	Least *float64  `json:"min"` // of File; null without finite values
	Most  *float64  `json:"max"`
}

// HeldTensor is a value of the program, with its signal-to-noise ratio in dB and largest
// difference beside the model's tensor; null without one.
type HeldTensor struct {
	TensorFile
	SQNR    *float64 `json:"sqnr_db"`
	MaxDiff *float64 `json:"max_abs_diff"`
}

// Text is a table: the values of the model, or of its program beside them.
func (t *Tensors) Text() string {
	rows := [][]string{{"tensor", "operator", "shape", "type", "min", "max"}}
	if t.Board != "" {
		rows = [][]string{{"tensor", "operator", "shape", "type", "SQNR dB", "max |diff|"}}
	}
	alone, apart := 0, 0
	for _, r := range t.Tensors {
		switch {
		case r.Model == nil:
			apart++
			continue
		case t.Board == "":
			rows = append(rows, append(r.Model.cells(r.Model), number(r.Model.Least), number(r.Model.Most)))
			continue
		case len(r.Program) == 0:
			alone++
		}
		for _, p := range r.Program {
			rows = append(rows, append(p.cells(r.Model), decibels(p.SQNR), number(p.MaxDiff)))
		}
	}
	s := text.Table(rows)
	if t.Board != "" {
		s += fmt.Sprintf("%d tensors of the model have no value of their own in the program, %d values of the program "+
			"stand for no tensor of the model\n", alone, apart)
	}
	return s
}

func (f *TensorFile) cells(of *TensorFile) []string {
	return []string{of.Name, f.Op, strings.Trim(fmt.Sprint(f.Shape), "[]"), f.DType}
}

func number(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}

func decibels(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 1, 64)
}

// ProposalText is the table of --propose; file is what was written, ratio that figures
// are in dB.
func ProposalText(p *lower.Proposal, file string) string {
	p = text.Lines(p)
	var b strings.Builder
	if len(p.Layers) == 0 {
		fmt.Fprintf(&b, "every layer %s\n", p.Default)
	} else {
		rows := [][]string{{"precision", "layer", "op"}}
		for _, l := range p.Layers {
			rows = append(rows, []string{l.Precision, l.Name, l.Op})
		}
		b.WriteString(text.Table(rows) + "all others " + p.Default + "\n")
	}
	reached := func(x float64) string {
		if p.Ratio {
			return fmt.Sprintf("%.1f dB", x)
		}
		return fmt.Sprintf("%.2f %%", 100*x)
	}
	rows := [][]string{{"program", "reaches", "instructions", "arena", "constants", "kernels"}}
	for _, m := range append([]lower.Mix{p.Mixed}, p.Beside...) {
		rows = append(rows, []string{m.Name, reached(m.Reached), fmt.Sprintf("%.0f", m.Instructions),
			fmt.Sprint(m.ArenaBytes), fmt.Sprint(m.ConstBytes), fmt.Sprint(m.CodeBytes)})
	}
	fmt.Fprintf(&b, "\n%s", text.Table(rows))
	how := "estimated"
	if p.Measured {
		how = "counted on the board's machine"
	}
	fmt.Fprintf(&b, "wanted: %s, on samples that calibration does not see; instructions are %s; arena, constants and "+
		"kernels in bytes\nwrote %s, for --layers-config\n", reached(p.Goal), how, text.Line(file))
	return b.String()
}

// SensitivityText is the table of --sensitivity.
func SensitivityText(s *lower.Sensitivity) string {
	s = text.Lines(s)
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SQNR dB\tlayer\top\tprecision")
	for _, l := range s.Layers {
		fmt.Fprintf(w, "%.1f\t%s\t%s\t%s\n", l.SQNR, l.Name, l.Op, l.Precision)
	}
	fmt.Fprintf(w, "%.1f\tall of them\t\t\n", s.All)
	w.Flush()
	return b.String()
}

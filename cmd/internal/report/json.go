// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/bug"
)

// JSON is the report as it is written: indented, lists of numbers, histograms
// and tensors on one line each, ending in a line break.
func (r *Report) JSON() []byte { return flatGraph(flatNumbers(JSON(r))) }

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
	for _, c := range b {
		if !bytes.ContainsRune([]byte("0123456789+-.eE, \n"), rune(c)) {
			return false
		}
	}
	return true
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

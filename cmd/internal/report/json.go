package report

import (
	"bytes"
	"encoding/json"

	"github.com/nncc/nncc/ir/bug"
)

// JSON is the report as it is written: indented, lists of numbers on one line each,
// ending in a line break.
func (r *Report) JSON() []byte { return flatNumbers(JSON(r)) }

// JSON is the form of all JSON files: indented, ending in a line break.
func JSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(bug.Errorf("report: %w", err))
	}
	return b.Bytes()
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

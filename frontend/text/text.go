// SPDX-License-Identifier: Apache-2.0

// Package text makes text safe to show to people. Names in models, boards and
// scripts are anybody's: on a terminal they could move the cursor, hide lines or
// turn their direction around. JSON and ONNX keep names as they are.
package text

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible writes control characters, those without a shape (marks of direction,
// joiners, tags) and bytes that are no UTF-8 as escapes. Ends of lines and tabs
// stay.
func Visible(s string) string { return escape(s, "\n\t") }

// Line is Visible for a text that is to be on one line, such as a name.
func Line(s string) string { return escape(s, "") }

func escape(s, keep string) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = s[i] >= ' ' && s[i] < 0x7f || strings.IndexByte(keep, s[i]) >= 0
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r < utf8.RuneSelf && strings.IndexByte(keep, byte(r)) >= 0:
			b.WriteRune(r)
		case r != ' ' && !unicode.IsGraphic(r), unicode.Is(unicode.Co, r):
			q := strconv.QuoteToASCII(string(r))
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// Writer makes what goes through it visible, and keeps the first error.
type Writer struct {
	to  io.Writer
	err error
}

// NewWriter writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// commands are what CI services take out of the lines of a log and obey: GitHub's ::name:: at the beginning of a
// line, ##[name] of older runners, ##vso[name] of Azure, ##teamcity[name].
var commands = regexp.MustCompile(`(?m)^[ \t]*::|##[a-z]*\[`)

// disarmed escapes a character of what CI services would obey.
func disarmed(s string) string {
	return commands.ReplaceAllStringFunc(s, func(c string) string {
		if end, ok := strings.CutSuffix(c, "::"); ok {
			return end + `\x3a:`
		}
		return `#\x23` + c[2:]
	})
}

// Write takes whole lines.
func (w *Writer) Write(p []byte) (int, error) {
	s := disarmed(Visible(string(p)))
	if len(s) > maxLine {
		lines := strings.Split(s, "\n")
		for i, l := range lines {
			lines[i] = Short(l, maxLine)
		}
		s = strings.Join(lines, "\n")
	}
	if _, err := io.WriteString(w.Exact(), s); err != nil {
		return 0, err
	}
	return len(p), nil
}

// maxLine is how much of a line is shown: names can be long.
const maxLine = 4000

// Errorf is fmt.Errorf with the strings among the arguments on one line each: no
// line of a message is begun by a name.
func Errorf(format string, args ...any) error {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = Line(s)
		}
	}
	return fmt.Errorf(format, args...)
}

// Short leaves out the middle of what is longer than max bytes.
func Short(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := s[:limit*3/4], s[len(s)-limit/4:]
	return fmt.Sprintf("%s ... (%d bytes left out) ... %s", strings.ToValidUTF8(head, ""), len(s)-limit,
		strings.ToValidUTF8(tail, ""))
}

// Exact gives a writer to the same place that changes nothing: for JSON.
func (w *Writer) Exact() io.Writer { return exact{w} }

type exact struct{ w *Writer }

func (e exact) Write(p []byte) (int, error) {
	n, err := e.w.to.Write(p)
	if err != nil && e.w.err == nil {
		e.w.err = err
	}
	return n, err
}

// Err is the first error of a write.
func (w *Writer) Err() error { return w.err }

// Distance is the edit distance of a and b, or limit where it is not below it: letters to
// change, add, take away, or swap with the next one.
func Distance(a, b string, limit int) int {
	if len(a) > 256 || len(b) > 256 || len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row, up, upper := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		upper, up, row = up, row, upper
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			d := up[j-1]
			if a[i-1] != b[j-1] {
				d++
			}
			row[j] = min(d, up[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], upper[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit
		}
	}
	return min(row[len(b)], limit)
}

// Natural orders names with numbers in them by the numbers: a negative result where
// a comes first.
func Natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		i, k := digits(x), digits(y)
		if i > 0 && k > 0 {
			m, n := strings.TrimLeft(x[:i], "0"), strings.TrimLeft(y[:k], "0")
			if len(m) != len(n) {
				return len(m) - len(n)
			}
			if m != n {
				return strings.Compare(m, n)
			}
			x, y = x[i:], y[k:]
			continue
		}
		if x[0] != y[0] {
			return int(x[0]) - int(y[0])
		}
		x, y = x[1:], y[1:]
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b) // 1 and 01
}

func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// Nearest gives the one of several names that was probably meant: the one with
// the smallest edit distance, "" where that is no plausible slip.
func Nearest(s string, all []string) string {
	best, bestD := "", len(s)+1
	low, plain := strings.ToLower(s), flat(s)
	for _, n := range all {
		name := flat(n)
		// m4 and cortexm4 are how people write cortex-m4.
		if plain == name || "cortex"+plain == name {
			return n
		}
		d := 2 * Distance(low, strings.ToLower(n), bestD/2+2)
		if plain != "" && strings.HasPrefix(name, plain) {
			d-- // a name cut short is likelier than a wrong letter
		}
		if len(plain) > 2 && strings.HasPrefix(name, plain) || len(plain) > 3 && wordBegins(n, plain) {
			d = min(d, len(s)) // however much is missing
		}
		if d < bestD {
			best, bestD = n, d
		}
	}
	return best
}

// Meant is "; did you mean NAME?" about the nearest name, "" where there is none.
func Meant(s string, all []string) string {
	if n := Nearest(s, all); n != "" {
		return "; did you mean " + Line(Short(n, maxCell)) + "?"
	}
	return ""
}

// wordBegins says whether some word of a name and what follows it begin so: "ic.onnx" is not meant in "static.onnx".
func wordBegins(name, plain string) bool {
	for i := 1; i < len(name); i++ {
		inside := unicode.IsLetter(rune(name[i-1])) && unicode.IsLower(rune(name[i]))
		if !inside && strings.HasPrefix(flat(name[i:]), plain) {
			return true
		}
	}
	return false
}

// marks are left out where names are compared.
var marks = strings.NewReplacer("-", "", "_", "", " ", "", "/", "", "+", "plus")

func flat(s string) string { return marks.Replace(strings.ToLower(s)) }

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

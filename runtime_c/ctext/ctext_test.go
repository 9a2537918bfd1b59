// SPDX-License-Identifier: Apache-2.0

package ctext

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestFold: C whose lines are too long is the same C in short lines.
func TestFold(t *testing.T) {
	long := strings.Repeat("abcde ", 30)
	name := strings.Repeat("n", 60)
	for _, c := range []struct{ text, want string }{
		{"short;", "short;"},
		{"/* " + long + "*/\nint x;", "/* " + long[:113] + "\n   " + long[114:] + "*/\nint x;"},
		{"/*\n * " + long + "\n * next.\n */", "/*\n * " + long[:113] + "\n * " + long[114:] + "next.\n */"},
		{"/*\n * " + long + "\n *\n * next.\n */",
			"/*\n * " + long[:113] + "\n * " + long[114:len(long)-1] + "\n *\n * next.\n */"},
		{"#define " + name + " (" + name + " + 1)", "#define " + name + ` \` + "\n    (" + name + " + 1)"},
		{"void f(const " + name + " *a, const " + name + " *b);",
			"void f(const " + name + " *a,\n       const " + name + " *b);"},
		{"    x = " + name + " + " + name + ";", "    x = " + name + " +\n        " + name + ";"},
		{`    "` + strings.Repeat("s", 200) + `",`,
			`    "` + strings.Repeat("s", 113) + "\"\n" + `        "` + strings.Repeat("s", 87) + `",`},
	} {
		got := string(Fold([]byte(c.text)))
		testenv.Check(t, got == c.want, "%s\ngot\n%s\nwant\n%s", c.text, got, c.want)
	}
}

// TestFoldWords: no word is lost or changed, no line too long, whatever the text is.
func TestFoldWords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var b strings.Builder
		var words []string
		b.WriteString([]string{"", "/* ", "    /* ", "/*\n * ", "#define "}[r.IntN(5)])
		for range r.IntN(60) {
			w := strings.Repeat(string('a'+rune(r.IntN(26))), 1+r.IntN(50))
			words = append(words, w)
			fmt.Fprintf(&b, "%s ", w)
		}
		text := string(Fold([]byte(b.String())))
		var got []string
		for _, l := range strings.Split(text, "\n") {
			testenv.Require(t, len(strings.TrimRight(l, " ")) <= Columns, "%d columns:\n%s", len(l), text)
			got = append(got, strings.FieldsFunc(l, func(r rune) bool { return r < 'a' || r > 'z' })...)
		}
		want := strings.Join(words, " ")
		testenv.Require(t, strings.HasSuffix(strings.Join(got, " "), want), "got %q\nwant %q", got, words)
	}
}

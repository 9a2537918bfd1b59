// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/cmd/internal/driver"
)

// man prints the manual page, made from the tables that help is made from.
func (c *cli) man(args []string) error {
	if err := noArgs(args); err != nil {
		return err
	}
	fmt.Fprint(c.out, manPage())
	return nil
}

func manPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH NNCC 1 \"\" \"nncc %s\" \"nncc manual\"\n", roff(driver.Version))
	b.WriteString(".SH NAME\nnncc \\- compile neural networks to C firmware for microcontrollers\n")
	b.WriteString(".SH SYNOPSIS\n\\fBnncc\\fR [\\fIverb\\fR] [\\fIflags\\fR] \\fIMODEL\\fR\n.br\n" +
		"\\fBnncc help\\fR \\fITOPIC\\fR\n")
	b.WriteString(".SH DESCRIPTION\nReads ONNX and TensorFlow Lite models and writes C sources for Cortex\\-M that " +
		"compute what the reference interpreter computes.\nWithout a verb, nncc compiles.\n" +
		"Flags may stand before or behind the model, with one or two dashes.\n")
	b.WriteString(".SH VERBS\n")
	names := slices.Sorted(maps.Keys(verbs))
	for _, n := range names {
		v := verbs[n]
		fmt.Fprintf(&b, ".TP\n%s\n%s\nExample: \\fB%s\\fR\n",
			strings.TrimSpace("\\fBnncc "+roff(n)+"\\fR "+roff(v.args)), roff(sentence(v.doc)), roff(v.example))
	}
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, n := range names {
		all.AddFlagSet(verbFlags(&cli{}, n))
	}
	titles, sets := grouped(all)
	for _, t := range titles {
		fmt.Fprintf(&b, ".SH %s\n", roff(strings.ToUpper("flags, "+t)))
		sets[t].VisitAll(func(f *pflag.Flag) { manFlag(&b, f) })
	}
	b.WriteString(".SH GUIDES\n")
	for _, n := range slices.Sorted(maps.Keys(topics)) {
		fmt.Fprintf(&b, ".TP\n\\fBnncc help %s\\fR\n%s.\n", roff(n), roff(title(topics[n])))
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, s := range []struct{ code, doc string }{{"0", "done"}, {"1", "verification found a difference"},
		{"2", "bad usage or bad input"}, {"3", "a gate was exceeded"}, {"4", "a tool is missing or failed"},
		{"70", "a bug in nncc"}} {
		fmt.Fprintf(&b, ".TP\n%s\n%s\n", s.code, roff(sentence(s.doc)))
	}
	return b.String()
}

func manFlag(b *strings.Builder, f *pflag.Flag) {
	value, doc := pflag.UnquoteUsage(f)
	fmt.Fprintf(b, ".TP\n\\fB\\-\\-%s\\fR", roff(f.Name))
	if f.Shorthand != "" {
		fmt.Fprintf(b, ", \\fB\\-%s\\fR", roff(f.Shorthand))
	}
	if value != "" && f.NoOptDefVal == "" {
		fmt.Fprintf(b, " \\fI%s\\fR", roff(value))
	}
	fmt.Fprintf(b, "\n%s\n.br\nVerbs: %s.\n", roff(doc), roff(strings.ReplaceAll(flagRules[f.Name].verbs, " ", ", ")))
}

// roff keeps a text from being read as macros and escapes.
func roff(s string) string {
	s = strings.NewReplacer("\\", "\\e", "-", "\\-", "\t", " ").Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if l = strings.TrimLeft(l, " "); strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			l = "\\&" + l
		}
		lines[i] = l
	}
	return strings.Join(lines, "\n")
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower"
	"github.com/spf13/pflag"
)

//go:embed help
var helpFiles embed.FS

// topics are the texts of `nncc help TOPIC` by name.
var topics = func() map[string]string {
	list := bug.Must(helpFiles.ReadDir("help"))
	out := map[string]string{}
	for _, f := range list {
		b := bug.Must(helpFiles.ReadFile("help/" + f.Name()))
		out[strings.TrimSuffix(f.Name(), ".txt")] = string(b)
	}
	return out
}()

func (c *cli) help(args []string) {
	fmt.Fprint(c.out, c.helpText(args))
}

func (c *cli) helpText(args []string) string {
	switch len(args) {
	case 0:
		return guides()
	case 1:
	default:
		wrong("help: %d arguments, want one topic or verb", len(args))
	}
	name := args[0]
	if s, ok := topics[name]; ok {
		return s
	}
	v, ok := verbs[name]
	if !ok {
		all := slices.Sorted(maps.Keys(topics))
		wrong("help: there is no topic or verb %s%s; topics: %s", text.Line(name),
			text.Meant(name, slices.Concat(all, verbNames())), strings.Join(all, ", "))
	}
	fs := verbFlags(c, name)
	fs.BoolP("help", "h", false, "show help")
	return v.help(name, fs)
}

// guides lists topics and verbs.
func guides() string {
	var b strings.Builder
	b.WriteString("Guides (nncc help TOPIC):\n")
	for _, n := range slices.Sorted(maps.Keys(topics)) {
		fmt.Fprintf(&b, "  %-13s %s\n", n, title(topics[n]))
	}
	b.WriteString("\nVerbs (nncc VERB -h shows the flags of each; without a verb nncc compiles):\n")
	for _, n := range verbNames() {
		fmt.Fprintf(&b, "  %-13s %s\n", n, verbs[n].doc)
	}
	return b.String()
}

func noFlags(*cli, *pflag.FlagSet) {}

func (c *cli) man([]string) { fmt.Fprint(c.out, manPage()) }

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
	names := verbNames()
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

//go:embed completion
var completionFiles embed.FS

// shells for which there is a script.
var shells = []string{"bash", "zsh", "fish"}

// completer is what the scripts call with the words of a command line, the last of
// which is to be completed.
const completer = "__complete"

func (c *cli) completion(args []string) {
	if len(args) != 1 || !slices.Contains(shells, args[0]) {
		near := ""
		if len(args) == 1 {
			near = text.Meant(args[0], shells)
		}
		wrong("completion: want one shell of %s%s", strings.Join(shells, ", "), near)
	}
	fail.Must(c.out.Write(fail.Must(completionFiles.ReadFile("completion/nncc." + args[0]))))
}

// word is a candidate with what it means.
type word struct{ text, doc string }

// complete prints what the last word may be, a line each, with a tab before what
// it means. Nothing: a file, or anything.
func (c *cli) complete(words []string) int {
	for _, w := range candidates(words) {
		fmt.Fprintf(c.out, "%s\t%s\n", w.text, w.doc)
	}
	return exitOK
}

// candidates are what the last word may be.
func candidates(words []string) []word {
	if len(words) == 0 {
		return nil
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	verb, words := "compile", whole(before)
	at := firstWord(words)
	if at < len(words) && verbs[words[at]] != nil {
		verb = words[at]
	}
	fs := verbFlags(&cli{}, verb)
	if strings.HasPrefix(last, "-") && strings.Contains(last, "=") {
		flag, value, _ := strings.Cut(last, "=")
		return prefixed(values(fs, flag), value, flag+"=")
	}
	if flag := valueOf(fs, before, last); flag != "" {
		return prefixed(values(fs, flag), strings.TrimPrefix(last, "="), "")
	}
	if strings.HasPrefix(last, "-") {
		return prefixed(flagWords(fs), last, "")
	}
	return prefixed(arguments(verb, at == len(words)), last, "")
}

// whole joins what bash makes three words of: a flag, = and its value.
func whole(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		if n := len(out); words[i] == "=" && n > 0 && i+1 < len(words) {
			out[n-1] += "=" + words[i+1]
			i++
			continue
		}
		out = append(out, words[i])
	}
	return out
}

// valueOf is the flag of which the last word is the value; "": of none.
func valueOf(fs *pflag.FlagSet, before []string, last string) string {
	flag := ""
	switch n := len(before); {
	case n > 1 && before[n-1] == "=":
		flag = before[n-2]
	case n > 0 && last == "=":
		flag = before[n-1]
	case n > 0:
		if f := fs.Lookup(strings.TrimLeft(before[n-1], "-")); f != nil && f.NoOptDefVal == "" {
			flag = before[n-1]
		}
	}
	if !strings.HasPrefix(flag, "-") {
		return ""
	}
	return flag
}

func prefixed(list []word, prefix, before string) []word {
	var out []word
	for _, w := range list {
		if strings.HasPrefix(w.text, prefix) {
			w.text = before + w.text
			out = append(out, w)
		}
	}
	return out
}

func flagWords(fs *pflag.FlagSet) []word {
	out := []word{{"--help", "show help"}}
	fs.VisitAll(func(f *pflag.Flag) {
		_, doc := pflag.UnquoteUsage(f)
		doc, _, _ = strings.Cut(doc, "\n")
		out = append(out, word{"--" + f.Name, doc})
	})
	return out
}

// values are the words that a flag's value may be, as far as they are known.
func values(fs *pflag.FlagSet, flag string) []word {
	f := fs.Lookup(strings.TrimLeft(flag, "-"))
	if f == nil {
		return nil
	}
	var list []string
	switch f.Name {
	case "board", "for":
		return boardWords()
	case "project":
		list = codegen.Projects()
	case "pass", "stop-after":
		for _, s := range lower.Table {
			w := word{s.Name, s.Doc}
			if f.Name == "pass" {
				w.text += "=off"
			}
			list = append(list, w.text)
		}
	default:
		kind, _ := pflag.UnquoteUsage(f)
		if !strings.Contains(kind, "|") || strings.ContainsAny(kind, " =[") {
			return nil
		}
		list = strings.Split(kind, "|")
	}
	return lists.Map(list, func(s string) word { return word{s, ""} })
}

func boardWords() []word {
	var out []word
	for _, n := range boards.List() {
		w := word{text: n}
		if s, err := boards.Load(n); err == nil {
			w.doc = s.Doc
		}
		out = append(out, w)
	}
	return out
}

// arguments are what stands behind a verb; first: or the verb itself.
func arguments(verb string, first bool) []word {
	var out []word
	add := func(names []string, doc func(string) string) {
		out = append(out, lists.Map(names, func(n string) word { return word{n, doc(n)} })...)
	}
	none := func(string) string { return "" }
	names := verbNames()
	switch {
	case first:
		add(names, func(n string) string { return verbs[n].doc })
	case verb == "help":
		add(slices.Sorted(maps.Keys(topics)), func(n string) string { return title(topics[n]) })
		add(names, func(n string) string { return verbs[n].doc })
	case verb == "boards":
		return boardWords()
	case verb == "completion":
		add(shells, none)
	}
	return out
}

func title(topic string) string {
	l, _, _ := strings.Cut(topic, "\n")
	return l
}

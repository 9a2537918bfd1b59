// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/lower"
)

//go:embed completion
var completionFiles embed.FS

// shells for which there is a script.
var shells = []string{"bash", "zsh", "fish"}

// completer is what the scripts call with the words of a command line, the last of
// which is to be completed.
const completer = "__complete"

// completion prints the script of a shell.
func (c *cli) completion(args []string) error {
	if len(args) != 1 || !slices.Contains(shells, args[0]) {
		near := ""
		if len(args) == 1 {
			near = text.Meant(args[0], shells)
		}
		return &driver.UsageError{Msg: "completion: want one shell of " + strings.Join(shells, ", ") + near}
	}
	b, err := completionFiles.ReadFile("completion/nncc." + args[0])
	if err != nil {
		return err
	}
	_, err = c.out.Write(b)
	return err
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
	var out []word
	for _, s := range list {
		out = append(out, word{s, ""})
	}
	return out
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
		for _, n := range names {
			out = append(out, word{n, doc(n)})
		}
	}
	none := func(string) string { return "" }
	names := slices.Sorted(maps.Keys(verbs))
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

// title is the first line of a topic.
func title(topic string) string {
	l, _, _ := strings.Cut(topic, "\n")
	return l
}

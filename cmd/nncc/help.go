// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/bug"
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

// help prints a topic, the help of a verb, or of nncc.
func (c *cli) help(args []string) error {
	if len(args) > 1 {
		return &driver.UsageError{Msg: fmt.Sprintf("help: %d arguments, want one topic or verb", len(args))}
	}
	if len(args) == 0 {
		fmt.Fprint(c.out, guides())
		return nil
	}
	name := args[0]
	if s, ok := topics[name]; ok {
		fmt.Fprint(c.out, s)
		return nil
	}
	v, ok := verbs[name]
	if !ok {
		all := slices.Sorted(maps.Keys(topics))
		near := text.Meant(name, slices.Concat(all, slices.Sorted(maps.Keys(verbs))))
		return &driver.UsageError{Msg: fmt.Sprintf("help: there is no topic or verb %s%s; topics: %s", text.Line(name),
			near, strings.Join(all, ", "))}
	}
	fs := verbFlags(c, name)
	fs.BoolP("help", "h", false, "show help")
	fmt.Fprint(c.out, v.help(name, fs))
	return nil
}

// guides lists topics and verbs.
func guides() string {
	var b strings.Builder
	b.WriteString("Guides (nncc help TOPIC):\n")
	for _, n := range slices.Sorted(maps.Keys(topics)) {
		fmt.Fprintf(&b, "  %-13s %s\n", n, title(topics[n]))
	}
	b.WriteString("\nVerbs (nncc VERB -h shows the flags of each; without a verb nncc compiles):\n")
	for _, n := range slices.Sorted(maps.Keys(verbs)) {
		fmt.Fprintf(&b, "  %-13s %s\n", n, verbs[n].doc)
	}
	return b.String()
}

func noFlags(*cli, *pflag.FlagSet) {}

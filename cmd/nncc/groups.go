// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// flagGroups are the flags as help shows them. A flag in none is of the first.
var flagGroups = []struct{ title, names string }{
	{"common", ""},
	{"model", "dim set functions state stream limit"},
	{"quantisation", "calib calib-method bias-correction weight-rounding equalize precision weights layers-config " +
		"sensitivity fixed-point-weights fixed-point-activations io dequantize"},
	{"kernels and rewrites", "kernels optimize align pad-input fuse legalize dead-channels only outputs io-layout " +
		"cmsis-nn-include cmsis-nn-lib"},
	{"memory", "max-ram max-flash weights-file stage-weights"},
	{"gates", "max-segments max-fallback max-growth min-top1 min-sqnr strict junit"},
	{"debugging", "layers tensors dump-ir pass stop-after time-passes verbose"},
}

// groupOf is the title of a flag's group.
func groupOf(name string) string {
	for _, g := range flagGroups {
		for _, n := range strings.Fields(g.names) {
			if n == name {
				return g.title
			}
		}
	}
	return flagGroups[0].title
}

// grouped are the flags of a set by group; groups without flags are left out.
func grouped(fs *pflag.FlagSet) (titles []string, sets map[string]*pflag.FlagSet) {
	sets = map[string]*pflag.FlagSet{}
	fs.VisitAll(func(f *pflag.Flag) {
		g := groupOf(f.Name)
		if sets[g] == nil {
			sets[g] = pflag.NewFlagSet(g, pflag.ContinueOnError)
		}
		sets[g].AddFlag(f)
	})
	for _, g := range flagGroups {
		if sets[g.title] != nil {
			titles = append(titles, g.title)
		}
	}
	return titles, sets
}

// flagsText is the part of help about flags.
func flagsText(fs *pflag.FlagSet) string {
	titles, sets := grouped(fs)
	if len(titles) < 2 {
		return "Flags:\n" + fs.FlagUsages()
	}
	var b strings.Builder
	for i, t := range titles {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "Flags, %s:\n%s", t, sets[t].FlagUsages())
	}
	return b.String()
}

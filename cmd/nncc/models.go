// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
)

// Verbs that take several models.
const takesSeveral = "compile verify explain profile"

// modelArgs are the models of a command line, and what its flags say of each.
type modelArgs struct {
	models []string
	common []string   // arguments about all models
	own    [][]string // and about one of them, by model
	twice  []string   // what there is to say of flags that have one value and were given two
}

// splitModels finds the models among the arguments, and the flags that say MODEL=VALUE: of
// one model. A flag that does not fit is left where it is, for the parser to refuse.
func splitModels(verb string, args []string, fs *pflag.FlagSet) (*modelArgs, error) {
	a := &modelArgs{}
	later := a.scan(args, fs)
	if len(a.models) < 2 || !slices.Contains(strings.Fields(takesSeveral), verb) {
		a.common = args
		for _, x := range later {
			if err := ofNoModel(x.flag, x.value, nil); err != nil && len(a.models) == 1 {
				return nil, err
			}
		}
		return a, nil
	}
	a.own = make([][]string, len(a.models))
	names := driver.Prefixes(a.models)
	// --name first: what it gives is a model's name for the other flags
	slices.SortStableFunc(later, func(x, y ofOne) int { return rank(x.flag) - rank(y.flag) })
	for _, x := range later {
		key, value, _ := strings.Cut(x.value, "=")
		k, err := a.find(x.flag, key, names)
		switch {
		case err != nil:
			return nil, err
		case k < 0:
			if err := ofNoModel(x.flag, x.value, names); err != nil {
				return nil, err
			}
			a.common = append(a.common, "--"+x.flag+"="+x.value)
			continue
		}
		for _, old := range a.own[k] {
			before, ok := strings.CutPrefix(old, "--"+x.flag+"=")
			if ok && before != value && !listed(fs.Lookup(x.flag)) {
				a.twice = append(a.twice, twice(x.flag, key+"="+before, x.value))
			}
		}
		a.own[k] = append(a.own[k], "--"+x.flag+"="+value)
		if x.flag == "name" {
			names[k] = value
		}
	}
	return a, nil
}

// ofOne is a flag with a value KEY=VALUE, which may be that of one model.
type ofOne struct{ flag, value string }

// scan tells models, flags of all models and flags of one apart; it returns the last.
func (a *modelArgs) scan(args []string, fs *pflag.FlagSet) (later []ofOne) {
	given := map[string]string{}
	for i := 0; i < len(args); i++ {
		s := args[i]
		if s == "--" {
			a.models = append(a.models, args[i+1:]...)
			break
		}
		if len(s) < 2 || s[0] != '-' {
			a.models = append(a.models, s)
			continue
		}
		name, value, has := strings.Cut(strings.TrimPrefix(s, "--"), "=")
		f := fs.Lookup(name)
		if !strings.HasPrefix(s, "--") || f == nil || !has && (f.NoOptDefVal != "" || i+1 == len(args)) {
			a.common = append(a.common, s)
			continue
		}
		if !has {
			i++
			value = args[i]
		}
		if flagRules[name].each && strings.Contains(value, "=") {
			later = append(later, ofOne{name, value})
			continue
		}
		if old, ok := given[name]; ok && old != value && !listed(f) {
			a.twice = append(a.twice, twice(name, old, value))
		}
		given[name] = value
		a.common = append(a.common, "--"+name+"="+value)
	}
	return later
}

// twice is what there is to say of a flag that has one value and was given two.
func twice(flag, old, value string) string {
	return fmt.Sprintf("--%s is given as %s and as %s: the last one counts", flag, text.Line(old), text.Line(value))
}

// listed: every value of the flag counts.
func listed(f *pflag.Flag) bool {
	return strings.HasSuffix(f.Value.Type(), "Array") || strings.HasSuffix(f.Value.Type(), "Slice")
}

// warnTwice warns of flags that were given two values.
func (c *cli) warnTwice(twice []string) error {
	for _, s := range twice {
		if c.cfg.Strict {
			return &driver.UsageError{Msg: s + " (--strict)"}
		}
		fmt.Fprintf(c.err, "nncc: warning: %s\n", s)
	}
	return nil
}

// ofNoModel refuses a value MODEL=VALUE where no model is called so; names are those of several
// models. A value that has a = of its own, as files may, is none.
func ofNoModel(flag, value string, names []string) error {
	r := flagRules[flag]
	if r.equals {
		return nil
	}
	if r.path {
		if _, err := os.Stat(value); err == nil {
			return nil
		}
	}
	key, rest, _ := strings.Cut(value, "=")
	if names == nil {
		return &driver.UsageError{Msg: fmt.Sprintf("--%s %s: MODEL=VALUE is for several models; with one write "+
			"--%s %s", flag, text.Line(value), flag, text.Line(rest))}
	}
	called := "no model is called " + text.Line(key) + text.Meant(key, names)
	if key == "" {
		called = "there is no name in front of ="
	}
	return &driver.UsageError{Msg: fmt.Sprintf("--%s %s: %s; MODEL is one of %s", flag, text.Line(value), called,
		strings.Join(names, ", "))}
}

func rank(flag string) int {
	if flag == "name" {
		return 0
	}
	return 1
}

// find is the model that a key names: its C prefix, its path, its file name with or without
// extension. -1: none, the value is about all models.
func (a *modelArgs) find(flag, key string, names []string) (int, error) {
	if k := slices.Index(names, key); k >= 0 {
		return k, nil
	}
	var found []int
	for _, name := range []func(path string) string{filepath.Clean, filepath.Base, stem} {
		for k, m := range a.models {
			if name(m) == filepath.Clean(key) {
				found = append(found, k)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	switch len(found) {
	case 0:
		return -1, nil
	case 1:
		return found[0], nil
	}
	return 0, &driver.UsageError{Msg: fmt.Sprintf("--%s %s=...: %d models have this name; want one of %s", flag,
		text.Line(key), len(found), strings.Join(names, ", "))}
}

// all are the arguments without what they say of single models.
func (a *modelArgs) all() []string {
	if a.own == nil {
		return a.common
	}
	return slices.Concat(a.common, []string{"--"}, a.models)
}

// stem is a file's name without extension.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// parseModels parses the flags for each of several models; c has those of the command.
func (c *cli) parseModels(verb string, a *modelArgs) (err error) {
	defer fail.Catch(&err)
	for k := range a.own {
		m := a.models[k]
		d := &cli{ctx: c.ctx, out: c.out, err: c.err, args: c.args, terminal: c.terminal, said: c.said}
		d.fs = verbFlags(d, verb)
		d.fs.BoolP("help", "h", false, "")
		if err := d.fs.Parse(slices.Concat(a.common, a.own[k], []string{"--", m})); err != nil {
			return flagError(err, verb, d.fs)
		}
		d.told(verb)
		if d.cfg.Name != "" && !slices.ContainsFunc(a.own[k], func(s string) bool {
			return strings.HasPrefix(s, "--name=")
		}) {
			return &driver.UsageError{Msg: fmt.Sprintf("--name %s: with several models want MODEL=PREFIX, "+
				"MODEL one of %s", text.Line(d.cfg.Name), strings.Join(driver.Prefixes(a.models), ", "))}
		}
		d.cfg.Model = m
		fail.Check(written(m))
		fail.Check(d.ownFit(verb, a.own[k]))
		c.each = append(c.each, &d.cfg)
	}
	return nil
}

// ownFit refuses flags of one model that mean nothing beside its others; those of all
// models are looked at once, by flagsFit.
func (c *cli) ownFit(verb string, own []string) error {
	for _, s := range own {
		name, _, _ := strings.Cut(strings.TrimPrefix(s, "--"), "=")
		if err := c.flagFits(verb, name); err != nil {
			return err
		}
	}
	return nil
}

// told notes which flags the user gave.
func (c *cli) told(verb string) {
	c.cfg.Told = map[string]bool{}
	c.fs.Visit(func(f *pflag.Flag) { c.cfg.Told[f.Name] = true })
	c.cfg.RunsSamples = slices.Contains(strings.Fields(tries+" bisect"), verb) &&
		len(c.cfg.Inputs) == 0 && c.cfg.Golden == ""
	c.cfg.Context = c.ctx
}

// models are the configurations of the models of the command, one for each.
func (c *cli) models(args []string) ([]*driver.Config, error) {
	if len(c.each) == 0 {
		if err := c.model(args); err != nil {
			return nil, err
		}
		return []*driver.Config{&c.cfg}, nil
	}
	c.showProgress()
	for _, d := range c.each {
		d.Note = c.cfg.Note
	}
	return c.each, nil
}

// inputFiles are the files that the command reads.
func (c *cli) inputFiles() []string {
	list := append(c.cfg.InputFiles(), c.reads...)
	for _, d := range c.each {
		list = append(list, d.InputFiles()...)
	}
	return list
}

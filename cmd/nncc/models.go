// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/surgery"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/spf13/pflag"
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
	lists.Sort(later, func(x, y ofOne) int { return rank(x.flag) - rank(y.flag) })
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
		fail.Check(ours(m))
		d.ownFit(verb, a.own[k])
		c.each = append(c.each, &d.cfg)
	}
	return nil
}

// ownFit refuses flags of one model that mean nothing beside its others; those of all
// models are looked at once, by flagsFit.
func (c *cli) ownFit(verb string, own []string) {
	for _, s := range own {
		name, _, _ := strings.Cut(strings.TrimPrefix(s, "--"), "=")
		fail.Check(c.flagFits(verb, name))
	}
}

func (c *cli) told(verb string) {
	c.cfg.Told = map[string]bool{}
	c.fs.Visit(func(f *pflag.Flag) { c.cfg.Told[f.Name] = true })
	c.cfg.RunsSamples = slices.Contains(strings.Fields(tries+" bisect"), verb) &&
		len(c.cfg.Inputs) == 0 && c.cfg.Golden == ""
	c.cfg.Context = c.ctx
}

// models are the configurations of the models of the command, one for each.
func (c *cli) models(args []string) []*driver.Config {
	if len(c.each) == 0 {
		c.model(args)
		return []*driver.Config{&c.cfg}
	}
	c.showProgress()
	for _, d := range c.each {
		d.Note = c.cfg.Note
	}
	return c.each
}

func (c *cli) inputFiles() []string {
	list := append(c.cfg.InputFiles(), c.reads...)
	for _, d := range c.each {
		list = append(list, d.InputFiles()...)
	}
	return list
}

func (c *cli) check([]string) {
	fs := fail.Must(c.cfg.CheckModel())
	c.progress.done()
	if fs.Count(diag.Error) > 0 || c.cfg.Strict && len(fs) > 0 {
		c.status = exitUsage
	}
	c.show(driver.Findings(fs), func() string {
		s := strings.Join(lists.Map(fs, func(d *diag.Diag) string { return text.Line(d.String()) + "\n" }), "")
		switch {
		case len(fs) == 0:
			s = text.Line(c.cfg.Model) + ": no findings\n"
		case fs.Count(diag.Error) == 0:
			s += text.Line(c.cfg.Model) + ": valid " + c.cfg.Format() + "\n"
		}
		return s
	})
}

func (c *cli) bisect([]string) {
	b, err := c.cfg.Bisect()
	gate := exceeded(err)
	c.warnings()
	c.differs(b.Guilty != "")
	c.show(b, text.Lines(b).Text)
	fail.Check(gate)
}

func (c *cli) legalize([]string) {
	c.writeModel(fail.Must(c.cfg.LegalizeModel(c.only, c.outputs)), "-legal.onnx")
}

// sensitivity takes the place of a verb when its flag is set.
func (c *cli) sensitivity() {
	if c.cfg.Eval.Propose != "" {
		c.propose()
		return
	}
	r := fail.Must(c.cfg.RankLayers())
	c.warnings()
	c.show(r, func() string { return report.SensitivityText(r) })
}

func (c *cli) quantize([]string) {
	l := fail.Must(c.cfg.QuantizeModel())
	c.writeModel(l, "-"+l.Precision+".onnx")
}

// named is a model's name without its folder and format.
func named(model string) string {
	name := filepath.Base(model)
	return strings.TrimSuffix(strings.TrimSuffix(name, ".onnx"), ".tflite")
}

// modelFile is the file for a model that is written as ONNX: a name that says another format is refused.
func (c *cli) modelFile(suffix string) string {
	path := c.cfg.Out
	if path == "" {
		return named(c.cfg.Model) + suffix // here, as compile: models may lie where nobody writes
	}
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".tflite", ".lite", ".pb", ".pt", ".pth", ".h5", ".keras", ".ort":
		wrong("--out %s: the model is written as ONNX, not as %s; want a name that ends in .onnx", path, ext)
	}
	return path
}

// put writes a model unless it differs from what it was made of.
func (c *cli) put(differs error, path string, write func(path string) error) {
	if differs != nil {
		c.differs(true)
		fmt.Fprintf(c.err, "nncc: %v\nnncc: nothing is written\n", differs)
		return
	}
	fail.Check(write(path))
}

// writeModel writes a rewritten model and says what was done to it.
func (c *cli) writeModel(l *driver.Rewritten, suffix string) {
	c.warnings()
	path, write := c.modelFile(suffix), !c.reportOnly && l.Differs == nil
	if write || l.Differs != nil {
		c.put(l.Differs, path, l.Write)
	}
	c.show(l, func() string {
		s := l.Text()
		if write {
			s += fmt.Sprintf("wrote %s (%d bytes)\n", text.Line(path), len(l.Model))
		}
		if write && l.Native != nil {
			s += fmt.Sprintf("its outputs are the accelerator's; %s.json says how the original ones follow (--outputs "+
				"original appends the nodes that do it)\n", path)
		}
		return s
	})
}

func surgeryFlags(c *cli, fs *pflag.FlagSet) {
	fs.StringP("file", "f", "", "the script: `FILE.yaml`")
	fs.Bool("steps", false, "list the steps that a script may have")
	fs.StringVar(&c.cfg.Out, "out", "", "`FILE.onnx` to write (default: the model's name with -surgery, in the "+
		"current folder)")
	fs.StringArrayVar(&c.cfg.Inputs, "input", nil,
		"inputs to compare with: `NAME=FILE.npy`, FILE.npy in graph order, or one .npz (repeatable)")
	fs.IntVar(&c.cfg.Cases, "cases", 3, "`N` inputs that a comparison runs, seeded ones behind those given")
	fs.StringArrayVar(&c.cfg.Dims, "dim", nil, "size of a symbolic dimension in comparisons: `NAME=N` (repeatable)")
	fs.StringArrayVar(&c.cfg.Functions, "functions", nil, "`FILE` of ONNX functions for custom operators (repeatable)")
	fs.BoolVar(&c.cfg.JSON, "json", false, "print JSON")
	limitFlag(c, fs)
	quietFlag(c, fs)
}

func (c *cli) surgery(args []string) {
	if list, _ := c.fs.GetBool("steps"); list {
		c.surgerySteps()
		return
	}
	c.oneModel(args)
	c.showProgress()
	script, _ := c.fs.GetString("file")
	s := fail.Must(c.cfg.Surgery(script))
	c.warnings()
	path := c.modelFile("-surgery.onnx")
	c.put(s.Differs, path, s.Write)
	c.show(s, func() string {
		said := s.Text()
		if s.Differs == nil {
			said += fmt.Sprintf("wrote %s (%d bytes)\n", text.Line(path), s.Bytes())
			for _, f := range s.Files {
				said += fmt.Sprintf("wrote %s beside it\n", text.Line(f))
			}
		}
		return said
	})
}

func (c *cli) surgerySteps() {
	t := surgery.StepTable()
	c.show(t, func() string {
		var b strings.Builder
		for _, s := range t {
			fmt.Fprintf(&b, "%s\n    %s\n", s.Name, s.Doc)
			if len(s.Keys) > 0 {
				fmt.Fprintf(&b, "    keys: %s\n", strings.Join(s.Keys, ", "))
			}
			fmt.Fprintf(&b, "    - %s\n", s.Example)
		}
		return b.String()
	})
}

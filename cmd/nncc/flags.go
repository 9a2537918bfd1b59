// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/lower/option"
	"github.com/spf13/pflag"
)

// flagRule says to which verbs a flag applies. A flag of another verb is
// refused, never ignored.
type flagRule struct {
	verbs string // separated by blanks
	// needs gives, for verbs where the flag means something only beside another
	// one, what is missing; "" where nothing is.
	needs func(c *cli, verb string) string
	// check refuses values, beside what the flag's type does.
	check func(v string) error
	// path: the value names what is read.
	path bool
	// each: with several models, MODEL=VALUE speaks of one of them.
	each bool
	// equals: the flag's own values have a =, NAME=VALUE.
	equals bool
}

// Verbs that make a program, and those that also run it on the machine.
const (
	makes  = "compile verify run explain profile"
	lowers = makes + " bisect eval tune" // and those that only run the stages
	tries  = "verify profile"
)

// every verb, with those that print an accelerator's programs.
var every = strings.Join(append([]string{"compile verify run eval bisect check explain legalize quantize profile " +
	"boards ops passes version kernels surgery diff cost tune"}, printers()...), " ")

// flagRules are the flags with the verbs that they apply to.
var flagRules = map[string]flagRule{
	"board":                   {verbs: lowers + " legalize", path: true},
	"out":                     {verbs: makes + " legalize quantize surgery", needs: profilesOne},
	"name":                    {verbs: makes, needs: program, each: true},
	"calib":                   {verbs: lowers + " legalize quantize", needs: program, path: true, each: true},
	"preprocess":              {verbs: lowers + " legalize quantize", path: true, each: true, equals: true},
	"postprocess":             {verbs: makes + " eval", path: true, each: true, equals: true},
	"calib-method":            {verbs: lowers + " legalize quantize", needs: program, each: true},
	"bias-correction":         {verbs: lowers + " legalize quantize", needs: program, each: true},
	"weight-rounding":         {verbs: lowers + " legalize quantize", needs: program, each: true},
	"equalize":                {verbs: lowers + " legalize quantize", needs: program, each: true},
	"precision":               {verbs: lowers + " legalize quantize", needs: program, each: true},
	"weights":                 {verbs: lowers + " legalize quantize", needs: program, each: true},
	"layers-config":           {verbs: lowers + " legalize quantize", needs: program, path: true, each: true},
	"sensitivity":             {verbs: makes + " quantize"},
	"fixed-point-weights":     {verbs: lowers + " legalize quantize", needs: program, each: true, equals: true},
	"fixed-point-activations": {verbs: lowers + " legalize quantize", needs: program, each: true, equals: true},
	"dim":                     {verbs: lowers + " legalize quantize check surgery", each: true, equals: true},
	"set":                     {verbs: lowers + " legalize quantize check", each: true, equals: true},
	"functions":               {verbs: lowers + " legalize quantize check surgery", path: true, each: true},
	"max-segments":            {verbs: makes, needs: program, check: notNegative},
	"max-fallback":            {verbs: makes, needs: program, check: notNegative},
	"max-ram":                 {verbs: lowers, needs: program},
	"max-flash":               {verbs: makes, needs: program},
	"dead-channels":           {verbs: lowers, needs: program, each: true},
	"state":                   {verbs: lowers + " legalize quantize", needs: stateful, each: true, equals: true},
	"stream":                  {verbs: lowers + " legalize", needs: stateful, each: true, equals: true},
	"fuse":                    {verbs: lowers + " legalize", needs: program, each: true},
	"legalize":                {verbs: lowers + " legalize quantize", needs: programOrLegalize, each: true},
	"kernels":                 {verbs: lowers + " legalize", needs: program, each: true},
	"align":                   {verbs: lowers + " legalize", needs: alignment, each: true},
	"pad-input":               {verbs: lowers + " legalize", needs: alignment, each: true},
	"optimize":                {verbs: lowers + " legalize", needs: program},
	"cmsis-nn-include":        {verbs: makes + " legalize", needs: program, path: true},
	"cmsis-nn-lib":            {verbs: makes + " legalize", needs: program, path: true},
	"io":                      {verbs: lowers + " legalize", needs: program, each: true},
	"io-layout":               {verbs: lowers + " legalize", needs: program, each: true},
	"dump-ir":                 {verbs: lowers, needs: program},
	"pass":                    {verbs: lowers, needs: program},
	"stop-after":              {verbs: "compile", needs: programIsMade},
	"time-passes":             {verbs: lowers, needs: program},
	"project":                 {verbs: makes, needs: program, check: notOnlyCommas},
	"weights-file":            {verbs: makes, needs: program},
	"stage-weights":           {verbs: makes, needs: program},
	"layers":                  {verbs: "verify"},
	"junit":                   {verbs: makes + " eval diff"},
	"html":                    {verbs: "explain profile diff", needs: profilesOne},
	"markdown":                {verbs: "diff", needs: notJSON},
	"max-growth":              {verbs: "diff"},
	"strict":                  {verbs: lowers + " legalize quantize check surgery"},
	"limit":                   {verbs: lowers + " legalize quantize check surgery"},
	"json":                    {verbs: strings.TrimSuffix(every, " help")},
	"input": {verbs: tries + " run bisect legalize surgery", needs: noGolden, path: true, each: true,
		equals: true},
	"cases":       {verbs: tries + " surgery", needs: noCases, check: casesInRange},
	"golden":      {verbs: tries, path: true, each: true},
	"measured":    {verbs: "profile", path: true, each: true},
	"record":      {verbs: "verify", needs: noGolden, each: true},
	"tolerance":   {verbs: tries, needs: golden, check: finite, each: true},
	"data":        {verbs: "eval", path: true},
	"labels":      {verbs: "eval", path: true},
	"classes":     {verbs: "eval", path: true},
	"scores":      {verbs: "eval"},
	"top-k":       {verbs: "eval", check: positive},
	"qemu":        {verbs: "eval", needs: program, check: casesInRange},
	"sequence":    {verbs: "eval", check: positive},
	"min-top1":    {verbs: "eval"},
	"min-sqnr":    {verbs: makes + " quantize eval", needs: measured},
	"propose":     {verbs: makes + " quantize eval", needs: sensitive},
	"dequantize":  {verbs: "run", needs: program},
	"tensors":     {verbs: "run"},
	"only":        {verbs: "legalize", check: notOnlyCommas},
	"outputs":     {verbs: "legalize"},
	"report-only": {verbs: "legalize"},
	"file":        {verbs: "surgery", path: true},
	"steps":       {verbs: "surgery"},
	"for":         {verbs: "boards", check: notBlank},
	"together":    {verbs: "profile", needs: twoModels},
	"ram":         {verbs: "profile", needs: oneModel},
	"verbose":     {verbs: lowers + " legalize quantize surgery"},
	"quiet":       {verbs: lowers + " legalize quantize check surgery"},
	"help":        {verbs: every},
}

// program: run interprets the float model unless there is a board, and
// legalize looks at a program only to decide what alignment pays.
func program(c *cli, verb string) string {
	switch {
	case (verb == "run" || verb == "eval") && c.cfg.Board == "" && !c.cfg.Sensitivity:
		return "--board (without it the float model runs as it is)"
	case verb == "legalize" && (c.cfg.Board == "" || !slices.Contains(c.only, "align") || c.fs.Changed("align") &&
		c.cfg.Align != option.AlignAuto):
		return "--only align --align auto --board NAME, which tries programs out"
	}
	return ""
}

func programOrLegalize(c *cli, verb string) string {
	if verb == "legalize" {
		return ""
	}
	return program(c, verb)
}

// programIsMade: behind a stage there is no program to write.
func programIsMade(c *cli, verb string) string {
	for _, f := range []string{"out", "name", "project", "max-segments", "max-fallback", "max-ram", "max-flash"} {
		if c.fs.Changed(f) {
			return "a command without --" + f + ": nothing but the graph is printed"
		}
	}
	return program(c, verb)
}

// measured: what calibration or eval measured is a gate of programs, and what --propose
// reaches.
func measured(c *cli, verb string) string {
	if c.cfg.Sensitivity || verb == "quantize" {
		return sensitive(c, verb)
	}
	return program(c, verb)
}

// sensitive: beside eval, a mix of precisions is part of ranking layers.
func sensitive(c *cli, verb string) string {
	switch {
	case verb == "eval":
		return program(c, verb)
	case !c.cfg.Sensitivity || c.cfg.Eval.Propose == "":
		return "--sensitivity, where --propose FILE and --min-sqnr stand together"
	case verb == "quantize":
		return "another verb with a --board, for which the layers have their cost: nncc --sensitivity --board NAME"
	}
	return ""
}

func stateful(c *cli, verb string) string {
	if verb == "run" || verb == "eval" {
		return ""
	}
	return program(c, verb)
}

func alignment(c *cli, verb string) string {
	if verb != "legalize" {
		return program(c, verb)
	}
	if !slices.Contains(c.only, "align") {
		return "--only align"
	}
	return ""
}

func golden(c *cli, verb string) string {
	if c.cfg.Golden == "" {
		return "--golden"
	}
	return ""
}

// noGolden: stored cases bring their inputs.
func noGolden(c *cli, verb string) string {
	if c.cfg.Golden != "" {
		return "a command without --golden, whose cases have inputs of their own"
	}
	return ""
}

func noCases(c *cli, verb string) string {
	if len(c.cfg.Inputs) > 0 && verb != "surgery" {
		return "a command without --input, which is the one case"
	}
	return noGolden(c, verb)
}

func profilesOne(c *cli, verb string) string {
	switch {
	case verb == "profile" && len(c.fs.Args()) == 2 && !c.together:
		return "one firmware: two models are before and after, unless with --together"
	case verb == "legalize" && c.reportOnly:
		return "a command without --report-only"
	}
	return ""
}

// oneModel: and no budget, because all of them are tried.
func oneModel(c *cli, _ string) string {
	if len(c.fs.Args()) != 1 || c.fs.Changed("max-ram") || c.fs.Changed("out") {
		return "one model, without --max-ram and --out"
	}
	return ""
}

func twoModels(c *cli, _ string) string {
	if len(c.fs.Args()) < 2 {
		return "two or more models"
	}
	return ""
}

func notNegative(v string) error {
	if n, err := strconv.Atoi(v); err != nil || n < 0 {
		return errors.New("want a whole number, 0 or more")
	}
	return nil
}

func positive(v string) error {
	if n, err := strconv.Atoi(v); err != nil || n < 1 {
		return errors.New("want a whole number, 1 or more")
	}
	return nil
}

func casesInRange(v string) error {
	if n, err := strconv.Atoi(v); err != nil || n < 1 || n > driver.MaxCases {
		return fmt.Errorf("want 1 to %d cases", driver.MaxCases)
	}
	return nil
}

func finite(v string) error {
	if f, err := strconv.ParseFloat(v, 64); err != nil || !(f >= 0) || math.IsInf(f, 0) {
		return errors.New("want a finite number, 0 or more")
	}
	return nil
}

func notBlank(v string) error {
	if strings.TrimSpace(v) == "" {
		return errors.New("want a name")
	}
	return nil
}

func notOnlyCommas(v string) error {
	for _, s := range strings.Split(v, ",") {
		if strings.TrimSpace(s) == "" {
			return errors.New("a name between commas is missing")
		}
	}
	return nil
}

// checked is a flag's value that refuses what its rule does, and empty ones.
type checked struct {
	pflag.Value
	check func(v string) error
}

func (v checked) Set(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("the value is empty")
	}
	if v.check != nil {
		if err := v.check(s); err != nil {
			return err
		}
	}
	return v.Value.Set(s)
}

func allFlags(c *cli, verb string) *pflag.FlagSet {
	all := pflag.NewFlagSet("nncc", pflag.ContinueOnError)
	for _, add := range []func(*cli, *pflag.FlagSet){commonFlags, verifyFlags, profileFlags, runFlags, evalFlags,
		bisectFlags, checkFlags, legalizeFlags, surgeryFlags, diffFlags, boardsFlags} {
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		add(c, fs)
		all.AddFlagSet(fs)
	}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	if v := verbs[verb]; v != nil && v.flags != nil {
		v.flags(c, own) // a verb says in its own words what a flag means there
		own.VisitAll(func(f *pflag.Flag) { *all.Lookup(f.Name) = *f })
	}
	return all
}

func verbFlags(c *cli, verb string) *pflag.FlagSet {
	fs := pflag.NewFlagSet("nncc "+verb, pflag.ContinueOnError)
	fs.SortFlags = true
	allFlags(c, verb).VisitAll(func(f *pflag.Flag) {
		if r := flagRules[f.Name]; r.applies(verb) {
			f.Value = checked{f.Value, r.check}
			if f.DefValue == "[]" || f.DefValue == "-1" { // nothing, no bound: not to be shown
				f.DefValue = ""
			}
			fs.AddFlag(f)
		}
	})
	return fs
}

func (r flagRule) applies(verb string) bool {
	return slices.Contains(strings.Fields(r.verbs), verb)
}

// flagsFit refuses flags that mean nothing beside the others.
func (c *cli) flagsFit(verb string) error {
	var err error
	c.fs.Visit(func(f *pflag.Flag) {
		if err == nil {
			err = c.flagFits(verb, f.Name)
		}
	})
	return err
}

func (c *cli) flagFits(verb, name string) error {
	r := flagRules[name]
	if r.needs == nil {
		return nil
	}
	if w := r.needs(c, verb); w != "" {
		return &driver.UsageError{Msg: fmt.Sprintf("--%s: with %s it applies to %s", name, verb, w)}
	}
	return nil
}

// flagError says what is wrong with the flags.
func flagError(err error, verb string, fs *pflag.FlagSet) error {
	use := func(format string, args ...any) error {
		return &driver.UsageError{Msg: fmt.Sprintf(format, args...)}
	}
	var (
		unknown *pflag.NotExistError
		value   *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if r, ok := flagRules[name]; ok {
			return use("--%s does not apply to %s; it applies to %s", name, verb,
				strings.ReplaceAll(r.verbs, " ", ", "))
		}
		dash := "--"
		if len(name) == 1 {
			dash = "-"
		}
		near := ""
		all := flagsWith(fs, func(f *pflag.Flag) bool { return len(name) > 1 || f.Name[:1] == name })
		if len(name) > 1 {
			all = slices.DeleteFunc([]string{text.Nearest(dash+name, all)}, func(n string) bool { return n == "" })
		}
		slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
		if len(all) > 0 {
			near = "; did you mean " + strings.Join(all, ", ") + "?"
		}
		return use("unknown flag %s%s%s; `nncc %s -h` lists the flags", dash, text.Line(name), near, verb)
	case errors.As(err, &value):
		f := value.GetFlag()
		kind, _ := pflag.UnquoteUsage(f)
		if f.Value.Type() == "bool" {
			kind = "true or false"
		}
		cause := value.Unwrap()
		var num *strconv.NumError
		if errors.As(cause, &num) {
			cause = fmt.Errorf("%w; want %s", num.Err, kind)
		}
		if strings.TrimSpace(value.GetValue()) == "" {
			if !strings.Contains(kind, "|") {
				kind = strings.TrimSpace("a value " + kind)
			}
			return use("--%s: %v; want %s", f.Name, cause, kind)
		}
		others := flagsWith(fs, func(f *pflag.Flag) bool {
			return slices.Contains(strings.Split(f.Value.Type(), "|"), value.GetValue())
		})
		if len(others) > 0 {
			cause = fmt.Errorf("that is %s %s; here: %w", strings.Join(others, ", "), value.GetValue(), cause)
		}
		return use("--%s %s: %v", f.Name, text.Line(value.GetValue()), cause)
	case errors.As(err, &missing):
		kind, _ := pflag.UnquoteUsage(missing.GetFlag())
		return use("--%s: no value given; want %s", missing.GetFlag().Name, kind)
	}
	return use("%v", err)
}

// flagsWith are the flags that are as asked for, by name with their dashes.
func flagsWith(fs *pflag.FlagSet, is func(f *pflag.Flag) bool) (names []string) {
	fs.VisitAll(func(f *pflag.Flag) {
		if is(f) {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

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

// onOff is the value of a flag that is on or off.
type onOff bool

func (v *onOff) String() string {
	if *v {
		return "on"
	}
	return "off"
}

// Set takes on and off only.
func (v *onOff) Set(s string) error {
	if s != "on" && s != "off" {
		return errors.New("want one of on, off" + text.Meant(s, []string{"on", "off"}))
	}
	*v = s == "on"
	return nil
}

// Type is how help shows the value.
func (v *onOff) Type() string { return "on|off" }

// SPDX-License-Identifier: Apache-2.0

// nncc compiles ONNX models to C firmware for microcontrollers.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/junit"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/option"
)

// Exit statuses of the contract.
const (
	exitOK     = 0
	exitDiffer = 1
	exitUsage  = 2
	exitGate   = 3
	exitTool   = 4
	exitBug    = 70
	exitSignal = 128 // and the number of the signal that ended nncc
)

func main() {
	ctx := onSignals()
	collect()
	os.Exit(Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// interrupted says which signal is to end the process.
type interrupted struct{ signal syscall.Signal }

func (e *interrupted) Error() string { return "ended by signal: " + e.signal.String() }

func (e *interrupted) status() int { return exitSignal + int(e.signal) }

// onSignals gives a context that the first signal ends, and with it compilers
// and emulators that run. What nncc itself computes does not look at the
// context: there, a second signal, or a moment, ends the process. Either way
// nothing temporary stays.
func onSignals() context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if hangUp != nil && !signal.Ignored(hangUp) { // nohup
		signal.Notify(signals, hangUp)
	}
	go func() {
		s, _ := (<-signals).(syscall.Signal)
		why := &interrupted{s}
		end(why)
		select {
		case <-signals:
		case <-time.After(2 * time.Second):
		}
		files.RemoveAllTemp()
		fmt.Fprintf(os.Stderr, "nncc: %v\n", why)
		os.Exit(why.status())
	}()
	return ctx
}

// Main runs one command and gives its exit status. Results go to out,
// everything else to errw.
func Main(ctx context.Context, args []string, out, errw io.Writer) (code int) {
	c := &cli{out: text.NewWriter(out), err: text.NewWriter(errw), terminal: errw, ctx: ctx, args: args,
		said: map[string]bool{}}
	var verb string
	defer func() {
		if r := recover(); r != nil {
			b, ok := r.(*pass.Bug)
			if !ok {
				behind := cmp.Or(c.cfg.Stage, "the command line")
				b = &pass.Bug{Pass: "outside of passes, behind: " + behind, Fault: bug.Recovered(r),
					Stack: string(debug.Stack())}
			}
			code = c.writeJUnit(verb, b, c.bug(b, b.Fault.Text()))
		}
		if err := c.out.Err(); err != nil && code == exitOK {
			code = c.fail(fmt.Errorf("writing the results: %w", err))
		}
	}()
	if len(args) > 0 && args[0] == completer {
		return c.complete(args[1:])
	}
	verb, rest, err := splitVerb(args)
	if err != nil {
		return c.fail(err)
	}
	v := verbs[verb]
	fs := verbFlags(c, verb)
	fs.SetOutput(io.Discard)
	c.fs = fs
	help := fs.BoolP("help", "h", false, "show help")
	split, err := splitModels(verb, doubleDash(rest, fs), fs)
	if err != nil {
		return c.fail(err)
	}
	if err := fs.Parse(split.all()); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			fmt.Fprint(c.out, v.help(verb, fs))
			return exitOK
		}
		return c.fail(flagError(err, verb, fs))
	}
	c.told(verb)
	if *help {
		fmt.Fprint(c.out, v.help(verb, fs))
		return exitOK
	}
	if err := cmp.Or(c.flagsFit(verb), c.junitFits(), c.warnTwice(split.twice)); err != nil {
		return c.fail(err)
	}
	if err := c.parseModels(verb, split); err != nil {
		return c.fail(err)
	}
	err = fail.Caught(func() { c.do(v) })
	return c.writeJUnit(verb, err, c.fail(err))
}

// do runs a verb, which may take no arguments or one model; those that take others look at them.
func (c *cli) do(v *verb) {
	args := c.fs.Args()
	switch {
	case c.cfg.Sensitivity || v.args == "MODEL":
		c.model(args)
	case v.args == "":
		noArgs(args)
	}
	if c.cfg.Sensitivity {
		c.sensitivity()
		return
	}
	v.run(c, args)
}

// cli is one invocation.
type cli struct {
	ctx        context.Context
	cfg        driver.Config
	each       []*driver.Config // of several models, one for each
	fs         *pflag.FlagSet
	out, err   *text.Writer // for people; JSON goes past it
	args       []string
	terminal   io.Writer // where progress is shown, if it is one
	status     int       // set by a verb that ends without an error, but not with 0
	progress   *progress
	only       []string
	outputs    option.Outputs
	reportOnly bool
	verbose    bool          // -v
	quiet      bool          // -q
	junit      string        // a path
	suites     []junit.Suite // for it
	page       string        // of --html
	reads      []string      // files that the verb reads beside those of cfg
	chip       string        // --for
	together   bool          // two models of profile are one firmware
	frontier   bool          // profile is about memory
	markdown   bool
	growth     []string        // --max-growth
	said       map[string]bool // diagnostics that were printed
}

// splitVerb takes the verb out of the arguments: the first word that is no flag and no flag's
// value. Without one it is compile.
func splitVerb(args []string) (string, []string, error) {
	if len(args) > 0 && (args[0] == "--version" || args[0] == "-version") {
		return "version", args[1:], nil
	}
	at := firstWord(args)
	if at == len(args) {
		return "compile", args, nil
	}
	if _, ok := verbs[args[at]]; ok {
		return args[at], slices.Concat(args[:at], args[at+1:]), nil
	}
	if verbLike.MatchString(args[at]) {
		if _, err := os.Stat(args[at]); err != nil { // a model may be called like a verb
			return "", nil, unknownVerb(args[at])
		}
	}
	return "compile", args, nil
}

// firstWord is the place of the first argument that is no flag and no flag's value; there is
// none behind "--" and behind a flag that no verb has.
func firstWord(args []string) int {
	fs := allFlags(&cli{}, "")
	fs.BoolP("help", "h", false, "")
	args = doubleDash(args, fs)
	for i := 0; i < len(args); i++ {
		s := args[i]
		if len(s) < 2 || s[0] != '-' {
			return i
		}
		name, _, has := strings.Cut(strings.TrimPrefix(s, "--"), "=")
		f := fs.Lookup(name)
		if s[1] != '-' {
			f, has = fs.ShorthandLookup(s[1:2]), len(s) > 2
		}
		if f == nil {
			break
		}
		if !has && f.NoOptDefVal == "" {
			i++
		}
	}
	return len(args)
}

// verbLike is a word that could be a verb: models have an extension or lie in a
// folder.
var verbLike = regexp.MustCompile(`^[A-Za-z][A-Za-z-]*$`)

func unknownVerb(name string) error {
	all := verbNames()
	models, _ := filepath.Glob(name + ".*")
	return &driver.UsageError{Msg: fmt.Sprintf("unknown verb %s%s; verbs: %s (or a model: FILE.onnx, FILE.tflite)",
		text.Line(name), text.Meant(name, slices.Concat(all, models)), strings.Join(all, ", "))}
}

// doubleDash accepts a single dash before a long flag name, two before a letter, and a
// letter with the path of a file behind it.
func doubleDash(args []string, fs *pflag.FlagSet) []string {
	out := make([]string, len(args))
	copy(out, args)
	for i, a := range out {
		if a == "--" {
			break
		}
		switch {
		case len(a) < 3 || a[0] != '-':
		case a[1] != '-' && long(a[1:], fs):
			out[i] = "-" + a
		case a[1] == '-' && (len(a) == 3 || a[3] == '=') && fs.ShorthandLookup(a[2:3]) != nil:
			out[i] = a[1:]
		}
	}
	return out
}

// long reports what is meant as the long name of a flag, with a value perhaps.
func long(s string, fs *pflag.FlagSet) bool {
	name, _, _ := strings.Cut(s, "=")
	if fs.Lookup(name) != nil {
		return true
	}
	if f := fs.ShorthandLookup(name[:1]); f != nil && f.NoOptDefVal == "" && strings.ContainsAny(name, "./") {
		return false // -fsteps.yaml
	}
	return len(name) > 2 && !strings.ContainsAny(name[:1], "0123456789.")
}

// fail prints an error and gives the exit status for it.
func (c *cli) fail(err error) int {
	c.progress.end()
	if err == nil {
		return c.status
	}
	var end *interrupted
	if errors.As(context.Cause(c.ctx), &end) {
		fmt.Fprintf(c.err, "nncc: %v\n", end)
		return end.status()
	}
	var (
		use  *driver.UsageError
		in   *driver.InputError
		gate *driver.GateError
		tool *run.ToolError
		rerr *run.Error
		fit  *run.FitError
		pbug *pass.Bug
	)
	switch {
	case errors.As(err, &pbug):
		return c.bug(pbug, pbug.Fault.Text())
	case bug.Is(err):
		return c.bug(nil, bug.Recovered(err).Text())
	case errors.As(err, &tool):
		fmt.Fprintf(c.err, "nncc: error: %v\n", err)
		return exitTool
	case errors.As(err, &gate):
		c.gate(gate)
		return exitGate
	case errors.As(err, &rerr):
		fmt.Fprintf(c.err, "nncc: error: %v\n", err)
		return exitDiffer
	case errors.As(err, &use), errors.As(err, &in), errors.As(err, &fit):
	}
	lines, shown := strings.Split(c.argsOnLine(err.Error()), "\n"), 0
	for i, l := range lines {
		l = text.Short(l, maxLine)
		if shown += len(l); shown > maxShown && i > 0 {
			fmt.Fprintf(c.err, "nncc: error: and %d more (nncc check lists what is wrong with a model)\n", len(lines)-i)
			break
		}
		fmt.Fprintf(c.err, "nncc: error: %s\n", l)
	}
	c.origins(err)
	return exitUsage
}

// origins says, with -v, where the diagnostics that an error consists of come from.
func (c *cli) origins(err error) {
	list := diag.In(err)
	if !c.verbose || len(list) == 0 {
		return
	}
	fmt.Fprintln(c.err, "nncc: said by [stage, code]:")
	for i, d := range list {
		if i == maxOrigins {
			fmt.Fprintf(c.err, "    and %d more\n", len(list)-i)
			break
		}
		fmt.Fprintf(c.err, "   %s %s\n", c.origin(d), text.Line(text.Short(d.Node, maxLine)))
	}
}

// argsOnLine brings arguments that a message repeats on one line.
func (c *cli) argsOnLine(msg string) string {
	for _, a := range c.args {
		for _, s := range append([]string{a}, strings.Split(a, "=")...) { // --flag=VALUE, NAME=FILE
			if l := text.Line(s); l != s && strings.TrimSpace(s) != "" {
				msg = strings.ReplaceAll(msg, s, l)
			}
		}
	}
	return msg
}

// maxLine is how much of a line of an error is shown: a model's shapes and
// equations can be long.
const maxLine = 800

// maxOrigins is of how many errors -v says where they come from.
const maxOrigins = 20

// maxShown is how much of all errors together is shown: a model of thousands of
// nodes can have hundreds of them.
const maxShown = 16 << 10

func (c *cli) gate(err error) {
	var g *driver.GateError
	if errors.As(err, &g) {
		for _, r := range g.Reasons {
			fmt.Fprintf(c.err, "nncc: gate: %s\n", text.Line(r))
		}
	}
}

// bug reports a fault of nncc itself, with what is needed to reproduce it; b says
// in which pass it happened, and is nil where that is not known.
func (c *cli) bug(b *pass.Bug, msg string) int {
	c.progress.end()
	fmt.Fprintf(c.err, "nncc: BUG: %s\n", msg)
	text := "nncc " + driver.Version + "\narguments: " + strings.Join(os.Args[1:], " ") + "\n" + msg + "\n"
	if b != nil {
		fmt.Fprintf(c.err, "nncc: %s\n", firstLine(b.Error()))
		if b.Before != nil {
			text += b.Before.String()
		}
		text += b.Stack
	}
	f, err := os.CreateTemp("", "nncc-bug-*.txt")
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err == nil {
		fmt.Fprintf(c.err, "nncc: this is a fault of nncc, not of your model; %s has what a report needs\n", f.Name())
	}
	return exitBug
}

func firstLine(s string) string {
	l, _, _ := strings.Cut(s, "\n")
	return l
}

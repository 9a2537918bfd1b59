// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// Case is one inference.
type Case struct {
	// Inputs as they stand in memory, in the model's order.
	Inputs [][]byte
	// KeepState goes on with the state the case before has left. Without it
	// the state is filled with rubbish and the model's reset function called. The
	// arena is filled with rubbish either way.
	KeepState bool
	// Fills are made while the case runs step by step (Filled), those of earlier steps first.
	Fills []Fill
}

// Options of RunWith; the zero value is what Run uses.
type Options struct {
	// Timeout of one execution; 0 means the board's, or ten minutes.
	Timeout time.Duration
	// Trace lists the cases to report step by step; nil means the one with
	// the most instructions. Only for an image built with Trace.
	Trace []int
	// TraceLargest reports the case with the most instructions, too.
	TraceLargest bool
	// Dumps of the arena and the state, for every traced case.
	Dumps []Dump

	flow *flow // reads the machine's log of executed blocks
}

// DefaultTimeout is for boards that set none.
const DefaultTimeout = 10 * time.Minute

// Result is what the machine reported.
type Result struct {
	Cases []CaseResult
	// Largest is the case with the most instructions, the first of them.
	Largest int
	// Layers are the instructions of each step: of the largest case, or of the
	// first traced one where that is not traced.
	Layers []uint64
	// StackBytes is the most any case used, from the call of the run function
	// down; zero on a host. The counter's interrupts may have added to what a case with
	// KeepState used: it does not count where others are exact. StackExact is false where
	// all are so.
	StackBytes int
	StackExact bool
	// ArenaBytes as the program has it.
	ArenaBytes int
	// Console is what the program and the machine wrote.
	Console string
}

// CaseResult is the result of one inference.
type CaseResult struct {
	// Outputs in the model's order; nil where Status is not 0.
	Outputs [][]byte
	// Status is what the model's run function returned.
	Status int
	// Instructions of the run function; 0 on a host.
	Instructions uint64
	// Layers and Dumps of a traced case; Dumps in the order of Options.Dumps.
	Layers []uint64
	Dumps  [][]byte
}

// Kind says how a run failed.
type Kind string

// Kinds of failure.
const (
	Timeout Kind = "timeout"          // no end within the time allowed
	Fault   Kind = "fault"            // the processor trapped; the console shows its registers
	Guard   Kind = "overrun"          // bytes beside the arena or the stack were written
	Broken  Kind = "broken output"    // results incomplete or damaged
	Usage   Kind = "wrong input"      // the cases do not fit the model
	Crash   Kind = "crash"            // the machine or the program ended in another way
	Differs Kind = "not reproducible" // the traced program computes something else
)

// Error is a run that failed: nothing of it can be trusted.
type Error struct {
	Kind    Kind
	Board   string
	Msg     string
	Console string
}

func (e *Error) Error() string {
	s := fmt.Sprintf("run on %s: %s: %s", e.Board, e.Kind, e.Msg)
	if c := strings.TrimSpace(e.Console); c != "" {
		s += "\n" + c
	}
	return s
}

// Exit codes of the harness (nncc_harness.h).
const (
	exitUsage = 2
	exitFault = 3
	exitGuard = 4
	exitIO    = 5
)

// interruptInstructions is the length of nncc_systick_handler (counter.c).
const interruptInstructions = 12

// emptyInstructions is the body of the function that an empty inference
// calls: it stands for a run function of that length.
const emptyInstructions = 2

// Run executes the cases on the board's machine, all in one execution.
func Run(ctx context.Context, spec *boards.Spec, im *Image, cases []Case) (*Result, error) {
	return RunWith(ctx, spec, im, cases, Options{})
}

// RunWith is Run with options. Where the image has a traced program it is
// executed as well, and has to give the same outputs.
func RunWith(ctx context.Context, spec *boards.Spec, im *Image, cases []Case, opt Options) (*Result, error) {
	res, err := All(ctx, spec, im, []Job{{cases, opt}})
	if err != nil {
		return nil, err
	}
	return res[0], nil
}

// Job is what one model of an image is to do.
type Job struct {
	Cases []Case
	Options
}

// All is RunWith for the models of an image, in the order of its harness: they run in
// turn, the first case of each, the second of each, on one arena. The results are in the
// order of the jobs.
func All(ctx context.Context, spec *boards.Spec, im *Image, jobs []Job) ([]*Result, error) {
	list, index := inTurn(jobs, func(int, int) (use, traced bool) { return true, false })
	for i := range list {
		list[i].stack = true
	}
	raw, text, err := execute(ctx, spec, im.ELF, list, make([][]Dump, len(jobs)), jobs[0].Options)
	if err != nil {
		return nil, err
	}
	var out []*Result
	for m, j := range jobs {
		out = append(out, &Result{Console: text, ArenaBytes: int(raw.models[m].arena),
			Cases: make([]CaseResult, len(j.Cases))})
	}
	for k, c := range raw.cases {
		m, i := list[k].model, index[k]
		res := out[m]
		res.Cases[i] = CaseResult{
			Outputs: c.outputs, Status: int(c.status),
			Instructions: instructions(spec, c.ticks, c.interrupts, raw.models[m].emptyRun, emptyInstructions),
		}
		res.used(int(c.stack)-im.wrapper(m), c.exact)
		if res.Cases[i].Instructions > res.Cases[res.Largest].Instructions {
			res.Largest = i
		}
	}
	if im.Traced == "" {
		for _, j := range jobs {
			if len(j.Dumps) > 0 || len(j.Trace) > 0 {
				return nil, errors.New("the image was built without BuildOptions.Trace")
			}
		}
		return out, nil
	}
	trace := make([][]int, len(jobs))
	for m, j := range jobs {
		trace[m] = j.Trace
		if trace[m] == nil || j.TraceLargest && !slices.Contains(trace[m], out[m].Largest) {
			trace[m] = append(slices.Clone(trace[m]), out[m].Largest)
		}
	}
	return out, traceCases(ctx, spec, im, jobs, trace, out)
}

// used takes what one more case used of the stack.
func (r *Result) used(stack int, exact bool) {
	switch {
	case exact && !r.StackExact:
		r.StackBytes, r.StackExact = stack, true
	case exact == r.StackExact:
		r.StackBytes = max(r.StackBytes, stack)
	}
}

// inTurn are the cases of several models as they are executed, each with its index among
// those of its model: the first of every model, then the second. use says which are
// executed, and which of them are reported step by step.
func inTurn(jobs []Job, use func(model, i int) (use, traced bool)) (list []encoded, index []int) {
	most := 0
	for _, j := range jobs {
		most = max(most, len(j.Cases))
	}
	for i := range most {
		for m, j := range jobs {
			if i >= len(j.Cases) {
				continue
			}
			if use, traced := use(m, i); use {
				list = append(list, encoded{Case: j.Cases[i], model: m, trace: traced})
				index = append(index, i)
			}
		}
	}
	return list, index
}

// traceCases executes the traced program on the cases asked for, and on those
// whose state they continue, and adds what it reports to the results.
func traceCases(ctx context.Context, spec *boards.Spec, im *Image, jobs []Job, trace [][]int, out []*Result) error {
	list, index, err := traceList(jobs, trace)
	if err != nil || len(list) == 0 {
		return err
	}
	dumps, order := make([][]Dump, len(jobs)), make([][]int, len(jobs))
	for m, j := range jobs {
		dumps[m], order[m] = sortDumps(j.Dumps)
	}
	raw, text, err := execute(ctx, spec, im.Traced, list, dumps, jobs[0].Options)
	if err != nil {
		return err
	}
	for _, res := range out {
		res.Console += text
	}
	for k, c := range raw.cases {
		i, m := index[k], list[k].model
		res := out[m]
		to := &res.Cases[i]
		if bad := to.differs(&c); bad != "" {
			return &Error{Differs, spec.Name, fmt.Sprintf("case %d: %s", i, bad), text}
		}
		if !list[k].trace || c.status != 0 {
			continue
		}
		to.Layers = make([]uint64, len(c.steps))
		for s, st := range c.steps {
			to.Layers[s] = instructions(spec, st.ticks, st.interrupts, raw.models[m].emptyStep, 0)
		}
		to.Dumps = make([][]byte, len(dumps[m]))
		for p, data := range c.dumps {
			to.Dumps[order[m][p]] = data
		}
		if res.Layers == nil || i == res.Largest {
			res.Layers = to.Layers
		}
	}
	return nil
}

// differs says in what the same case with tracing is another; "": in nothing.
func (r *CaseResult) differs(c *rawCase) string {
	if r.Status != int(c.status) || len(r.Outputs) != len(c.outputs) {
		return fmt.Sprintf("status %d, with tracing %d", r.Status, c.status)
	}
	for o := range c.outputs {
		if !bytes.Equal(r.Outputs[o], c.outputs[o]) {
			return fmt.Sprintf("output %d is not the same with tracing: the result depends on memory the model did "+
				"not write", o)
		}
	}
	return ""
}

// traceList are the cases to execute so that those to trace (of each model) find the state
// that they continue, and their places among the cases of their model.
func traceList(jobs []Job, trace [][]int) (list []encoded, index []int, err error) {
	need, traced := map[[2]int]bool{}, map[[2]int]bool{}
	for m, want := range trace {
		cases := jobs[m].Cases
		for _, i := range want {
			if i < 0 || i >= len(cases) {
				return nil, nil, fmt.Errorf("case %d is to be traced, there are %d", i, len(cases))
			}
			traced[[2]int{m, i}] = true
			for need[[2]int{m, i}] = true; i > 0 && cases[i].KeepState; need[[2]int{m, i}] = true {
				i--
			}
		}
	}
	list, index = inTurn(jobs, func(m, i int) (bool, bool) { return need[[2]int{m, i}], traced[[2]int{m, i}] })
	return list, index, nil
}

// instructions turns SysTick ticks into instructions: each takes 2^shift ns.
// empty is what measuring nothing costs, add what that nothing consisted of.
func instructions(spec *boards.Spec, ticks uint64, interrupts uint32, empty, add uint64) uint64 {
	if spec.Runner.Kind != "qemu" {
		return 0
	}
	count := func(t uint64) uint64 {
		den := uint64(spec.Runner.SysTickHz) << spec.Runner.IcountShift
		hi, lo := bits.Mul64(t, 1e9)
		lo, carry := bits.Add64(lo, den/2, 0)
		hi += carry
		if hi >= den {
			return 0
		}
		q, _ := bits.Div64(hi, lo, den)
		return q
	}
	n := count(ticks) + add
	cost := count(empty) + uint64(interrupts)*interruptInstructions
	if n < cost {
		return 0
	}
	return n - cost
}

func execute(ctx context.Context, spec *boards.Spec, elf string, cases []encoded, dumps [][]Dump,
	opt Options) (_ *rawResult, _ string, err error) {
	defer fail.Catch(&err)
	data := fail.Must(encodeCases(cases, dumps))
	dir := fail.Must(files.TempDir("", "nncc-run-"))
	defer files.RemoveTemp(dir)
	fail.Check(os.WriteFile(filepath.Join(dir, "cases.bin"), data, 0o644))
	program, args := fail.Must2(command(ctx, spec, elf))
	timeout := opt.Timeout
	if timeout == 0 {
		timeout = time.Duration(spec.Runner.Timeout)
	}
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var log io.Writer
	if opt.flow != nil {
		log, args = opt.flow, append(args, flowArgs...)
	}
	text, err := startTo(limited, log, dir, program, args...)
	if opt.flow != nil {
		text += opt.flow.console.String()
	}
	if ctx.Err() != nil {
		return nil, text, ctx.Err()
	}
	if err != nil {
		if limited.Err() != nil {
			return nil, text, &Error{Timeout, spec.Name, fmt.Sprintf("no end after %s", timeout), text}
		}
		return nil, text, failure(spec, elf, err, text)
	}
	out, err := os.ReadFile(filepath.Join(dir, "results.bin"))
	if err != nil && spec.Runner.Kind == "qemu" {
		return nil, text, notRunning(spec, text, errors.New("it ended without an error, and the program has not "+
			"run: there are no results"))
	}
	if err != nil {
		return nil, text, &Error{Broken, spec.Name, "the program ended without writing results", text}
	}
	asked := lists.Map(dumps, func(d []Dump) int { return len(d) })
	raw, err := decodeResults(out, cases, asked)
	if err != nil {
		return nil, text, &Error{Broken, spec.Name, err.Error(), text}
	}
	return raw, text, nil
}

func command(ctx context.Context, spec *boards.Spec, elf string) (string, []string, error) {
	switch spec.Runner.Kind {
	case "host":
		return elf, nil, nil
	case "qemu":
		qemu, err := find(qemuTool, spec.InstallAdvice(spec.Runner.Install))
		if err == nil {
			err = starts(ctx, spec, qemu)
		}
		if err != nil {
			return "", nil, err
		}
		return qemu, []string{"-M", spec.Runner.Machine, "-icount", "shift=" + strconv.Itoa(spec.Runner.IcountShift),
			"-display", "none", "-monitor", "none", "-serial", "none", "-no-reboot",
			"-semihosting-config", "enable=on,target=native", "-kernel", elf}, nil
	}
	return "", nil, fmt.Errorf("board %s has no machine to run on; its sources compile, but cannot be executed here",
		spec.Name)
}

const qemuTool = "qemu-system-arm"

// notRunning is a machine that does not do its work.
func notRunning(spec *boards.Spec, text string, err error) error {
	return &ToolError{Tool: qemuTool, Err: err, Output: text, Advice: "want QEMU 7 or newer; install it with: " +
		spec.InstallAdvice(spec.Runner.Install)}
}

// started are the emulators that are known to start, by their path.
var started sync.Map

// startPatience is far more than an emulator needs to say its version.
var startPatience = time.Minute

// starts makes sure that what is called QEMU is one: what hangs or fails from
// then on is the program's fault.
func starts(ctx context.Context, spec *boards.Spec, qemu string) error {
	if _, ok := started.Load(qemu); ok {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	text, err := start(limited, os.TempDir(), qemu, "--version")
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		err = fmt.Errorf("%s --version does not end within %v", qemu, startPatience)
	case err == nil && !strings.HasPrefix(text, "QEMU emulator version"):
		err = fmt.Errorf("%s --version does not say that it is QEMU", qemu)
	}
	if err != nil {
		return notRunning(spec, text, err)
	}
	started.Store(qemu, true)
	return nil
}

func failure(spec *boards.Spec, elf string, err error, text string) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return &ToolError{Tool: spec.Runner.Kind + " runner", Err: err, Output: text}
	}
	if sig, ok := signalled(exit); ok {
		if spec.Runner.Kind == "host" || strings.Contains(text, "Lockup") {
			return &Error{Fault, spec.Name, "ended by signal: " + sig, text}
		}
		return notRunning(spec, text, fmt.Errorf("ended by signal: %s", sig))
	}
	switch exit.ExitCode() {
	case exitUsage:
		return &Error{Usage, spec.Name, "the harness refused the cases", text}
	case exitFault:
		return &Error{Fault, spec.Name, "the processor trapped" + where(elf, text), text}
	case exitGuard:
		return &Error{Guard, spec.Name, "memory that does not belong to the model was written", text}
	case exitIO:
		return &Error{Broken, spec.Name, "results could not be written", text}
	}
	if strings.Contains(text, "unsupported machine type") {
		return notRunning(spec, text, fmt.Errorf("it does not know the machine %s; a newer one does",
			spec.Runner.Machine))
	}
	if spec.Runner.Kind == "qemu" { // no program ends so: the harness has the codes above
		return notRunning(spec, text, fmt.Errorf("exit status %d", exit.ExitCode()))
	}
	return &Error{Crash, spec.Name, fmt.Sprintf("exit status %d", exit.ExitCode()), text}
}

// Fill writes bytes in front of a step: to the arena, or to the state, which counts as
// lying behind it. Eight bytes of noise are masked, then XORed with Base, and so on until
// the end; both are little-endian. So a mask of 0 repeats Base.
type Fill struct {
	Step          int
	Offset, Bytes uint32
	Mask, Base    uint64
}

// fillBytes is the size of a fill in cases.bin.
const fillBytes = 7 * 4

// Filled executes the cases of one model of an image step by step, each with its fills,
// and gives the instructions of every step by case: of fewer steps where one failed. What
// the steps compute is of no interest. The image was built with BuildOptions.Trace.
func Filled(ctx context.Context, spec *boards.Spec, im *Image, model, models int, cases []Case) ([][]uint64, error) {
	if im.Traced == "" {
		return nil, fmt.Errorf("the image was built without BuildOptions.Trace")
	}
	var list []encoded
	for _, c := range cases {
		c.Fills = slices.Clone(c.Fills)
		lists.Sort(c.Fills, func(a, b Fill) int { return a.Step - b.Step })
		list = append(list, encoded{Case: c, model: model, trace: true})
	}
	raw, _, err := execute(ctx, spec, im.Traced, list, make([][]Dump, models), Options{})
	if err != nil {
		return nil, err
	}
	out := make([][]uint64, len(cases))
	for i, c := range raw.cases {
		for _, s := range c.steps {
			out[i] = append(out[i], instructions(spec, s.ticks, s.interrupts, raw.models[model].emptyStep, 0))
		}
	}
	return out, nil
}

// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"slices"
	"strconv"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/cycles"
	"github.com/nncc/nncc/boards/paths"
	"github.com/nncc/nncc/ir/fail"
)

// flowArgs make QEMU write a line for every block of instructions that it
// executes, and, before a block's first execution, the instructions in it.
var flowArgs = []string{"-d", "in_asm,exec,nochain"}

// Cycles executes the traced program of an image on one of a model's cases once more,
// follows it block by block, and gives what each step executed and about how
// many cycles of the core that takes. The error says why there is no estimate:
// the core has no table, the board no QEMU machine, the log is not understood.
func Cycles(ctx context.Context, spec *boards.Spec, im *Image, jobs []Job, model, at int) (_ *Followed, err error) {
	defer fail.Catch(&err)
	core := fail.Must(cycles.For(spec))
	fail.If(spec.Runner.Kind != "qemu", "executed instructions are known from QEMU only, %s runs on %q", spec.Name,
		spec.Runner.Kind)
	fail.If(im.Traced == "", "the image was built without BuildOptions.Trace")
	trace := make([][]int, len(jobs))
	trace[model] = []int{at}
	list, _ := fail.Must2(traceList(jobs, trace))
	f := fail.Must(newFlow(core, im, spec.Memory.Wait("code")))
	raw, _ := fail.Must2(execute(ctx, spec, im.Traced, list, make([][]Dump, len(jobs)), Options{flow: f}))
	f.line(nil) // whatever is pending
	if f.err == nil && len(f.steps) != int(raw.models[model].steps) {
		f.err = fmt.Errorf("%d steps were followed, the model has %d", len(f.steps), raw.models[model].steps)
	}
	if f.err != nil {
		return nil, fmt.Errorf("the log of QEMU is not understood: %w", f.err)
	}
	p, err := paths.Read(im.Traced, f.trace, im.inLibrary)
	return &Followed{f.steps, f.ran, p}, err
}

// Followed is an inference that was followed block by block.
type Followed struct {
	Cycles []cycles.Count // of the steps
	// What they executed, in Program; behind the last step there is what comes after.
	Steps   []paths.Stretch
	Program *paths.Program
}

// More is how many more instructions step i can take with other data, if data does not
// decide how often loops turn outside of the C library (boards/paths).
func (f *Followed) More(i int) (_ uint64, err error) {
	defer fail.Catch(&err)
	seen := fail.Must(f.Program.Seen(f.Steps[i]))
	most := fail.Must(f.Program.Most(f.Steps[i]))
	return most - seen, nil
}

// phase is what the program is doing.
type phase uint8

const (
	inHarness phase = iota // before and after an inference
	inTrace                // in the report of a step
	inModel
)

// flow reads the log. Blocks belong to a step from the return of one call of
// nncc_trace to the next call; the counter's interrupt belongs to none.
type flow struct {
	model   *cycles.Model
	fetch   *cycles.Fetch
	text    []segment
	harness []span
	handler span
	trace   uint32 // address of nncc_trace

	rest    []byte // an unfinished line
	console console

	listing struct{ start, end uint32 } // the block that was listed last
	listed  bool
	sizes   map[string]uint32 // of blocks, by QEMU's own address of them
	blocks  map[[2]uint32]*cycles.Block

	pending *executed
	at      phase
	resume  uint32 // where the model goes on after a report
	end     uint32 // of the block before
	steps   []cycles.Count
	counter *cycles.Counter
	ran     []paths.Stretch // as steps; the last one is not complete
	err     error
}

// executed is a block that the log says runs.
type executed struct {
	pc, size uint32
	id       string
	known    bool
}

func newFlow(model *cycles.Model, im *Image, code boards.Wait) (*flow, error) {
	fetch := cycles.NewFetch(code)
	f := &flow{model: model, fetch: fetch, harness: im.harness, sizes: map[string]uint32{},
		blocks: map[[2]uint32]*cycles.Block{}, counter: model.Counter(fetch)}
	e := fail.Must(elf.Open(im.Traced))
	defer e.Close()
	for _, p := range e.Progs {
		if p.Type != elf.PT_LOAD || p.Filesz == 0 {
			continue
		}
		b := make([]byte, p.Filesz)
		fail.Must(p.ReadAt(b, 0))
		f.text = append(f.text, segment{uint32(p.Vaddr), b}, segment{uint32(p.Paddr), b})
	}
	syms := fail.Must(e.Symbols())
	for _, s := range syms {
		switch start := uint32(s.Value) &^ 1; s.Name {
		case "nncc_trace":
			f.trace = start
		case "nncc_systick_handler":
			f.handler = span{start, start + uint32(s.Size)}
		}
	}
	if f.trace == 0 || len(f.harness) == 0 {
		return nil, fmt.Errorf("%s has no nncc_trace", im.Traced)
	}
	return f, nil
}

// Write takes a piece of the log.
func (f *flow) Write(p []byte) (int, error) {
	n := len(p)
	for {
		k := bytes.IndexByte(p, '\n')
		if k < 0 {
			f.rest = append(f.rest, p...)
			return n, nil
		}
		if len(f.rest) > 0 {
			f.rest = append(f.rest, p[:k]...)
			f.line(f.rest)
			f.rest = f.rest[:0]
		} else {
			f.line(p[:k])
		}
		p = p[k+1:]
	}
}

// line takes a line of the log; what is none goes to the console.
func (f *flow) line(l []byte) {
	switch {
	case bytes.HasPrefix(l, []byte("Trace ")):
		f.commit()
		f.pending = f.begin(l)
	case bytes.HasPrefix(l, []byte("Stopped execution of TB chain")):
		f.pending = nil // it did not run: time was up before it began
	case bytes.HasPrefix(l, []byte("0x")):
		f.list(l)
	case bytes.HasPrefix(l, []byte("IN:")):
		f.listing.start, f.listed = 0, false
	case l == nil:
		f.commit()
	case len(l) == 0, bytes.HasPrefix(l, []byte("---")), bytes.HasPrefix(l, []byte("cpu_io_recompile")):
	default:
		_, _ = f.console.Write(append(slices.Clone(l), '\n'))
	}
}

// list takes a line of a block's instructions: their address, and their bytes
// as groups of hexadecimal digits.
func (f *flow) list(l []byte) {
	colon := bytes.IndexByte(l, ':')
	if colon < 0 {
		return
	}
	at, err := strconv.ParseUint(string(l[2:colon]), 16, 32)
	if err != nil {
		return
	}
	digits, gap := 0, 2 // one blank between groups, more before the text
	for _, c := range bytes.TrimLeft(l[colon+1:], " ") {
		if c == ' ' {
			if gap++; gap > 1 {
				break
			}
			continue
		}
		if c < '0' || c > '9' && c < 'a' || c > 'f' {
			break
		}
		gap = 0
		digits++
	}
	if !f.listed {
		f.listing.start, f.listed = uint32(at), true
	}
	f.listing.end = uint32(at) + uint32(digits/2)
}

// begin reads "Trace 0: ID [base/PC/flags/flags] symbol".
func (f *flow) begin(l []byte) *executed {
	fields := bytes.Fields(l)
	if len(fields) < 4 {
		f.fail("%q", l)
		return nil
	}
	parts := bytes.Split(fields[3], []byte("/"))
	if len(parts) < 3 {
		f.fail("%q", l)
		return nil
	}
	pc, err := strconv.ParseUint(string(parts[1]), 16, 64)
	if err != nil {
		f.fail("%q: %v", l, err)
		return nil
	}
	x := &executed{pc: uint32(pc), id: string(fields[2])}
	if f.listed && f.listing.start == x.pc {
		f.sizes[x.id] = f.listing.end - f.listing.start
		f.listed = false
	}
	x.size, x.known = f.sizes[x.id]
	return x
}

func (f *flow) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// commit counts the block that was announced last.
func (f *flow) commit() {
	x := f.pending
	f.pending = nil
	if x == nil || x.pc >= f.handler.start && x.pc < f.handler.end {
		return
	}
	harness := slices.ContainsFunc(f.harness, func(s span) bool { return s.start <= x.pc && x.pc < s.end })
	switch {
	case x.pc == f.trace && f.at != inTrace && !f.fromHarness():
		if f.at == inModel {
			f.steps = append(f.steps, f.counter.Count)
		} else {
			f.steps, f.ran = nil, nil // the first report of an inference
		}
		f.at, f.resume = inTrace, f.end
	case f.at == inTrace && x.pc == f.resume:
		f.at, f.counter = inModel, f.model.Counter(f.fetch)
		f.ran = append(f.ran, paths.Stretch{From: x.pc, Ran: paths.Ran{}})
	case f.at == inModel && harness:
		f.at = inHarness
	}
	f.end = x.pc + x.size
	if f.at != inModel {
		return
	}
	if !x.known {
		f.fail("the block at %#x was not listed", x.pc)
		return
	}
	b := f.blocks[[2]uint32{x.pc, x.size}]
	if b == nil {
		b = f.model.Block(x.pc, f.code(x.pc, x.size))
		f.blocks[[2]uint32{x.pc, x.size}] = b
	}
	f.counter.Enter(b)
	if k := len(f.ran) - 1; k >= 0 {
		f.ran[k].Ran[paths.Block{Start: x.pc, Bytes: x.size}]++
	}
}

// fromHarness reports that the block before is part of the harness.
func (f *flow) fromHarness() bool {
	return slices.ContainsFunc(f.harness, func(s span) bool { return s.start < f.end && f.end <= s.end })
}

// segment is memory that the program is loaded into.
type segment struct {
	start uint32
	data  []byte
}

func (f *flow) code(pc, size uint32) []byte {
	for _, p := range f.text {
		if off := uint64(pc) - uint64(p.start); pc >= p.start && off+uint64(size) <= uint64(len(p.data)) {
			return p.data[off:][:size]
		}
	}
	f.fail("no code at %#x", pc)
	return nil
}

// inLibrary reports code of the C library in the traced program.
func (im *Image) inLibrary(addr uint32) bool {
	return slices.ContainsFunc(im.library, func(s span) bool { return s.start <= addr && addr < s.end })
}

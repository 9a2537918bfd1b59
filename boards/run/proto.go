// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sort"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// The protocol with runtime_c/port/common (harness_main.c, nncc_records.c, nncc_tracing.c). Both files are
// little-endian. cases.bin:
//
//	magic, version, models, cases                               (words)
//	models x { inputs, bytes per case, dumps }
//	models x dumps x { step, offset, bytes }                    sorted by step
//	cases x { model, flags, fills, inputs x { bytes..., crc32 },
//	          fills x { step, offset, bytes, mask (2), base (2) } }  sorted by step
//
// results.bin is a sequence of records { magic, type, index, length,
// payload..., crc32 of all before }: hello for each model; for each case its steps and
// dumps, the case, its outputs; end with the number of records before it.
const (
	casesMagic  = 0x4343434E
	recordMagic = 0x5243434E
	version     = 3

	recHello  = 1
	recCase   = 2
	recOutput = 3
	recStep   = 4
	recDump   = 5
	recEnd    = 6

	flagKeep  = 1
	flagTrace = 2
	flagStack = 4
)

// maxCases bounds cases.bin; offsets in it are 31 bits.
const maxCases = 1 << 30

// Dump asks for bytes as they are after a step (-1: before the first one): of
// the arena, or of the state, which counts as lying behind it.
type Dump struct {
	Step   int
	Offset uint32
	Bytes  uint32
}

// encoded is a case of a model with what the harness shall do with it.
type encoded struct {
	Case
	model        int
	trace, stack bool
}

// encodeCases writes cases.bin; dumps are those of each model.
func encodeCases(cases []encoded, dumps [][]Dump) ([]byte, error) {
	if len(cases) == 0 {
		return nil, fmt.Errorf("no cases to run")
	}
	first := make([]*Case, len(dumps)) // of each model
	size := make([]uint64, len(dumps))
	var total uint64
	for i := range cases {
		m := cases[i].model
		if first[m] == nil {
			first[m] = &cases[i].Case
			for _, in := range cases[i].Inputs {
				size[m] += uint64(len(in)) + 4
			}
		}
		first[m].sameInputs(&cases[i].Case, i)
		if total += size[m] + fillBytes*uint64(len(cases[i].Fills)); total > maxCases {
			return nil, fmt.Errorf("%d cases of %d bytes are more than one run takes (%d bytes)", len(cases), size[m],
				maxCases)
		}
	}
	le := binary.LittleEndian
	var b []byte
	words := func(list ...int) {
		for _, w := range list {
			b = le.AppendUint32(b, uint32(w))
		}
	}
	words(casesMagic, version, len(dumps), len(cases))
	for m, list := range dumps {
		inputs := -1 // a model without cases
		if first[m] != nil {
			inputs = len(first[m].Inputs)
		}
		words(inputs, int(size[m]), len(list))
	}
	for _, list := range dumps {
		for _, d := range list {
			words(d.Step, int(d.Offset), int(d.Bytes))
		}
	}
	for _, c := range cases {
		words(c.model, c.flags(), len(c.Fills))
		for _, in := range c.Inputs {
			b = append(b, in...)
			b = le.AppendUint32(b, crc32.ChecksumIEEE(in))
		}
		for _, f := range c.Fills {
			words(f.Step, int(f.Offset), int(f.Bytes))
			b = le.AppendUint64(le.AppendUint64(b, f.Mask), f.Base)
		}
	}
	return b, nil
}

func (c *encoded) flags() int {
	flags := 0
	if c.KeepState {
		flags |= flagKeep
	}
	if c.trace {
		flags |= flagTrace
	}
	if c.stack {
		flags |= flagStack
	}
	return flags
}

// sameInputs refuses a case whose inputs are not as large as those of the first.
func (c *Case) sameInputs(d *Case, i int) {
	fail.If(len(c.Inputs) != len(d.Inputs), "case %d has %d inputs, case 0 has %d", i, len(d.Inputs), len(c.Inputs))
	for j, in := range d.Inputs {
		fail.If(len(in) != len(c.Inputs[j]), "case %d: input %d has %d bytes, in case 0 it has %d", i, j, len(in),
			len(c.Inputs[j]))
	}
}

// sortDumps orders dumps as the harness meets them and gives, for every
// position in that order, the index in the caller's list.
func sortDumps(dumps []Dump) ([]Dump, []int) {
	order := lists.Make(len(dumps), func(i int) int { return i })
	sort.SliceStable(order, func(i, j int) bool { return dumps[order[i]].Step < dumps[order[j]].Step })
	out := make([]Dump, len(dumps))
	for i, k := range order {
		out[i] = dumps[k]
	}
	return out, order
}

// rawCase is a case's records, in ticks.
type rawCase struct {
	status     int32
	ticks      uint64
	interrupts uint32
	stack      uint32
	exact      bool
	outputs    [][]byte
	steps      []rawStep
	dumps      map[int][]byte // by position in the sorted list
}

type rawStep struct {
	ticks      uint64
	interrupts uint32
}

type rawResult struct {
	models []rawModel
	cases  []rawCase
}

// rawModel is what a model says of itself, and what measuring nothing takes.
type rawModel struct {
	arena, steps, inputs, outputs uint32
	emptyRun, emptyStep           uint64 // ticks
}

// decodeResults checks and reads results.bin. Whatever is not exactly as
// agreed is an error. dumps is how many each model was asked for.
func decodeResults(b []byte, cases []encoded, dumps []int) (_ *rawResult, err error) {
	defer fail.Catch(&err)
	d := &resultReader{b: b}
	r := &rawResult{}
	for m := range dumps {
		typ, index, p := d.next()
		w, err := d.words(p, 7)
		if err != nil || typ != recHello || w[0] != version || int(index) != m {
			return nil, fmt.Errorf("the results do not begin with a greeting of version %d", version)
		}
		r.models = append(r.models, rawModel{arena: w[1], steps: w[2], inputs: w[3], outputs: w[4],
			emptyRun: uint64(w[5]), emptyStep: uint64(w[6])})
	}
	for i, c := range cases {
		r.cases = append(r.cases, d.oneCase(i, c.trace, r.models[c.model], dumps[c.model]))
	}
	before := d.count
	typ, _, p := d.next()
	if w, err := d.words(p, 1); err != nil || typ != recEnd || w[0] != before {
		return nil, fmt.Errorf("the results do not end with an end record for %d records", before)
	}
	fail.If(d.pos != len(b), "%d bytes after the end record", len(b)-d.pos)
	return r, nil
}

// resultReader takes records from the results; decodeResults catches what it fails by.
type resultReader struct {
	b     []byte
	pos   int
	count uint32 // records so far
}

// want fails unless ok holds.
func (d *resultReader) want(ok bool, format string, args ...any) {
	if !ok {
		fail.Check(fmt.Errorf(format, args...))
	}
}

func (d *resultReader) next() (typ, index uint32, payload []byte) {
	le, h := binary.LittleEndian, d.b[d.pos:]
	d.want(len(h) >= 20, "results end after %d bytes and %d records, without an end record", d.pos, d.count)
	d.want(le.Uint32(h) == recordMagic, "no record at byte %d of the results", d.pos)
	n := uint64(le.Uint32(h[12:]))
	d.want(uint64(len(h)) >= 20+n, "record %d promises %d bytes, %d are there: truncated output", d.count, n, len(h)-16)
	got, want := crc32.ChecksumIEEE(h[:16+n]), le.Uint32(h[16+n:])
	d.want(got == want, "record %d: checksum is %08x, the record says %08x", d.count, got, want)
	d.pos += int(20 + n)
	d.count++
	return le.Uint32(h[4:]), le.Uint32(h[8:]), h[16 : 16+n : 16+n]
}

// words are the n numbers that the last record holds.
func (d *resultReader) words(p []byte, n int) ([]uint32, error) {
	if len(p) != 4*n {
		return nil, fmt.Errorf("record %d has %d bytes, want %d", d.count-1, len(p), 4*n)
	}
	w := lists.Make(n, func(i int) uint32 { return binary.LittleEndian.Uint32(p[4*i:]) })
	return w, nil
}

// oneCase reads case i of a model: its steps and dumps, how it ended, its outputs.
func (d *resultReader) oneCase(i int, trace bool, model rawModel, dumps int) rawCase {
	c := rawCase{dumps: map[int][]byte{}}
	for done := false; !done; {
		typ, index, p := d.next()
		switch typ {
		case recStep:
			w := fail.Must(d.words(p, 3))
			d.want(int(index) == len(c.steps), "case %d: step %d is reported after %d steps", i, index, len(c.steps))
			c.steps = append(c.steps, rawStep{uint64(w[0]) | uint64(w[1])<<32, w[2]})
		case recDump:
			d.want(int64(index) < int64(dumps), "case %d: dump %d was not asked for", i, index)
			c.dumps[int(index)] = p
		case recCase:
			w := fail.Must(d.words(p, 6))
			d.want(int(index) == i, "case %d is reported, case %d is due", index, i)
			c.status, c.ticks, c.interrupts = int32(w[0]), uint64(w[1])|uint64(w[2])<<32, w[3]
			c.stack, c.exact = w[4], w[5] != 0
			done = true
		default:
			d.want(false, "case %d: unexpected record of type %d", i, typ)
		}
	}
	if c.status != 0 {
		return c
	}
	for k := 0; k < int(model.outputs); k++ {
		typ, index, p := d.next()
		d.want(typ == recOutput && int(index) == k, "case %d: output %d is due, record %d is of type %d, index %d", i,
			k, d.count-1, typ, index)
		c.outputs = append(c.outputs, p)
	}
	if trace {
		d.want(len(c.steps) == int(model.steps), "case %d: %d steps reported, the model has %d", i, len(c.steps),
			model.steps)
		d.want(len(c.dumps) == dumps, "case %d: %d dumps came, %d were asked for (is there a step of that number?)", i,
			len(c.dumps), dumps)
	}
	return c
}

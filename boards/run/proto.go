// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sort"

	"github.com/nncc/nncc/ir/fail"
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
		fail.Check(first[m].sameInputs(&cases[i].Case, i))
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
func (c *Case) sameInputs(d *Case, i int) error {
	if len(c.Inputs) != len(d.Inputs) {
		return fmt.Errorf("case %d has %d inputs, case 0 has %d", i, len(d.Inputs), len(c.Inputs))
	}
	for j, in := range d.Inputs {
		if len(in) != len(c.Inputs[j]) {
			return fmt.Errorf("case %d: input %d has %d bytes, in case 0 it has %d", i, j, len(in), len(c.Inputs[j]))
		}
	}
	return nil
}

// sortDumps orders dumps as the harness meets them and gives, for every
// position in that order, the index in the caller's list.
func sortDumps(dumps []Dump) ([]Dump, []int) {
	order := make([]int, len(dumps))
	for i := range order {
		order[i] = i
	}
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
	le := binary.LittleEndian
	pos, count := 0, uint32(0)
	next := func() (typ, index uint32, payload []byte, err error) {
		if len(b)-pos < 20 {
			return 0, 0, nil, fmt.Errorf("results end after %d bytes and %d records, without an end record", pos, count)
		}
		h := b[pos:]
		if le.Uint32(h) != recordMagic {
			return 0, 0, nil, fmt.Errorf("no record at byte %d of the results", pos)
		}
		typ, index = le.Uint32(h[4:]), le.Uint32(h[8:])
		n := uint64(le.Uint32(h[12:]))
		if uint64(len(h)) < 20+n {
			return 0, 0, nil, fmt.Errorf("record %d promises %d bytes, %d are there: truncated output", count, n,
				len(h)-16)
		}
		if got, want := crc32.ChecksumIEEE(h[:16+n]), le.Uint32(h[16+n:]); got != want {
			return 0, 0, nil, fmt.Errorf("record %d: checksum is %08x, the record says %08x", count, got, want)
		}
		pos += int(20 + n)
		count++
		return typ, index, h[16 : 16+n : 16+n], nil
	}
	words := func(p []byte, n int) ([]uint32, error) {
		if len(p) != 4*n {
			return nil, fmt.Errorf("record %d has %d bytes, want %d", count-1, len(p), 4*n)
		}
		w := make([]uint32, n)
		for i := range w {
			w[i] = le.Uint32(p[4*i:])
		}
		return w, nil
	}
	r := &rawResult{}
	for m := range dumps {
		typ, index, p := fail.Must3(next())
		w, err := words(p, 7)
		if err != nil || typ != recHello || w[0] != version || int(index) != m {
			return nil, fmt.Errorf("the results do not begin with a greeting of version %d", version)
		}
		r.models = append(r.models, rawModel{arena: w[1], steps: w[2], inputs: w[3], outputs: w[4],
			emptyRun: uint64(w[5]), emptyStep: uint64(w[6])})
	}
	var w []uint32
	for i := range cases {
		model, dumps := r.models[cases[i].model], dumps[cases[i].model]
		c := rawCase{dumps: map[int][]byte{}}
		for done := false; !done; {
			typ, index, p := fail.Must3(next())
			switch typ {
			case recStep:
				w = fail.Must(words(p, 3))
				if int(index) != len(c.steps) {
					return nil, fmt.Errorf("case %d: step %d is reported after %d steps", i, index, len(c.steps))
				}
				c.steps = append(c.steps, rawStep{uint64(w[0]) | uint64(w[1])<<32, w[2]})
			case recDump:
				if int64(index) >= int64(dumps) {
					return nil, fmt.Errorf("case %d: dump %d was not asked for", i, index)
				}
				c.dumps[int(index)] = p
			case recCase:
				w = fail.Must(words(p, 6))
				if int(index) != i {
					return nil, fmt.Errorf("case %d is reported, case %d is due", index, i)
				}
				c.status, c.ticks, c.interrupts = int32(w[0]), uint64(w[1])|uint64(w[2])<<32, w[3]
				c.stack, c.exact = w[4], w[5] != 0
				done = true
			default:
				return nil, fmt.Errorf("case %d: unexpected record of type %d", i, typ)
			}
		}
		for k := 0; k < int(model.outputs) && c.status == 0; k++ {
			typ, index, p := fail.Must3(next())
			if typ != recOutput || int(index) != k {
				return nil, fmt.Errorf("case %d: output %d is due, record %d is of type %d, index %d", i, k, count-1,
					typ, index)
			}
			c.outputs = append(c.outputs, p)
		}
		if cases[i].trace && c.status == 0 {
			if len(c.steps) != int(model.steps) {
				return nil, fmt.Errorf("case %d: %d steps reported, the model has %d", i, len(c.steps), model.steps)
			}
			if len(c.dumps) != dumps {
				return nil, fmt.Errorf("case %d: %d dumps came, %d were asked for (is there a step of that number?)", i,
					len(c.dumps), dumps)
			}
		}
		r.cases = append(r.cases, c)
	}
	before := count
	typ, _, p := fail.Must3(next())
	if w, err = words(p, 1); err != nil || typ != recEnd || w[0] != before {
		return nil, fmt.Errorf("the results do not end with an end record for %d records", before)
	}
	if pos != len(b) {
		return nil, fmt.Errorf("%d bytes after the end record", len(b)-pos)
	}
	return r, nil
}

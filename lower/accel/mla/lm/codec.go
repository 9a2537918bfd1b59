// SPDX-License-Identifier: Apache-2.0

package lm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/nncc/nncc/ir/fail"
)

// The layout of a file; mla_format.h has the same numbers for C.
const (
	magic        = "NMLA"
	headerBytes  = 128
	tensorBytes  = 64
	commandBytes = 12 // of a command before its operands
	absent       = math.MaxUint32

	offCRC      = 12
	offSections = 40
)

// The sections of a file, in this order.
const (
	secTensors = iota
	secCommands
	secWeights
	secNames
	numSections
)

var sectionNames = [numSections]string{"tensor table", "command stream", "weights", "names"}

// FormatError is a file that is no valid segment file.
type FormatError struct{ Msg string }

func (e *FormatError) Error() string { return "segment file: " + e.Msg }

func bad(format string, args ...any) error { return &FormatError{fmt.Sprintf(format, args...)} }

var le = binary.LittleEndian

// Place lays the Const tensors out in the weights, in their order.
func (s *Segment) Place() {
	at := 0
	for i := range s.Tensors {
		if t := &s.Tensors[i]; t.Role == Const {
			t.Offset = at
			at = roundUp(at + len(t.Data))
		}
	}
}

// Encode is the file of a segment. The same segment gives the same bytes.
func Encode(s *Segment) ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, bad("%v", err)
	}
	weights, err := s.weights()
	if err != nil {
		return nil, bad("%v", err)
	}
	names := nameTable{at: map[string]uint32{"": 0}, data: []byte{0}}
	segName := names.add(s.Name)
	var sec [numSections][]byte
	for i := range s.Tensors {
		sec[secTensors] = appendTensor(sec[secTensors], &s.Tensors[i], &names)
	}
	for i := range s.Commands {
		sec[secCommands] = appendCommand(sec[secCommands], &s.Commands[i], &names)
	}
	sec[secWeights], sec[secNames] = weights, names.data
	out := make([]byte, headerBytes)
	copy(out, magic)
	le.PutUint16(out[4:], Major)
	le.PutUint16(out[6:], Minor)
	le.PutUint32(out[8:], headerBytes)
	le.PutUint32(out[20:], uint32(s.Memory))
	le.PutUint32(out[24:], uint32(len(s.Tensors)))
	le.PutUint32(out[28:], uint32(len(s.Commands)))
	le.PutUint32(out[32:], uint32(len(s.Inputs())))
	le.PutUint32(out[36:], uint32(len(s.Outputs())))
	for i, d := range sec {
		h := out[offSections+12*i:]
		le.PutUint32(h, uint32(len(out)))
		le.PutUint32(h[4:], uint32(len(d)))
		le.PutUint32(h[8:], crc32.ChecksumIEEE(d))
		out = append(out, d...)
		out = append(out, make([]byte, roundUp(len(out))-len(out))...)
		if len(out) > MaxBytes {
			return nil, bad("%d bytes, want at most %d", len(out), MaxBytes)
		}
	}
	le.PutUint64(out[88:], s.MACs)
	le.PutUint64(out[96:], s.Work)
	le.PutUint32(out[104:], segName)
	le.PutUint32(out[16:], uint32(len(out)))
	le.PutUint32(out[offCRC:], crc32.ChecksumIEEE(out[:headerBytes]))
	return out, nil
}

// nameTable collects strings, each with a zero byte behind it.
type nameTable struct {
	at   map[string]uint32
	data []byte
}

func (n *nameTable) add(s string) uint32 {
	clean := bytes.ReplaceAll([]byte(s), []byte{0}, []byte{'?'})
	s = string(clean)
	if o, ok := n.at[s]; ok {
		return o
	}
	o := uint32(len(n.data))
	n.at[s] = o
	n.data = append(append(n.data, clean...), 0)
	return o
}

func appendTensor(b []byte, t *Tensor, names *nameTable) []byte {
	var e [tensorBytes]byte
	for i, d := range t.Shape {
		le.PutUint32(e[4*i:], uint32(d))
		e[32+i] = uint8(t.Order[i])
	}
	le.PutUint32(e[40:], names.add(t.Name))
	e[44], e[45], e[46] = uint8(t.DType), uint8(t.Role), uint8(len(t.Shape))
	le.PutUint32(e[48:], math.Float32bits(t.Scale))
	le.PutUint32(e[52:], uint32(t.Zero))
	le.PutUint32(e[56:], uint32(t.Offset))
	le.PutUint32(e[60:], uint32(t.Bytes()))
	return append(b, e[:]...)
}

func appendCommand(b []byte, c *Command, names *nameTable) []byte {
	b = le.AppendUint16(b, uint16(c.Op))
	b = append(b, uint8(len(c.Operands)), 0)
	b = le.AppendUint16(b, uint16(len(c.Params)))
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, names.add(c.Name))
	for _, o := range c.Operands {
		t := uint32(absent)
		if o.Tensor != None {
			t = uint32(o.Tensor)
		}
		b = le.AppendUint32(le.AppendUint32(b, t), uint32(o.Offset))
	}
	for _, p := range c.Params {
		b = le.AppendUint32(b, uint32(p))
	}
	return b
}

// Decode reads and validates a file. It never needs more than a few times the
// file's size in memory.
func Decode(file []byte) (*Segment, error) {
	s := &Segment{}
	if err := Scan(file, s); err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		return nil, bad("%v", err)
	}
	return s, nil
}

// want ends a reader where a condition does not hold.
func want(ok bool, format string, args ...any) {
	if !ok {
		fail.Check(fmt.Errorf(format, args...))
	}
}

func header(file []byte) []byte {
	want(len(file) >= headerBytes, "%d bytes, a header has %d", len(file), headerBytes)
	want(string(file[:4]) == magic, "begins with %q, want %q", file[:4], magic)
	major, minor := le.Uint16(file[4:]), le.Uint16(file[6:])
	want(major == Major && minor <= Minor, "version %d.%d, this nncc reads %d.0 to %d.%d", major, minor, Major, Major,
		Minor)
	head := bytes.Clone(file[:headerBytes])
	sum := le.Uint32(head[offCRC:])
	le.PutUint32(head[offCRC:], 0)
	got := crc32.ChecksumIEEE(head)
	want(got == sum, "checksum of the header is %08x, want %08x", got, sum)
	n := le.Uint32(head[8:])
	want(n == headerBytes, "a header of %d bytes, want %d", n, headerBytes)
	n = le.Uint32(head[16:])
	want(int64(n) == int64(len(file)) && n%Align == 0 && n <= MaxBytes, "%d bytes, the header says %d", len(file), n)
	return head
}

// Scan reads a file into s and checks its form only: what tensors and commands
// say may be nonsense. For tools that look at damaged files.
func Scan(file []byte, s *Segment) (err error) {
	defer func() {
		if err != nil {
			err = bad("%v", err)
		}
	}()
	defer fail.Catch(&err)
	head := header(file)
	sec := sections(file)
	want(len(bytes.Trim(head[108:], "\x00")) == 0, "the end of the header is not zero")
	tensors, commands, names := le.Uint32(head[24:]), le.Uint32(head[28:]), sec[secNames]
	want(uint64(len(sec[secTensors])) == uint64(tensors)*tensorBytes && tensors <= MaxTensors,
		"%d tensors in a table of %d bytes", tensors, len(sec[secTensors]))
	want(uint64(commands)*commandBytes <= uint64(len(sec[secCommands])) && commands <= MaxCommands,
		"%d commands in a stream of %d bytes", commands, len(sec[secCommands]))
	want(len(names) > 0 && names[len(names)-1] == 0, "the names do not end with a zero byte")
	*s = Segment{Name: nameAt(names, le.Uint32(head[104:])), Memory: int(le.Uint32(head[20:])),
		MACs: le.Uint64(head[88:]), Work: le.Uint64(head[96:]), Tensors: make([]Tensor, tensors),
		Commands: make([]Command, commands)}
	for i := range s.Tensors {
		err := s.Tensors[i].decode(sec[secTensors][i*tensorBytes:][:tensorBytes], names, sec[secWeights])
		want(err == nil, "tensor %d: %v", i, err)
	}
	rest := sec[secCommands]
	for i := range s.Commands {
		rest, err = s.Commands[i].decode(rest, names)
		want(err == nil, "command %d: %v", i, err)
	}
	want(len(rest) == 0, "%d bytes behind the last command", len(rest))
	in, out := le.Uint32(head[32:]), le.Uint32(head[36:])
	want(int(in) == len(s.Inputs()) && int(out) == len(s.Outputs()),
		"the header names %d inputs and %d outputs, the tensor table has %d and %d", in, out, len(s.Inputs()),
		len(s.Outputs()))
	return nil
}

// sections cuts a file: in their order, behind each other, aligned.
func sections(file []byte) (sec [numSections][]byte) {
	at, size := uint64(headerBytes), uint64(len(file))
	for i := range sec {
		h := file[offSections+12*i:]
		off, n, sum := uint64(le.Uint32(h)), uint64(le.Uint32(h[4:])), le.Uint32(h[8:])
		want(off == at && off+n <= size, "the %s are %d bytes at %d, want them at %d in a file of %d",
			sectionNames[i], n,
			off, at, size)
		sec[i] = file[off : off+n]
		got := crc32.ChecksumIEEE(sec[i])
		want(got == sum, "checksum of the %s is %08x, want %08x", sectionNames[i], got, sum)
		at = (off + n + Align - 1) &^ (Align - 1)
		want(at <= size && len(bytes.Trim(file[off+n:at], "\x00")) == 0, "no zero bytes behind the %s", sectionNames[i])
	}
	want(at == size, "%d bytes behind the last section", size-at)
	return sec
}

func nameAt(names []byte, o uint32) string {
	want(uint64(o) < uint64(len(names)), "name at %d of %d bytes", o, len(names))
	n, _, _ := bytes.Cut(names[o:], []byte{0})
	return string(n)
}

func (t *Tensor) decode(e, names, weights []byte) (err error) {
	defer fail.Catch(&err)
	t.Name, t.DType, t.Role = nameAt(names, le.Uint32(e[40:])), DType(e[44]), Role(e[45])
	rank := int(e[46])
	want(rank >= 1 && rank <= MaxDims && e[47] == 0, "rank %d, flags %d", rank, e[47])
	t.Shape, t.Order = make([]int, rank), make([]int, rank)
	n := uint64(t.DType.Size())
	for i := range MaxDims {
		d, o := le.Uint32(e[4*i:]), e[32+i]
		if i >= rank {
			want(d == 0 && o == 0, "entries behind rank %d", rank)
			continue
		}
		want(d <= MaxBytes, "dimension %d is %d", i, d)
		t.Shape[i], t.Order[i] = int(d), int(o)
		n = mul(n, uint64(d))
	}
	t.Scale, t.Zero = math.Float32frombits(le.Uint32(e[48:])), int32(le.Uint32(e[52:]))
	off, size := le.Uint32(e[56:]), le.Uint32(e[60:])
	t.Offset = int(off)
	want(uint64(size) == n, "%d bytes, the shape needs %d", size, n)
	if t.Role == Const {
		end := uint64(off) + n
		want(end <= uint64(len(weights)), "bytes %d to %d of %d bytes of weights", off, end, len(weights))
		t.Data = weights[off:end]
	}
	return nil
}

func (c *Command) decode(b, names []byte) (rest []byte, err error) {
	defer fail.Catch(&err)
	want(len(b) >= commandBytes, "%d bytes are left", len(b))
	c.Op = Opcode(le.Uint16(b))
	operands, params := int(b[2]), int(le.Uint16(b[4:]))
	want(b[3] == 0 && b[6] == 0 && b[7] == 0, "flags are set")
	c.Name = nameAt(names, le.Uint32(b[8:]))
	b = b[commandBytes:]
	want(len(b) >= 8*operands+4*params, "%d operands and %d parameters in %d bytes", operands, params, len(b))
	c.Operands = make([]Operand, operands)
	for i := range c.Operands {
		t, off := le.Uint32(b[8*i:]), le.Uint32(b[8*i+4:])
		want(off <= MaxBytes && (t <= MaxTensors || t == absent), "operand %d is byte %d of tensor %d", i, off, t)
		c.Operands[i] = Operand{int(t), int(off)}
		if t == absent {
			c.Operands[i].Tensor = None
		}
	}
	b = b[8*operands:]
	c.Params = make([]int32, params)
	for i := range c.Params {
		c.Params[i] = int32(le.Uint32(b[4*i:]))
	}
	return b[4*params:], nil
}

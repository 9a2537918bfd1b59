// SPDX-License-Identifier: Apache-2.0

package lm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
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

// Scan reads a file into s and checks its form only: what tensors and commands
// say may be nonsense. For tools that look at damaged files.
func Scan(file []byte, s *Segment) error {
	if len(file) < headerBytes {
		return bad("%d bytes, a header has %d", len(file), headerBytes)
	}
	if string(file[:4]) != magic {
		return bad("begins with %q, want %q", file[:4], magic)
	}
	if major, minor := le.Uint16(file[4:]), le.Uint16(file[6:]); major != Major || minor > Minor {
		return bad("version %d.%d, this nncc reads %d.0 to %d.%d", major, minor, Major, Major, Minor)
	}
	head := bytes.Clone(file[:headerBytes])
	want := le.Uint32(head[offCRC:])
	le.PutUint32(head[offCRC:], 0)
	if got := crc32.ChecksumIEEE(head); got != want {
		return bad("checksum of the header is %08x, want %08x", got, want)
	}
	if n := le.Uint32(head[8:]); n != headerBytes {
		return bad("a header of %d bytes, want %d", n, headerBytes)
	}
	if n := le.Uint32(head[16:]); int64(n) != int64(len(file)) || n%Align != 0 || n > MaxBytes {
		return bad("%d bytes, the header says %d", len(file), n)
	}
	sec, err := sections(file)
	if err != nil {
		return err
	}
	if zeroes := bytes.Trim(head[108:], "\x00"); len(zeroes) > 0 {
		return bad("the end of the header is not zero")
	}
	tensors, commands := le.Uint32(head[24:]), le.Uint32(head[28:])
	if uint64(len(sec[secTensors])) != uint64(tensors)*tensorBytes || tensors > MaxTensors {
		return bad("%d tensors in a table of %d bytes", tensors, len(sec[secTensors]))
	}
	if uint64(commands)*commandBytes > uint64(len(sec[secCommands])) || commands > MaxCommands {
		return bad("%d commands in a stream of %d bytes", commands, len(sec[secCommands]))
	}
	names := sec[secNames]
	if len(names) == 0 || names[len(names)-1] != 0 {
		return bad("the names do not end with a zero byte")
	}
	*s = Segment{Memory: int(le.Uint32(head[20:])), MACs: le.Uint64(head[88:]), Work: le.Uint64(head[96:])}
	if s.Name, err = nameAt(names, le.Uint32(head[104:])); err != nil {
		return err
	}
	s.Tensors = make([]Tensor, tensors)
	for i := range s.Tensors {
		if err := s.Tensors[i].decode(sec[secTensors][i*tensorBytes:][:tensorBytes], names,
			sec[secWeights]); err != nil {
			return bad("tensor %d: %v", i, text(err))
		}
	}
	s.Commands = make([]Command, commands)
	rest := sec[secCommands]
	for i := range s.Commands {
		if rest, err = s.Commands[i].decode(rest, names); err != nil {
			return bad("command %d: %v", i, text(err))
		}
	}
	if len(rest) > 0 {
		return bad("%d bytes behind the last command", len(rest))
	}
	if in, out := le.Uint32(head[32:]), le.Uint32(head[36:]); int(in) != len(s.Inputs()) ||
		int(out) != len(s.Outputs()) {
		return bad("the header names %d inputs and %d outputs, the tensor table has %d and %d", in, out,
			len(s.Inputs()), len(s.Outputs()))
	}
	return nil
}

// text is the message of an error without the package's prefix.
func text(err error) string {
	var f *FormatError
	if errors.As(err, &f) {
		return f.Msg
	}
	return err.Error()
}

// sections cuts a file: in their order, behind each other, aligned.
func sections(file []byte) (sec [numSections][]byte, err error) {
	at := uint64(headerBytes)
	for i := range sec {
		h := file[offSections+12*i:]
		off, n, sum := uint64(le.Uint32(h)), uint64(le.Uint32(h[4:])), le.Uint32(h[8:])
		if off != at || off+n > uint64(len(file)) {
			return sec, bad("the %s are %d bytes at %d, want them at %d in a file of %d", sectionNames[i], n, off, at,
				len(file))
		}
		sec[i] = file[off : off+n]
		if got := crc32.ChecksumIEEE(sec[i]); got != sum {
			return sec, bad("checksum of the %s is %08x, want %08x", sectionNames[i], got, sum)
		}
		at = (off + n + Align - 1) &^ (Align - 1)
		if at > uint64(len(file)) || len(bytes.Trim(file[off+n:at], "\x00")) > 0 {
			return sec, bad("no zero bytes behind the %s", sectionNames[i])
		}
	}
	if at != uint64(len(file)) {
		return sec, bad("%d bytes behind the last section", uint64(len(file))-at)
	}
	return sec, nil
}

func nameAt(names []byte, o uint32) (string, error) {
	if uint64(o) >= uint64(len(names)) {
		return "", bad("name at %d of %d bytes", o, len(names))
	}
	n, _, _ := bytes.Cut(names[o:], []byte{0})
	return string(n), nil
}

func (t *Tensor) decode(e, names, weights []byte) (err error) {
	if t.Name, err = nameAt(names, le.Uint32(e[40:])); err != nil {
		return err
	}
	t.DType, t.Role = DType(e[44]), Role(e[45])
	rank := int(e[46])
	if rank < 1 || rank > MaxDims || e[47] != 0 {
		return bad("rank %d, flags %d", rank, e[47])
	}
	t.Shape, t.Order = make([]int, rank), make([]int, rank)
	n := uint64(t.DType.Size())
	for i := range MaxDims {
		d, o := le.Uint32(e[4*i:]), e[32+i]
		if i >= rank {
			if d != 0 || o != 0 {
				return bad("entries behind rank %d", rank)
			}
			continue
		}
		if d > MaxBytes {
			return bad("dimension %d is %d", i, d)
		}
		t.Shape[i], t.Order[i] = int(d), int(o)
		n = mul(n, uint64(d))
	}
	t.Scale = math.Float32frombits(le.Uint32(e[48:]))
	t.Zero = int32(le.Uint32(e[52:]))
	off, size := le.Uint32(e[56:]), le.Uint32(e[60:])
	t.Offset = int(off)
	if uint64(size) != n {
		return bad("%d bytes, the shape needs %d", size, n)
	}
	if t.Role == Const {
		if uint64(off)+n > uint64(len(weights)) {
			return bad("bytes %d to %d of %d bytes of weights", off, uint64(off)+n, len(weights))
		}
		t.Data = weights[off : uint64(off)+n]
	}
	return nil
}

func (c *Command) decode(b, names []byte) (rest []byte, err error) {
	if len(b) < commandBytes {
		return nil, bad("%d bytes are left", len(b))
	}
	c.Op = Opcode(le.Uint16(b))
	operands, params := int(b[2]), int(le.Uint16(b[4:]))
	if b[3] != 0 || b[6] != 0 || b[7] != 0 {
		return nil, bad("flags are set")
	}
	if c.Name, err = nameAt(names, le.Uint32(b[8:])); err != nil {
		return nil, err
	}
	b = b[commandBytes:]
	if len(b) < 8*operands+4*params {
		return nil, bad("%d operands and %d parameters in %d bytes", operands, params, len(b))
	}
	c.Operands = make([]Operand, operands)
	for i := range c.Operands {
		t, off := le.Uint32(b[8*i:]), le.Uint32(b[8*i+4:])
		if off > MaxBytes || t > MaxTensors && t != absent {
			return nil, bad("operand %d is byte %d of tensor %d", i, off, t)
		}
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

// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxWireDepth bounds messages within messages. A subgraph takes three levels
// (graph, node, attribute), so this is more than Limits.Depth needs by default.
const maxWireDepth = 1000

// scanWire walks a protobuf message without decoding it. It finds where a
// truncated or damaged file breaks, and estimates the memory that decoding would
// take: two bytes in a file can stand for a message of some hundred bytes.
func scanWire(b []byte, md protoreflect.MessageDescriptor, lim Limits) error {
	s := &wireScan{limit: lim.MemoryBytes, named: lim.NameBytes}
	return s.message(b, 0, md, nil, 0)
}

type wireScan struct {
	memory, limit int64
	names, named  int64 // bytes of names and their limit
}

// remark reports texts that go no further than the file's image in memory;
// exporters write pages into them.
func remark(md protoreflect.MessageDescriptor, fd protoreflect.FieldDescriptor) bool {
	return fd.Name() == "doc_string" || md.Name() == "StringStringEntryProto"
}

// wirePath is the position of the scan: a chain from the innermost field outwards.
type wirePath struct {
	up    *wirePath
	field protoreflect.Name
	index int // -1 for a field that is not repeated
}

func (p *wirePath) String() string {
	var parts []string
	for ; p != nil; p = p.up {
		s := string(p.field)
		if p.index >= 0 {
			s = fmt.Sprintf("%s[%d]", s, p.index)
		}
		parts = append([]string{s}, parts...)
	}
	if len(parts) == 0 {
		return "the model"
	}
	return strings.Join(parts, ".")
}

// Rough sizes of decoded things in memory, in bytes.
const (
	messageCost = 256
	itemCost    = 24
)

// message walks one message; base is the offset of b in the file.
func (s *wireScan) message(b []byte, base int, md protoreflect.MessageDescriptor, at *wirePath, depth int) error {
	if depth > maxWireDepth {
		return fmt.Errorf("corrupt ONNX protobuf: messages are nested more than %d deep", maxWireDepth)
	}
	var seen [32]int // elements met so far by field number, for messages
	fields := md.Fields()
	for i := 0; i < len(b); {
		num, typ, n := protowire.ConsumeTag(b[i:])
		if n < 0 {
			if b[i] == 0 {
				return fmt.Errorf("cannot parse as ONNX protobuf: illegal tag 0 at byte %d, after %d good bytes of "+
					"%s (trailing bytes or a damaged file)", base+i, i, at)
			}
			return fmt.Errorf("cannot parse as ONNX protobuf: invalid tag at byte %d in %s (truncated, damaged, or "+
				"not an ONNX file)", base+i, at)
		}
		v := b[i+n:]
		size := protowire.ConsumeFieldValue(num, typ, v)
		if size < 0 {
			return fmt.Errorf("cannot parse as ONNX protobuf: field %d of %s at byte %d holds %s", num, at, base+i,
				damage(num, typ, v))
		}
		if fd := fields.ByNumber(num); fd == nil {
			s.memory += int64(n + size) // kept as an unknown field
		} else if !fits(fd, typ) {
			return fmt.Errorf("cannot parse as ONNX protobuf: field %s of %s at byte %d has wire type %d "+
				"(damaged, or not an ONNX file)", fd.Name(), at, base+i, typ)
		} else if fd.Kind() == protoreflect.MessageKind {
			s.memory += messageCost
			sub := wirePath{at, fd.Name(), -1}
			if fd.IsList() {
				sub.index = seen[num&31]
				seen[num&31]++
			}
			inner, m := protowire.ConsumeBytes(v)
			if err := s.message(inner, base+i+n+m-len(inner), fd.Message(), &sub, depth+1); err != nil {
				return err
			}
		} else {
			s.field(md, fd, typ, int64(size))
		}
		if s.names > s.named {
			return fmt.Errorf("too large: the names in the file have more than the limit of %d bytes (reached in %s "+
				"at byte %d); %s", s.named, at, base+i, Raise("names"))
		}
		if s.memory > s.limit {
			return fmt.Errorf("too large: decoding the file would take more than the limit of %d bytes of memory "+
				"(reached in %s at byte %d); %s", s.limit, at, base+i, Raise("memory"))
		}
		i += n + size
	}
	return nil
}

// damage says what is wrong with the value that b begins with.
func damage(num protowire.Number, typ protowire.Type, b []byte) string {
	if typ == protowire.BytesType {
		if want, m := protowire.ConsumeVarint(b); m > 0 && want > uint64(len(b)-m) {
			return fmt.Sprintf("a field of %d bytes of which only %d are there: truncated", want, len(b)-m)
		}
	} else if protowire.ConsumeFieldValue(num, typ, append(b[:len(b):len(b)], make([]byte, 10)...)) > 0 {
		return "a truncated value"
	}
	return "a damaged value"
}

// field counts a field that is no message.
func (s *wireScan) field(md protoreflect.MessageDescriptor, fd protoreflect.FieldDescriptor, typ protowire.Type,
	size int64) {
	switch kind := fd.Kind(); {
	case typ != protowire.BytesType || kind == protoreflect.BytesKind:
		s.memory += itemCost + size
	case kind == protoreflect.StringKind:
		s.memory += itemCost + size
		if !remark(md, fd) {
			s.names += size
		}
	case kind == protoreflect.FloatKind || kind == protoreflect.DoubleKind:
		s.memory += size // a packed list
	default: // of varints, each of which becomes an element of up to eight bytes
		s.memory += 8 * size
	}
}

// fits reports whether a field may come with a wire type; lists of numbers may be
// packed or not, whatever the definition says.
func fits(fd protoreflect.FieldDescriptor, typ protowire.Type) bool {
	var want protowire.Type
	switch fd.Kind() {
	case protoreflect.FloatKind:
		want = protowire.Fixed32Type
	case protoreflect.DoubleKind:
		want = protowire.Fixed64Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return typ == protowire.BytesType
	default:
		want = protowire.VarintType
	}
	return typ == want || fd.IsList() && typ == protowire.BytesType
}

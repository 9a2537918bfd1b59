// SPDX-License-Identifier: Apache-2.0

package fb

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/fail"
)

// Identifier stands at byte 4 of every file of the format.
const Identifier = "TFL3"

// maxTables bounds the tables that a file may have: parts of a file may be shared, so
// its size does not.
const maxTables = 1 << 20

// Verify checks that every offset of a model leads to where the schema allows: after it
// no accessor reads outside of b, whatever the file says. Tables of unknown kind are
// checked as tables only (VerifyTable checks them when it is known).
func Verify(b []byte) (err error) {
	defer fail.Catch(&err)
	fail.If(len(b) < 8 || string(b[4:8]) != Identifier, "no %s at byte 4; want a TensorFlow Lite model", Identifier)
	fail.If(len(b) > math.MaxInt32, "%d bytes; the format ends at %d", len(b), math.MaxInt32)
	v := verifier{b: b}
	at := fail.Must(v.offset(0))
	return v.table("Model", at)
}

// VerifyTable checks the table at a position of a verified model as one of a kind.
func VerifyTable(b []byte, name string, at uint32) error {
	v := verifier{b: b}
	return v.table(name, at)
}

type verifier struct {
	b      []byte
	tables int
}

func (v *verifier) has(at uint32, n uint64, size uint32) error {
	switch {
	case uint64(at)+n > uint64(len(v.b)):
		return fmt.Errorf("byte %d: %d bytes belong here, the file has %d", at, n, len(v.b))
	case at%size != 0:
		return fmt.Errorf("byte %d: not a multiple of %d", at, size)
	}
	return nil
}

func (v *verifier) offset(at uint32) (_ uint32, err error) {
	defer fail.Catch(&err)
	fail.Check(v.has(at, 4, 4))
	to := uint64(at) + uint64(binary.LittleEndian.Uint32(v.b[at:]))
	fail.If(to == uint64(at) || to > uint64(len(v.b)), "byte %d: an offset to byte %d of %d", at, to, len(v.b))
	return uint32(to), nil
}

func (v *verifier) table(name string, at uint32) (err error) {
	defer fail.Catch(&err)
	v.tables++
	fail.If(v.tables > maxTables, "more than %d tables", maxTables)
	vtable, size, err := v.vtable(at)
	fail.If(err != nil, "%s: %w", name, err)
	for i, f := range layout()[name] {
		slot := uint32(4 + 2*i)
		if slot+2 > uint32(binary.LittleEndian.Uint16(v.b[vtable:])) {
			break
		}
		from := uint32(binary.LittleEndian.Uint16(v.b[vtable+slot:]))
		if from == 0 {
			continue
		}
		fail.If(from+f.width() > size, "%s.%s: byte %d of a table of %d bytes", name, f.name, from, size)
		if err := v.field(f, at+from); err != nil {
			return fmt.Errorf("%s.%s: %w", name, f.name, err)
		}
	}
	return nil
}

// vtable finds the vtable of the table at a position, and how many bytes the table has.
func (v *verifier) vtable(at uint32) (vtable, size uint32, err error) {
	defer fail.Catch(&err)
	fail.Check(v.has(at, 4, 4))
	place := int64(at) - int64(int32(binary.LittleEndian.Uint32(v.b[at:])))
	fail.If(place < 0 || place+4 > int64(len(v.b)) || place%2 != 0, "byte %d: its vtable at byte %d of %d", at, place,
		len(v.b))
	vtable = uint32(place)
	length := binary.LittleEndian.Uint16(v.b[vtable:])
	size = uint32(binary.LittleEndian.Uint16(v.b[vtable+2:]))
	fail.If(length < 4 || length%2 != 0 || size < 4, "byte %d: a vtable of %d bytes of a table of %d", place, length,
		size)
	fail.Check(v.has(vtable, uint64(length), 2))
	return vtable, size, v.has(at, uint64(size), 4)
}

func (f field) width() uint32 {
	if f.kind == scalar {
		return f.size
	}
	return 4
}

func (v *verifier) field(f field, at uint32) (err error) {
	defer fail.Catch(&err)
	if f.kind == scalar {
		return v.has(at, uint64(f.size), min(f.size, 4))
	}
	to := fail.Must(v.offset(at))
	if f.kind == table {
		return v.table(f.of, to)
	}
	fail.Check(v.has(to, 4, 4))
	n := binary.LittleEndian.Uint32(v.b[to:])
	bytes := uint64(n) * uint64(f.size)
	if f.kind == text {
		bytes++ // strings end in a zero
	}
	// Accessors read numbers at any place: those of 8 bytes may lie at a multiple of 4.
	fail.Check(v.has(to+4, bytes, min(f.size, 4)))
	if f.kind != tables {
		return nil
	}
	for i := range n {
		at, err := v.offset(to + 4 + 4*i)
		if err == nil {
			err = v.table(f.of, at)
		}
		fail.If(err != nil, "[%d]: %w", i, err)
	}
	return nil
}

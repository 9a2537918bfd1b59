// SPDX-License-Identifier: Apache-2.0

package fb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/fail"
)

// Numbers are options of custom operators: the numbers and booleans of a FlexBuffers map.
type Numbers map[string]float64

// FlexBuffers' types of values, those of numbers.
const (
	flexInt      = 1
	flexUint     = 2
	flexFloat    = 3
	flexIndirect = 5 // that much above the three are values behind an offset
	flexMap      = 9
	flexBool     = 26
)

// maxNumbers bounds the entries of a map.
const maxNumbers = 1 << 10

// flex is a FlexBuffers file being read; every position is checked.
type flex []byte

// ReadNumbers reads a map, of which other entries are left out; nothing is an empty one.
func ReadNumbers(b []byte) (_ Numbers, err error) {
	defer fail.Catch(&err)
	out := Numbers{}
	if len(b) == 0 {
		return out, nil
	}
	f, n := flex(b), len(b)
	fail.If(n < 3, "%d bytes of options, want a FlexBuffers map", n)
	width := int(b[n-1])
	at := f.offset(n-2-width, width)
	fail.If(b[n-2]>>2 != flexMap, "the options are of FlexBuffers type %d, want a map (%d)", b[n-2]>>2, flexMap)
	return out, f.numbers(at, 1<<(b[n-2]&3), out)
}

// numbers reads the map at a position of which entries have width bytes.
func (f flex) numbers(at, width int, out Numbers) (err error) {
	defer fail.Catch(&err)
	size := f.uint(at-width, width)
	fail.If(size > maxNumbers, "%d options, want at most %d", size, maxNumbers)
	keys, keyWidth := f.offset(at-3*width, width), f.uint(at-2*width, width)
	fail.If(keyWidth != 1 && keyWidth != 2 && keyWidth != 4 && keyWidth != 8, "keys of %d bytes", keyWidth)
	for i := range int(size) {
		key := f.key(keys+i*int(keyWidth), int(keyWidth))
		kind := at + int(size)*width + i
		fail.If(kind >= len(f), "byte %d: a type belongs here, there are %d bytes", kind, len(f))
		if !isNumber(f[kind] >> 2) {
			continue
		}
		var err error
		if out[key], err = f.number(at+i*width, width, f[kind]); err != nil {
			return fmt.Errorf("option %q: %w", key, err)
		}
	}
	return nil
}

func isNumber(kind byte) bool {
	return kind >= flexInt && kind <= flexFloat || kind > flexIndirect && kind <= flexIndirect+flexFloat ||
		kind == flexBool
}

func (f flex) number(at, width int, packed byte) (_ float64, err error) {
	defer fail.Catch(&err)
	kind := packed >> 2
	if kind > flexIndirect && kind <= flexIndirect+flexFloat {
		at, width, kind = f.offset(at, width), 1<<(packed&3), kind-flexIndirect
	}
	v := f.uint(at, width)
	switch {
	case kind == flexInt:
		bits := 64 - 8*width
		return float64(int64(v<<bits) >> bits), nil
	case kind == flexUint || kind == flexBool:
		return float64(v), nil
	case kind == flexFloat && width == 4:
		return float64(math.Float32frombits(uint32(v))), nil
	case kind == flexFloat && width == 8:
		return math.Float64frombits(v), nil
	}
	return 0, fmt.Errorf("a value of FlexBuffers type %d of %d bytes, want a number", kind, width)
}

func (f flex) uint(at, width int) uint64 {
	fail.If(at < 0 || width != 1 && width != 2 && width != 4 && width != 8 || at+width > len(f),
		"byte %d: %d bytes belong here, there are %d", at, width, len(f))
	var b [8]byte
	copy(b[:], f[at:at+width])
	return binary.LittleEndian.Uint64(b[:])
}

// offset is where the offset at a position leads to: back.
func (f flex) offset(at, width int) int {
	v := f.uint(at, width)
	fail.If(v > uint64(at), "byte %d: an offset of %d bytes back", at, v)
	return at - int(v)
}

// key is the text that an offset leads to.
func (f flex) key(at, width int) string {
	to := f.offset(at, width)
	text, _, ended := bytes.Cut(f[to:], []byte{0})
	fail.If(!ended, "byte %d: a key without an end", to)
	return string(text)
}

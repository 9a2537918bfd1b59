// SPDX-License-Identifier: Apache-2.0

package fb

import (
	"encoding/binary"
	"fmt"
	"math"
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
func ReadNumbers(b []byte) (Numbers, error) {
	out := Numbers{}
	if len(b) == 0 {
		return out, nil
	}
	f, n := flex(b), len(b)
	if n < 3 {
		return nil, fmt.Errorf("%d bytes of options, want a FlexBuffers map", n)
	}
	width := int(b[n-1])
	at, err := f.offset(n-2-width, width)
	if err != nil {
		return nil, err
	}
	if b[n-2]>>2 != flexMap {
		return nil, fmt.Errorf("the options are of FlexBuffers type %d, want a map (%d)", b[n-2]>>2, flexMap)
	}
	return out, f.numbers(at, 1<<(b[n-2]&3), out)
}

// numbers reads the map at a position of which entries have width bytes.
func (f flex) numbers(at, width int, out Numbers) error {
	size, err := f.uint(at-width, width)
	if err != nil {
		return err
	}
	if size > maxNumbers {
		return fmt.Errorf("%d options, want at most %d", size, maxNumbers)
	}
	keys, err := f.offset(at-3*width, width)
	if err != nil {
		return err
	}
	keyWidth, err := f.uint(at-2*width, width)
	if err != nil {
		return err
	}
	if keyWidth != 1 && keyWidth != 2 && keyWidth != 4 && keyWidth != 8 {
		return fmt.Errorf("keys of %d bytes", keyWidth)
	}
	for i := range int(size) {
		key, err := f.key(keys+i*int(keyWidth), int(keyWidth))
		if err != nil {
			return err
		}
		kind := at + int(size)*width + i
		if kind >= len(f) {
			return fmt.Errorf("byte %d: a type belongs here, there are %d bytes", kind, len(f))
		}
		if !isNumber(f[kind] >> 2) {
			continue
		}
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

func (f flex) number(at, width int, packed byte) (float64, error) {
	kind := packed >> 2
	if kind > flexIndirect && kind <= flexIndirect+flexFloat {
		to, err := f.offset(at, width)
		if err != nil {
			return 0, err
		}
		at, width, kind = to, 1<<(packed&3), kind-flexIndirect
	}
	v, err := f.uint(at, width)
	if err != nil {
		return 0, err
	}
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

func (f flex) uint(at, width int) (uint64, error) {
	if at < 0 || width != 1 && width != 2 && width != 4 && width != 8 || at+width > len(f) {
		return 0, fmt.Errorf("byte %d: %d bytes belong here, there are %d", at, width, len(f))
	}
	var b [8]byte
	copy(b[:], f[at:at+width])
	return binary.LittleEndian.Uint64(b[:]), nil
}

func (f flex) offset(at, width int) (int, error) {
	v, err := f.uint(at, width)
	if err != nil {
		return 0, err
	}
	if v > uint64(at) {
		return 0, fmt.Errorf("byte %d: an offset of %d bytes back", at, v)
	}
	return at - int(v), nil
}

func (f flex) key(at, width int) (string, error) {
	to, err := f.offset(at, width)
	if err != nil {
		return "", err
	}
	for end := to; end < len(f); end++ {
		if f[end] == 0 {
			return string(f[to:end]), nil
		}
	}
	return "", fmt.Errorf("byte %d: a key without an end", to)
}

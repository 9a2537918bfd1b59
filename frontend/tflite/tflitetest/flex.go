// SPDX-License-Identifier: Apache-2.0

package tflitetest

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// Flex writes a FlexBuffers map of integers, floats and booleans, four bytes each.
func Flex[T any](v map[string]T) []byte {
	var b []byte
	put := func(n int) { b = binary.LittleEndian.AppendUint32(b, uint32(n)) }
	keys := slices.Sorted(maps.Keys(v))
	var at []int
	for _, k := range keys {
		at = append(at, len(b))
		b = append(append(b, k...), 0)
	}
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	put(len(keys))
	list := len(b)
	for i := range keys {
		put(len(b) - at[i])
	}
	put(len(b) - list)
	put(4)
	put(len(keys))
	entries := len(b)
	var types []byte
	for _, k := range keys {
		n, kind := 0, byte(1)
		switch x := any(v[k]).(type) {
		case int:
			n = x
		case float64:
			n, kind = int(math.Float32bits(float32(x))), 3
		case bool:
			kind = 26
			if x {
				n = 1
			}
		}
		put(n)
		types = append(types, kind<<2|2)
	}
	b = append(b, types...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	put(len(b) - entries)
	return append(b, 9<<2|2, 4)
}

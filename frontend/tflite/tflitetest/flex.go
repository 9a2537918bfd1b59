// SPDX-License-Identifier: Apache-2.0

package tflitetest

import (
	"encoding/binary"
	"maps"
	"slices"
)

// Flex writes a FlexBuffers map of integers, four bytes each.
func Flex(v map[string]int) []byte {
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
	for _, k := range keys {
		put(v[k])
	}
	for range keys {
		b = append(b, 1<<2|2)
	}
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	put(len(b) - entries)
	return append(b, 9<<2|2, 4)
}

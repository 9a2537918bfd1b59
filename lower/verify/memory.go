// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// Memory are inputs as they lie in the arena.
func Memory(in []*tensor.Dense, vs []*ir.Value) [][]byte {
	var out [][]byte
	for i, d := range in {
		if t := vs[i].Type; t.Order != nil && !t.SameMemory(nil) {
			d = d.Transpose(t.Order)
		}
		out = append(out, d.Bytes())
	}
	return out
}

// FromMemory reads a value as it lies in the arena back into logical order.
func FromMemory(b []byte, t ir.Type) (*tensor.Dense, error) {
	if t.Order == nil || t.SameMemory(nil) {
		return tensor.FromBytes(t.DType, t.Shape, b)
	}
	d, err := tensor.FromBytes(t.DType, t.Phys(), b)
	if err != nil {
		return nil, err
	}
	inv := make([]int, len(t.Order))
	for i, x := range t.Order {
		inv[x] = i
	}
	return d.Transpose(inv), nil
}

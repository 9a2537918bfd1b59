// SPDX-License-Identifier: Apache-2.0

package lm

import (
	"bytes"
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/fail"
)

// Count sets MACs and Work from the commands; it fails on an invalid one.
func (s *Segment) Count() (err error) {
	defer fail.Catch(&err)
	s.Work, s.MACs = 0, 0
	s.Work, s.MACs = s.count()
	return nil
}

func (s *Segment) count() (cost, macs uint64) {
	for i := range s.Commands {
		c := &s.Commands[i]
		steps, m, err := s.check(c)
		want(err == nil, "command %d (%s %s): %w", i, c.Op, c.Name, err)
		cost, macs = cost+steps, macs+m
		want(cost <= MaxWork, "command %d (%s %s): more than %d steps", i, c.Op, c.Name, uint64(MaxWork))
	}
	return cost, macs
}

// Validate checks everything that a driver relies on: tensors inside the memory
// or the weights, and commands inside their tensors.
func (s *Segment) Validate() (err error) {
	defer fail.Catch(&err)
	want(s.Memory >= 0 && s.Memory <= MaxBytes && s.Memory%Align == 0,
		"memory of %d bytes, want a multiple of %d up to %d", s.Memory, Align, MaxBytes)
	want(len(s.Tensors) <= MaxTensors && len(s.Commands) <= MaxCommands,
		"%d tensors and %d commands, want at most %d and %d", len(s.Tensors), len(s.Commands), MaxTensors, MaxCommands)
	for i := range s.Tensors {
		err := s.tensor(&s.Tensors[i])
		want(err == nil, "tensor %d (%s): %w", i, s.Tensors[i].Name, err)
	}
	want(len(s.Inputs()) > 0 && len(s.Outputs()) > 0, "%d inputs and %d outputs, want at least one of each",
		len(s.Inputs()), len(s.Outputs()))
	cost, macs := s.count()
	want(cost == s.Work && macs == s.MACs, "%d steps and %d MACs are noted, the commands have %d and %d", s.Work,
		s.MACs,
		cost, macs)
	return nil
}

func (s *Segment) tensor(t *Tensor) (err error) {
	defer fail.Catch(&err)
	want(t.DType.Size() > 0, "element type %d is unknown", uint8(t.DType))
	_, ok := roles[t.Role]
	want(ok, "role %d is unknown", uint8(t.Role))
	want(len(t.Shape) >= 1 && len(t.Shape) <= MaxDims && len(t.Order) == len(t.Shape),
		"rank %d with %d places in its order, want 1 to %d", len(t.Shape), len(t.Order), MaxDims)
	seen := make([]bool, len(t.Order))
	n := uint64(t.DType.Size())
	for i, d := range t.Shape {
		want(d >= 1 && d <= MaxBytes, "dimension %d is %d", i, d)
		n = mul(n, uint64(d))
		o := t.Order[i]
		want(o >= 0 && o < len(seen) && !seen[o], "order %v is no permutation", t.Order)
		seen[o] = true
	}
	want(n <= MaxBytes, "%d bytes, want at most %d", n, MaxBytes)
	want(t.Scale >= 0 && !math.IsInf(float64(t.Scale), 0) && t.Zero >= -1<<15 && t.Zero <= 1<<16,
		"scale %v and zero point %d", t.Scale, t.Zero)
	if t.Role == Const {
		want(len(t.Data) == int(n) && t.Offset >= 0 && t.Offset <= MaxBytes && t.Offset%Align == 0,
			"%d bytes of data at offset %d, the shape needs %d at a multiple of %d", len(t.Data), t.Offset, n, Align)
		return nil
	}
	want(t.Offset >= 0 && uint64(t.Offset)+n <= uint64(s.Memory), "bytes %d to %d of a memory of %d", t.Offset,
		uint64(t.Offset)+n, s.Memory)
	return nil
}

// weights is the section of that name. Const tensors may share bytes of it, as
// long as they agree on them.
func (s *Segment) weights() ([]byte, error) {
	size := 0
	for i := range s.Tensors {
		if t := &s.Tensors[i]; t.Role == Const {
			size = max(size, t.Offset+len(t.Data))
		}
	}
	out := make([]byte, roundUp(size))
	for i := range s.Tensors {
		if t := &s.Tensors[i]; t.Role == Const {
			copy(out[t.Offset:], t.Data)
		}
	}
	for i := range s.Tensors {
		if t := &s.Tensors[i]; t.Role == Const && !bytes.Equal(out[t.Offset:t.Offset+len(t.Data)], t.Data) {
			return nil, fmt.Errorf("constant %s lies on another one with other content", t.Name)
		}
	}
	return out, nil
}

func roundUp(n int) int { return (n + Align - 1) &^ (Align - 1) }

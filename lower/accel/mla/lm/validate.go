// SPDX-License-Identifier: Apache-2.0

package lm

import (
	"bytes"
	"fmt"
	"math"
)

// Count sets MACs and Work from the commands; it fails on an invalid one.
func (s *Segment) Count() error {
	cost, macs, err := s.count()
	s.Work, s.MACs = cost, macs
	return err
}

func (s *Segment) count() (cost, macs uint64, err error) {
	for i := range s.Commands {
		c, m, err := s.check(&s.Commands[i])
		if err != nil {
			return 0, 0, fmt.Errorf("command %d (%s %s): %w", i, s.Commands[i].Op, s.Commands[i].Name, err)
		}
		cost += c
		macs += m
		if cost > MaxWork {
			return 0, 0, fmt.Errorf("command %d (%s %s): more than %d steps", i, s.Commands[i].Op, s.Commands[i].Name,
				uint64(MaxWork))
		}
	}
	return cost, macs, nil
}

// Validate checks everything that a driver relies on: tensors inside the memory
// or the weights, and commands inside their tensors.
func (s *Segment) Validate() error {
	if s.Memory < 0 || s.Memory > MaxBytes || s.Memory%Align != 0 {
		return fmt.Errorf("memory of %d bytes, want a multiple of %d up to %d", s.Memory, Align, MaxBytes)
	}
	if len(s.Tensors) > MaxTensors || len(s.Commands) > MaxCommands {
		return fmt.Errorf("%d tensors and %d commands, want at most %d and %d", len(s.Tensors), len(s.Commands),
			MaxTensors, MaxCommands)
	}
	for i := range s.Tensors {
		if err := s.tensor(&s.Tensors[i]); err != nil {
			return fmt.Errorf("tensor %d (%s): %w", i, s.Tensors[i].Name, err)
		}
	}
	if len(s.Inputs()) == 0 || len(s.Outputs()) == 0 {
		return fmt.Errorf("%d inputs and %d outputs, want at least one of each", len(s.Inputs()), len(s.Outputs()))
	}
	cost, macs, err := s.count()
	if err != nil {
		return err
	}
	if cost != s.Work || macs != s.MACs {
		return fmt.Errorf("%d steps and %d MACs are noted, the commands have %d and %d", s.Work, s.MACs, cost, macs)
	}
	return nil
}

func (s *Segment) tensor(t *Tensor) error {
	if t.DType.Size() == 0 {
		return fmt.Errorf("element type %d is unknown", uint8(t.DType))
	}
	if _, ok := roles[t.Role]; !ok {
		return fmt.Errorf("role %d is unknown", uint8(t.Role))
	}
	if len(t.Shape) < 1 || len(t.Shape) > MaxDims || len(t.Order) != len(t.Shape) {
		return fmt.Errorf("rank %d with %d places in its order, want 1 to %d", len(t.Shape), len(t.Order), MaxDims)
	}
	seen := make([]bool, len(t.Order))
	n := uint64(t.DType.Size())
	for i, d := range t.Shape {
		if d < 1 || d > MaxBytes {
			return fmt.Errorf("dimension %d is %d", i, d)
		}
		n = mul(n, uint64(d))
		if o := t.Order[i]; o < 0 || o >= len(seen) || seen[o] {
			return fmt.Errorf("order %v is no permutation", t.Order)
		}
		seen[t.Order[i]] = true
	}
	if n > MaxBytes {
		return fmt.Errorf("%d bytes, want at most %d", n, MaxBytes)
	}
	if !(t.Scale >= 0) || math.IsInf(float64(t.Scale), 0) || t.Zero < -1<<15 || t.Zero > 1<<16 {
		return fmt.Errorf("scale %v and zero point %d", t.Scale, t.Zero)
	}
	if t.Role == Const {
		if len(t.Data) != int(n) || t.Offset < 0 || t.Offset > MaxBytes || t.Offset%Align != 0 {
			return fmt.Errorf("%d bytes of data at offset %d, the shape needs %d at a multiple of %d", len(t.Data),
				t.Offset, n, Align)
		}
		return nil
	}
	if t.Offset < 0 || uint64(t.Offset)+n > uint64(s.Memory) {
		return fmt.Errorf("bytes %d to %d of a memory of %d", t.Offset, uint64(t.Offset)+n, s.Memory)
	}
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

// SPDX-License-Identifier: Apache-2.0

// Package board is a board as the middle end sees it: the core that kernels are chosen
// for, its accelerator, what its memories cost.
package board

import (
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/cycles"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/accel/kinds"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
)

// Options are those options of the middle end that a board decides.
func Options(s *boards.Spec) (lower.Options, error) {
	a, err := Accelerator(s)
	return lower.Options{Target: kernel.Options{Core: core(s)}, Libraries: s.Kernels, Accel: a,
		Flash: int(s.Memory.Holding("weights").Capacity("weights", "rodata")), Copying: Copying(s)}, err
}

// Copying is what copies of constants cost at least and at most, wherever constants and
// arena will lie: linked to the fastest region that may hold them, copied to the slowest.
func Copying(s *boards.Spec) boards.Copying {
	c := boards.Copying{PerByte: cycles.CopyByte(s)}
	for i, r := range s.Memory.Holding("weights") {
		if i == 0 || r.Wait.PerByteCycles() < c.From.PerByteCycles() {
			c.From = r.Wait
		}
	}
	for _, r := range s.Memory.Holding("arena") {
		if r.Wait.PerByteCycles() > c.Arena.PerByteCycles() {
			c.Arena = r.Wait
		}
		room := uint64(r.Size)
		if r.Can("stack") {
			room -= min(room, uint64(s.Stack))
		}
		c.Room = max(c.Room, room)
	}
	return c
}

// core is what kernel choice needs to know about the board.
func core(s *boards.Spec) kernel.Core {
	return kernel.Core{Name: s.Core, MVE: s.ISA.HasMVE(), DSP: s.ISA.DSP, FPU: s.ISA.HasFPU(), Host: s.IsHost(),
		Armv6M: s.Armv6M(), Order: Order(s), Memory: cost.Memory{Board: s.Name,
			PerByte: float64(s.Memory.Wait("weights").PerByte),
			Error:   s.CyclesError()}}
}

// Order is that of bodies on a board. Machines, on which instructions are counted, keep that with the fewest.
func Order(s *boards.Spec) kernel.Order {
	switch p := &s.Pipeline; {
	case !s.IsChip():
	case p.Issue > 1, p.Stalls == boards.StallsLate:
		return kernel.Ahead
	case p.Stalls == boards.StallsLoads:
		return kernel.Short
	}
	return kernel.Fewest
}

// Accelerator is that of a board with the limits of its file; nil where the board
// has none. A kind or a parameter that does not exist is bad input.
func Accelerator(spec *boards.Spec) (accel.Accelerator, error) {
	if len(spec.Accelerators) == 0 {
		return nil, nil
	}
	x := spec.Accelerators[0]
	kind := kinds.Find(x.Kind)
	if kind == nil {
		return nil, text.Errorf("board %s: accelerator %s is of kind %q, which nncc does not know%s; known: %s",
			spec.Name, x.Name, x.Kind, text.Meant(x.Kind, kinds.Names()), strings.Join(kinds.Names(), ", "))
	}
	a, err := kind.Configure(x.Params)
	if err != nil {
		return nil, text.Errorf("board %s: accelerator %s: %w", spec.Name, x.Name, err)
	}
	return a, nil
}

// ISA names the instruction set of a board in the cost tables.
func ISA(b *boards.Spec) string { return core(b).ISA() }

// CostKey names the cost model of a node's kernel in a program for a board, which is
// linked with an installed CMSIS-NN or not.
func CostKey(s *boards.Spec, r *lower.Result, n *ir.Node, installed bool) cost.Key {
	o := lower.Options{Installed: installed, Target: kernel.Options{Core: core(s)}}
	return o.CostTarget().Key(r.Choices[n].Layer())
}

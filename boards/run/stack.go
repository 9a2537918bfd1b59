// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"slices"

	"github.com/nncc/nncc/boards/stack"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// StackBound is the most stack that functions of a program can take, whatever
// their input: it is read from the machine code, not measured.
type StackBound struct {
	stack.Path
	// Functions that can be reached from them, those with the largest frames
	// first; also where there is no bound.
	Functions []stack.Function
}

// Stack bounds what the deepest of some functions takes, from its call down.
// The error says why there is no bound: a host program, recursion, memory taken
// by a number that is only known when it runs, an unknown call.
func (im *Image) Stack(entries ...string) (*StackBound, error) {
	p, err := stack.Read(im.ELF)
	if err == nil {
		for i := range p.Functions {
			p.Functions[i].Name = runtimec.Plain(p.Functions[i].Name)
		}
	}
	if err != nil {
		var format *elf.FormatError
		if errors.As(err, &format) {
			return nil, errors.New("the program is no ELF file")
		}
		return nil, err
	}
	b := &StackBound{Functions: p.Reached(entries, runtimec.PointerTargets)}
	slices.SortStableFunc(b.Functions, func(x, y stack.Function) int {
		return cmp.Or(cmp.Compare(y.Frame, x.Frame), cmp.Compare(x.Name, y.Name))
	})
	for _, e := range entries {
		way, err := p.Deepest(e, runtimec.PointerTargets)
		if err != nil {
			return b, err
		}
		if way.Bytes > b.Bytes || b.Names == nil {
			b.Path = way
		}
	}
	return b, nil
}

// wrapperFrames are what the harness's functions between its measurement and the
// models' run functions put on the stack (model_glue.c).
func wrapperFrames(program string) []int {
	p, err := stack.Read(program)
	if err != nil {
		return nil // of a host program, no stack is measured
	}
	var frames []int
	for {
		at := p.Find(fmt.Sprintf("run_model_%d", len(frames)))
		if at < 0 {
			return frames
		}
		frames = append(frames, p.Functions[at].Frame)
	}
}

// wrapper is that of a model.
func (im *Image) wrapper(model int) int {
	if model < len(im.frames) {
		return im.frames[model]
	}
	return 0
}

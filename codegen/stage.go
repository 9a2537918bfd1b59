// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir/program"
)

// Constants can have copies in faster memory (program.Const.Staged, program.Step.Fetches):
// in memory of the caller, to which <name>_stage copies them once and which steps find
// through the pointer f, or in the arena, to which a step copies what it is about to read.

// stagedView is what templates print of the staged memory.
type stagedView struct {
	Bytes  int
	Region string // of the board that was chosen; "": none was
	Copies []copyView
}

// copyView is a constant and its copy at so many bytes.
type copyView struct {
	Name, CType, From string
	At, Bytes         int
}

// Count is how many constants have copies.
func (v *stagedView) Count() int { return len(v.Copies) }

// stagedName is the macro that gives the copy of a staged constant.
func (e *emitter) stagedName(i int) string { return fmt.Sprintf("%s_staged_%d", e.prefix, i) }

// staged is the view of the staged memory, nil without.
func (e *emitter) staged(region string) *stagedView {
	if e.prog.StagedBytes == 0 {
		return nil
	}
	v := &stagedView{Bytes: e.prog.StagedBytes, Region: comment(region)}
	for _, i := range e.prog.Staged() {
		x := &e.prog.Consts[i]
		v.Copies = append(v.Copies, copyView{e.stagedName(i), x.CType, e.consts[i], x.At, x.Bytes()})
	}
	return v
}

// constant is a pointer to what a step reads of a constant, which may be a copy.
func (w *stepWriter) constant(i int) string {
	x := &w.prog.Consts[i]
	if b := w.step.Fetched(i); b >= 0 {
		return w.pointer(b, 0, x.CType)
	}
	if x.Staged {
		w.view.Staged = true
		return w.stagedName(i) + "(f)"
	}
	w.view.Constants = w.view.Constants || w.bound != nil
	return w.consts[i]
}

// fetches are copies that a step makes for itself.
func (w *stepWriter) fetches(list []program.Fetch) []string {
	var text []string
	for _, f := range list {
		w.view.Idle, w.view.Constants = false, w.view.Constants || w.bound != nil
		text = append(text, wrapCall("NNCC_FETCH", []string{w.place(f.Buffer, 0),
			w.consts[f.Const], fmt.Sprintf("%du", w.prog.Consts[f.Const].Bytes())})+";")
	}
	return text
}

// isCopied reports a constant of which a step reads a copy.
func (w *stepWriter) isCopied(i int) bool { return w.prog.Consts[i].Staged || w.step.Fetched(i) >= 0 }

// Fetches reports that some step copies constants to the arena.
func (v *modelView) Fetches() bool {
	return slices.ContainsFunc(v.Program.Steps, func(s *program.Step) bool { return len(s.Fetches) > 0 })
}

// HasCopies reports that constants have copies in faster memory.
func (v *modelView) HasCopies() bool { return v.Staged != nil || v.Fetches() }

// Staged reports copies of constants of some model that the caller's memory holds.
func (v *firmwareView) Staged() bool {
	return slices.ContainsFunc(v.Models, func(m *modelView) bool { return m.Staged != nil })
}

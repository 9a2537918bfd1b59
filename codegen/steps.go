// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/program"
)

// Steps of a model can be called one by one. The functions that hold them are
// compiled into <name>_run and into <name>_step: each is as small and as fast as
// if there were no other, and the linker drops the one that nobody calls
// (README.md has figures).

// StepNames are names of the steps as C strings.
func (v *modelView) StepNames() (names []string) {
	for _, s := range v.Steps {
		switch {
		case s.More && !s.GoesOn:
			names = append(names, cString(v.Program.Steps[s.Index].Chain))
		case !s.GoesOn:
			names = append(names, cString(v.Program.Steps[s.Index].Name))
		}
	}
	return names
}

// Chains reports steps of several calls.
func (v *modelView) Chains() bool { return v.StepCount() < len(v.Program.Steps) }

// Copies reports state that is copied behind the last step.
func (v *modelView) Copies() bool {
	return slices.ContainsFunc(v.States, func(s stateView) bool { return !s.InPlace })
}

// HasMemory reports that the steps see memory: there are steps, or copies of state.
func (v *modelView) HasMemory() bool { return len(v.Steps) > 0 || v.Copies() }

// StepCount is the number of steps.
func (v *modelView) StepCount() int { return v.Last() + 1 }

// First is the model that examples speak of.
func (v *firmwareView) First() *modelView { return v.Models[0] }

// Last is the number of the last step, -1 where there is none.
func (v *modelView) Last() int {
	if len(v.Steps) == 0 {
		return -1
	}
	return v.Steps[len(v.Steps)-1].Step
}

// Versions of what the info says, as C strings.
func (v *modelView) InfoStrings() []string {
	return []string{cString(v.Prefix), cString(v.Version), cString(v.SHA256), cString(v.Board)}
}

// until says how long an input, with n steps before its end, is there: as a macro and a remark.
func until(n, steps int) (macro string, step int, doc string) {
	if n == steps {
		return "UNTIL", n, "no step writes over it"
	}
	return "UNTIL", n, fmt.Sprintf("as the caller wrote it until step %d", n)
}

// cString is text as a C string: what is not printable ASCII, and what could be a
// trigraph, is written as a number.
func cString(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '?' {
			fmt.Fprintf(&b, "\\%03o", c)
		} else {
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}

// stateView is state that one run hands to the next.
type stateView struct {
	Comment string
	In, Out string // places
	Bytes   int
	InPlace bool   // a run writes the new one where the old one was
	Fill    string // every byte of zero
	Init    string // constant that it begins with; "": zero
}

func (e *emitter) state(x program.State) stateView {
	in, out := e.prog.Inputs[x.In], e.prog.Outputs[x.Out]
	t := e.prog.Buffers[in.Buffer].Type
	v := stateView{Comment: comment(fmt.Sprintf("%s becomes %s", out.Name, in.Name)), In: e.place(in.Buffer, 0),
		Out: e.place(out.Buffer, 0), Bytes: t.Bytes(), InPlace: e.prog.InPlace(x), Fill: IntLit(int64(x.Fill))}
	if x.Init >= 0 {
		v.Init = e.consts[x.Init]
	}
	if e.bound != nil {
		v.Fill = e.bound.trained(call.T(x.Fill), "state")
	}
	return v
}

// Params are the parameters of the functions that run the model.
func (v *modelView) Params() string {
	if len(v.States) > 0 {
		return v.ArenaParam + ", void *state"
	}
	return v.ArenaParam
}

// Args are arguments for Params in examples.
func (v *modelView) Args() string {
	if len(v.States) > 0 {
		return v.ArenaArg + ", " + v.Prefix + "_state"
	}
	return v.ArenaArg
}

// StepArgs are the arguments of the steps.
func (v *modelView) StepArgs() string {
	args := "a"
	if len(v.States) > 0 {
		args += ", s"
	}
	if v.Bound != nil {
		args += ", w"
	}
	if v.Staged != nil {
		args += ", f"
	}
	return args
}

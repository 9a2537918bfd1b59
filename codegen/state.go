// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/program"
)

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
		return v.ArenaParam() + ", void *state"
	}
	return v.ArenaParam()
}

// Args are arguments for Params in examples.
func (v *modelView) Args() string {
	if len(v.States) > 0 {
		return v.ArenaArg() + ", " + v.Prefix + "_state"
	}
	return v.ArenaArg()
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

// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/codegen"
)

// Harness is how a test program calls a model.
func Harness(i *codegen.Info) run.Model {
	m := run.Model{Name: i.Prefix, Header: i.Prefix + ".h", ArenaMacro: i.ArenaMacro, RunFunc: i.Prefix + "_run",
		Steps: i.StepNames}
	for _, x := range i.ArenaParts {
		m.RunFunc, m.Arenas = i.Prefix+"_run_in", i.Prefix+"_arenas"
		m.Parts = append(m.Parts, run.Part{Region: x.Region, Field: x.Field, Macro: x.Macro})
	}
	if i.WeightsFile != "" {
		m.BindFunc, m.WeightsFile = i.Prefix+"_bind", i.WeightsFile
	}
	if i.StagedMacro != "" {
		m.StageFunc, m.StagedMacro = i.Prefix+"_stage", i.StagedMacro
	}
	if len(i.States) > 0 {
		m.ResetFunc, m.StateMacro = i.Prefix+"_reset", i.StateMacro
	}
	for _, x := range i.Inputs {
		m.Inputs = append(m.Inputs, run.IO{Name: x.Name, CFunc: i.Prefix + "_" + x.CName, Bytes: x.Bytes})
	}
	for _, x := range i.Outputs {
		m.Outputs = append(m.Outputs, run.IO{Name: x.Name, CFunc: i.Prefix + "_" + x.CName, Bytes: x.Bytes})
	}
	return m
}

// Measured is what a program was seen to take. The terminal, report.json and
// `verify --json` show these figures, and no others under the same names.
type Measured struct {
	// Instructions of the run function in the largest case.
	Instructions uint64 `json:"instructions"`
	// Outside is how many of them are in no layer: the run function's own
	// calls and checks. The layers and these add up to Instructions.
	Outside int64 `json:"instructions_outside_layers"`
	// TextBytes is machine code, RODataBytes are constants beside the weights:
	// of the model and its kernels, without the C library.
	TextBytes   uint64 `json:"text_bytes"`
	RODataBytes uint64 `json:"rodata_bytes"`
	// StackBytes is the most that any case used.
	StackBytes int `json:"stack_bytes"`
}

// NewMeasured reads the figures from a program and its run. Instructions of the
// layers are res.Layers, of the same case.
func NewMeasured(s run.Sizes, res *run.Result) Measured {
	m := Measured{TextBytes: s.Code(), RODataBytes: s.ROData(), StackBytes: res.StackBytes}
	if len(res.Cases) > 0 {
		m.Instructions = res.Cases[res.Largest].Instructions
	}
	m.Outside = int64(m.Instructions)
	for _, n := range res.Layers {
		m.Outside -= int64(n)
	}
	return m
}

// Stack is the bound of the stack, read from the program's machine code.
type Stack struct {
	Bound *int     `json:"stack_bound_bytes,omitempty"` // nil: not known
	Path  []string `json:"stack_path,omitempty"`        // the deepest way down, from the run or reset function
	// why there is no bound: of programs for a host, nothing is read
	NoBound string `json:"stack_unbounded,omitempty"`
	// Functions that run and reset can come to, the C library's included.
	Functions []Function `json:"functions,omitempty"`
}

// AtMost is the bound, 0 where there is none.
func (r *Stack) AtMost() int {
	if r.Bound == nil {
		return 0
	}
	return *r.Bound
}

// Function is what a function takes from the stack itself.
type Function struct {
	Name       string `json:"name"`
	StackBytes int    `json:"stack_bytes"`
}

// StackOf reads the stack of a program from its machine code.
func StackOf(m run.Model, im *run.Image) Stack {
	entries := []string{m.RunFunc}
	if f := m.ResetFunc; f != "" {
		entries = append(entries, f)
	}
	b, err := im.Stack(entries...)
	r := Stack{}
	if b != nil {
		for _, f := range b.Functions {
			r.Functions = append(r.Functions, Function{f.Name, f.Frame})
		}
	}
	if err != nil {
		r.NoBound = err.Error()
		return r
	}
	r.Bound, r.Path = &b.Bytes, b.Names
	return r
}

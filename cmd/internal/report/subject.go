// SPDX-License-Identifier: Apache-2.0

// Package report is what users read of a compilation or a verification: report.json
// and report.html, the tables of explain, verify and profile, and their JSON.
package report

import (
	"slices"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
)

// Subject is what a report is about: a compiled model with what was decided.
type Subject struct {
	Version   string // of nncc
	Name      string // the model's file, without its folder
	Board     *boards.Spec
	Model     *onnx.Model
	Lowered   *lower.Result
	Info      *codegen.Info
	Files     []codegen.File
	Harness   run.Model
	Placement boards.Placement // of the program in the board's memories
	Copies    *Copying         // of constants in faster memory; nil: none was asked for, or none pays
	// What the user chose.
	Optimize option.Optimize
	Align    option.Align
}

// FileBytes is the size of an emitted file; 0 where there is none.
func (o *Subject) FileBytes(path string) int {
	i := slices.IndexFunc(o.Files, func(f codegen.File) bool { return f.Path == path })
	if i < 0 {
		return 0
	}
	return len(o.Files[i].Data)
}

// low is the lowering of step i.
func (o *Subject) low(i int) *call.Lowered { return o.Lowered.Low[o.Lowered.Schedule.Nodes[i]] }

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

// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/nncc/nncc/boards/run"

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

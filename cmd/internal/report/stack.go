// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/nncc/nncc/boards/run"

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

// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/kernel"
)

// unsupported stands for the plan of a node that has none.
var unsupported = &kernel.Plan{Kernel: &kernel.Kernel{Name: "none", Library: "none"}}

// Placed reports a choice that has a kernel.
func Placed(c kernel.Choice) bool { return c.Plan != unsupported }

// Unplaced says which nodes of a graph no kernel takes (one error each), and
// what became of the others.
type Unplaced struct {
	Errors
	Graph     *ir.Graph
	Choices   map[*ir.Node]kernel.Choice // Kernel "none" where there is no kernel
	Refused   []Refusal
	Precision string
}

// Errors are all the nodes that could not be lowered.
type Errors []error

func (e Errors) Error() string {
	s := ""
	for i, x := range e {
		if i == 20 {
			return s + fmt.Sprintf("\nand %d more", len(e)-i)
		}
		if i > 0 {
			s += "\n"
		}
		s += x.Error()
	}
	return s
}

// Unwrap lets errors.As find the single ones.
func (e Errors) Unwrap() []error { return slices.Clone(e) }

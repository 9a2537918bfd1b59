// SPDX-License-Identifier: Apache-2.0

// Package accel is the contract between the compiler and accelerators:
// processors beside the core that compute segments of a graph. One package
// implements Accelerator for each kind; kinds.Table lists them. See README.md.
package accel

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
)

// Accelerator is one kind of accelerator with its limits. Those in kinds.Table
// have default limits; Configure gives that of a board.
type Accelerator interface {
	// Kind is the name in board files, `accelerators: [{name: a0, kind: KIND}]`,
	// in reports and of the steps' library; in capitals it begins the codes of
	// reasons. It is a C identifier.
	Kind() string
	// Configure is the accelerator with the `params` of a board file's entry. An
	// error says which key or value is wrong and what is wanted.
	Configure(params map[string]any) (Accelerator, error)
	// Params documents the keys that Configure knows.
	Params() []Param
	// Traits say what the pipeline does for it.
	Traits() Traits
	// CheckLegality gives every reason for which it does not compute a node of a
	// quantised graph; none: it does.
	CheckLegality(n *ir.Node) []kernel.Reason
	// Kernels are its rules as rows for `nncc kernels`, one for each operator.
	Kernels() []*kernel.Kernel
	// Compile turns a Segment node, all of whose nodes are legal, into the call
	// that runs it: a function of the driver, its status, the program as an
	// Image, working memory as scratch. Values of rank 4 lie in memory as
	// Traits say, others in logical order. A segment that has no room is refused
	// by an *ir.Diag.
	Compile(segment *ir.Node) (*call.Lowered, error)
	// Sources are driver stubs and simulator in C, as include/KIND/*.h and
	// src/KIND/*.c; KIND_driver.h declares what a vendor may implement instead.
	// nil: runtime_c has them.
	Sources() fs.FS
	// Format is that of its program files, for the verb that prints one; nil:
	// there is no such verb.
	Format() *Format
	// Device runs programs that other compilers wrote, on any board; nil: there are none.
	Device() *Device
}

// Sparing accelerators have programs of less memory that take more cycles.
type Sparing interface {
	// Within is the accelerator whose segments take at most so many bytes, or the least.
	Within(bytes int) Accelerator
}

// Device is what runs the Device nodes of a kind.
type Device struct {
	Kind string
	op.Simulator
	// Compile turns a node into the call that runs it.
	Compile func(n *ir.Node) (*call.Lowered, error)
}

// Traits are what the pipeline asks of an accelerator.
type Traits struct {
	// Native4D: the graph is rewritten so that every value has four dimensions
	// where that is possible; nodes behind the segments rebuild its outputs.
	Native4D bool
	// OtherRanks: it computes values of other ranks, too, so that programs with state keep the model's.
	OtherRanks bool
	// ChannelsLast: values of rank 4 on the boundary of a segment lie NHWC in
	// memory, otherwise in logical order.
	ChannelsLast bool
	// MinWork is the number of MACs below which a segment of its own does not pay
	// for its transfers.
	MinWork int64
	// Bfloat16 is how it computes where int8 is not enough; nil: int8 only.
	Bfloat16 *Bfloat16
}

// Bfloat16 is a second number format of an accelerator.
type Bfloat16 struct {
	// Takes reports whether a float node can be computed in bfloat16.
	Takes func(n *ir.Node) bool
	// Convert turns the nodes that chosen names, all of which Takes accepts, into
	// nodes on bfloat16, with conversions where others meet them.
	Convert func(g *ir.Graph, chosen func(n *ir.Node) bool) error
}

// Format is the file format of an accelerator's programs.
type Format struct {
	Ext      string // extension of files, and the verb that prints one
	What     string // what such a file is: "segment file"
	Doc      string // the verb's line of help
	MaxBytes int64  // of a file
	// Decode checks a file. What it returns prints itself for people, and
	// marshals to JSON for programs.
	Decode func(data []byte) (fmt.Stringer, error)
}

// FloatCode is the stable code of the reason that a node is computed in float.
func FloatCode(a Accelerator) string { return strings.ToUpper(a.Kind()) + "-FLOAT" }

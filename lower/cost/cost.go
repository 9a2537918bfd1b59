// SPDX-License-Identifier: Apache-2.0

// Package cost says what a layer costs: instructions, estimated cycles and bytes
// of flash. There is one question, Target.Of, for everybody who chooses; its key
// is a Layer, which a kernel.Plan gives. The answers come from tables that
// cmd/nncccost measures (README.md). The package knows variants and geometries,
// nothing of graphs.
package cost

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	runtimec "github.com/nncc/nncc/runtime_c"

	"github.com/nncc/nncc/ir/lists"
)

// Target is what a program runs on, as far as costs depend on it.
type Target struct {
	ISA  string // instruction set: mve, dsp, c, v6m
	Core string // as in boards, cortex-m4; "": there is no estimate of cycles
	// Memory says how long the core waits, and how far estimates for it are off.
	Memory Memory
	// Size: code is compiled with the board's flags for size.
	Size bool
	// Makes are the makes of libraries whose functions come from somewhere else
	// than the library's name says, by library.
	Makes map[string]string
}

// Memory is how long a core waits for what it reads, as the board's file says. The
// zero value is memory that never makes it wait.
type Memory struct {
	// Board has rates of its own, with waits for code, where they are measured;
	// elsewhere the core's rates hold.
	Board string
	// PerByte are the cycles that a byte of constants takes besides the load.
	PerByte float64
	// Error is what the board's files state of its cycles, relative.
	Error float64
}

// Layer is the key to what a plan costs.
type Layer struct {
	Library  string
	Variant  string // the functions that do the work, as the tables call them
	Geometry Geometry
	// Functions of the runtime that are linked for it; Constants are the bytes
	// that it reads besides the tensors.
	Functions []string
	Constants int
	Pixels    int // of the output for which it reads its constants once (call.Lowered)
}

// Cost is what a layer costs an inference.
type Cost struct {
	Instructions float64
	Cycles       float64 // 0: there is no estimate
	FlashBytes   int     // code and constants, as if nobody shared them
	Kernel       string  // the variant that would run
	Error        float64 // relative, root of the mean square, on layers that were not fitted
	Worst        float64 // the largest relative error of any measured layer
	CyclesError  float64 // relative, of Cycles: of the instructions, of what one takes, of the core's table
	// Unknown says why the variant has no measured model; instructions are an
	// estimate by others of the kind then, 0 where its layers are not alike, and
	// speed is not decided by it. "" where there is one.
	Unknown string
}

// Known reports a measured model behind the cost.
func (c *Cost) Known() bool { return c.Unknown == "" }

// Estimated reports instructions, measured or of others of the kind: enough where
// bytes are the goal, too.
func (c *Cost) Estimated() bool { return c.Instructions > 0 }

// ExpectedInstructions is what kernels are compared by: the mean of what a layer
// takes whose prediction is off by Error, which is more than the prediction.
func (c *Cost) ExpectedInstructions() float64 { return c.expected(c.Instructions) }

// ExpectedCycles is the same of Cycles. What the board's table is off by is the
// same for all kernels and no part of it.
func (c *Cost) ExpectedCycles() float64 { return c.expected(c.Cycles) }

func (c *Cost) expected(n float64) float64 { return n * (1 + c.Error*c.Error) }

// portable is the make of nncc's portable sources.
const portable = "nncc"

// Key names a model.
type Key struct {
	Make    string // "cmsis-nn": an installed library; "nncc": nncc's portable sources; "nncc-ISA": its own kernels
	ISA     string // "mve", "dsp", "c", "v6m"
	Variant string
}

func (k Key) String() string { return k.Make + " " + k.ISA + " " + k.Variant }

func byName(a, b Key) int { return cmp.Compare(a.String(), b.String()) }

// Key is the model that answers for a layer.
func (t *Target) Key(l *Layer) Key {
	k := Key{l.Library, t.ISA, l.Variant}
	if m, ok := t.Makes[l.Library]; ok {
		k.Make = m
	}
	return k
}

// Of is what a layer costs on the target.
func (t *Target) Of(l *Layer) Cost {
	c := Cost{Kernel: l.Variant, FlashBytes: l.Constants}
	for _, n := range t.Code(l.Functions) {
		c.FlashBytes += n
	}
	k := t.Key(l)
	m, apart := Models()[k], 0.0
	if m == nil && t.borrows(l) {
		k.Make = portable
		m, apart = Models()[k], portableError
	}
	switch {
	case m == nil:
		c.Unknown = fmt.Sprintf("%s has no cost table for this core", l.Variant)
	case !m.Covers.covers(traitsOf(&l.Geometry)):
		c.Unknown = fmt.Sprintf("no layer of this form was measured with %s", l.Variant)
	}
	if c.Unknown != "" {
		if why := t.Unpriced(l.Variant); why != "" {
			c.Unknown += ": " + why
		}
		if m = t.fallback(l.Geometry.Kind); m == nil {
			return c
		}
	}
	c.Instructions, c.Error, c.Worst = m.Predict(&l.Geometry), m.Error+apart, m.Worst+apart
	if r, ok := t.rate(l); ok {
		c.Cycles = c.Instructions*r.Cycles + t.Memory.PerByte*float64(l.Constants)
		c.CyclesError = c.Error + r.Error + t.Memory.Error
	}
	return c
}

// borrows reports a function of an installed library that is priced by nncc's
// sources of the same function: an element-wise one without vectors. Those that
// were measured in both take up to portableError more.
func (t *Target) borrows(l *Layer) bool {
	_, own := t.Makes[l.Library]
	return !own && t.ISA != "mve" && l.Geometry.Kind == Element
}

const portableError = 0.4

// fallback is the model of all variants of a kind together; nil where there is none.
func (t *Target) fallback(k Kind) *Model { return Models()[Key{anyMake, t.ISA, string(k)}] }

// Code are the bytes of the sources that functions bring along, by path.
func (t *Target) Code(functions []string) map[string]int {
	out := map[string]int{}
	for _, f := range functions {
		maps.Copy(out, t.sources(f))
	}
	return out
}

// Measured reports whether any variant has a model for layers of a kind.
func (t *Target) Measured(k Kind) bool { return measuredKinds()[kindOn{t.ISA, k}] }

// Variant is how the tables call functions that work together: their names in
// the manifest's column cost.
func Variant(functions []string) string {
	names := lists.Each(functions, func(f string) string { return runtimec.CostName(f) })
	return strings.Join(names, "+")
}

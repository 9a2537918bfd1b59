// SPDX-License-Identifier: Apache-2.0

package mla

import (
	"fmt"
	"io/fs"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/accel/mla/lm"
	"github.com/nncc/nncc/lower/kernel"
)

// Unit is an MLA with its limits, as the compiler's pipeline sees it.
type Unit struct{ Limits Limits }

var _ accel.Accelerator = (*Unit)(nil)

// New is an MLA with the given limits.
func New(l Limits) *Unit { return &Unit{l} }

// Kind is the name in board files.
func (*Unit) Kind() string { return Kind }

// Configure is an MLA with the parameters of a board file.
func (*Unit) Configure(params map[string]any) (accel.Accelerator, error) {
	l, err := ParseLimits(params)
	if err != nil {
		return nil, err
	}
	return New(l), nil
}

// Params documents the keys of a board file.
func (*Unit) Params() []accel.Param {
	l := Defaults()
	return l.params()
}

// Traits says: 4-D tensors, channels last; bfloat16 where the board says so.
func (u *Unit) Traits() accel.Traits {
	t := accel.Traits{Native4D: true, ChannelsLast: true, MinWork: int64(u.Limits.MinWork)}
	if u.Limits.BF16 != 0 {
		t.Bfloat16 = &accel.Bfloat16{Takes: func(n *ir.Node) bool { return TakesBF16(n, u.Limits) }, Convert: Bfloat16}
	}
	return t
}

// CheckLegality gives every reason against a node of a quantised graph.
func (u *Unit) CheckLegality(n *ir.Node) []kernel.Reason { return CheckQuantised(n, u.Limits) }

// Kernels are the rules for `nncc kernels`.
func (u *Unit) Kernels() []*kernel.Kernel {
	ops := lists.Filter(op.All(), func(d *ir.OpDef) bool { return supported[d] })
	return accel.Rows(Kind, ops, rules, opRule, &u.Limits)
}

// Compile makes a segment file, which the firmware links and hands to the
// driver with the addresses of inputs and outputs. The driver's working memory
// is the step's scratch.
func (u *Unit) Compile(n *ir.Node) (*call.Lowered, error) {
	seg, err := Compile(n.Body[0], u.Limits)
	if err != nil {
		return nil, err
	}
	file, err := lm.Encode(seg)
	if err != nil {
		return nil, bug.Errorf("segment %s: %w", n.Name, err)
	}
	in, out := &call.Array{Type: "mla_input"}, &call.Array{Type: "mla_output"}
	for i, v := range n.In {
		in.Elems = append(in.Elems, transfer(call.In{I: i, CType: "void"}, v))
	}
	for i, v := range n.Out {
		out.Elems = append(out.Elems, transfer(call.Out{I: i, CType: "void"}, v))
	}
	run := call.Call{Func: "mla_run_segment", Status: "MLA_OK", Args: []call.Arg{
		&call.Image{Ext: "lm", Data: file}, count(len(file)), call.Scratch{CType: "void"}, count(seg.Memory),
		in, count(len(n.In)), out, count(len(n.Out)), call.Null{}}}
	return &call.Lowered{Kernel: run.Func, Route: "segment file", Scratch: seg.Memory,
		Headers: []string{"mla/mla_driver.h"}, Calls: []call.Call{run}}, nil
}

func count(n int) call.Lit { return call.Lit(fmt.Sprintf("%du", n)) }

func transfer(data call.Arg, v *ir.Value) call.Nested {
	return call.Nested{Fields: []call.Field{call.F("data", data), call.F("bytes", count(v.Type.Bytes()))}}
}

// Sources are those of runtime_c.
func (*Unit) Sources() fs.FS { return nil }

// Format is the segment file.
func (*Unit) Format() *accel.Format {
	return &accel.Format{Ext: "lm", What: "segment file", Doc: "print an MLA segment file: tensors, commands, memory",
		MaxBytes: lm.MaxBytes, Decode: func(data []byte) (fmt.Stringer, error) {
			s, err := lm.Decode(data)
			if err != nil {
				return nil, err
			}
			return s, nil
		}}
}

// Device is nil: no other compiler writes programs for it.
func (*Unit) Device() *accel.Device { return nil }

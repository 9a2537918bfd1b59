// SPDX-License-Identifier: Apache-2.0

// Package acceltest is an accelerator for tests, and the worked example of the
// README in lower/accel: the CRU, a unit for convolutions and ReLU that exists
// in no hardware. It is smaller than the MLA in every respect, and unlike it
// where the contract leaves a choice: it wants no 4-D form, reads logical order
// and brings its driver with it. Importing the package adds it to kinds.Table.
package acceltest

import (
	"embed"
	"fmt"
	"io/fs"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/accel/kinds"
	"github.com/nncc/nncc/lower/kernel"
)

// Kind is the name in board files.
const Kind = "cru"

func init() { kinds.Table = append(kinds.Table, &CRU{Defaults()}) }

// Limits are the parameters of a board file.
type Limits struct {
	Kernel      int // largest kernel side
	Channels    int // most input or output channels
	MemoryBytes int // working memory of a segment, 0: any
	MinWork     int // MACs from which a segment pays
}

// Defaults are the limits where a board file says nothing.
func Defaults() Limits { return Limits{Kernel: 5, Channels: 64} }

func (l *Limits) params() []accel.Param {
	return []accel.Param{
		{Name: "kernel", Doc: "largest kernel side", Low: 1, High: 15, One: &l.Kernel},
		{Name: "channels", Doc: "most channels of an input or output", Low: 1, One: &l.Channels},
		{Name: "memory_bytes", Doc: "working memory of a segment, 0: any", One: &l.MemoryBytes},
		{Name: "min_work", Doc: "MACs from which a segment of its own pays", One: &l.MinWork},
	}
}

// CRU is the accelerator with its limits.
type CRU struct{ Limits Limits }

var _ accel.Accelerator = (*CRU)(nil)

// Kind is the name in board files.
func (*CRU) Kind() string { return Kind }

// Configure is a CRU with the parameters of a board file.
func (*CRU) Configure(params map[string]any) (accel.Accelerator, error) {
	u := &CRU{Defaults()}
	if err := accel.DecodeParams(params, u.Limits.params()); err != nil {
		return nil, err
	}
	return u, nil
}

// Params documents the keys of a board file.
func (*CRU) Params() []accel.Param {
	l := Defaults()
	return l.params()
}

// Traits says: logical order, whatever rank; int8 only.
func (u *CRU) Traits() accel.Traits { return accel.Traits{MinWork: int64(u.Limits.MinWork)} }

// CheckLegality gives every reason against a node.
func (u *CRU) CheckLegality(n *ir.Node) []kernel.Reason {
	return accel.Violations(rules, n, &u.Limits)
}

// Kernels are the rules for `nncc kernels`.
func (u *CRU) Kernels() []*kernel.Kernel {
	return accel.Rows(Kind, []*ir.OpDef{op.Conv, op.Relu}, rules, opRule, &u.Limits)
}

// Compile makes the program and the call of the driver that runs it.
func (u *CRU) Compile(n *ir.Node) (*call.Lowered, error) {
	p, err := compile(n.Body[0])
	if err != nil {
		return nil, err
	}
	if most := u.Limits.MemoryBytes; most > 0 && p.Memory > most {
		return nil, &ir.Diag{Code: "cru-memory", Node: "segment " + n.Name,
			Msg: fmt.Sprintf("needs %d bytes of working memory, the accelerator has %d", p.Memory, most)}
	}
	file := p.encode()
	in, out := &call.Array{Type: "cru_input"}, &call.Array{Type: "cru_output"}
	for i := range n.In {
		in.Elems = append(in.Elems, call.Nested{Fields: []call.Field{call.F("data", call.In{I: i, CType: "void"})}})
	}
	for i := range n.Out {
		out.Elems = append(out.Elems, call.Nested{Fields: []call.Field{call.F("data", call.Out{I: i, CType: "void"})}})
	}
	run := call.Call{Func: "cru_run", Status: "CRU_OK", Args: []call.Arg{
		&call.Image{Ext: Kind, Data: file}, count(len(file)), call.Scratch{CType: "uint8_t"}, count(p.Memory),
		in, count(len(n.In)), out, count(len(n.Out))}}
	return &call.Lowered{Kernel: run.Func, Scratch: p.Memory, Headers: []string{"cru/cru_driver.h"},
		Calls: []call.Call{run}}, nil
}

func count(n int) call.Lit { return call.Lit(fmt.Sprintf("%du", n)) }

//go:embed c
var sources embed.FS

// Sources are the driver's header and the simulator behind it.
func (*CRU) Sources() fs.FS {
	return bug.Must(fs.Sub(sources, "c"))
}

// Format is that of the program files, which `nncc cru` prints.
func (*CRU) Format() *accel.Format {
	return &accel.Format{Ext: Kind, What: "CRU program", Doc: "print a CRU program: commands and memory",
		MaxBytes: 1 << 24, Decode: func(data []byte) (fmt.Stringer, error) { return decode(data) }}
}

// Device is nil: no other compiler writes programs for it.
func (*CRU) Device() *accel.Device { return nil }

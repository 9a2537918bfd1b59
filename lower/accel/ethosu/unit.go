// SPDX-License-Identifier: Apache-2.0

// Package ethosu is Arm's Ethos-U55 and U65, which run streams of ours and of other compilers: npu executes them.
package ethosu

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/nncc/nncc/frontend/tflite"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/accel/ethosu/npu"
	"github.com/nncc/nncc/lower/kernel"
)

// Kind is the name in board files, and Model the name in models.
const (
	Kind  = "ethosu"
	Model = "ethos-u"
)

// Unit is an Ethos-U of one configuration, a board's or any.
type Unit struct {
	MACs, U65 int
	Mode      int
	Cache     int
	cfg       *npu.Config
	board     bool
	most      int64 // bytes of working memory that a segment may have; 0: any
}

var _ accel.Accelerator = (*Unit)(nil)

// New is an Ethos-U55 with 128 MACs.
func New() *Unit {
	return &Unit{MACs: 128, Cache: npu.CacheKiB, cfg: npu.Find("ethos-u55-128").With(0, npu.CacheKiB<<10)}
}

// Kind is the name in board files.
func (*Unit) Kind() string { return Kind }

func (u *Unit) params() []accel.Param {
	return []accel.Param{{Name: "macs", Doc: "multiplications of a cycle", Low: 32, High: 512, One: &u.MACs},
		{Name: "u65", Doc: "1: an Ethos-U65", High: 1, One: &u.U65},
		{Name: "memory", Doc: "where things lie: all in the SRAM; all but constants; only working memory. " +
			"Without it: shared-sram, of U65 dedicated-sram", Words: npu.Modes, One: &u.Mode},
		{Name: "cache", Doc: "KiB of dedicated SRAM", Low: 16, High: 1 << 20, One: &u.Cache}}
}

// Params documents the keys of a board file.
func (*Unit) Params() []accel.Param { return New().params() }

// Configure is an Ethos-U with the parameters of a board file.
func (*Unit) Configure(params map[string]any) (accel.Accelerator, error) {
	u := New()
	if err := accel.DecodeParams(params, u.params()); err != nil {
		return nil, err
	}
	c := npu.Find(u.name())
	if c == nil {
		return nil, fmt.Errorf("accelerator %s does not exist; want one of %s", u.name(),
			strings.Join(lists.Map(npu.Configs, func(c npu.Config) string { return c.Name }), ", "))
	}
	u.board, u.cfg = true, c.With(npu.Mode(u.Mode), u.Cache<<10)
	return u, nil
}

func (u *Unit) name() string { return fmt.Sprintf("ethos-u%d-%d", 55+10*u.U65, u.MACs) }

// Within is the same with segments that take fewer bytes, and more cycles.
func (u *Unit) Within(bytes int) accel.Accelerator {
	x := *u
	x.most = int64(bytes)
	return &x
}

// Traits says: 4-D tensors, channels last.
func (*Unit) Traits() accel.Traits {
	return accel.Traits{Native4D: true, OtherRanks: true, ChannelsLast: true}
}

// CheckLegality gives the reasons why the configuration does not compute a node exactly.
func (u *Unit) CheckLegality(n *ir.Node) []kernel.Reason {
	if why := refused(u.cfg, n); why != "" {
		return []kernel.Reason{{Code: formCode, Text: why}}
	}
	return nil
}

const formCode = "ETHOSU-FORM"

// Kernels are the forms, one for each operator.
func (u *Unit) Kernels() []*kernel.Kernel {
	out := []*kernel.Kernel{{Name: Kind + "." + op.Device.Name, Library: Kind, Ops: []*ir.OpDef{op.Device},
		Doc: "command streams of other compilers"}}
	for _, d := range op.All() {
		var docs []string
		for _, f := range forms {
			if f.is(d) {
				docs = append(docs, f.doc)
			}
		}
		if docs == nil {
			continue
		}
		out = append(out, &kernel.Kernel{Name: Kind + "." + d.Name, Library: Kind, Ops: []*ir.OpDef{d},
			Doc: "on the accelerator: " + d.Doc, Rules: kernel.Rules{{Code: formCode, Doc: strings.Join(docs, "; or "),
				Check: func(n *kernel.Node) string { return refused(u.cfg, n.Node) }}}})
	}
	return out
}

// Compile makes a segment's stream and the call that runs it: inputs and results are regions of their own.
func (u *Unit) Compile(n *ir.Node) (*call.Lowered, error) {
	b, err := build(u.cfg, n.Body[0], u.most)
	if err != nil {
		return nil, err
	}
	s, err := npu.Parse(b.actions)
	if err != nil {
		return nil, bug.Errorf("%s: %w", n.Name, err)
	}
	s.Config = u.cfg
	takes, err := estimate(s)
	if err == nil {
		err = b.check(n, s)
	}
	if err != nil {
		return nil, bug.Errorf("%s: %w", n.Name, err)
	}
	takes.WeightBytes = b.weights
	return b.invoke(n, takes), nil
}

// Sources are those of runtime_c.
func (*Unit) Sources() fs.FS { return nil }

// Device runs streams that Vela wrote.
func (u *Unit) Device() *accel.Device {
	return &accel.Device{Kind: Model, Simulator: op.Simulator{Check: check, Run: run, MACs: macs}, Compile: u.compile}
}

// Format is that of streams, alone or in a model.
func (*Unit) Format() *accel.Format {
	return &accel.Format{Ext: "stream", What: "command stream or TensorFlow Lite model", Doc: "print the command " +
		"streams of an Ethos-U: operations, regions, sizes, blocks", MaxBytes: 1 << 28, Decode: decode}
}

// listing is the streams of a file, by name.
type listing []entry

type entry struct {
	Name   string      `json:"name,omitempty"`
	Config string      `json:"configuration"`
	Ops    []operation `json:"operations"`
}

type operation struct {
	Name string `json:"name"`
	Word int    `json:"word"`
	Text string `json:"text"`
}

func decode(data []byte) (fmt.Stringer, error) {
	streams := []tflite.Custom{{Data: data}}
	if tflite.Is(data) {
		var err error
		if streams, err = tflite.CustomData(data, Model); err != nil {
			return nil, err
		}
	}
	var all listing
	for _, c := range streams {
		s, err := npu.Parse(c.Data)
		if err != nil {
			return nil, err
		}
		e := entry{Name: c.Name, Config: s.Config.Name}
		if err := s.Ops(func(o *npu.Op) error {
			e.Ops = append(e.Ops, operation{o.Name(), o.At, o.Describe()})
			return nil
		}); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func (l listing) String() string {
	var b strings.Builder
	for _, e := range l {
		fmt.Fprintf(&b, "%s for %s: %d operations\n", e.Name, e.Config, len(e.Ops))
		for _, o := range e.Ops {
			b.WriteString(o.Text)
		}
	}
	return b.String()
}

// SPDX-License-Identifier: Apache-2.0

package op

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// DeviceAttrs are the attributes of Device: what runs it, bytes of its memories, where inputs behind the
// program and its constants lie in the first of them, where results do, and the results' types.
type DeviceAttrs struct {
	Kind   string `attr:",required"`
	Memory []int
	In     []int
	Out    []int
	Types  []int
	Ranks  []int
	Shapes []int
}

// Device is a program that another compiler wrote for a device: inputs are the program, its constants, and
// data as they lie in memory.
var Device = def(ir.OpDef{
	Name: "Device", Domain: "nncc", Doc: "a program of another compiler for a device",
	Attrs: ir.Declare[DeviceAttrs](), MinIn: 2, MaxIn: -1, MaxOut: -1, Pattern: ir.Opaque, Quant: ir.QNone,
	Infer: inferDevice, Eval: evalDevice, MACs: deviceMACs,
})

// Simulator is what knows a kind of device. Bytes of data are in the order of inputs and results.
type Simulator struct {
	// Check refuses a program that the device must not run.
	Check func(n *ir.Node, out []ir.Type) error
	// Run executes one.
	Run func(n *ir.Node, data [][]byte) ([][]byte, error)
	// MACs are the multiplications of a program.
	MACs func(n *ir.Node) int64
}

// Simulators are those of the devices, by kind: who links one puts it here.
var Simulators = map[string]Simulator{}

func inferDevice(n *ir.Node) ([]ir.Type, error) {
	a := ir.AttrsOf[DeviceAttrs](n)
	s, ok := Simulators[a.Kind]
	refuse(n, !ok, "unsupported-op", "nothing here runs programs for %s", a.Kind)
	for _, v := range n.In[:2] {
		refuse(n, v.Const == nil || v.Type.DType != tensor.U8, "attribute", "a program that is no constant of bytes")
	}
	refuse(n, len(a.In) != len(n.In)-2 || len(a.Out) != len(a.Types) || len(a.Out) != len(a.Ranks), "attribute",
		"%d places for %d inputs, %d places, %d types and %d ranks of results", len(a.In), len(n.In)-2, len(a.Out),
		len(a.Types), len(a.Ranks))
	var out []ir.Type
	shapes := a.Shapes
	for i, rank := range a.Ranks {
		d, ok := tensor.FromONNX(a.Types[i])
		refuse(n, !ok || rank < 0 || rank > len(shapes), "attribute", "type %d and rank %d of a result", a.Types[i],
			rank)
		out = append(out, ir.T(d, shapes[:rank]...))
		shapes = shapes[rank:]
	}
	return out, s.Check(n, out)
}

func evalDevice(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	s := Simulators[ir.AttrsOf[DeviceAttrs](n).Kind]
	data := fail.Must(s.Run(n, lists.Map(in[2:], func(t *tensor.Dense) []byte { return t.Bytes() })))
	out := make([]*tensor.Dense, len(data))
	for i, b := range data {
		out[i] = fail.Must(tensor.FromBytes(n.Out[i].Type.DType, slices.Clone(n.Out[i].Type.Shape), b))
	}
	return out, nil
}

func deviceMACs(n *ir.Node) int64 {
	return Simulators[ir.AttrsOf[DeviceAttrs](n).Kind].MACs(n)
}

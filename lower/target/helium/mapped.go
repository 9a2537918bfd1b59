package helium

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/target"
)

// mapped is a convolution with a function of each value behind it, by a table
// where its results are stored.
var mapped = &target.Kernel{
	Name: "nncc_helium_mapped_s8", Library: Library, Doc: "int8 convolution with a function of each result, by a table in the store loop",
	Ops: []*ir.OpDef{op.Fused}, Layout: target.SpatialLayout, Lower: lowerMapped,
	Rules: []target.Rule{onHelium("HELIUM-MAPPED-00"), target.MappedConvRule("HELIUM-MAPPED-01", conv)},
}

func lowerMapped(n *ir.Node, o *target.Options) (*target.Lowered, error) {
	c := target.ChainOf(n)
	l, err := lowerConv(c.Main, o)
	if err != nil {
		return nil, err
	}
	l.Unused = nil // weights are the body's own
	call := &l.Calls[0]
	if call.Func != convFunc { // the products of the pixels themselves
		call.Args = append(call.Args, target.Func(call.Func), target.Lookup(c.Table))
		l.Route = call.Func
		call.Func, l.Kernel = "nncc_helium_dot_table_s8", "nncc_helium_dot_table_s8"
		return l, nil
	}
	p := call.Args[0].(*target.Struct)
	for i := range p.Fields {
		if p.Fields[i].Name == "table" {
			p.Fields[i].Value = target.Lookup(c.Table)
		}
	}
	return l, nil
}

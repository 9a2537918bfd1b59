package helium

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/target"
)

// lookup is a table of 256 results by bit pattern.
func lookup(t []byte) *target.Blob {
	return &target.Blob{Hint: "table", CType: "uint8_t", Data: t, NoCast: true}
}

// mapped is a convolution with a function of each value behind it, by a table
// where its results are stored.
var mapped = &target.Kernel{
	Name: "nncc_helium_mapped_s8", Library: Library, Doc: "int8 convolution with a function of each result, by a table in the store loop",
	Ops: []*ir.OpDef{op.Fused}, Layout: target.SpatialLayout, Lower: lowerMapped,
	Rules: []target.Rule{onHelium("HELIUM-MAPPED-00"), fusedRule("HELIUM-MAPPED-01", "a convolution of one group and a function of one value", func(c *target.Chain, _ *target.Options) string {
		if c.Table == nil || c.Add != nil {
			return "the parts are no convolution with a function of its result behind it"
		}
		return ""
	})},
}

// fusedRule asks for a convolution that the kernel conv takes, and for what
// stands behind it.
func fusedRule(code, doc string, behind func(c *target.Chain, o *target.Options) string) target.Rule {
	return target.Rule{Code: code, Doc: doc, Check: func(n *ir.Node, o *target.Options) string {
		c := target.ChainOf(n)
		switch {
		case c == nil || c.Main.Op != op.Conv:
			return "the parts are no convolution with element-wise operators behind it"
		case c.Main.Int("group") != 1:
			return fmt.Sprintf("%d groups, want 1", c.Main.Int("group"))
		case n.In[0].Type.Rank() != n.Out[0].Type.Rank():
			return "ranks differ"
		}
		for _, r := range conv.Judge(c.Main, o) {
			return r.Text
		}
		return behind(c, o)
	}}
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
		call.Args = append(call.Args, target.Func(call.Func), lookup(c.Table))
		l.Route = call.Func
		call.Func, l.Kernel = "nncc_helium_dot_table_s8", "nncc_helium_dot_table_s8"
		return l, nil
	}
	p := call.Args[0].(*target.Struct)
	for i := range p.Fields {
		if p.Fields[i].Name == "table" {
			p.Fields[i].Value = lookup(c.Table)
		}
	}
	return l, nil
}

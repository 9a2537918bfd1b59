package helium

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/target"
)

// residual is a convolution whose result, or a function of it, is added to
// another tensor before it reaches memory. The sum may take the place of that tensor.
var residual = &target.Kernel{
	Name: "nncc_helium_residual_s8", Library: Library, Doc: "int8 convolution, its result or a function of it added to another tensor a few pixels at a time",
	Ops: []*ir.OpDef{op.Fused}, Layout: target.ResidualLayout, Lower: lowerResidual,
	Rules: []target.Rule{onHelium("HELIUM-RESIDUAL-00"), target.ResidualRule("HELIUM-RESIDUAL-01", conv, add, func(c *target.Chain, o *target.Options) string {
		if _, ok := addition(c.Add, resultOperand(c), o); !ok {
			return "no linear form gives the results of the addition for all pairs of values"
		}
		return ""
	})},
}

// resultOperand is the operand of the addition that the convolution computes.
func resultOperand(c *target.Chain) int {
	if c.Swapped {
		return 1
	}
	return 0
}

// waiting is about how many bytes of results wait for their addition.
const waiting = 256

func lowerResidual(n *ir.Node, o *target.Options) (*target.Lowered, error) {
	c := target.ChainOf(n)
	v, why := convOf(c.Main)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	sum, _ := addition(c.Add, resultOperand(c), o)
	call, rows, scratch, block := v.call(target.I32(v.g.COut))
	swapped, pixels := 0, max(block, waiting/v.g.COut)
	if sum.swapped {
		swapped = 1
	}
	wait := roundUp(scratch, vector)
	params := call.Args[0]
	table := target.Arg(target.Null{})
	if c.Table != nil {
		table = target.Lookup(c.Table)
	}
	out, outR := outRows(v.g.COut)
	l := &target.Lowered{Rows: []target.Rows{rows, outR, {I: c.AddIn, Bytes: v.g.COut}}}
	if c.AddIn == 0 {
		l.Rows = l.Rows[:2]
	}
	if direct := call.Func != convFunc; direct { // the products of the pixels themselves
		pixels = max(2, waiting/v.g.COut&^1)
		l.Route, l.Scratch = call.Func, (pixels+v.single())*v.g.COut
		call.Args = []target.Arg{params, call.Args[1], call.Args[2], i8Scratch(0), call.Args[3], call.Args[4], target.Func(call.Func)}
		call.Func = "nncc_helium_dot_sum_s8"
	} else {
		dot := call.Args[5].(target.Func)
		l.Route, l.Scratch = string(dot), wait+pixels*v.g.COut
		call.Args = []target.Arg{params, call.Args[1], call.Args[2], i8Scratch(0), i8Scratch(wait), call.Args[4], dot}
		call.Func = "nncc_helium_conv_sum_s8"
	}
	call.Args = append(call.Args, &target.Struct{Type: "nncc_helium_residual", Fields: []target.Field{
		target.F("sum", target.Nested{Fields: sum.fields()}), target.FI("swapped", swapped), target.F("pitch", out),
		target.F("other_pitch", target.Pitch{I: c.AddIn, Row: v.g.COut}), target.F("table", table), target.FI("pixels", pixels)}},
		i8In(c.AddIn), target.Func(sum.fn))
	if c.AddIn != 0 { // which the convolution reads
		l.InPlace = []int{c.AddIn}
	}
	return own(l, call)
}

package helium

import (
	"math"
	"math/bits"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/target"
	"github.com/nncc/nncc/lower/target/cmsisnn"
)

// linear is v = a*x + b*y + c over 2^shift: rounded down, or, where away is
// set, ties away from zero, and zero added.
type linear struct {
	a, b, c, shift, zero int64
	away                 bool
}

// results holds the wanted one for every pair of int8 values, x first.
type results [256][256]int8

// linearSum finds a linear form that gives the results for all pairs, given
// about what a step of x and of y is in steps of the output. Results at lo and
// hi are clamped ones.
func linearSum(ra, rb float64, offX, offY, zero int64, lo, hi int8, want *results) (linear, bool) {
	// |v| stays below 2^31 for the shift that is tried first.
	peak := (math.Abs(ra)+math.Abs(rb))*256 + 256
	if !(peak < 1<<20) || ra == 0 || rb == 0 {
		return linear{}, false
	}
	top := int64(30 - bits.Len64(uint64(peak)))
	for shift := top; shift >= max(top-4, 1); shift-- {
		unit := math.Exp2(float64(shift))
		a, b := int64(math.Round(ra*unit)), int64(math.Round(rb*unit))
		for _, d := range [][2]int64{{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, -1}, {1, -1}, {-1, 1}} {
			l := linear{a: a + d[0], b: b + d[1], shift: shift}
			if l.down(lo, hi, want) {
				return l, true
			}
			l.c, l.zero, l.away = l.a*offX+l.b*offY, zero, true
			if l.gives(lo, hi, want) {
				return l, true
			}
		}
	}
	return linear{}, false
}

// down looks for a c with which rounding down gives the results: every pair
// bounds it from both sides.
func (l *linear) down(lo, hi int8, want *results) bool {
	least, most := int64(math.MinInt32), int64(math.MaxInt32)
	for x := range int64(256) {
		for y := range int64(256) {
			w := want[x][y]
			v := l.a*(x-128) + l.b*(y-128)
			if w > lo {
				least = max(least, int64(w)<<l.shift-v)
			}
			if w < hi {
				most = min(most, (int64(w)+1)<<l.shift-1-v)
			}
		}
		if least > most {
			return false
		}
	}
	l.c = least + (most-least)/2
	return l.fits()
}

// gives compares the form with ties away from zero.
func (l *linear) gives(lo, hi int8, want *results) bool {
	for x := range int64(256) {
		for y := range int64(256) {
			v := int32(l.a*(x-128) + l.b*(y-128) + l.c)
			r := int64(fixp.DivideByPowerOfTwo(v, int32(l.shift))) + l.zero
			if int8(min(max(r, int64(lo)), int64(hi))) != want[x][y] {
				return false
			}
		}
	}
	return l.fits()
}

// fits: no sum leaves 31 bits, which is room for the rounding, too.
func (l *linear) fits() bool {
	return 128*(max(l.a, -l.a)+max(l.b, -l.b))+max(l.c, -l.c) < 1<<30
}

// addition is the linear form of an int8 Add.
func addition(n *ir.Node) (linear, bool) {
	p := op.AddParamsS8(n)
	s := p.Scales
	var ta, tb [256]int32
	for i := range int32(256) {
		ta[i] = fixp.Requantize((i-128+p.Offset1)<<uint(s.LeftShift), s.Mult1, s.Shift1)
		tb[i] = fixp.Requantize((i-128+p.Offset2)<<uint(s.LeftShift), s.Mult2, s.Shift2)
	}
	var want results
	for x := range ta {
		for y := range tb {
			v := fixp.Requantize(ta[x]+tb[y], s.OutMult, s.OutShift) + p.OutputOffset
			want[x][y] = int8(fixp.Clamp(v, p.ActMin, p.ActMax))
		}
	}
	out := float64(n.Out[0].Type.Quant.Scale[0])
	return linearSum(float64(n.In[0].Type.Quant.Scale[0])/out, float64(n.In[1].Type.Quant.Scale[0])/out,
		int64(p.Offset1), int64(p.Offset2), int64(p.OutputOffset), int8(p.ActMin), int8(p.ActMax), &want)
}

// operand is an input of the kernel with three roundings: times unit, which
// is 1 << LeftShift, then by mult over 2^shift.
type operand struct{ unit, offset, mult, shift int64 }

// threeRoundings are the inputs of TensorFlow Lite's addition. The input with
// the larger scale counts half exactly, which is no shift to the right: it
// gets one, and twice the unit.
func threeRoundings(p *fixp.AddScales, x, y int32) (a, b operand, ok bool) {
	of := func(offset, mult, shift int32) operand {
		o := operand{1 << uint(p.LeftShift), 0, int64(mult), -int64(shift)}
		switch {
		case mult == 0:
			o.shift = 1
		case shift == 0 && mult == 1<<30:
			o.unit, o.shift = 2*o.unit, 1
		}
		o.offset = o.unit * int64(offset)
		return o
	}
	a, b = of(x, p.Mult1, p.Shift1), of(y, p.Mult2, p.Shift2)
	in := func(s int64) bool { return s >= 1 && s <= 31 }
	return a, b, in(a.shift) && in(b.shift) && in(-int64(p.OutShift))
}

// add is an addition.
var add = &target.Kernel{
	Name: "nncc_helium_add_s8", Library: Library, Doc: "int8 addition: a linear function where that gives the results of all pairs of values, else three roundings",
	Ops:    []*ir.OpDef{op.Add},
	Layout: func(*ir.Node) target.Layout { return target.Layout{Kind: target.Same} }, Lower: lowerAdd,
	Rules: join(onHelium("HELIUM-ADD-00"), cmsisnn.AddRules("HELIUM-ADD"), target.Rule{
		Code: "HELIUM-ADD-03", Doc: "requantisation shifts to the right", Check: func(n *ir.Node, _ *target.Options) string {
			if !op.BinaryKernelS8(n) {
				return "" // another rule says so
			}
			p := op.AddParamsS8(n)
			if _, _, ok := threeRoundings(&p.Scales, p.Offset1, p.Offset2); !ok {
				return "an input or the sum is requantised by a shift that is not 1 to 31 to the right"
			}
			return ""
		}}),
}

func lowerAdd(n *ir.Node, _ *target.Options) (*target.Lowered, error) {
	p := op.AddParamsS8(n)
	low := &target.Lowered{}
	for i, v := range n.In {
		if v.Const == nil {
			low.InPlace = append(low.InPlace, i)
		} else {
			low.Unused = append(low.Unused, i)
		}
	}
	f := func(name string, v int64) target.Field { return target.FI(name, int(v)) }
	clamp := []target.Field{f("act_min", int64(p.ActMin)), f("act_max", int64(p.ActMax))}
	params := &target.Struct{Fields: []target.Field{f("n", int64(n.Out[0].Type.Elems()))}}
	fn := "nncc_helium_add_s8"
	if l, ok := addition(n); ok {
		fn, params.Type = "nncc_helium_sum_s8", "nncc_helium_sum"
		if l.away {
			fn = "nncc_helium_sum_away_s8"
		}
		params.Fields = append(params.Fields, f("a", l.a), f("b", l.b), f("c", l.c), f("shift", l.shift), f("zero", l.zero))
	} else {
		params.Type = "nncc_helium_add"
		x, y, _ := threeRoundings(&p.Scales, p.Offset1, p.Offset2)
		params.Fields = append(params.Fields, f("x_unit", x.unit), f("x_offset", x.offset), f("x_mult", x.mult), f("x_shift", x.shift),
			f("y_unit", y.unit), f("y_offset", y.offset), f("y_mult", y.mult), f("y_shift", y.shift),
			f("mult", int64(p.Scales.OutMult)), f("shift", -int64(p.Scales.OutShift)), f("zero", int64(p.OutputOffset)))
	}
	params.Fields = append(params.Fields, clamp...)
	if params.Type == "nncc_helium_sum" {
		sumRows(low, n, fn, params.Fields)
	}
	return own(low, target.Call{Func: fn, Args: []target.Arg{params, cmsisnn.Operand(n, 0), cmsisnn.Operand(n, 1), i8Out(0)}})
}

// sumRows offers a sum row by row to operands whose channels lie apart.
func sumRows(low *target.Lowered, n *ir.Node, fn string, fields []target.Field) {
	t := n.Out[0].Type
	if t.Rank() < 2 {
		return
	}
	row := t.Phys()[t.Rank()-1]
	for _, v := range n.In {
		if v.Const != nil || v.Type.Rank() != t.Rank() || v.Type.Phys()[t.Rank()-1] != row || v.Type.Elems() != t.Elems() {
			return
		}
	}
	of := slices.Clone(fields)
	of[0] = target.FI("n", row)
	call := target.Call{Func: "nncc_helium_sum_rows_s8", Args: []target.Arg{&target.Struct{Type: "nncc_helium_sum_rows", Fields: []target.Field{
		target.F("sum", target.Nested{Fields: of}), target.FI("rows", t.Elems()/row), target.F("x_pitch", target.Pitch{Row: row}),
		target.F("y_pitch", target.Pitch{I: 1, Row: row}), target.F("out_pitch", target.Pitch{Output: true, Row: row})}},
		target.Func(fn), i8In(0), i8In(1), i8Out(0)}}
	low.RowCalls = []target.Call{call}
	low.Rows = []target.Rows{{Bytes: row}, {I: 1, Bytes: row}, {Output: true, Bytes: row}}
}

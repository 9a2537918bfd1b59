// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/pack"
)

// constOps are element-wise operators with two inputs, one of which may be a
// constant of several values.
var constOps = kernel.Where(isPair)

// channelDim is the dimension along which the constants of a node vary: 1, or
// the last one. -1 and a reason where they vary along others.
func channelDim(n *ir.Node) (int, string) {
	out := n.Out[0].Type
	if n.Op == op.BatchNormalization {
		return min(1, out.Rank()-1), ""
	}
	k, why := kernel.RunInput(n)
	switch {
	case why != "":
		return -1, why
	case len(n.In) != 2:
		return -1, fmt.Sprintf("%d inputs, want 2", len(n.In))
	case n.In[k].Type.Elems() != out.Elems():
		return -1, fmt.Sprintf("input %d of shape %v is broadcast to %v", k, n.In[k].Type.Shape, out.Shape)
	}
	dim := -1
	s := padLeft(n.In[1-k].Type.Shape, out.Rank())
	for d, size := range s {
		if size == 1 {
			continue
		}
		if dim >= 0 {
			return -1, fmt.Sprintf("the constant has shape %v, want one value a channel", n.In[1-k].Type.Shape)
		}
		dim = d
	}
	last := out.Rank() - 1
	switch {
	case dim < 0 || dim != 1 && dim != last:
		return -1, fmt.Sprintf("the constant has shape %v, want one value for each index of dimension 1 or the last",
			n.In[1-k].Type.Shape)
	case dim != last && n.In[k].Type.Rank() != out.Rank():
		return -1, fmt.Sprintf("input %d has %d dimensions, the result %d: want as many", k, n.In[k].Type.Rank(),
			out.Rank())
	}
	return dim, ""
}

// channelLayout makes the channels the innermost dimension in memory.
func channelLayout(n *kernel.Node) kernel.Layout {
	out := n.Out[0].Type
	d, _ := channelDim(n.Node)
	if d != 1 || out.Rank() < 3 {
		return natural(n)
	}
	if p, why := channelPlans.Of(n); why == "" && p.lines != nil {
		return same(n)
	}
	l := kernel.Layout{Kind: kernel.Fixed, In: make([][]int, len(n.In)), Out: [][]int{ir.NHWC(out.Rank())}}
	for i, v := range n.In {
		if v != nil && v.Const == nil {
			l.In[i] = ir.NHWC(out.Rank())
		}
	}
	return l
}

// channelPlan is how a function per channel becomes C: linear functions in
// integers, PRelu's two of them, or tables.
type channelPlan struct {
	*tables
	affine   []qref.Affine // one a channel
	positive *qref.Affine  // PRelu: for inputs at or above the zero point
	lines    *channelLines // the same in 32 bits, nil: too few
}

// rowTables are a node's functions, by the values of its constant or by channel.
func rowTables(n *ir.Node) *kernel.Fact[*tables] {
	if n.Op == op.BatchNormalization {
		return normTables
	}
	return constTables
}

// channelPlans prove the cheapest form for all channels, in this order.
var channelPlans = kernel.NewFact(func(n *kernel.Node) (*channelPlan, string) {
	t, why := rowTables(n.Node).Of(n)
	if why != "" {
		return nil, why
	}
	p := &channelPlan{tables: t}
	if cond.IsInt8(n.In[p.x].Type) && cond.IsInt8(n.Out[0].Type) {
		p.prove(n.Node)
		if n.Has("nncc_channel_lines_s8") {
			p.lines = p.inLines(n.Node)
		}
	}
	if p.affine == nil && len(p.rows) > 256 {
		return nil, fmt.Sprintf("%d different functions of a channel, want linear ones or at most 256", len(p.rows))
	}
	return p, ""
})

// prove looks for linear functions.
func (p *channelPlan) prove(n *ir.Node) {
	in, out := n.In[p.x].Type.Quant, n.Out[0].Type.Quant
	lo, hi := op.ActRange(n, n.Out[0].Type)
	zero := in.Zero[0]
	from := int32(-128)
	var positive *qref.Affine
	last := int32(127)
	if n.Op == op.PRelu && p.x == 0 {
		last = zero - 1
		f := qref.Affine{}
		ok := true
		if zero <= 127 {
			f, ok = qref.BuildAffine(float64(in.Scale[0])/float64(out.Scale[0]), zero, 127, lo, hi, target8(p.rows[0]))
		}
		if !ok {
			return
		}
		positive = &f
	}
	fs := make([]qref.Affine, len(p.rows))
	for i, row := range p.rows {
		if from > last {
			continue
		}
		f, ok := qref.BuildAffine(p.slope(n, i), from, last, lo, hi, target8(row))
		if !ok {
			return
		}
		fs[i] = f
	}
	p.positive = positive
	for _, i := range p.index {
		p.affine = append(p.affine, fs[i])
	}
}

func target8(row []byte) func(q int32) int32 {
	return func(q int32) int32 { return int32(int8(row[uint8(q)])) }
}

// slope is the number of output steps per input step of the function of row i,
// where it is linear.
func (p *channelPlan) slope(n *ir.Node, i int) float64 {
	step := float64(n.In[p.x].Type.Quant.Scale[0]) / float64(n.Out[0].Type.Quant.Scale[0])
	if n.Op == op.BatchNormalization {
		return step * n.In[1].Const.Float(i) / math.Sqrt(n.In[4].Const.Float(i)+
			float64(ir.AttrsOf[op.EpsilonAttr](n).Epsilon))
	}
	c := n.In[1-p.x]
	k := slices.Index(p.index, i) // an element of the constant that uses the row
	value := c.Const.Float(k)
	if c.Type.Quant != nil {
		value = ir.Dequantise(c.Const, c.Type.Quant).Float(k)
	}
	switch n.Op {
	case op.Mul, op.PRelu:
		return step * value
	case op.Div:
		return step / value
	case op.Mean:
		return step / 2
	case op.Sub:
		if p.x == 1 {
			return -step
		}
	}
	return step
}

// affineArray are the functions as an array of nncc_affine_s8.
func affineArray(f ...qref.Affine) *call.Array {
	a := &call.Array{Type: "nncc_affine_s8", Bytes: 16}
	for _, x := range f {
		a.Elems = append(a.Elems, call.Nested{Fields: ints("bias", call.T(x.Bias), "mult", call.T(x.Mult), "shift",
			call.T(x.Shift))})
	}
	return a
}

// channelRow computes a function of one 8-bit tensor that differs from channel
// to channel.
var channelRow = row("nncc_scale_shift_s8", "NNCC-CHANNEL-S8",
	"8-bit functions with a constant per channel: linear ones, "+
		"PRelu, or by tables", channelLayout, kernel.Rules{cond.NotEmpty, byteEnds,
		cond.New("CHANNEL-CONSTANT", "one constant a channel", func(n *kernel.Node) string {
			if n.Op == op.BatchNormalization {
				return cond.Constant(1, 2, 3, 4).Check(n)
			}
			_, why := channelDim(n.Node)
			return why
		}), cond.New("CHANNEL-FUNCTION", "a function that tables or integers can express", func(n *kernel.Node) string {
			if byteEnds.Check(n) != "" {
				return kernel.Unread
			}
			d, why := channelDim(n.Node)
			switch {
			case why != "":
				return kernel.Unread
			case n.Out[0].Type.Shape[d] > 256:
				return channelPlans.Why(n)
			}
			return rowTables(n.Node).Why(n)
		})}, lowerChannels, slices.Concat(constOps, []*ir.OpDef{op.BatchNormalization})...)

// byteEnds: the run-time input and the output hold one byte an element and
// have one scale.
var byteEnds = cond.New("BYTE-DATA", "8-bit data with one scale", func(n *kernel.Node) string {
	for i, v := range n.In {
		if v != nil && v.Const == nil && (!kernel.ByteType(v.Type.DType) || v.Type.Quant.PerAxis()) {
			return fmt.Sprintf("input %d is %s, want 8 bits and one scale", i, cond.Short(v.Type))
		}
	}
	if t := n.Out[0].Type; !kernel.ByteType(t.DType) || t.Quant.PerAxis() {
		return fmt.Sprintf("the output is %s, want 8 bits and one scale", cond.Short(t))
	}
	return cond.If(!n.Quantised(), "nothing is quantised")
})

func lowerChannels(l *lowering, n *kernel.Node) {
	p := channelPlans.Must(n)
	channels := len(p.index)
	if p.lines != nil {
		l.inPlace(p.x)
		l.lines(p)
		return
	}
	rows := n.Out[0].Type.Elems() / channels
	size := ints("rows", rows, "channels", channels)
	l.inPlace(p.x)
	switch {
	case p.positive != nil:
		l.low.Kernel = "nncc_prelu_s8"
		f := append(size, call.FT("in_zero", n.In[p.x].Type.Quant.Zero[0]))
		l.call("nncc_prelu_s8", params("nncc_prelu_s8_params", append(f, clampFields(n.Node)...)...), l.in(p.x),
			affineArray(*p.positive), affineArray(p.affine...), l.out(0))
	case p.affine != nil:
		l.call("nncc_scale_shift_s8", params("nncc_rows_params", append(size, clampFields(n.Node)...)...), l.in(p.x),
			affineArray(p.affine...), l.out(0))
	default:
		l.low.Kernel = "nncc_lut2_s8"
		b := params("nncc_bcast_params", append(ints("rank", 2), list("dims", []int{rows, channels}),
			list("a_stride", []int{channels, 1}), list("b_stride", []int{0, 1}))...)
		l.table2(b, l.in(p.x), array("row", rowNumbers(p.index)), p.rows)
	}
}

// table2 emits the look-up in rows: which one is said by the bit pattern that
// index holds for every element.
func (l *lowering) table2(space *call.Struct, x, index call.Arg, rows [][]byte) {
	var rowOf [256]byte
	seen := map[string]byte{}
	var data []byte
	for i, r := range rows { // equal rows are stored once
		k, ok := seen[string(r)]
		if !ok {
			k = byte(len(seen))
			seen[string(r)] = k
			data = append(data, r...)
		}
		rowOf[i] = k
	}
	l.low.Kernel = "nncc_lut2_s8"
	l.call("nncc_lut2_s8", space, bytesOf(x), bytesOf(index), array("rows", rowOf[:]), array("table", data),
		bytesOf(l.out(0)))
}

// rowNumbers are the numbers of rows in a byte each.
func rowNumbers(index []int) []byte { return lists.Each(index, func(k int) byte { return byte(k) }) }

// channelLines are the functions of the rows as lines with one shift.
type channelLines struct {
	rows     []pack.Line
	positive *pack.Line // PRelu: for inputs at or above the zero point
	shift    int32
}

// inLines looks for lines, nil: there are none.
func (p *channelPlan) inLines(n *ir.Node) *channelLines {
	lo, hi := op.ActRange(n, n.Out[0].Type)
	in, last := n.In[p.x].Type.Quant, int32(127)
	prelu := n.Op == op.PRelu && p.x == 0
	if prelu {
		last = in.Zero[0] - 1
	}
	var targets []pack.Target
	for i, row := range p.rows {
		targets = append(targets, pack.Target{Slope: p.slope(n, i), From: -128, To: last, Of: target8(row)})
	}
	if prelu {
		targets = append(targets, pack.Target{Slope: float64(in.Scale[0]) / float64(n.Out[0].Type.Quant.Scale[0]),
			From: last + 1, To: 127, Of: target8(p.rows[0])})
	}
	lines, shift, ok := pack.Lines(targets, lo, hi)
	if !ok {
		return nil
	}
	c := &channelLines{rows: lines[:len(p.rows)], shift: shift}
	if prelu {
		c.positive = &lines[len(p.rows)]
	}
	return c
}

// lines emits the functions of channels wherever these lie in memory.
func (l *lowering) lines(p *channelPlan) {
	c, n := p.lines, l.n
	dim, _ := channelDim(n)
	outer, channels, inner := outerAxisInner(n.Out[0].Type, dim)
	mult, bias := make([]int32, channels), make([]int32, channels)
	for i, r := range p.index {
		mult[i], bias[i] = c.rows[r].Mult, c.rows[r].Bias
	}
	f := append(ints("outer", outer, "channels", channels, "inner", inner, "shift", call.T(c.shift)), clampFields(n)...)
	if c.positive != nil {
		f = append(f, ints("mult", call.T(c.positive.Mult), "bias", call.T(c.positive.Bias), "zero",
			call.T(n.In[p.x].Type.Quant.Zero[0]), "two", 1)...)
	}
	l.low.Kernel = "nncc_channel_lines_s8"
	l.call("nncc_channel_lines_s8", params("nncc_channel_lines_s8_params", f...), l.in(p.x), array("mult", mult),
		array("bias", bias), l.out(0))
}

// Constants of the integer kernels are derived from what the interpreter
// computes: the node is evaluated on every value that its operands can take,
// and a kernel is used only where it gives the same for all of them.

// repeated is element k of d, count times, as a vector.
func repeated(d *tensor.Dense, k, count int) []byte {
	s := d.DType.Size()
	b := d.Bytes()[k*s : (k+1)*s]
	out := make([]byte, 0, s*count)
	for range count {
		out = append(out, b...)
	}
	return out
}

// tables are a function of one 8-bit value that depends on a constant.
type tables struct {
	x     int      // the run-time input
	rows  [][]byte // 256 results for every different value of the constant
	index []int    // the row of every element of the constant
}

// constTables are the tables of a node with two inputs, one of them constant.
var constTables = kernel.FactOf(func(n *ir.Node) (*tables, error) {
	k, why := kernel.RunInput(n)
	if why != "" {
		return nil, errors.New(why)
	}
	if n.In[1-k].Type.Quant.PerAxis() {
		return nil, fmt.Errorf("the constant %s is quantised along dimension %d, want one scale", n.In[1-k],
			n.In[1-k].Type.Quant.Axis)
	}
	c := n.In[1-k].Const
	size := c.DType.Size()
	seen := map[string]int{}
	t := &tables{x: k}
	var values []int // elements with the different values
	raw := c.Bytes()
	for i := range c.Len() {
		s := string(raw[i*size : (i+1)*size])
		if _, ok := seen[s]; !ok {
			seen[s] = len(values)
			values = append(values, i)
		}
		t.index = append(t.index, seen[s])
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("the constant %s is empty", n.In[1-k])
	}
	if len(values) > 1<<12 {
		return nil, fmt.Errorf("the constant %s has %d different values, want at most %d", n.In[1-k], len(values),
			1<<12)
	}
	var cs []byte
	for _, i := range values {
		cs = append(cs, repeated(c, i, 256)...)
	}
	var err error
	in := make([]*tensor.Dense, 2)
	in[k] = kernel.AllBytes(n.In[k].Type.DType, len(values))
	if in[1-k], err = tensor.FromBytes(c.DType, []int{256 * len(values)}, cs); err != nil {
		return nil, err
	}
	y, err := kernel.Probe(n, in, []int{256 * len(values)})
	if err != nil {
		return nil, err
	}
	out := y.Bytes()
	for v := range values {
		t.rows = append(t.rows, out[256*v:256*(v+1)])
	}
	return t, nil
})

// normTables are constTables of BatchNormalization: a row for every channel.
var normTables = kernel.FactOf(func(n *ir.Node) (*tables, error) {
	var err error
	for i := 1; i <= 4; i++ {
		if n.ConstIn(i) == nil {
			return nil, fmt.Errorf("parameter %s is computed at run time, want a constant", n.In[i])
		}
	}
	t := &tables{index: ir.Identity(n.In[1].Const.Len())}
	channels := n.In[1].Const.Len()
	b := lists.Make(256*channels, func(i int) byte { return byte(i / channels) })
	in := []*tensor.Dense{nil, n.In[1].Const, n.In[2].Const, n.In[3].Const, n.In[4].Const}
	if in[0], err = tensor.FromBytes(n.In[0].Type.DType, []int{256, channels}, b); err != nil {
		return nil, err
	}
	y, err := kernel.Probe(n, in, []int{256, channels})
	if err != nil {
		return nil, err
	}
	out := y.Bytes()
	for c := range channels {
		row := lists.Make(256, func(i int) byte { return out[i*channels+c] })
		t.rows = append(t.rows, row)
	}
	return t, nil
})

// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
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
	if !n.Quantised() {
		return "nothing is quantised"
	}
	return ""
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
		l.table2(b, l.in(p.x), rowNumbers(p.index), p.rows)
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
	l.call("nncc_lut2_s8", space, bytesOf(x), bytesOf(index), byteBlob("rows", rowOf[:]), byteBlob("table", data),
		bytesOf(l.out(0)))
}

// rowNumbers is a constant operand of table2.
func rowNumbers(index []int) *call.Blob {
	b := make([]byte, len(index))
	for i, k := range index {
		b[i] = byte(k)
	}
	return byteBlob("row", b)
}

// byteBlob is a constant array of bytes.
func byteBlob(hint string, d []byte) *call.Blob {
	return &call.Blob{Hint: hint, CType: "uint8_t", Data: d, NoCast: true}
}

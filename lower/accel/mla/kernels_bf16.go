// SPDX-License-Identifier: Apache-2.0

package mla

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/param"
)

// bf16Type stands for bfloat16 among the C types of arguments; no C compiler
// sees it.
const bf16Type = "bf16"

// bf16Rows are the operations on bfloat16, the rounding to it and back. Data
// movement has the same rows for every element type.
var bf16Rows = []*kernel.Kernel{
	bf16Row("mla_conv2d_bf16", "convolution and its transpose", kernel.SpatialLayout, lowerConvBF16, op.Conv,
		op.ConvTranspose),
	bf16Row("mla_max_pool2d_bf16", "maximum over windows", kernel.SpatialLayout, lowerMaxPoolBF16, op.MaxPool),
	bf16Row("mla_binary_bf16", "sum, difference and product with broadcasting", same, lowerBinaryBF16,
		kernel.Where(isPairBF16)...),
	bf16Row("mla_table_bf16", "any function of one number", same, lowerTableBF16, kernel.Where(isScalar)...),
	bf16Row("mla_bf16_to_f32", "conversion to and from float32", same, lowerCastBF16, op.Cast),
}

// pairsBF16 are the operations on two tensors, as mla_binary_bf16 numbers them.
var pairsBF16 = map[*ir.OpDef]int{op.Add: 0, op.Sub: 1, op.Mul: 2}

func isPairBF16(d *ir.OpDef) bool { _, ok := pairsBF16[d]; return ok }

// isScalar reports the operators that are functions of one number.
func isScalar(d *ir.OpDef) bool { return d.Scalar != nil && d.Quant == ir.QFloat }

func bf16Row(fn, doc string, layout func(*kernel.Node) kernel.Layout, lower func(n *ir.Node) *call.Lowered,
	ops ...*ir.OpDef) *kernel.Kernel {
	return &kernel.Kernel{
		Name: fn, Library: Kind, Doc: "bfloat16 " + doc, Ops: ops, Layout: layout,
		Rules: want("MLA-LOWER-BF16", "bfloat16 data", func(n *ir.Node) string {
			if n.Op == op.Cast {
				if a, b := n.In[0].Type.DType, n.Out[0].Type.DType; a == tensor.F32 && b == tensor.BF16 ||
					a == tensor.BF16 && b == tensor.F32 {
					return ""
				}
				return "it is no conversion between float32 and bfloat16"
			}
			return notBF16(n)
		}),
		Lower: func(n *kernel.Node) *call.Lowered { return lower(n.Node) },
	}
}

// notBF16 says why a node whose data is bfloat16 has no operation; empty when
// it has one.
func notBF16(n *ir.Node) string {
	for _, v := range append([]*ir.Value{n.In[0]}, n.Out...) {
		if v.Type.DType != tensor.BF16 {
			return fmt.Sprintf("%s is %s, want bfloat16", v.Name, v.Type.DType.ONNXName())
		}
	}
	return noBF16Form(n)
}

// noBF16Form says why an operator has no operation on bfloat16, whatever its
// data is now.
func noBF16Form(n *ir.Node) string {
	switch {
	case n.Op.Window == ir.Convolved:
		switch g := bug.Must(op.ConvGeometry(n)); {
		case len(g.In) > 2:
			return fmt.Sprintf("%d spatial dimensions, want 1 or 2", len(g.In))
		case n.ConstIn(1) == nil || n.Input(2) != nil && n.ConstIn(2) == nil:
			return "weights and bias are not constant"
		}
	case n.Op == op.MaxPool:
		if len(bug.Must(op.PoolGeometry(n)).In) > 2 || len(n.Out) > 1 {
			return "it is no maximum over windows in one or two dimensions"
		}
	case isPairBF16(n.Op):
		if n.Out[0].Type.Rank() > 8 {
			return "it has more than 8 dimensions"
		}
	default:
		if len(n.In) > 1 {
			return "it is no function of one number"
		}
	}
	return ""
}

// double is a number of type f64 as a parameter.
func double(v float64) call.Lit { return call.Lit(strconv.FormatFloat(v, 'g', -1, 64)) }

// boundFields are the limits of an absorbed activation.
func boundFields(n *ir.Node) []call.Field {
	lo, hi := op.ActBounds(n)
	return []call.Field{call.F("act_min", double(lo)), call.F("act_max", double(hi))}
}

func bf16In(i int) call.Arg { return call.In{I: i, CType: bf16Type} }

var bf16Out = call.Out{I: 0, CType: bf16Type}

func bf16Blob(hint string, d *tensor.Dense) *call.Blob {
	return &call.Blob{Hint: hint, CType: bf16Type, Data: d.Bytes()}
}

func lowerConvBF16(n *ir.Node) *call.Lowered {
	g := kernel.Known(op.ConvGeometry(n))
	f := append(boundFields(n), convFields(g)...)
	var bias call.Arg = call.Null{}
	if b := n.Input(2); b != nil {
		v := lists.Make(g.COut, func(i int) float32 { return float32(b.Const.Float(i % b.Const.Len())) })
		bias = blob("bias", "float", v)
	}
	return command(&call.Lowered{Unused: constants(n)}, "mla_conv2d_bf16", f, bf16In(0), bf16Blob("weights",
		tapsFirst(n.In[1].Const, g)), bias, bf16Out)
}

// tapsFirst are the weights as the operation reads them: [out][taps][in], those
// of a transposed convolution turned round.
func tapsFirst(w *tensor.Dense, g *op.ConvGeom) *tensor.Dense {
	if g.Transposed {
		w = op.TurnedWeights(g, w)
	}
	return w.Reshaped([]int{g.COut, g.CIn / g.Group, g.Taps()}).Transpose([]int{0, 2, 1}).Cast(tensor.BF16)
}

func lowerMaxPoolBF16(n *ir.Node) *call.Lowered {
	g := kernel.Known(op.PoolGeometry(n))
	w := param.PoolWindow(g)
	f := append(boundFields(n), windowFields(w)...)
	f = append(f, fields("batch", g.N, "in_c", g.C, "stride_h", w.Stride.H, "stride_w", w.Stride.W, "pad_top", w.Pad.H,
		"pad_left", w.Pad.W)...)
	return command(&call.Lowered{}, "mla_max_pool2d_bf16", f, bf16In(0), bf16Out)
}

func lowerBinaryBF16(n *ir.Node) *call.Lowered {
	l, f, args := pairOperands(n)
	code := pairsBF16[n.Op]
	return command(l, "mla_binary_bf16", append(append(f, boundFields(n)...), call.FI("op", code)), args[0], args[1],
		bf16Out)
}

// lowerTableBF16 looks a function up.
func lowerTableBF16(n *ir.Node) *call.Lowered {
	l := &call.Lowered{Unused: constants(n), Overlap: call.InPlace(0)}
	return command(l, "mla_table_bf16", fields("count", n.Out[0].Type.Elems()), bf16In(0),
		bf16Blob("table", bf16Tables.of(n)), bf16Out)
}

// tables remembers the tables of functions: a node is lowered several times, and
// networks have the same activation everywhere.
type tables struct {
	mu    sync.Mutex
	known map[string]*tensor.Dense // by operator, attributes and constants
}

// mostTables bounds what is remembered, 128 KiB each.
const mostTables = 16

var bf16Tables tables

// of is the table of a node's function; it must not be changed.
func (t *tables) of(n *ir.Node) *tensor.Dense {
	if n.Body != nil {
		return tabulate(n)
	}
	key := fmt.Sprint(n.Op.Name, n.Attrs) // zeros of different signs have different texts
	for _, v := range n.In[1:] {
		if v != nil && v.Const != nil {
			key += fmt.Sprint(v.Const, v.Const.Bytes())
		}
		key += ";"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[key] == nil {
		if len(t.known) >= mostTables || t.known == nil {
			t.known = map[string]*tensor.Dense{}
		}
		t.known[key] = tabulate(n)
	}
	return t.known[key]
}

// tabulate computes a function for every bit pattern.
func tabulate(n *ir.Node) *tensor.Dense {
	bits := lists.Make(1<<16, func(i int) uint16 { return uint16(i) })
	x := &tensor.Dense{DType: tensor.BF16, Shape: []int{len(bits)}, Data: bits}
	y := tensor.New(tensor.BF16, x.Shape)
	for i := range bits {
		y.SetFloat(i, n.Op.Scalar(n, x.Float(i)))
	}
	return y
}

func lowerCastBF16(n *ir.Node) *call.Lowered {
	f := fields("count", n.Out[0].Type.Elems())
	if n.Out[0].Type.DType == tensor.BF16 {
		return command(&call.Lowered{}, "mla_f32_to_bf16", f, call.In{I: 0, CType: "float"}, bf16Out)
	}
	return command(&call.Lowered{}, "mla_bf16_to_f32", f, bf16In(0), call.Out{I: 0, CType: "float"})
}

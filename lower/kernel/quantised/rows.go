// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// Shared are rows of portable kernels that several families have, because they beat
// those of CMSIS-NN on every core. Core is the
// first rule of a row; Was begins the codes that rows had.
type Shared struct {
	Library, Was string
	Core         kernel.Rule
	// Functions begins the names of the family's own functions and structs, which Header declares.
	Functions, Header string
}

// Own completes a lowering that calls kernels of the family.
func (s Shared) Own(l *call.Lowered, c ...call.Call) *call.Lowered {
	l.Library, l.Calls, l.Kernel = s.Library, c, c[len(c)-1].Func
	l.Headers = append(l.Headers, s.Header)
	return l
}

// row completes a row; was is the part of codes that it had.
func (s Shared) row(was string, k kernel.Kernel, rules kernel.Rules,
	lower func(n *kernel.Node) *call.Lowered) *kernel.Kernel {
	k.Library, k.Rules, k.Was = s.Library, kernel.All(s.Core, rules), s.Was+"-"+was
	k.Lower = func(n *kernel.Node) *call.Lowered {
		low := lower(n)
		low.Library = s.Library
		return low
	}
	if k.Layout == nil {
		k.Layout = kernel.SameLayout
	}
	return &k
}

// Pairs are operators on two int8 tensors with broadcasting, by functions of two
// rows.
func (s Shared) Pairs() *kernel.Kernel {
	return s.row("PAIR", kernel.Kernel{Name: "nncc_pairs_s8", Ops: PairOps,
		Doc: "two int8 tensors with broadcasting, by functions of two rows"}, PairRules(),
		func(n *kernel.Node) *call.Lowered { return LowerPair(n, Pairs.Must(n)) })
}

// Sums are additions of two int8 tensors with broadcasting that Pairs has no function
// for.
func (s Shared) Sums() *kernel.Kernel {
	return s.row("SUM", kernel.Kernel{Name: "nncc_pair_add_s8", Ops: []*ir.OpDef{op.Add},
		Doc: "int8 addition with broadcasting, by three roundings"}, sumRules(),
		func(n *kernel.Node) *call.Lowered { return LowerPair(n, Sums.Must(n)) })
}

// Lines are layers that are one line per channel.
func (s Shared) Lines() *kernel.Kernel {
	return s.row("LINE", kernel.Kernel{Name: "nncc_channel_lines_s8", Ops: []*ir.OpDef{op.Conv},
		Doc: "a line per channel: depthwise convolution of single elements"}, LineRules(),
		func(n *kernel.Node) *call.Lowered { return LowerLines(n, ChannelLines.Must(n)) })
}

// Runs is any change of memory order, run by run.
func (s Shared) Runs() *kernel.Kernel {
	return s.row("RUNS", kernel.Kernel{Name: "nncc_copy_nd", Ops: []*ir.OpDef{op.Relayout},
		Doc: "8-bit conversion between any memory orders, run by run", Layout: kernel.AnyLayout,
	}, AnyRelayoutRules(), LowerRelayout)
}

// Limits are Relu and Clip by themselves, by a table.
func (s Shared) Limits() *kernel.Kernel {
	return s.row("LIMIT", kernel.Kernel{Name: "nncc_lut_s8", Ops: []*ir.OpDef{op.Relu, op.Clip},
		Doc: "int8 Relu and Clip by a table of 256 results"},
		kernel.Rules{Int8(0), cond.New("BOUNDS", "constant bounds", kernel.TableOf.Why)},
		func(n *kernel.Node) *call.Lowered {
			return &call.Lowered{Kernel: "nncc_lut_s8", Overlap: call.InOrder(0), Unused: ir.Identity(len(n.In))[1:],
				Calls: []call.Call{{Func: "nncc_lut_s8", Args: []call.Arg{
					&call.Struct{Type: "nncc_count_params", Fields: call.Ints("count", n.Out[0].Type.Elems())},
					call.In{CType: "uint8_t"}, call.Lookup(kernel.TableOf.Must(n)), call.Out{CType: "uint8_t"}}}}}
		})
}

// Transpose exchanges two blocks of dimensions.
func (s Shared) Transpose(more ...kernel.Rule) *kernel.Kernel {
	fn := s.Functions + "transpose_s8"
	return &kernel.Kernel{Name: fn, Library: s.Library, Ops: []*ir.OpDef{op.Relayout}, Layout: kernel.AnyLayout,
		Doc: "8-bit conversion between memory orders that exchanges two neighbours",
		Was: s.Was + "-TRANS", Rules: kernel.All(s.Core, ExchangeRules(), kernel.Rules(more)),
		Lower: func(n *kernel.Node) *call.Lowered {
			if n.In[0].Type.SameMemory(n.Out[0].Type.Order) {
				return call.ViewOf()
			}
			batches, rows, cols, _ := kernel.Exchange(n.Node)
			return s.Own(&call.Lowered{}, call.Call{Func: fn, Args: []call.Arg{
				&call.Struct{Type: s.Functions + "transpose_params", Fields: call.Ints("batches", batches, "rows", rows,
					"cols", cols)}, call.In{CType: "int8_t"}, call.Out{CType: "int8_t"}}})
		}}
}

// Softmax has the exponentials of all 256 differences in a table. Kernels for so many rows at a time take those of up
// to so many values.
func (s Shared) Softmax(lanes ...Rows) *kernel.Kernel {
	fn := s.Functions + "softmax_s8"
	return s.row("SMAX", kernel.Kernel{Name: fn, Ops: []*ir.OpDef{op.Softmax}, Layout: Innermost,
		Doc: "int8 softmax over the innermost axis, exponentials by a table"}, append(SoftmaxRules(), SoftmaxTable),
		func(n *kernel.Node) *call.Lowered {
			r := SoftmaxRows.Must(n)
			forms, scratch := []string{fn}, []call.Scratch{{CType: "int32_t"}}
			bytes := []int{4 * r.Size}
			for _, k := range lanes {
				if r.Size <= k.Size && !n.Generic {
					forms = append(forms, fmt.Sprintf("%ssoftmax_%drows_s8", s.Functions, k.Count))
					scratch = append(scratch, call.Scratch{CType: "int8_t"})
					bytes = append(bytes, k.Count*r.Size)
				}
			}
			at := n.Fastest(s.Library, forms...)
			return s.Own(&call.Lowered{Scratch: bytes[at], Overlap: call.InOrder(0), Variant: forms[at]},
				call.Call{Func: forms[at], Args: []call.Arg{
					&call.Struct{Type: s.Functions + "softmax_params", Fields: call.Ints("rows", r.Count, "size",
						r.Size)},
					call.In{CType: "int8_t"}, Exponentials(n.Node), scratch[at], call.Out{CType: "int8_t"}}})
		})
}

// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// lowering collects the calls of one node.
type lowering struct {
	n   *ir.Node
	low *call.Lowered
}

// start begins the lowering of n; kernel is the function that reports name.
func start(n *ir.Node, kernel string) *lowering {
	return &lowering{n, &call.Lowered{Kernel: kernel, Library: "nncc"}}
}

// call adds a call of a function without result.
func (l *lowering) call(fn string, args ...call.Arg) {
	l.low.Calls = append(l.low.Calls, call.Call{Func: fn, Args: args})
}

// checked adds a call whose nncc_status the emitted code checks.
func (l *lowering) checked(fn string, args ...call.Arg) {
	l.low.Calls = append(l.low.Calls, call.Call{Func: fn, Args: args, Status: call.NNCCStatus})
}

// inPlace allows the output to take the storage of an input, or to begin before it.
func (l *lowering) inPlace(i int) { l.low.Overlap = append(l.low.Overlap, call.InOrder(i)...) }

// runs is inPlace for functions of runs of input 0; those that do not lie one behind the other take the same place
// alone.
func (l *lowering) runs(behind bool) {
	l.inPlace(0)
	l.low.Overlap[0].Exact = !behind
}

// scratch reserves room for n elements of type d for the time of the step.
func (l *lowering) scratch(d tensor.DType, n int) call.Scratch {
	s := call.Scratch{Off: l.low.Scratch, CType: call.CType(d)}
	l.low.Scratch += (n*d.Size() + 15) &^ 15
	return s
}

// in is the pointer to input i, NULL where it is absent.
func (l *lowering) in(i int) call.Arg { return l.inAt(i, 0) }

// inAt is in(i) plus off bytes; a constant is cut there.
func (l *lowering) inAt(i, off int) call.Arg {
	v := l.n.Input(i)
	if v == nil {
		return call.Null{}
	}
	if v.Const != nil {
		b := l.constant(i)
		b.Data = b.Data[off:]
		return b
	}
	return call.In{I: i, Off: off, CType: call.CType(v.Type.DType)}
}

// constant is the constant input i in logical order.
func (l *lowering) constant(i int) *call.Blob { return blob(hint(i), l.n.In[i].Const) }

func hint(i int) string {
	switch i {
	case 1:
		return "weights"
	case 2:
		return "bias"
	}
	return "const"
}

// out is the pointer to output i.
func (l *lowering) out(i int) call.Arg { return l.outAt(i, 0) }

func (l *lowering) outAt(i, off int) call.Arg {
	return call.Out{I: i, Off: off, CType: call.CType(l.n.Out[i].Type.DType)}
}

// wanted reports whether anybody reads output i; others may be NULL where the
// kernel allows it.
func wanted(n *ir.Node, i int) bool { return i < len(n.Out) && n.Out[i] != nil }

// arranged is input i, given another shape and then permuted: at compile time
// when it is constant, else by a copy into scratch memory.
func (l *lowering) arranged(i int, shape, perm []int) call.Arg {
	v := l.n.In[i]
	if v.Const != nil {
		return blob(hint(i), arrange(v.Const, shape, perm))
	}
	st := tensor.Strides(shape)
	dims := permuted(shape, perm)
	m := move{elem: v.Type.DType.Size(), dims: dims, x: permuted(st, perm), y: tensor.Strides(dims)}
	if m.identity() {
		return l.in(i)
	}
	s := l.scratch(v.Type.DType, v.Type.Elems())
	l.move(m, bytesOf(l.in(i)), bytesOf(s))
	return s
}

// bytesOf is a pointer argument typed for a void parameter.
func bytesOf(a call.Arg) call.Arg {
	switch a := a.(type) {
	case call.In:
		a.CType = "uint8_t"
		return a
	case call.Out:
		a.CType = "uint8_t"
		return a
	case call.Scratch:
		a.CType = "uint8_t"
		return a
	}
	return a
}

// blob is a constant in logical order, array one of numbers.
func blob(hint string, d *tensor.Dense) *call.Blob { return call.Constant(hint, d) }

func array[T tensor.Elem](hint string, v []T) *call.Blob {
	return call.Constant(hint, tensor.Of([]int{len(v)}, v))
}

// indexArray is an array of int32.
func indexArray(hint string, v []int) *call.Blob {
	return array(hint, lists.Map(v, func(x int) int32 { return int32(x) }))
}

// params is a pointer to a constant parameter struct.
func params(typ string, f ...call.Field) *call.Struct {
	return &call.Struct{Type: typ, Fields: f}
}

func ints(pairs ...any) []call.Field { return call.Ints(pairs...) }

// list is a field that is an array.
func list(name string, v []int) call.Field { return call.F(name, call.IntArray(v)) }

// f32 is a float literal with exactly this value.
func f32(v float32) call.Lit {
	switch {
	case v != v:
		return "NAN"
	case math.IsInf(float64(v), 1):
		return "NNCC_F32_INF"
	case math.IsInf(float64(v), -1):
		return "-NNCC_F32_INF"
	}
	return call.Lit(call.Decimal(float64(v), 32) + "f")
}

// f64 is a trained double with exactly this value, which must be finite.
func f64(v float64) call.Trained { return call.Trained(call.Decimal(v, 64)) }

func natural(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.Natural} }
func same(*kernel.Node) kernel.Layout    { return kernel.Layout{Kind: kernel.Same} }

// anyToAny is a copy from one memory order to another.
func anyToAny(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.AnyToAny} }

// spatial is channels-last for feature maps, natural for what has no space.
func spatial(n *kernel.Node) kernel.Layout {
	if n.In[0].Type.Rank() < 3 {
		return natural(n)
	}
	return kernel.SpatialLayout(n)
}

// row is the row of operators that a function computes: fn, or another one that lower names in l.low.Kernel. was is the
// prefix of the codes of version 0.1.
func row(fn, was, doc string, layout func(n *kernel.Node) kernel.Layout, rules kernel.Rules,
	lower func(l *lowering, n *kernel.Node), ops ...*ir.OpDef) *kernel.Kernel {
	k := &kernel.Kernel{Name: fn, Library: "nncc", Doc: doc, Ops: ops, Was: was, Rules: rules, Layout: layout}
	k.Lower = func(n *kernel.Node) *call.Lowered {
		l := start(n.Node, fn)
		lower(l, n)
		return l.low
	}
	return k
}

// checks marks a row whose kernel checks indices itself.
func checks(k *kernel.Kernel) *kernel.Kernel {
	k.Checks = true
	return k
}

// Short names of what turns logical shapes into what C sees.
var (
	strides  = kernel.Strides
	permuted = kernel.Permuted
	merge    = kernel.MergeDims
	padLeft  = kernel.PadLeft
	arrange  = kernel.Arrange
)

// position is that of logical dimension d in the memory order of t.
func position(t ir.Type, d int) int { return slices.Index(t.OrderOrIdentity(), d) }

// outerAxisInner splits memory at logical dimension d: elements per block before,
// along and behind it, [outer, axis, inner].
func outerAxisInner(t ir.Type, d int) (outer, axis, inner int) {
	p := t.Phys()
	k := position(t, d)
	return tensor.Count(p[:k]), p[k], tensor.Count(p[k+1:])
}

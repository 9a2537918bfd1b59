// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"slices"
	"sort"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/tensor"
)

// AttrKind is the kind of an attribute.
type AttrKind uint8

// The kinds of ONNX attributes that reach the IR. Subgraphs are in Node.Body.
const (
	AttrInt AttrKind = iota
	AttrFloat
	AttrString
	AttrInts
	AttrFloats
	AttrStrings
	AttrTensor
)

// Attr is one attribute: exactly the field that Kind names is set.
type Attr struct {
	Kind    AttrKind
	Int     int64
	Float   float32
	String  string
	Ints    []int64
	Floats  []float32
	Strings []string
	Tensor  *tensor.Dense
}

// Attrs maps names to attributes. What is absent has the default that the
// operator's AttrSpec gives.
type Attrs map[string]Attr

// AttrSpec describes one attribute of an operator, as Declare reads it from a
// struct. Def is nil where it has no default: an absent one is read as zero.
type AttrSpec struct {
	Name     string
	Kind     AttrKind
	Required bool
	Def      *Attr
	// ElemType: the integer is the ONNX number of an element type.
	ElemType bool
}

// Int is an attribute with an integer.
func Int(v int) Attr { return Attr{Kind: AttrInt, Int: int64(v)} }

// Float is an attribute with a float.
func Float(v float32) Attr { return Attr{Kind: AttrFloat, Float: v} }

// Str is an attribute with a text.
func Str(v string) Attr { return Attr{Kind: AttrString, String: v} }

// Ints is an attribute with a list of integers.
func Ints(v ...int) Attr { return Attr{Kind: AttrInts, Ints: to64(v)} }

// Floats is an attribute with a list of floats.
func Floats(v ...float32) Attr { return Attr{Kind: AttrFloats, Floats: v} }

// Strings is an attribute with a list of texts.
func Strings(v ...string) Attr { return Attr{Kind: AttrStrings, Strings: v} }

// Tens is an attribute with a tensor.
func Tens(v *tensor.Dense) Attr { return Attr{Kind: AttrTensor, Tensor: v} }

func to64(v []int) []int64 {
	o := make([]int64, len(v))
	for i, x := range v {
		o[i] = int64(x)
	}
	return o
}

func (n *Node) attr(name string, kind AttrKind) Attr {
	if a, ok := n.Attrs[name]; ok {
		if a.Kind != kind {
			panic(bug.Errorf("%s: attribute %s is of kind %d, read as %d", n, name, a.Kind, kind))
		}
		return a
	}
	for _, s := range n.Op.Attrs {
		if s.Name == name {
			if s.Kind != kind {
				panic(bug.Errorf("%s: attribute %s is declared as kind %d, read as %d", n, name, s.Kind, kind))
			}
			if s.Def != nil {
				return *s.Def
			}
			return Attr{Kind: kind}
		}
	}
	panic(bug.Errorf("operator %s declares no attribute %s", n.Op.Name, name))
}

// Float is the value of a float attribute or its default.
func (n *Node) Float(name string) float32 { return n.attr(name, AttrFloat).Float }

func ints(a []int64) []int {
	if a == nil {
		return nil
	}
	o := make([]int, len(a))
	for i, v := range a {
		o[i] = int(v)
	}
	return o
}

// SetAttr sets or replaces one attribute.
func (n *Node) SetAttr(name string, a Attr) {
	if n.Attrs == nil {
		n.Attrs = Attrs{}
	}
	n.Attrs[name] = a
	n.decoded.Store(nil)
}

// SetAttrs replaces all attributes.
func (n *Node) SetAttrs(a Attrs) {
	n.Attrs = a
	n.decoded.Store(nil)
}

// DropAttr removes attributes: their defaults hold.
func (n *Node) DropAttr(names ...string) {
	for _, name := range names {
		delete(n.Attrs, name)
	}
	n.decoded.Store(nil)
}

// Bare is the node outside of any graph, with attributes of its own.
func (n *Node) Bare() *Node {
	return &Node{ID: n.ID, Name: n.Name, Op: n.Op, Attrs: n.Attrs.Clone(), In: n.In, Out: n.Out, Body: n.Body,
		Origin: n.Origin, Series: n.Series}
}

// Names are the attribute names in order.
func (a Attrs) Names() []string {
	k := make([]string, 0, len(a))
	for n := range a {
		k = append(k, n)
	}
	sort.Strings(k)
	return k
}

// Clone is a copy that can be edited; slices are shared.
func (a Attrs) Clone() Attrs {
	c := make(Attrs, len(a))
	for k, v := range a {
		c[k] = v
	}
	return c
}

// Equal compares kind and value; NaNs are equal.
func (a Attr) Equal(b Attr) bool {
	return a.Kind == b.Kind && a.Int == b.Int && (a.Float == b.Float || a.Float != a.Float && b.Float != b.Float) &&
		a.String == b.String &&
		slices.Equal(a.Ints, b.Ints) && slices.Equal(a.Floats, b.Floats) && slices.Equal(a.Strings, b.Strings) &&
		(a.Tensor == b.Tensor || a.Tensor != nil && b.Tensor != nil && tensor.Equal(a.Tensor, b.Tensor))
}

// SPDX-License-Identifier: Apache-2.0

package build

import (
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// Take removes an attribute that a rule has dealt with.
func (n *Node) Take(name string) (ir.Attr, bool) {
	a, ok := n.Attrs[name]
	delete(n.Attrs, name)
	return a, ok
}

// taken is Take of an attribute that must be of a kind, if it is there.
func (n *Node) taken(name string, k ir.AttrKind, want string) (ir.Attr, bool) {
	a, ok := n.Take(name)
	n.Want(!ok || a.Kind == k, "attr-kind", "attribute %s has the wrong type, want %s", model.Quote(name), want)
	return a, ok
}

// Int takes an integer.
func (n *Node) Int(name string, def int) int {
	a, ok := n.taken(name, ir.AttrInt, "an integer")
	if !ok {
		return def
	}
	n.Want(a.Int >= -1<<31 && a.Int < 1<<31, "attr-value", "attribute %s is %d, which is out of range", name, a.Int)
	return int(a.Int)
}

// Bool takes an integer that is 0 or not.
func (n *Node) Bool(name string, def bool) bool {
	if a, ok := n.taken(name, ir.AttrInt, "an integer"); ok {
		return a.Int != 0
	}
	return def
}

// Float takes a number.
func (n *Node) Float(name string, def float32) float64 {
	if a, ok := n.taken(name, ir.AttrFloat, "a float"); ok {
		def = a.Float
	}
	return float64(def)
}

// Str takes a text, one of allowed where there are such.
func (n *Node) Str(name, def string, allowed ...string) string {
	v := def
	if a, ok := n.taken(name, ir.AttrString, "a string"); ok {
		v = a.String
	}
	for _, a := range allowed {
		if v == a {
			return v
		}
	}
	n.Want(len(allowed) == 0, "attr-value", "attribute %s is %q, want one of %q", name, v, allowed)
	return v
}

// IntList takes a list of integers; nil where it is absent.
func (n *Node) IntList(name string) []int64 {
	a, ok := n.taken(name, ir.AttrInts, "a list of integers")
	if !ok {
		return nil
	}
	return append([]int64{}, a.Ints...)
}

// FloatList takes a list of floats; nil where it is absent.
func (n *Node) FloatList(name string) []float32 {
	a, ok := n.taken(name, ir.AttrFloats, "a list of floats")
	if !ok {
		return nil
	}
	return append([]float32{}, a.Floats...)
}

// NoText refuses attributes with text.
func (n *Node) NoText(names ...string) {
	for _, s := range names {
		a, _ := n.Take(s)
		n.Want(len(a.Strings) == 0 && a.String == "", "dtype",
			"attribute %s holds text, which has no place in firmware that computes with numbers", s)
	}
}

// Names takes a list of texts; nil where it is absent.
func (n *Node) Names(name string) []string {
	a, _ := n.taken(name, ir.AttrStrings, "a list of texts")
	return a.Strings
}

// DType takes the number of an element type; absent or 0 it is def.
func (n *Node) DType(name string, def tensor.DType) tensor.DType {
	code := n.Int(name, 0)
	if code == 0 {
		return def
	}
	d, ok := tensor.FromONNX(code)
	n.Want(ok, "dtype", "attribute %s is %d, which is not a supported type", name, code)
	return d
}

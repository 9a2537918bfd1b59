// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/tensor"
)

// The attributes of an operator are declared once, as a struct, and read as one:
//
//	type GemmAttrs struct {
//		Alpha  float32 `default:"1"`
//		TransA int     `attr:"transA" default:"0"`
//		Act            // a struct that several operators share
//	}
//
// A field has the name of the attribute with underscores in place of capitals,
// unless `attr` says another; a second word there is "required", or "type" for the
// ONNX number of an element type. Its type is int, float32, string, a slice of
// them or *tensor.Dense; *int and *float32 are numbers without a default, nil
// where they are absent, or where the operator has no such attribute.

// Declare are the attributes that the fields of T declare.
func Declare[T any]() []AttrSpec {
	var out []AttrSpec
	for _, f := range fieldsOf(reflect.TypeFor[T]()) {
		out = append(out, f.spec)
	}
	return out
}

// AttrsOf are the attributes of n as T: the struct that declares them, or any
// other of which the operator declares every field. Defaults are the operator's.
// The result is shared: it must not be changed, nor what its fields point to.
func AttrsOf[T any](of Attributed) *T {
	n := of.self()
	c := n.decoded.Load()
	for d := c; d != nil; d = d.next {
		if v, ok := d.value.(*T); ok {
			return v
		}
	}
	v := new(T)
	r := reflect.ValueOf(v).Elem()
	for _, f := range fieldsOf(reflect.TypeFor[T]()) {
		f.decode(n, r.FieldByIndex(f.index))
	}
	n.decoded.Store(&decoded{v, c})
	return v
}

// Attributed is a node, or a struct that embeds one.
type Attributed interface{ self() *Node }

func (n *Node) self() *Node { return n }

// decoded is a list of structs that hold a node's attributes.
type decoded struct {
	value any
	next  *decoded
}

// attrField is an attribute as a field of a struct.
type attrField struct {
	index []int
	spec  AttrSpec
}

var attrFields sync.Map // by reflect.Type

// fieldsOf are the attributes in a struct, those of embedded ones included.
func fieldsOf(t reflect.Type) []attrField {
	if f, ok := attrFields.Load(t); ok {
		return f.([]attrField)
	}
	var out []attrField
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for _, x := range fieldsOf(f.Type) {
				out = append(out, attrField{append([]int{i}, x.index...), x.spec})
			}
			continue
		}
		out = append(out, attrField{[]int{i}, specOf(f)})
	}
	attrFields.Store(t, out)
	return out
}

var attrKinds = map[reflect.Type]AttrKind{
	reflect.TypeFor[int]():           AttrInt,
	reflect.TypeFor[*int]():          AttrInt,
	reflect.TypeFor[float32]():       AttrFloat,
	reflect.TypeFor[*float32]():      AttrFloat,
	reflect.TypeFor[string]():        AttrString,
	reflect.TypeFor[[]int]():         AttrInts,
	reflect.TypeFor[[]float32]():     AttrFloats,
	reflect.TypeFor[[]string]():      AttrStrings,
	reflect.TypeFor[*tensor.Dense](): AttrTensor,
}

func specOf(f reflect.StructField) AttrSpec {
	kind, ok := attrKinds[f.Type]
	if !ok {
		panic(bug.Errorf("the attribute %s has type %s", f.Name, f.Type))
	}
	name, option, _ := strings.Cut(f.Tag.Get("attr"), ",")
	s := AttrSpec{Name: name, Kind: kind, Required: strings.Contains(option, "required"),
		ElemType: strings.Contains(option, "type")}
	if s.Name == "" {
		s.Name = underscored(f.Name)
	}
	if text, ok := f.Tag.Lookup("default"); ok {
		s.Def = defaultOf(f.Name, kind, text)
	}
	return s
}

func defaultOf(name string, kind AttrKind, text string) *Attr {
	var a Attr
	var err error
	switch kind {
	case AttrInt:
		var v int
		v, err = strconv.Atoi(text)
		a = Int(v)
	case AttrFloat:
		var v float64
		v, err = strconv.ParseFloat(text, 32)
		a = Float(float32(v))
	case AttrString:
		a = Str(text)
	default:
		err = fmt.Errorf("it is of a kind without defaults")
	}
	if err != nil {
		panic(bug.Errorf("default %q of attribute %s: %v", text, name, err))
	}
	return &a
}

// underscored is a Go name as ONNX has it: AutoPad, auto_pad.
func underscored(s string) string {
	var b strings.Builder
	for i, c := range s {
		if i > 0 && unicode.IsUpper(c) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// decode sets v to the attribute of n.
func (f *attrField) decode(n *Node, v reflect.Value) {
	_, given := n.Attrs[f.spec.Name]
	if v.Kind() == reflect.Pointer && !given && !n.defaults(f.spec.Name) {
		return // absent; the operator need not have it
	}
	a := n.attr(f.spec.Name, f.spec.Kind)
	switch p := v.Addr().Interface().(type) {
	case *int:
		*p = int(a.Int)
	case *float32:
		*p = a.Float
	case *string:
		*p = a.String
	case **int:
		k := int(a.Int)
		*p = &k
	case **float32:
		*p = &a.Float
	case *[]int:
		*p = ints(a.Ints)
	case *[]float32:
		*p = a.Floats
	case *[]string:
		*p = a.Strings
	case **tensor.Dense:
		*p = a.Tensor
	}
}

// defaults reports whether the operator has a default for an attribute.
func (n *Node) defaults(name string) bool {
	for _, s := range n.Op.Attrs {
		if s.Name == name {
			return s.Def != nil
		}
	}
	return false
}

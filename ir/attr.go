// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
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
	return lists.Each(v, func(x int) int64 { return int64(x) })
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
	return lists.Each(a, func(v int64) int { return int(v) })
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
		Origin: n.Origin, Series: n.Series, Chain: n.Chain}
}

// Names are the attribute names in order.
func (a Attrs) Names() []string {
	return slices.Sorted(maps.Keys(a))
}

// Clone is a copy that can be edited; slices are shared.
func (a Attrs) Clone() Attrs {
	c := make(Attrs, len(a))
	maps.Copy(c, a)
	return c
}

// Equal compares kind and value; NaNs are equal.
func (a Attr) Equal(b Attr) bool {
	return a.Kind == b.Kind && a.Int == b.Int && (a.Float == b.Float || a.Float != a.Float && b.Float != b.Float) &&
		a.String == b.String &&
		slices.Equal(a.Ints, b.Ints) && slices.Equal(a.Floats, b.Floats) && slices.Equal(a.Strings, b.Strings) &&
		(a.Tensor == b.Tensor || a.Tensor != nil && b.Tensor != nil && tensor.Equal(a.Tensor, b.Tensor))
}

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
func Declare[T any]() []AttrSpec { return declared(reflect.TypeFor[T]()) }

func declared(t reflect.Type) []AttrSpec {
	return lists.Map(fieldsOf(t), func(f attrField) AttrSpec { return f.spec })
}

// AttrsOf are the attributes of n as T: the struct that declares them, or any
// other of which the operator declares every field. Defaults are the operator's.
// The result is shared: it must not be changed, nor what its fields point to.
func AttrsOf[T any](of Attributed) *T { return of.self().decodedAs(reflect.TypeFor[T]()).(*T) }

// decodedAs is a pointer to the attributes as a struct of type t.
func (n *Node) decodedAs(t reflect.Type) any {
	c := n.decoded.Load()
	for d := c; d != nil; d = d.next {
		if d.as == t {
			return d.value
		}
	}
	v := reflect.New(t)
	for _, f := range fieldsOf(t) {
		f.decode(n, v.Elem().FieldByIndex(f.index))
	}
	n.decoded.Store(&decoded{t, v.Interface(), c})
	return v.Interface()
}

// Attributed is a node, or a struct that embeds one.
type Attributed interface{ self() *Node }

func (n *Node) self() *Node { return n }

// decoded is a list of structs that hold a node's attributes.
type decoded struct {
	as    reflect.Type
	value any // a pointer to it
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
		s.Name = Underscored(f.Name)
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

// Underscored is a name of several words as ONNX has those of attributes: AutoPad, auto_pad.
func Underscored(s string) string {
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

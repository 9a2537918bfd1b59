// SPDX-License-Identifier: Apache-2.0

// Package schema is the table of ONNX operator definitions: for every operator
// and every version its inputs, outputs, attributes and type constraints.
//
// The table is schemas.json (the ai.onnx, ai.onnx.ml and preview domains),
// contrib.json (com.microsoft operators that ONNX Runtime's quantiser and optimiser
// write, and those of QONNX) and early.json; see README.md.
package schema

import (
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/nncc/nncc/frontend/text"
)

// Newest versions of the format that the table and the reader know.
const (
	// MaxIR is the newest IR version.
	MaxIR = 14
)

// Unlimited is the MaxIn or MaxOut of an operator with a variadic parameter.
const Unlimited = int(^uint(0) >> 1)

// Schema is one version of one operator.
type Schema struct {
	Domain string // "" is ai.onnx
	Name   string
	// Since is the first opset of Domain that has this version; it holds until the
	// next version of the same operator.
	Since int
	// Deprecated says that from opset Since on the operator must not be used;
	// nothing below is set then.
	Deprecated bool
	// MinIn and MinOut are the fewest inputs and outputs a node may list.
	MinIn, MinOut int
	In, Out       []Param
	Attrs         []Attr // sorted by name
	Vars          []Var

	until int // of Early: the last opset; 0: until the standard has an operator of the name
}

// Option says whether a parameter may be left out.
type Option uint8

// Options of a Param. Mixed is Variadic whose members may differ in type.
const (
	Single Option = iota
	Optional
	Variadic
	Mixed
)

// Param is an input or output.
type Param struct {
	Name string
	// Type is a type variable of the schema (Vars) or a type as Types.String writes it.
	Type string
	Opt  Option
}

// Var is a type variable: all parameters that name it have the same type, one of Types.
type Var struct {
	Name  string
	Types *Types
}

// AttrType numbers are those of AttributeProto.AttributeType.
type AttrType uint8

// The types of attributes.
const (
	Float AttrType = iota + 1
	Int
	String
	Tensor
	Graph
	Floats
	Ints
	Strings
	Tensors
	Graphs
	SparseTensor
	SparseTensors
	TypeProto
	TypeProtos
)

var attrTypeNames = [...]string{"UNDEFINED", "FLOAT", "INT", "STRING", "TENSOR", "GRAPH", "FLOATS", "INTS", "STRINGS",
	"TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"}

// String is the name in the ONNX format, as in "INTS".
func (t AttrType) String() string {
	if int(t) < len(attrTypeNames) {
		return attrTypeNames[t]
	}
	return "UNKNOWN"
}

// Attr is an attribute of an operator.
type Attr struct {
	Name     string
	Type     AttrType
	Required bool
	// Default is what JSON makes of it: nil, a float64, a string, or a list.
	Default any
}

// MaxIn is the largest number of inputs a node may list.
func (s *Schema) MaxIn() int { return maxParams(s.In) }

// MaxOut is the largest number of outputs a node may list.
func (s *Schema) MaxOut() int { return maxParams(s.Out) }

func maxParams(p []Param) int {
	if n := len(p); n > 0 && p[n-1].Opt >= Variadic {
		return Unlimited
	}
	return len(p)
}

// Input is the parameter that the i-th input of a node stands for; nil beyond the last.
func (s *Schema) Input(i int) *Param { return param(s.In, i) }

// Output is the parameter that the i-th output of a node stands for; nil beyond the last.
func (s *Schema) Output(i int) *Param { return param(s.Out, i) }

func param(p []Param, i int) *Param {
	if i < len(p) {
		return &p[i]
	}
	if n := len(p); n > 0 && p[n-1].Opt >= Variadic {
		return &p[n-1]
	}
	return nil
}

// Attr finds an attribute by name; nil where the operator has none of that name.
func (s *Schema) Attr(name string) *Attr {
	i := sort.Search(len(s.Attrs), func(i int) bool { return s.Attrs[i].Name >= name })
	if i < len(s.Attrs) && s.Attrs[i].Name == name {
		return &s.Attrs[i]
	}
	return nil
}

// Allowed is the set of types that a parameter may have, and the name of the type
// variable behind it ("" where the type is fixed).
func (s *Schema) Allowed(p *Param) (types *Types, variable string) {
	for i := range s.Vars {
		if s.Vars[i].Name == p.Type {
			return s.Vars[i].Types, p.Type
		}
	}
	return ParseTypes(p.Type), ""
}

// Domain gives the name by which the table knows a domain: ai.onnx is "".
func Domain(d string) string {
	if d == "ai.onnx" {
		return ""
	}
	return d
}

// Home is Domain of a node's operator, in a model of an opset of the standard. Tools that edit graphs drop the
// domains of PACT's operators and of ONNX Runtime's.
func Home(domain, op string, opset int64) string {
	d := Domain(domain)
	if d != "" && d != "ai.onnx.contrib" || Lookup(d, op, opset) != nil || Early(op, opset) != nil {
		return d
	}
	for _, home := range []string{"PACTOps", "com.microsoft"} {
		if len(Versions(home, op)) > 0 {
			return home
		}
	}
	return d
}

// DisplayDomain is the inverse of Domain: the name to print.
func DisplayDomain(d string) string {
	if d == "" {
		return "ai.onnx"
	}
	return d
}

// Lookup finds the version of an operator that holds in an opset of its domain:
// the newest that is not newer than the opset. It is nil where the operator does
// not exist there; a deprecated operator is returned with Deprecated set.
func Lookup(domain, op string, opset int64) *Schema {
	v := Versions(domain, op)
	for i := len(v) - 1; i >= 0; i-- {
		if int64(v[i].Since) <= opset {
			return v[i]
		}
	}
	return nil
}

// Versions lists all versions of an operator, oldest first; empty where unknown.
func Versions(domain, op string) []*Schema { return loaded().operators[key{Domain(domain), op}] }

// MaxOpset is the newest opset of a domain that the table knows, 0 for an unknown domain.
func MaxOpset(domain string) int { return loaded().newest[Domain(domain)] }

// Closed reports the domains whose operators the table lists completely, those of
// ONNX; of another known domain (com.microsoft, QONNX's) it lists those that matter here.
func Closed(domain string) bool {
	return MaxOpset(domain) > 0 && (Domain(domain) == "" || strings.HasPrefix(domain, "ai.onnx"))
}

// Operators lists the names of a domain's operators, sorted.
func Operators(domain string) []string {
	var n []string
	for k := range loaded().operators {
		if k.domain == Domain(domain) {
			n = append(n, k.name)
		}
	}
	slices.Sort(n)
	return n
}

// Near suggests the operator of a domain whose name is closest to op, or "" where
// none is close.
func Near(domain, op string) string {
	best, bestD := "", min(3, len(op)/3+1)
	for _, n := range Operators(domain) {
		if strings.EqualFold(n, op) {
			return n
		}
		if d := text.Distance(n, op, bestD); d < bestD {
			best, bestD = n, d
		}
	}
	return best
}

// Early finds an operator of ai.onnx that ONNX Runtime knows in an opset in
// which the standard has none of that name; nil where there is no such.
func Early(op string, opset int64) *Schema {
	if Lookup("", op, opset) != nil {
		return nil
	}
	for _, s := range loaded().early {
		if s.Name == op && int64(s.Since) <= opset && (s.until == 0 || opset <= int64(s.until)) {
			return s
		}
	}
	return nil
}

// IsEarly reports a schema that Early gives.
func IsEarly(s *Schema) bool { return slices.Contains(loaded().early, s) }

// Types is a set of value types. The masks have bit n set for the element type
// with TensorProto.DataType number n.
type Types struct {
	Tensor, Seq, OptTensor, OptSeq, Sparse uint32
	Other                                  []string // maps and the like, as the data files write them
}

var elemNames = [...]string{"undefined", "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string",
	"bool", "float16", "double", "uint32", "uint64", "complex64", "complex128", "bfloat16", "float8e4m3fn",
	"float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1", "float8e8m0", "uint2", "int2"}

// ElemName is the ONNX name of an element type ("float" for 1), or "" for a
// number that the format does not define.
func ElemName(dataType int32) string {
	if dataType > 0 && int(dataType) < len(elemNames) {
		return elemNames[dataType]
	}
	return ""
}

// ElemNumber is the inverse of ElemName, 0 for an unknown name.
func ElemNumber(name string) int32 {
	for i, n := range elemNames {
		if i > 0 && n == name {
			return int32(i)
		}
	}
	return 0
}

// HasTensor reports whether tensors of an element type are in the set.
func (t *Types) HasTensor(dataType int32) bool {
	return dataType > 0 && dataType < 32 && t.Tensor>>uint(dataType)&1 != 0
}

// ParseTypes reads a set as the data files write it: element types and
// seq(…), optional(…), optional(seq(…)), sparse_tensor(…) around them, with spaces.
func ParseTypes(s string) *Types {
	t := &Types{}
	for _, w := range strings.Fields(s) {
		mask := &t.Tensor
		in := w
		for prefix, m := range map[string]*uint32{"seq(": &t.Seq, "optional(": &t.OptTensor,
			"sparse_tensor(": &t.Sparse} {
			if rest, ok := strings.CutPrefix(in, prefix); ok {
				mask, in = m, strings.TrimSuffix(rest, ")")
				break
			}
		}
		if rest, ok := strings.CutPrefix(in, "seq("); ok && mask == &t.OptTensor {
			mask, in = &t.OptSeq, strings.TrimSuffix(rest, ")")
		}
		if n := ElemNumber(in); n != 0 {
			*mask |= 1 << uint(n)
		} else {
			t.Other = append(t.Other, w)
		}
	}
	return t
}

// String writes the set as ParseTypes reads it.
func (t *Types) String() string {
	var w []string
	for _, p := range []struct {
		mask        uint32
		open, close string
	}{{t.Tensor, "", ""}, {t.Seq, "seq(", ")"}, {t.OptTensor, "optional(", ")"}, {t.OptSeq, "optional(seq(", "))"},
		{t.Sparse, "sparse_tensor(", ")"}} {
		for m := p.mask; m != 0; m &= m - 1 {
			w = append(w, p.open+elemNames[bits.TrailingZeros32(m)]+p.close)
		}
	}
	return strings.Join(append(w, t.Other...), " ")
}

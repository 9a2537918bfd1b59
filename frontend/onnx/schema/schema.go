// SPDX-License-Identifier: Apache-2.0

// Package schema is the table of ONNX operator definitions: for every operator
// and every version its inputs, outputs, attributes and type constraints.
//
// The table is generated from schemas.json (the ai.onnx, ai.onnx.ml and preview
// domains) and contrib.json (com.microsoft operators that ONNX Runtime's quantiser
// and optimiser write, and those of QONNX); see README.md.
package schema

import (
	"slices"
	"sort"
	"strings"
	"sync"

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
	// Default is nil, or a float32, int64, string, []float32, []int64 or []string.
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

// key identifies an operator in all its versions.
type key struct{ domain, name string }

var index = sync.OnceValue(func() map[key][]*Schema {
	m := map[key][]*Schema{}
	for i := range table {
		s := &table[i]
		k := key{s.Domain, s.Name}
		m[k] = append(m[k], s)
	}
	return m
})

// Domain gives the name by which the table knows a domain: ai.onnx is "".
func Domain(d string) string {
	if d == "ai.onnx" {
		return ""
	}
	return d
}

// DisplayDomain is the inverse: the name to print.
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
func Versions(domain, op string) []*Schema { return index()[key{Domain(domain), op}] }

// MaxOpset is the newest opset of a domain that the table knows, 0 for an unknown domain.
func MaxOpset(domain string) int { return maxOpsets[Domain(domain)] }

// Closed reports the domains whose operators the table lists completely, those of
// ONNX; of another known domain (com.microsoft, QONNX's) it lists those that matter here.
func Closed(domain string) bool {
	return MaxOpset(domain) > 0 && (Domain(domain) == "" || strings.HasPrefix(domain, "ai.onnx"))
}

// Domains lists the domains of the table, ai.onnx (as "") first.
func Domains() []string {
	var d []string
	for k := range maxOpsets {
		d = append(d, k)
	}
	slices.Sort(d)
	return d
}

// Operators lists the names of a domain's operators, sorted.
func Operators(domain string) []string {
	var n []string
	for k := range index() {
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

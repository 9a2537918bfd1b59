// SPDX-License-Identifier: Apache-2.0

// Package param has the parameter structs of kernels as Go types, made from the
// headers, and the windows that many of them describe.
package param

import (
	"reflect"

	"github.com/nncc/nncc/ir/call"
)

//go:generate go run github.com/nncc/nncc/cmd/nnccgen -root ../../.. params

// Params is a parameter struct. Its fields are those in C: an int, a list of them, a
// call.Arg or, of a struct in it, Params; nil: C leaves it at 0.
type Params interface{ CType() string }

// Struct is the argument. Fields that are nil and describe a window are those of w,
// where it is given.
func Struct(p Params, w ...*Window) *call.Struct {
	return &call.Struct{Type: p.CType(), Fields: Fields(p, w...)}
}

// Fields are the fields of the argument.
func Fields(p Params, w ...*Window) []call.Field {
	var f []call.Field
	geometry := map[string]int{}
	for _, x := range w {
		geometry = x.fields()
	}
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("c")
		if v.Field(i).IsNil() {
			if g, ok := geometry[name]; ok {
				f = append(f, call.FI(name, g))
			}
			continue
		}
		switch x := v.Field(i).Interface().(type) {
		case int:
			f = append(f, call.FI(name, x))
		case []int:
			f = append(f, call.F(name, call.IntArray(x)))
		case call.Arg:
			f = append(f, call.F(name, x))
		default:
			f = append(f, call.F(name, call.Nested{Fields: Fields(x.(Params), w...)}))
		}
	}
	return f
}

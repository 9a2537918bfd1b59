// SPDX-License-Identifier: Apache-2.0

package text

import (
	"math"
	"reflect"
)

// Lines gives a copy of v, at any depth, in which every string is on one line; what v
// holds by interfaces with methods stays as it is.
func Lines[T any](v T) T { return change{texts: Line}.of(reflect.ValueOf(&v).Elem()).Interface().(T) }

// Finite gives a copy of v, at any depth, in which every number is one that JSON has:
// infinities are the largest numbers of their type, and so is what is undefined.
func Finite[T any](v T) T {
	return change{reals: finite}.of(reflect.ValueOf(&v).Elem()).Interface().(T)
}

// finite is a number that JSON has; most is the largest one.
func finite(x, most float64) float64 {
	if x != x {
		return most
	}
	return min(max(x, -most), most)
}

// change is what becomes of the strings and of the reals of a value; nil: they stay.
type change struct {
	texts func(string) string
	reals func(x, most float64) float64
}

func (c change) of(v reflect.Value) reflect.Value {
	if !c.reaches(v.Kind()) {
		return v
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		if v.IsNil() {
			return v
		}
	}
	to := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		to.SetString(c.texts(v.String()))
	case reflect.Float32:
		to.SetFloat(c.reals(v.Float(), math.MaxFloat32))
	case reflect.Float64:
		to.SetFloat(c.reals(v.Float(), math.MaxFloat64))
	case reflect.Pointer:
		to.Set(reflect.New(v.Type().Elem()))
		to.Elem().Set(c.of(v.Elem()))
	case reflect.Struct:
		to.Set(v)
		c.fields(to, v)
	case reflect.Slice:
		if !c.reaches(v.Type().Elem().Kind()) {
			return v
		}
		to.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		c.elements(to, v)
	case reflect.Array:
		c.elements(to, v)
	case reflect.Map:
		to.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for it := v.MapRange(); it.Next(); {
			to.SetMapIndex(c.of(it.Key()), c.of(it.Value()))
		}
	case reflect.Interface:
		if v.Type().NumMethod() > 0 { // errors and the like
			return v
		}
		return c.of(v.Elem())
	}
	return to
}

// reaches reports whether the change may reach values of a kind.
func (c change) reaches(k reflect.Kind) bool {
	switch k {
	case reflect.String:
		return c.texts != nil
	case reflect.Float32, reflect.Float64:
		return c.reals != nil
	case reflect.Pointer, reflect.Struct, reflect.Slice, reflect.Array, reflect.Map, reflect.Interface:
		return true
	}
	return false
}

// fields changes those that are exported, of embedded structures, too.
func (c change) fields(to, v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Type().Field(i); {
		case f.IsExported():
			to.Field(i).Set(c.of(v.Field(i)))
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			c.fields(to.Field(i), v.Field(i))
		}
	}
}

func (c change) elements(to, v reflect.Value) {
	for i := range v.Len() {
		to.Index(i).Set(c.of(v.Index(i)))
	}
}

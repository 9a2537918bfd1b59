// SPDX-License-Identifier: Apache-2.0

package boards

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
)

// check compares a file with the schema, which is Spec and its yaml tags:
// unknown keys and wrong kinds of value are found in the file that has them,
// also where a child would override them. What is wrong is taken out of t; false: t itself
// is.
func check(t *tree, typ reflect.Type, path string, f *faults) bool {
	if t.kind == null {
		return true // removes an inherited value
	}
	want := func(k kind) bool {
		if t.kind != k {
			f.drop(path, t.pos.errorf("%s: want %s, found %s", path, k, t.kind))
		}
		return t.kind == k
	}
	switch {
	case typ == reflect.TypeFor[Regions]():
		if !want(dict) {
			return false
		}
		for _, name := range slices.Clone(t.keys) {
			if !check(t.m[name], reflect.TypeFor[Region](), path+"."+name, f) {
				t.drop(name)
			}
		}
		return true
	case typ.Kind() == reflect.Struct:
		if !want(dict) {
			return false
		}
		checkFields(t, typ, path, f)
		return true
	case typ.Kind() == reflect.Slice:
		if !want(list) {
			return false
		}
		ok := true
		for i, e := range t.items {
			ok = check(e, typ.Elem(), fmt.Sprintf("%s[%d]", path, i), f) && ok
		}
		if !ok {
			f.without = append(f.without, path)
		}
		return ok
	case typ.Kind() == reflect.Map: // free form
		return want(dict)
	}
	if !want(scalar) {
		return false
	}
	if err := decode(t, reflect.New(typ).Elem(), path); err != nil {
		f.drop(path, err)
		return false
	}
	return true
}

// checkFields looks at the keys of a map that is a structure.
func checkFields(t *tree, typ reflect.Type, path string, f *faults) {
	fields := fieldsOf(typ)
	for _, k := range slices.Clone(t.keys) {
		v := t.m[k]
		name, plus := strings.CutSuffix(k, "+")
		field, ok := fields[name]
		if !ok || (plus && field.Type.Kind() != reflect.Slice) || (plus && field.Type == reflect.TypeFor[Regions]()) {
			known := names(fields)
			f.drop(dotted(path, text.Nearest(name, known)), v.pos.errorf("unknown key %q%s%s; known: %s", k, in(path),
				near(name, known), strings.Join(known, ", ")))
			t.drop(k)
			continue
		}
		if !check(v, field.Type, dotted(path, name), f) {
			t.drop(k)
		}
	}
}

// decode fills v from a checked and merged tree.
func decode(t *tree, v reflect.Value, path string) (err error) {
	defer fail.Catch(&err)
	switch typ := v.Type(); {
	case typ == reflect.TypeFor[Regions]():
		var rs Regions
		for _, name := range t.keys {
			r := Region{Name: name}
			fail.Check(decode(t.m[name], reflect.ValueOf(&r).Elem(), path+"."+name))
			rs = append(rs, r)
		}
		v.Set(reflect.ValueOf(rs))
	case typ == reflect.TypeFor[Size]():
		n, err := parseSize(t.text)
		if err != nil {
			return t.pos.errorf("%s: %v", path, err)
		}
		v.SetUint(n)
	case typ == reflect.TypeFor[Addr]():
		n, err := strconv.ParseUint(t.text, 0, 64)
		switch {
		case err != nil:
			return t.pos.errorf("%s: %q is not an address such as 0x20000000", path, t.text)
		case n != 0 && n%10 == 0 && !strings.HasPrefix(strings.ToLower(t.text), "0x"):
			return t.pos.errorf("%s: %s is a decimal number; an address is written 0x%s", path, t.text, t.text)
		}
		v.SetUint(n)
	case typ == reflect.TypeFor[Duration]():
		d, err := time.ParseDuration(t.text)
		if err != nil || d < 0 {
			return t.pos.errorf("%s: %q is not a duration such as 90s", path, t.text)
		}
		v.SetInt(int64(d))
	case typ == reflect.TypeFor[Ratio]():
		x, err := strconv.ParseFloat(t.text, 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return t.pos.errorf("%s: %q is not a number such as 0.25", path, t.text)
		}
		v.SetFloat(x)
	case typ.Kind() == reflect.Struct:
		fields := fieldsOf(typ)
		for _, k := range t.keys {
			fail.Check(decode(t.m[k], v.FieldByIndex(fields[k].Index), dotted(path, k)))
		}
	case typ.Kind() == reflect.Slice:
		s := reflect.MakeSlice(typ, len(t.items), len(t.items))
		for i, e := range t.items {
			fail.Check(decode(e, s.Index(i), fmt.Sprintf("%s[%d]", path, i)))
		}
		v.Set(s)
	case typ.Kind() == reflect.Map:
		m := fail.Must(free(t, path))
		v.Set(reflect.ValueOf(m))
	case typ.Kind() == reflect.String:
		if t.tag != "!!str" {
			return t.pos.errorf("%s: want text, found %s (put it in quotes)", path, t.text)
		}
		if strings.ContainsAny(t.text, "\x00\r") {
			return t.pos.errorf("%s: control character in text", path)
		}
		v.SetString(t.text)
	case typ.Kind() == reflect.Bool:
		b, err := strconv.ParseBool(t.text)
		if err != nil || t.tag != "!!bool" {
			return t.pos.errorf("%s: want true or false, found %s", path, t.text)
		}
		v.SetBool(b)
	case typ.Kind() == reflect.Int:
		n, err := strconv.ParseInt(t.text, 0, 64)
		if err != nil {
			return t.pos.errorf("%s: want a whole number such as 80000000, found %s", path, t.text)
		}
		v.SetInt(n)
	default:
		panic(bug.Errorf("boards: no decoder for %v at %s", typ, path))
	}
	return nil
}

// free decodes the parameters of an accelerator: string, bool, int64,
// float64, []any and map[string]any.
func free(t *tree, path string) (_ any, err error) {
	defer fail.Catch(&err)
	switch t.kind {
	case list:
		out := make([]any, 0, len(t.items))
		for i, e := range t.items {
			v := fail.Must(free(e, fmt.Sprintf("%s[%d]", path, i)))
			out = append(out, v)
		}
		return out, nil
	case dict:
		out := make(map[string]any, len(t.keys))
		for _, k := range t.keys {
			if t.m[k].kind == null {
				continue
			}
			v := fail.Must(free(t.m[k], path+"."+k))
			out[k] = v
		}
		return out, nil
	}
	switch t.tag {
	case "!!bool":
		return strings.EqualFold(t.text, "true"), nil
	case "!!int":
		n, err := strconv.ParseInt(t.text, 0, 64)
		if err != nil {
			return nil, t.pos.errorf("%s: %s does not fit 64 bits", path, t.text)
		}
		return n, nil
	case "!!float":
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, t.pos.errorf("%s: %s is not a finite number", path, t.text)
		}
		return f, nil
	}
	return t.text, nil
}

// parseSize reads 65536, 0x10000, 64K, 64KB or 64KiB, and M and G likewise.
func parseSize(s string) (uint64, error) {
	if upper := strings.ToUpper(s); strings.HasSuffix(upper, "B") && len(s) > 2 {
		if base := strings.TrimSuffix(upper[:len(upper)-1], "I"); strings.HasSuffix(base, "K") ||
			strings.HasSuffix(base, "M") || strings.HasSuffix(base, "G") {
			s = base
		}
	}
	shift, digits := 0, s
	if n := len(s); n > 0 {
		switch s[n-1] {
		case 'K', 'k':
			shift, digits = 10, s[:n-1]
		case 'M', 'm':
			shift, digits = 20, s[:n-1]
		case 'G', 'g':
			shift, digits = 30, s[:n-1]
		}
	}
	n, err := strconv.ParseUint(digits, 0, 64)
	if err != nil || n > math.MaxUint64>>shift {
		return 0, fmt.Errorf("%q is not a size such as 0x20000, 512K or 4M", s)
	}
	return n << shift, nil
}

func fieldsOf(typ reflect.Type) map[string]reflect.StructField {
	out := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(typ) {
		if name := f.Tag.Get("yaml"); name != "" && name != "-" {
			out[name] = f
		}
	}
	return out
}

func names(fields map[string]reflect.StructField) []string {
	var out []string
	for n := range fields {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

func dotted(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func in(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// origins flattens a merged tree into its values and their positions.
func origins(t *tree, path string, out []Origin) []Origin {
	switch t.kind {
	case dict:
		for _, k := range t.keys {
			out = origins(t.m[k], dotted(path, k), out)
		}
	case list:
		for i, e := range t.items {
			out = origins(e, fmt.Sprintf("%s[%d]", path, i), out)
		}
		if len(t.items) == 0 {
			out = append(out, Origin{path, "[]", t.pos.file, t.pos.line})
		}
	case scalar:
		out = append(out, Origin{path, t.text, t.pos.file, t.pos.line})
	}
	return out
}

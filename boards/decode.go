// SPDX-License-Identifier: Apache-2.0

package boards

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
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
		v.Set(reflect.ValueOf(fail.Must(free(t, path))))
	default:
		if bad := t.scalar(v.Addr().Interface()); bad != "" {
			return t.pos.errorf("%s: %s", path, bad)
		}
	}
	return nil
}

// scalar sets what to points at, or says what is wrong.
func (t *tree) scalar(to any) (bad string) {
	var err error
	switch x := to.(type) {
	case *Size:
		if *x, err = parseSize(t.text); err != nil {
			return err.Error()
		}
	case *Addr:
		n, err := strconv.ParseUint(t.text, 0, 64)
		switch {
		case err != nil:
			return fmt.Sprintf("%q is not an address such as 0x20000000", t.text)
		case n != 0 && n%10 == 0 && !strings.HasPrefix(strings.ToLower(t.text), "0x"):
			return fmt.Sprintf("%s is a decimal number; an address is written 0x%s", t.text, t.text)
		}
		*x = Addr(n)
	case *Duration:
		d, err := time.ParseDuration(t.text)
		if *x = Duration(d); err != nil || d < 0 {
			return fmt.Sprintf("%q is not a duration such as 90s", t.text)
		}
	case *Ratio:
		f, ok := t.float()
		if *x = Ratio(f); !ok {
			return fmt.Sprintf("%q is not a number such as 0.25", t.text)
		}
	default:
		return t.basic(to)
	}
	return ""
}

// float is a finite number.
func (t *tree) float() (float64, bool) {
	f, err := strconv.ParseFloat(t.text, 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// basic is scalar of a type of the language.
func (t *tree) basic(to any) (bad string) {
	var err error
	switch x := to.(type) {
	case *string:
		if *x = t.text; t.tag != "!!str" {
			return fmt.Sprintf("want text, found %s (put it in quotes)", t.text)
		}
		if strings.ContainsAny(t.text, "\x00\r") {
			return "control character in text"
		}
	case *bool:
		if *x, err = strconv.ParseBool(t.text); err != nil || t.tag != "!!bool" {
			return fmt.Sprintf("want true or false, found %s", t.text)
		}
	case *int:
		n, err := strconv.ParseInt(t.text, 0, 64)
		if *x = int(n); err != nil {
			return fmt.Sprintf("want a whole number such as 80000000, found %s", t.text)
		}
	default:
		panic(bug.Errorf("boards: no decoder for %T", to))
	}
	return ""
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
		f, ok := t.float()
		if !ok {
			return nil, t.pos.errorf("%s: %s is not a finite number", path, t.text)
		}
		return f, nil
	}
	return t.text, nil
}

// parseSize reads 65536, 0x10000, 64K, 64KB or 64KiB, and M and G likewise.
func parseSize(s string) (Size, error) {
	digits := strings.ToUpper(s)
	if base := strings.TrimSuffix(strings.TrimSuffix(digits, "B"), "I"); base != digits && len(s) > 2 &&
		strings.HasSuffix(digits, "B") && strings.ContainsAny(base[len(base)-1:], "KMG") {
		s, digits = base, base
	}
	shift := 0
	for i, unit := range []string{"K", "M", "G"} {
		if base, ok := strings.CutSuffix(digits, unit); ok {
			shift, digits = 10*(i+1), base
			break
		}
	}
	n, err := strconv.ParseUint(digits, 0, 64)
	if err != nil || n > math.MaxUint64>>shift {
		return 0, fmt.Errorf("%q is not a size such as 0x20000, 512K or 4M", s)
	}
	return Size(n << shift), nil
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

func names(fields map[string]reflect.StructField) []string { return slices.Sorted(maps.Keys(fields)) }

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

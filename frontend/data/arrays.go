// SPDX-License-Identifier: Apache-2.0

package data

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// labelArray is the array of a .npz file that holds labels.
const labelArray = "labels"

// arrays adds the samples of a folder of arrays.
func (s *Set) arrays(l *listing) {
	for i := 0; i < len(l.files); {
		dir := filepath.Dir(l.files[i].path)
		n := i + 1
		for n < len(l.files) && filepath.Dir(l.files[n].path) == dir {
			n++
		}
		s.arrayFolder(dir, l.files[i:n])
		i = n
	}
}

// arrayFolder adds what lies in one folder: files one by one, and .npy files of a
// model with several inputs together.
func (s *Set) arrayFolder(dir string, list []file) {
	var together []npz.Entry
	for _, f := range list {
		ext := strings.ToLower(filepath.Ext(f.path))
		base := strings.TrimSuffix(filepath.Base(f.path), filepath.Ext(f.path))
		class := f.class
		if strings.HasPrefix(base, "input_") {
			class = "" // a stored case; its folder is its name
		}
		switch {
		case ext == ".npz":
			s.arrayFile(f.path, f.class)
		case len(s.in) == 1 && !strings.HasPrefix(base, "output_"):
			s.arrayFile(f.path, class)
		case len(s.in) != 1 && s.index(base) >= 0:
			a, err := npz.ReadNpyFile(f.path, s.opt.Limits)
			s.refuse(err != nil, f.path, "%w", err)
			together = append(together, npz.Entry{Name: base, Array: a})
		}
	}
	if len(together) > 0 {
		s.entries(dir, list[0].class, together)
	}
}

// arrayFile adds the samples of a .npy or .npz file.
func (s *Set) arrayFile(p, class string) {
	e, err := npz.ReadFileNamed(p, s.opt.Limits, func(name string) bool {
		return s.index(name) >= 0 || name == labelArray
	})
	s.refuse(err != nil && kindOf(p) != arrays && !errors.Is(err, fs.ErrNotExist), p,
		"samples are %s, or folders of these: %w", strings.Join(slices.Sorted(maps.Values(kindNames)), ", "), err)
	s.refuse(err != nil, p, "%w", err)
	if len(e) == 1 && e[0].Name == "" {
		e[0].Name = strings.TrimSuffix(filepath.Base(p), filepath.Ext(p))
		if len(s.in) == 1 {
			e[0].Name = s.in[0].Name
		}
	}
	if name := s.unnamed(e); name != "" {
		e, err = npz.ReadFileNamed(p, s.opt.Limits, func(n string) bool { return n == name || n == labelArray })
		s.refuse(err != nil, p, "%w", err)
		for i := range e {
			if e[i].Name == name {
				e[i].Name = s.in[0].Name
			}
		}
	}
	s.entries(p, class, e)
}

// unnamed is the only array of a file for a model that has one input, which is called
// otherwise; "" where the names say what is meant.
func (s *Set) unnamed(list []npz.Entry) string {
	name := ""
	for _, e := range list {
		switch {
		case len(s.in) != 1 || s.index(e.Name) >= 0 || name != "" && e.Name != labelArray:
			return ""
		case e.Name != labelArray:
			name = e.Name
		}
	}
	return name
}

// index is the input called name, or input_<i> for the i-th; -1 for none.
func (s *Set) index(name string) int {
	for i, v := range s.in {
		if v.Name == name {
			return i
		}
	}
	for i := range s.in {
		if name == fmt.Sprintf("input_%d", i) {
			return i
		}
	}
	return -1
}

// entries adds the samples of one set of arrays.
func (s *Set) entries(where, class string, list []npz.Entry) {
	found, known := s.match(list)
	count := -1
	per := make([][]*tensor.Dense, len(s.in))
	for i, v := range s.in {
		if found[i] == nil {
			names := lists.Map(list, func(e npz.Entry) string { return e.Name })
			s.refuse(true, where, "no array is called %q as the model's input is; found %s%s", v.Name, quoted(names),
				cmp.Or(text.Meant(v.Name, names), fmt.Sprintf("; an input that an output feeds is state: "+
					"--state OUTPUT=%s, one that never changes a constant: --set %[1]s=VALUE", v.Name)))
		}
		x := s.split(where, v, found[i])
		s.refuse(count >= 0 && len(x) != count,
			where, "%d samples for input %s, but %d for input %s", count, s.in[0].Name, len(x), v.Name)
		per[i], count = x, len(x)
	}
	classes := s.labelsOf(where, known, count)
	for k := range count {
		it := item{name: where, path: where, class: class}
		if count > 1 {
			it.name = fmt.Sprintf("%s#%d", where, k)
		}
		if classes != nil {
			it.class = classes[k]
		}
		x := lists.Make(len(s.in), func(i int) *tensor.Dense { return per[i][k] })
		it.read = func() ([]*tensor.Dense, error) { return x, nil }
		s.add(it)
	}
}

// match finds the array of every input, and that of labels.
func (s *Set) match(list []npz.Entry) (found []*npz.Array, known *npz.Array) {
	found = make([]*npz.Array, len(s.in))
	for _, e := range list {
		i := s.index(e.Name)
		if e.Array != nil && i >= 0 && (found[i] == nil || s.in[i].Name == e.Name) {
			found[i] = e.Array
		}
		if i < 0 && e.Name == labelArray {
			known = e.Array
		}
	}
	return found, known
}

// labelsOf reads an array of labels: a whole number for each sample. nil: there is none.
func (s *Set) labelsOf(where string, a *npz.Array, count int) []string {
	if a == nil {
		return nil
	}
	v, err := a.Int64s()
	s.refuse(err != nil || len(v) != count, where, "the array %s is %s%v; want a whole number for each of %d samples",
		labelArray, a.DType, a.Shape, count)
	out := make([]string, count)
	for i, l := range v {
		out[i] = fmt.Sprint(l)
	}
	return out
}

func quoted(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	if len(names) > 8 {
		names = append(slices.Clone(names[:8]), "...")
	}
	return fmt.Sprintf("%.200q", names)
}

// split cuts an array into samples of v's shape.
func (s *Set) split(where string, v *ir.Value, a *npz.Array) []*tensor.Dense {
	want := v.Type.Shape
	elems := v.Type.Elems()
	turned := Turned(v, s.opt.Spec.Of(v.Name).Layout)
	n := count(a.Shape, want)
	if turned != nil {
		n = count(a.Shape, turned)
	}
	if elems == 0 || a.Len() == 0 || n == 0 {
		s.refuse(true, where, "the array for input %s has shape %v; want %v, [samples %v], or the input's shape "+
			"with more samples along the first axis%s", v.Name, a.Shape, want, want, LooksLike(v, a.Shape))
	}
	s.refuse(n > maxSamples-len(s.items), where, "more than %d samples; a few hundred are plenty", maxSamples)
	if s.bytes += int64(n) * int64(elems) * int64(v.Type.DType.Size()); s.bytes > s.limit() {
		s.tooMuch(where, s.bytes)
	}
	out := make([]*tensor.Dense, n)
	for k := range out {
		part := a.Part(k*elems, elems) // a last batch that is not full begins again
		all := s.convert(where, v, part, k*elems)
		all = all.Cast(v.Type.DType)
		if turned != nil {
			all = all.Reshaped(turned).Transpose(turn(v.Type))
		}
		out[k] = all.Reshaped(want)
	}
	return out
}

// count is how many samples of shape want an array of a shape holds; 0: it does not
// have that shape.
func count(shape, want []int) int {
	switch {
	case slices.Equal(shape, want):
		return 1
	case len(shape) == len(want)+1 && slices.Equal(shape[1:], want):
		return shape[0]
	case len(want) > 0 && len(shape) == len(want) && slices.Equal(shape[1:], want[1:]):
		return (shape[0] + want[0] - 1) / want[0]
	case len(want) > 0 && want[0] == 1 && slices.Equal(shape, want[1:]):
		return 1
	}
	return 0
}

// convert gives the array's numbers as a tensor that the input can take; at is the
// place of its first element, for messages.
func (s *Set) convert(where string, v *ir.Value, a *npz.Array, at int) *tensor.Dense {
	isFloat := strings.HasPrefix(a.DType, "float")
	switch {
	case v.Type.DType.IsFloat() && isFloat:
		if f, ok := a.Data.([]float32); ok {
			return finite(s, where, v, a.Shape, f, at)
		}
		f, err := a.Float64s()
		s.refuse(err != nil, where, "%w", err)
		return finite(s, where, v, a.Shape, f, at)
	case v.Type.DType.IsFloat():
		s.refuse(true, where, "the array for input %s is of type %s, want floats in the model's own scaling "+
			"(convert it with astype(\"float32\") and normalise as for training)", v.Name, a.DType)
	case isFloat:
		s.refuse(true, where, "the array for input %s is of type %s, want %s", v.Name, a.DType, v.Type.DType)
	}
	x, err := a.Int64s()
	s.refuse(err != nil, where, "input %s: %w", v.Name, err)
	if v.Type.DType != tensor.Bool {
		lo, hi := v.Type.DType.IntRange()
		for i, e := range x {
			if e < lo || e > hi { // the text of a refusal costs more than the test
				s.refuse(true, where, "element %d of the array for input %s is %d, beyond %s", at+i, v.Name, e,
					v.Type.DType)
			}
		}
	}
	return tensor.Of(a.Shape, x)
}

// finite is a tensor of finite numbers; NaN is one where the model asks for it: something is missing.
func finite[T float32 | float64](s *Set, where string, v *ir.Value, shape []int, x []T, at int) *tensor.Dense {
	for i, f := range x {
		if f-f != 0 && (f == f || !s.missing[v]) {
			s.refuse(true, where, "element %d of the array for input %s is %v, want finite numbers", at+i, v.Name, f)
		}
	}
	return tensor.Of(shape, x)
}

// layoutOf is how a model's input of rank 4 lies: by its extents, channels are the
// fewest; "" where they do not say.
func layoutOf(shape []int) string {
	if len(shape) != 4 {
		return ""
	}
	if last := shape[3]; last <= 4 && (shape[1] > 4 || last < shape[1] && shape[1] != shape[2]) {
		return "nhwc"
	}
	return "nchw"
}

// turn is the permutation from the other layout to that of a type.
func turn(t ir.Type) []int {
	if layoutOf(t.Shape) == "nhwc" {
		return []int{0, 2, 3, 1}
	}
	return []int{0, 3, 1, 2}
}

// Turned is the shape of a sample for input v in a layout that is not the model's;
// nil: it is, or nothing is declared (""), or the input has another rank than 4.
func Turned(v *ir.Value, layout string) []int {
	if own := layoutOf(v.Type.Shape); layout == "" || own == "" || own == layout {
		return nil
	}
	return other(v.Type)
}

// other is the type's shape in the other layout.
func other(t ir.Type) []int {
	out := make([]int, len(t.Shape))
	for i, from := range turn(t) {
		out[from] = t.Shape[i]
	}
	return out
}

// LooksLike says, as the end of a message about an array's shape, in which layout it
// would be right; "" for none.
func LooksLike(v *ir.Value, shape []int) string {
	own := layoutOf(v.Type.Shape)
	if own == "" {
		return ""
	}
	turned := other(v.Type)
	if slices.Equal(turned, v.Type.Shape) || count(shape, turned) == 0 {
		return ""
	}
	name := "nhwc"
	if own == name {
		name = "nchw"
	}
	return fmt.Sprintf(". It looks like %s: the model wants %s (%s); transpose it, or say --preprocess layout=%s",
		strings.ToUpper(name), shapeText(v.Type.Shape), strings.ToUpper(own), name)
}

// SPDX-License-Identifier: Apache-2.0

package data

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// labelArray is the array of a .npz file that holds labels.
const labelArray = "labels"

// arrays adds the samples of a folder of arrays.
func (s *Set) arrays(l *listing) error {
	for i := 0; i < len(l.files); {
		dir := filepath.Dir(l.files[i].path)
		n := i + 1
		for n < len(l.files) && filepath.Dir(l.files[n].path) == dir {
			n++
		}
		if err := s.arrayFolder(dir, l.files[i:n]); err != nil {
			return err
		}
		i = n
	}
	return nil
}

// arrayFolder adds what lies in one folder: files one by one, and .npy files of a
// model with several inputs together.
func (s *Set) arrayFolder(dir string, list []file) error {
	var together []npz.Entry
	for _, f := range list {
		ext := strings.ToLower(filepath.Ext(f.path))
		base := strings.TrimSuffix(filepath.Base(f.path), filepath.Ext(f.path))
		class := f.class
		if strings.HasPrefix(base, "input_") {
			class = "" // a stored case; its folder is its name
		}
		var err error
		switch {
		case ext == ".npz":
			err = s.arrayFile(f.path, f.class)
		case len(s.in) == 1 && !strings.HasPrefix(base, "output_"):
			err = s.arrayFile(f.path, class)
		case len(s.in) != 1 && s.index(base) >= 0:
			var a *npz.Array
			if a, err = npz.ReadNpyFile(f.path, s.opt.Limits); err != nil {
				err = s.err(f.path, "%w", err)
			}
			together = append(together, npz.Entry{Name: base, Array: a})
		}
		if err != nil {
			return err
		}
	}
	if len(together) > 0 {
		return s.entries(dir, list[0].class, together)
	}
	return nil
}

// arrayFile adds the samples of a .npy or .npz file.
func (s *Set) arrayFile(p, class string) error {
	e, err := npz.ReadFileNamed(p, s.opt.Limits, func(name string) bool {
		return s.index(name) >= 0 || name == labelArray
	})
	if err != nil {
		return s.err(p, "%w", err)
	}
	if len(e) == 1 && e[0].Name == "" {
		e[0].Name = strings.TrimSuffix(filepath.Base(p), filepath.Ext(p))
		if len(s.in) == 1 {
			e[0].Name = s.in[0].Name
		}
	}
	if name := s.unnamed(e); name != "" {
		e, err = npz.ReadFileNamed(p, s.opt.Limits, func(n string) bool { return n == name || n == labelArray })
		if err != nil {
			return s.err(p, "%w", err)
		}
		for i := range e {
			if e[i].Name == name {
				e[i].Name = s.in[0].Name
			}
		}
	}
	return s.entries(p, class, e)
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
func (s *Set) entries(where, class string, list []npz.Entry) (err error) {
	defer fail.Catch(&err)
	found, known := s.match(list)
	count := -1
	per := make([][]*tensor.Dense, len(s.in))
	for i, v := range s.in {
		if found[i] == nil {
			var names []string
			for _, e := range list {
				names = append(names, e.Name)
			}
			return s.err(where, "no array is called %q as the model's input is; found %s", v.Name, quoted(names))
		}
		x := fail.Must(s.split(where, v, found[i]))
		if count >= 0 && len(x) != count {
			return s.err(where, "%d samples for input %s, but %d for input %s", count, s.in[0].Name, len(x), v.Name)
		}
		per[i], count = x, len(x)
	}
	classes := fail.Must(s.labelsOf(where, known, count))
	for k := range count {
		it := item{name: where, path: where, class: class}
		if count > 1 {
			it.name = fmt.Sprintf("%s#%d", where, k)
		}
		if classes != nil {
			it.class = classes[k]
		}
		x := make([]*tensor.Dense, len(s.in))
		for i := range x {
			x[i] = per[i][k]
		}
		it.read = func() ([]*tensor.Dense, error) { return x, nil }
		fail.Check(s.add(it))
	}
	return nil
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
func (s *Set) labelsOf(where string, a *npz.Array, count int) ([]string, error) {
	if a == nil {
		return nil, nil
	}
	v, err := a.Int64s()
	if err != nil || len(v) != count {
		return nil, s.err(
			where,
			"the array %s is %s%v; want a whole number for each of %d samples",
			labelArray,
			a.DType,
			a.Shape,
			count,
		)
	}
	out := make([]string, count)
	for i, l := range v {
		out[i] = fmt.Sprint(l)
	}
	return out, nil
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
func (s *Set) split(where string, v *ir.Value, a *npz.Array) ([]*tensor.Dense, error) {
	want := v.Type.Shape
	elems := v.Type.Elems()
	turned := Turned(v, s.opt.Spec.Of(v.Name).Layout)
	n := count(a.Shape, want)
	if turned != nil {
		n = count(a.Shape, turned)
	}
	if elems == 0 || a.Len() == 0 || n == 0 {
		return nil, s.err(
			where,
			"the array for input %s has shape %v; want %v, [samples %v], or the input's shape with "+
				"more samples along the first axis%s",
			v.Name,
			a.Shape,
			want,
			want,
			LooksLike(v, a.Shape),
		)
	}
	if n > maxSamples-len(s.items) {
		return nil, s.err(where, "more than %d samples; a few hundred are plenty", maxSamples)
	}
	if s.bytes += int64(n) * int64(elems) * int64(v.Type.DType.Size()); s.bytes > s.limit() {
		return nil, s.tooMuch(where, s.bytes)
	}
	out := make([]*tensor.Dense, n)
	for k := range out {
		part := a.Part(k*elems, elems) // a last batch that is not full begins again
		all, err := s.convert(where, v, part, k*elems)
		if err != nil {
			return nil, err
		}
		all = all.Cast(v.Type.DType)
		if turned != nil {
			all = all.Reshaped(turned).Transpose(turn(v.Type))
		}
		out[k] = all.Reshaped(want)
	}
	return out, nil
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
func (s *Set) convert(where string, v *ir.Value, a *npz.Array, at int) (*tensor.Dense, error) {
	isFloat := strings.HasPrefix(a.DType, "float")
	switch {
	case v.Type.DType.IsFloat() && isFloat:
		if f, ok := a.Data.([]float32); ok {
			return finite(s, where, v, a.Shape, f, at)
		}
		f, err := a.Float64s()
		if err != nil {
			return nil, s.err(where, "%w", err)
		}
		return finite(s, where, v, a.Shape, f, at)
	case v.Type.DType.IsFloat():
		return nil, s.err(
			where,
			"the array for input %s is of type %s, want floats in the model's own scaling (convert "+
				"it with astype(\"float32\") and normalise as for training)",
			v.Name,
			a.DType,
		)
	case isFloat:
		return nil, s.err(where, "the array for input %s is of type %s, want %s", v.Name, a.DType, v.Type.DType)
	}
	x, err := a.Int64s()
	if err != nil {
		return nil, s.err(where, "input %s: %w", v.Name, err)
	}
	if v.Type.DType != tensor.Bool {
		lo, hi := v.Type.DType.IntRange()
		for i, e := range x {
			if e < lo || e > hi {
				return nil, s.err(where, "element %d of the array for input %s is %d, beyond %s", at+i, v.Name, e,
					v.Type.DType)
			}
		}
	}
	return tensor.Of(a.Shape, x), nil
}

// finite is a tensor of finite numbers.
func finite[T float32 | float64](s *Set, where string, v *ir.Value, shape []int, x []T, at int) (*tensor.Dense, error) {
	for i, f := range x {
		if f-f != 0 {
			return nil, s.err(where, "element %d of the array for input %s is %v, want finite numbers", at+i, v.Name, f)
		}
	}
	return tensor.Of(shape, x), nil
}

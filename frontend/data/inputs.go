// SPDX-License-Identifier: Apache-2.0

package data

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// NeedsShapes reports that values of --input are read for inputs of known shapes only:
// pictures, recordings, tables and folders of samples, or anything that a specification
// speaks of.
func NeedsShapes(args []string, s *Spec) bool {
	return !s.Empty() || slices.ContainsFunc(args, func(a string) bool {
		_, _, ok := samplesOf(a, nil)
		return ok
	})
}

// samplesOf splits NAME=FILE; ok: the file is known to be none of arrays, or a folder.
func samplesOf(arg string, names []string) (name, file string, ok bool) {
	file = arg
	if k, v, cut := strings.Cut(arg, "="); cut && (slices.Contains(names, k) || names == nil) {
		name, file = k, v
	}
	k := extensions[strings.ToLower(filepath.Ext(file))]
	st, err := os.Stat(file)
	other := k == pictures || k == recordings || k == tables || convertTo(file) != ""
	return name, file, err == nil && (st.IsDir() || other)
}

// Inputs reads the values of --input for inputs of a model: arrays as npz.ReadInputs
// does, and files and folders of samples, [NAME=]PATH. Each element of the result is
// one inference; those of several inputs belong together by their places. in are the
// inputs; arrays keep the shapes that they have, turned where the specification says so.
//
// names are those of the files that the inferences came from, where there are several.
func Inputs(args []string, in []*ir.Value, o Options) (list [][]*tensor.Dense, from []string, said diag.List,
	err error) {
	defer fail.Catch(&err)
	o.What = "--input"
	names := ir.Names(in)
	fail.Check(o.Spec.Check(names))
	per := make([][]*tensor.Dense, len(in))
	var arrays []string
	for _, a := range args {
		name, file, ok := samplesOf(a, names)
		if !ok {
			arrays = append(arrays, a)
			continue
		}
		i := slices.Index(names, name)
		if i < 0 && len(in) != 1 {
			return nil, nil, nil, text.Errorf("--input %s: the model has %d inputs (%s); want NAME=PATH", a, len(in),
				strings.Join(names, ", "))
		}
		s := fail.Must(Open([]string{file}, in[max(i, 0):max(i, 0)+1], Options{What: o.What, Limits: o.Limits,
			Every: o.Every, Spec: &Spec{All: *o.Spec.Of(names[max(i, 0)])}}))
		all := fail.Must(s.All())
		if from = nil; len(all) == s.Len() {
			from = lists.Make(len(all), s.Name)
		}
		said.Add(s.Diags...)
		for _, x := range all {
			per[max(i, 0)] = append(per[max(i, 0)], x[0])
		}
	}
	readArrays(arrays, in, per, o)
	if list = together(per, names); len(list) != len(from) {
		from = nil
	}
	return list, from, said, nil
}

// readArrays reads arrays for the inputs that have nothing yet.
func readArrays(args []string, in []*ir.Value, per [][]*tensor.Dense, o Options) {
	var left []int
	var names []string
	for i, x := range per {
		if x == nil {
			left, names = append(left, i), append(names, in[i].Name)
		}
	}
	if len(left) == 0 && len(args) == 0 {
		return
	}
	got := fail.Must(npz.ReadInputs(args, names, o.Limits))
	for k, i := range left {
		d := got[k]
		if t := Turned(in[i], o.Spec.Of(in[i].Name).Layout); t != nil && slices.Equal(d.Shape, t) {
			d = d.Transpose(turn(in[i].Type))
		}
		if per[i] = []*tensor.Dense{d}; o.Split {
			per[i] = parts(d, in[i].Type.Shape)
		}
	}
}

// parts are the samples of an array that has them along a first axis: one beyond those of
// the shape, or instead of its 1. Any other array is one sample.
func parts(d *tensor.Dense, shape []int) []*tensor.Dense {
	if !AreSamples(d.Shape, shape) {
		return []*tensor.Dense{d}
	}
	out := make([]*tensor.Dense, d.Shape[0])
	for k := range out {
		x := tensor.New(d.DType, shape)
		for e := range x.Len() {
			x.CopyElem(e, d, k*x.Len()+e)
		}
		out[k] = x
	}
	return out
}

// AreSamples reports the shape of an array that holds samples of a shape along a first
// axis: one beyond its own, or more than one in place of its 1.
func AreSamples(array, shape []int) bool {
	switch {
	case len(array) == len(shape)+1:
		return array[0] > 0 && slices.Equal(array[1:], shape)
	case len(array) == len(shape) && len(shape) > 1 && shape[0] == 1:
		return array[0] > 1 && slices.Equal(array[1:], shape[1:])
	}
	return false
}

// together makes inferences of what each input has: one value serves all of them.
func together(per [][]*tensor.Dense, names []string) [][]*tensor.Dense {
	n := 1
	for i, x := range per {
		switch {
		case len(x) == 1 || len(x) == n:
		case n == 1:
			n = len(x)
		default:
			fail.Check(text.Errorf("--input: %d samples for input %s, %d for another", len(x), names[i], n))
		}
	}
	out := make([][]*tensor.Dense, n)
	for k := range out {
		for _, x := range per {
			out[k] = append(out[k], x[min(k, len(x)-1)])
		}
	}
	return out
}

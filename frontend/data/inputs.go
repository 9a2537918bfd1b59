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

// samplesOf splits NAME=FILE; ok: the file is none of arrays, or a folder.
func samplesOf(arg string, names []string) (name, file string, ok bool) {
	file = arg
	if k, v, cut := strings.Cut(arg, "="); cut && (slices.Contains(names, k) || names == nil) {
		name, file = k, v
	}
	k := extensions[strings.ToLower(filepath.Ext(file))]
	st, err := os.Stat(file)
	return name, file, err == nil && (st.IsDir() || k == pictures || k == recordings || k == tables)
}

// Inputs reads the values of --input for inputs of a model: arrays as npz.ReadInputs
// does, and files and folders of samples, [NAME=]PATH. Each element of the result is
// one inference; those of several inputs belong together by their places. in are the
// inputs; arrays keep the shapes that they have, turned where the specification says so.
func Inputs(args []string, in []*ir.Value, o Options) ([][]*tensor.Dense, diag.List, error) {
	o.What = "--input"
	names := ir.Names(in)
	if err := o.Spec.Check(names); err != nil {
		return nil, nil, err
	}
	per := make([][]*tensor.Dense, len(in))
	var arrays []string
	var said diag.List
	for _, a := range args {
		name, file, ok := samplesOf(a, names)
		if !ok {
			arrays = append(arrays, a)
			continue
		}
		i := slices.Index(names, name)
		if i < 0 && len(in) != 1 {
			return nil, nil, text.Errorf("--input %s: the model has %d inputs (%s); want NAME=PATH", a, len(in),
				strings.Join(names, ", "))
		}
		s, err := Open([]string{file}, in[max(i, 0):max(i, 0)+1], Options{What: o.What, Limits: o.Limits,
			Spec: &Spec{All: *o.Spec.Of(names[max(i, 0)])}})
		if err != nil {
			return nil, nil, err
		}
		all, err := s.All()
		if err != nil {
			return nil, nil, err
		}
		said.Add(s.Diags...)
		for _, x := range all {
			per[max(i, 0)] = append(per[max(i, 0)], x[0])
		}
	}
	if err := readArrays(arrays, in, per, o); err != nil {
		return nil, nil, err
	}
	out, err := together(per, names)
	return out, said, err
}

// readArrays reads arrays for the inputs that have nothing yet.
func readArrays(args []string, in []*ir.Value, per [][]*tensor.Dense, o Options) error {
	var left []int
	var names []string
	for i, x := range per {
		if x == nil {
			left, names = append(left, i), append(names, in[i].Name)
		}
	}
	if len(left) == 0 && len(args) == 0 {
		return nil
	}
	got, err := npz.ReadInputs(args, names, o.Limits)
	if err != nil {
		return err
	}
	for k, i := range left {
		d := got[k]
		if t := Turned(in[i], o.Spec.Of(in[i].Name).Layout); t != nil && slices.Equal(d.Shape, t) {
			d = d.Transpose(turn(in[i].Type))
		}
		per[i] = []*tensor.Dense{d}
	}
	return nil
}

// together makes inferences of what each input has: one value serves all of them.
func together(per [][]*tensor.Dense, names []string) ([][]*tensor.Dense, error) {
	n := 1
	for i, x := range per {
		switch {
		case len(x) == 1 || len(x) == n:
		case n == 1:
			n = len(x)
		default:
			return nil, text.Errorf("--input: %d samples for input %s, %d for another", len(x), names[i], n)
		}
	}
	out := make([][]*tensor.Dense, n)
	for k := range out {
		for _, x := range per {
			out[k] = append(out[k], x[min(k, len(x)-1)])
		}
	}
	return out, nil
}

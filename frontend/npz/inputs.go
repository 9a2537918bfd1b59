// SPDX-License-Identifier: Apache-2.0

package npz

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// ReadTensor reads a .npy file.
func ReadTensor(path string, lim Limits) (_ *tensor.Dense, err error) {
	defer fail.Catch(&err)
	a := fail.Must(ReadNpyFile(path, lim))
	d, err := ToTensor(a)
	fail.If(err != nil, "%s: %w", path, err)
	return d, nil
}

// ReadInputs reads the --input flags for inputs of these names: NAME=FILE.npy, FILE.npy
// in the order of the names, or one .npz with the inputs' names (or input_0, input_1...).
func ReadInputs(args, names []string, lim Limits) ([]*tensor.Dense, error) {
	r := &inputs{names: names, lim: lim, out: make([]*tensor.Dense, len(names))}
	for _, a := range args {
		if err := r.read(a); err != nil {
			return nil, err
		}
	}
	var missing []string
	for i, d := range r.out {
		if d == nil {
			missing = append(missing, names[i])
		}
	}
	if len(missing) > 0 {
		return nil, text.Errorf("no --input for %s; want --input NAME=FILE.npy for each input, or one .npz",
			strings.Join(missing, ", "))
	}
	return r.out, nil
}

type inputs struct {
	names []string
	lim   Limits
	out   []*tensor.Dense // nil: not read yet
}

func (r *inputs) read(arg string) error {
	name, file := "", arg
	if k, v, ok := strings.Cut(arg, "="); ok && slices.Contains(r.names, k) {
		name, file = k, v
	} else if ok && !exists(arg) {
		return text.Errorf("--input %s: the model has no input %q%s; inputs: %s", arg, k, text.Meant(k, r.names),
			strings.Join(r.names, ", "))
	}
	if strings.HasSuffix(file, ".npz") {
		return r.archive(file)
	}
	d, err := ReadTensor(file, r.lim)
	if err != nil {
		return text.Errorf("--input %s%w", strings.TrimSuffix(arg, file), err)
	}
	i := slices.Index(r.names, name)
	if name == "" {
		if i = slices.Index(r.out, nil); i < 0 {
			return text.Errorf("--input %s: the model has only %d inputs (%s)", arg, len(r.names),
				strings.Join(r.names, ", "))
		}
	}
	r.out[i] = d
	return nil
}

// archive reads the arrays of a .npz file that are called as inputs, or input_0,
// input_1...
func (r *inputs) archive(file string) (err error) {
	defer fail.Catch(&err)
	at := map[string][]int{} // the inputs that an array of this name is for
	for i, n := range r.names {
		at[n] = append(at[n], i)
		if s := fmt.Sprintf("input_%d", i); s != n {
			at[s] = append(at[s], i)
		}
	}
	es := fail.Must(ReadNpzNamed(file, r.lim, func(s string) bool { return len(at[s]) > 0 }))
	for _, e := range es {
		for _, i := range at[e.Name] {
			r.out[i] = fail.Must(ToTensor(e.Array))
		}
	}
	return nil
}

func exists(p string) bool { _, err := os.Stat(p); return err == nil }

// ReadNamed gives arrays of a .npz file or a folder by name; nil for absent ones.
func ReadNamed(path string, lim Limits) (_ func(string) (*tensor.Dense, error), err error) {
	defer fail.Catch(&err)
	if !strings.HasSuffix(path, ".npz") {
		return func(name string) (*tensor.Dense, error) {
			p := filepath.Join(path, name+".npy")
			if !exists(p) {
				return nil, nil
			}
			return ReadTensor(p, lim)
		}, nil
	}
	es := fail.Must(ReadNpzFile(path, lim))
	return func(name string) (*tensor.Dense, error) {
		for _, e := range es {
			if e.Name == name {
				return ToTensor(e.Array)
			}
		}
		return nil, nil
	}, nil
}

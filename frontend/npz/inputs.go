package npz

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/tensor"
)

// ReadTensor reads a .npy file.
func ReadTensor(path string, lim Limits) (*tensor.Dense, error) {
	a, err := ReadNpyFile(path, lim)
	if err != nil {
		return nil, err
	}
	return ToTensor(a)
}

// ReadInputs reads the --input flags for inputs of these names: NAME=FILE.npy, FILE.npy
// in the order of the names, or one .npz with the inputs' names (or input_0, input_1...).
func ReadInputs(args, names []string, lim Limits) ([]*tensor.Dense, error) {
	out := make([]*tensor.Dense, len(names))
	next := 0
	at := map[string][]int{} // the inputs that an array of this name is for
	for i, n := range names {
		at[n] = append(at[n], i)
		if s := fmt.Sprintf("input_%d", i); s != n {
			at[s] = append(at[s], i)
		}
	}
	for _, a := range args {
		name, file := "", a
		if k, v, ok := strings.Cut(a, "="); ok && slices.Contains(names, k) {
			name, file = k, v
		} else if ok && !exists(a) {
			return nil, text.Errorf("--input %s: the model has no input %q; inputs: %s", a, k, strings.Join(names, ", "))
		}
		if strings.HasSuffix(file, ".npz") {
			es, err := ReadNpzNamed(file, lim, func(s string) bool { return len(at[s]) > 0 })
			if err != nil {
				return nil, err
			}
			for _, e := range es {
				for _, i := range at[e.Name] {
					if out[i], err = ToTensor(e.Array); err != nil {
						return nil, err
					}
				}
			}
			continue
		}
		d, err := ReadTensor(file, lim)
		if err != nil {
			return nil, text.Errorf("--input %s%w", strings.TrimSuffix(a, file), err)
		}
		i := slices.Index(names, name)
		if name == "" {
			for next < len(out) && out[next] != nil {
				next++
			}
			if next == len(out) {
				return nil, text.Errorf("--input %s: the model has only %d inputs (%s)", a, len(names),
					strings.Join(names, ", "))
			}
			i = next
		}
		out[i] = d
	}
	var missing []string
	for i, d := range out {
		if d == nil {
			missing = append(missing, names[i])
		}
	}
	if len(missing) > 0 {
		return nil, text.Errorf("no --input for %s; want --input NAME=FILE.npy for each input, or one .npz",
			strings.Join(missing, ", "))
	}
	return out, nil
}

func exists(p string) bool { _, err := os.Stat(p); return err == nil }

// ReadNamed gives arrays of a .npz file or a folder by name; nil for absent ones.
func ReadNamed(path string, lim Limits) (func(string) (*tensor.Dense, error), error) {
	if !strings.HasSuffix(path, ".npz") {
		return func(name string) (*tensor.Dense, error) {
			p := filepath.Join(path, name+".npy")
			if !exists(p) {
				return nil, nil
			}
			return ReadTensor(p, lim)
		}, nil
	}
	es, err := ReadNpzFile(path, lim)
	if err != nil {
		return nil, err
	}
	return func(name string) (*tensor.Dense, error) {
		for _, e := range es {
			if e.Name == name {
				return ToTensor(e.Array)
			}
		}
		return nil, nil
	}, nil
}

// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/state"
)

// Golden reads input_<i> and output_<i> from a .npz file, a folder of
// .npy files, or a folder of such folders and files.
func Golden(path string, r *state.Runner, lim npz.Limits) (_ []Case, err error) {
	defer fail.Catch(&err)
	units := goldenUnits(path)
	if len(units) == 0 {
		return nil, text.Errorf("--golden %s: no input_0.npy, no folders with one, no case*.npz; verify --record DIR "+
			"writes such a folder", path)
	}
	return lists.Map(units, func(u string) Case { return goldenCase(u, r, lim) }), nil
}

// goldenUnits are the files and folders with a case each.
func goldenUnits(path string) []string {
	st, err := os.Stat(path)
	if err != nil {
		fail.Check(text.Errorf("--golden %s: %w", path, errors.Unwrap(err)))
	}
	if !st.IsDir() || exists(filepath.Join(path, "input_0.npy")) {
		return []string{path}
	}
	es := fail.Must(os.ReadDir(path))
	var units []string
	for _, e := range es {
		p := filepath.Join(path, e.Name())
		if e.IsDir() && exists(filepath.Join(p, "input_0.npy")) || strings.HasPrefix(e.Name(), "case") &&
			strings.HasSuffix(e.Name(), ".npz") {
			units = append(units, p)
		}
	}
	slices.SortFunc(units, text.Natural) // the order matters where state is kept from case to case
	return units
}

// goldenCase reads one case.
func goldenCase(path string, r *state.Runner, lim npz.Limits) Case {
	k := Case{Source: filepath.Base(path)}
	get := fail.Must(npz.ReadNamed(path, lim))
	for i, v := range r.Inputs() {
		d := fail.Must(get(fmt.Sprintf("input_%d", i)))
		if d == nil {
			fail.Check(text.Errorf("%s: no input_%d (%s)", path, i, v.Name))
		}
		d = fail.Must(Input(d, v))
		k.Inputs = append(k.Inputs, d)
	}
	found := false
	for i, o := range r.Outputs() {
		d := fail.Must(get(fmt.Sprintf("output_%d", i)))
		if t := r.Graph.Out[o].Type; d != nil && d.Len() != t.Elems() {
			fail.Check(text.Errorf("%s: output_%d has shape %v, the model's output %s has %v", path, i, d.Shape,
				r.Graph.OutNames[o], t.Shape))
		}
		k.Golden = append(k.Golden, d)
		found = found || d != nil
	}
	if !found {
		fail.Check(text.Errorf("%s: no output_0", path))
	}
	return k
}

// Stored are the inputs of a case, and the outputs that the firmware gave for it, by the names that Golden reads: reals
// where its integers stand for them, so that another precision can be compared, too.
func Stored(r *lower.Result, k Case, outputs [][]byte) (map[string]*tensor.Dense, error) {
	out, ports := map[string]*tensor.Dense{}, r.Ports()
	for i, v := range r.Interface().Inputs() {
		out[fmt.Sprintf("input_%d", i)] = Dequantised(k.Inputs[i], v.Type)
	}
	for i, at := range ports.Outputs() {
		t := ports.Graph.Out[at].Type
		d, err := FromMemory(outputs[i], t)
		if err != nil {
			return nil, err
		}
		out[fmt.Sprintf("output_%d", i)] = Dequantised(d, t)
	}
	return out, nil
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

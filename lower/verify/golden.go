package verify

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/lower/state"
)

// Golden reads input_<i> and output_<i> from a .npz file, a folder of
// .npy files, or a folder of such folders and files.
func Golden(path string, r *state.Runner, lim npz.Limits) ([]Case, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	var units []string
	switch {
	case !st.IsDir():
		units = []string{path}
	case exists(filepath.Join(path, "input_0.npy")):
		units = []string{path}
	default:
		es, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range es {
			p := filepath.Join(path, e.Name())
			if e.IsDir() && exists(filepath.Join(p, "input_0.npy")) || strings.HasPrefix(e.Name(), "case") &&
				strings.HasSuffix(e.Name(), ".npz") {
				units = append(units, p)
			}
		}
		slices.SortFunc(units, byNumber)
	}
	if len(units) == 0 {
		return nil, text.Errorf("--golden %s: no input_0.npy, no folders with one, no case*.npz", path)
	}
	var out []Case
	for _, u := range units {
		get, err := npz.ReadNamed(u, lim)
		if err != nil {
			return nil, err
		}
		k := Case{Source: filepath.Base(u)}
		for i, v := range r.Inputs() {
			d, err := get(fmt.Sprintf("input_%d", i))
			if err != nil {
				return nil, err
			}
			if d == nil {
				return nil, text.Errorf("%s: no input_%d (%s)", u, i, v.Name)
			}
			x, err := Input(d, v)
			if err != nil {
				return nil, err
			}
			k.Inputs = append(k.Inputs, x)
		}
		found := false
		for i, o := range r.Outputs() {
			d, err := get(fmt.Sprintf("output_%d", i))
			if err != nil {
				return nil, err
			}
			if t := r.Graph.Out[o].Type; d != nil && d.Len() != t.Elems() {
				return nil, text.Errorf("%s: output_%d has shape %v, the model's output %s has %v", u, i, d.Shape,
					r.Graph.OutNames[o], t.Shape)
			}
			k.Golden = append(k.Golden, d)
			found = found || d != nil
		}
		if !found {
			return nil, text.Errorf("%s: no output_0", u)
		}
		out = append(out, k)
	}
	return out, nil
}

// byNumber orders names as people number them: case_10 comes behind case_9. The
// order matters where state is kept from case to case.
func byNumber(a, b string) int {
	digits := func(s string) int {
		return len(s) - len(strings.TrimLeft(s, "0123456789"))
	}
	for x, y := a, b; x != "" && y != ""; {
		i, k := digits(x), digits(y)
		if i == 0 || k == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		m, n := strings.TrimLeft(x[:i], "0"), strings.TrimLeft(y[:k], "0")
		if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n)); c != 0 {
			return c
		}
		x, y = x[i:], y[k:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

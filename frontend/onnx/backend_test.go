package onnx

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
)

// backendCase is one test of ONNX's backend suite.
type backendCase struct {
	model   []byte
	in, out map[string][]byte // input_0.pb, ... of data set 0
}

func readBackend(t *testing.T) map[string]*backendCase {
	t.Helper()
	f, err := os.Open(shared(t, "onnx-backend-1.23.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]*backendCase{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return cases
		}
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(path.Clean(h.Name), "/")
		if len(parts) < 3 || parts[0] != "node" {
			continue
		}
		c := cases[parts[1]]
		if c == nil {
			c = &backendCase{in: map[string][]byte{}, out: map[string][]byte{}}
			cases[parts[1]] = c
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		switch base := path.Base(h.Name); {
		case base == "model.onnx":
			c.model = b
		case parts[2] != "test_data_set_0":
		case strings.HasPrefix(base, "input_"):
			c.in[base] = b
		case strings.HasPrefix(base, "output_"):
			c.out[base] = b
		}
	}
}

// run imports the model and compares the interpreter with the stored outputs.
// Inputs of integers are bound where the import asks for constants: there they
// are shapes, axes and the like.
func (c *backendCase) run() error {
	m, err := Parse(c.model, Limits{})
	if err != nil {
		return err
	}
	tensors := func(files map[string][]byte, kind string) ([]*tensor.Dense, error) {
		var out []*tensor.Dense
		for i := range len(files) {
			d, _, err := ParseTensor(files[fmt.Sprintf("%s_%d.pb", kind, i)], Limits{})
			if err != nil {
				return nil, fmt.Errorf("data: %w", err)
			}
			out = append(out, d)
		}
		return out, nil
	}
	in, err := tensors(c.in, "input")
	if err != nil {
		return err
	}
	want, err := tensors(c.out, "output")
	if err != nil {
		return err
	}
	inputs := m.Proto.GetGraph().GetInput()
	if len(inputs) != len(in) {
		return fmt.Errorf("data: %d inputs for %d", len(in), len(inputs))
	}
	opt := ImportOptions{Shapes: map[string][]int{}}
	given := map[string]*tensor.Dense{}
	for i, vi := range inputs {
		opt.Shapes[vi.GetName()] = in[i].Shape
		given[vi.GetName()] = in[i]
	}
	g, err := OpenModel(m, opt)
	if err != nil {
		opt.Set = map[string]*tensor.Dense{}
		for i, vi := range inputs {
			if i > 0 && (in[i].DType.IsInt() || in[i].DType == tensor.Bool || strings.Contains(err.Error(), "scale")) || strings.Contains(err.Error(), "condition") || (strings.Contains(err.Error(), "at run time") || strings.Contains(err.Error(), "at compile time")) && in[i].Len() < 64 {
				opt.Set[vi.GetName()] = in[i]
			}
		}
		if g, err = OpenModel(m, opt); err != nil {
			return err
		}
	}
	if errs := g.Verify(); len(errs) > 0 {
		return fmt.Errorf("BUG: %v", errs)
	}
	var args []*tensor.Dense
	for _, v := range g.In {
		args = append(args, given[v.Name])
	}
	got, err := interp.Run(g, args, nil)
	if err != nil {
		return err
	}
	for i, w := range want {
		if got[i].DType != w.DType || !slices.Equal(got[i].Shape, w.Shape) {
			return fmt.Errorf("wrong: output %d is %s, want %s", i, got[i], w)
		}
		tol := 1e-3
		if w.DType == tensor.F16 || w.DType == tensor.BF16 {
			tol = 1e-2
		}
		if d := worst(got[i], w); d > tol {
			return fmt.Errorf("wrong: output %d differs by %.3g", i, d)
		}
	}
	return nil
}

// notImported are the reasons for which tests of the suite are left out: types
// and operators that nncc does not compute with, and shapes known at run time only.
var notImported = []string{"is not supported", "are not supported", "not computed with", "have no place", "data:", "want a dense tensor", "known at compile time", "training", "defined only", "computed at run time",
	"only conditions known", "must be constant", "has no place", "want a constant"}

// TestBackendSuite runs ONNX's own tests through the importer. No result may be
// wrong; what is refused must be refused for a general reason.
func TestBackendSuite(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of models")
	}
	cases := readBackend(t)
	names := make([]string, 0, len(cases))
	for n := range cases {
		names = append(names, n)
	}
	sort.Strings(names)
	pass, refused := 0, map[string]int{}
	for _, n := range names {
		err := cases[n].run()
		if err == nil {
			pass++
			continue
		}
		msg := strings.SplitN(err.Error(), "\n", 2)[0]
		ok := false
		for _, r := range notImported {
			if strings.Contains(msg, r) {
				refused[r]++
				ok = true
				break
			}
		}
		if !ok {
			t.Errorf("%s: %s", n, msg)
		} else {
			t.Logf("%s: %s", n, msg)
		}
	}
	t.Logf("%d of %d pass; refused: %v", pass, len(names), refused)
}

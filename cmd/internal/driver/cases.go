package driver

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/state"
)

// inputCase is one inference of verify.
type inputCase struct {
	source string
	seeded bool            // made up
	inputs []*tensor.Dense // of the firmware's types
	golden []*tensor.Dense // stored outputs, or nil
}

// maxCaseBytes bounds the inputs of all cases together.
const maxCaseBytes = 256 << 20

// cases are the inferences that verify runs: --golden, --input, else
// calibration samples first and seeded ones up to --cases.
func (c *Config) cases(o *Compiled) ([]inputCase, error) {
	ins := o.Lowered.Interface().Inputs()
	if c.Golden != "" {
		return goldenCases(c.Golden, o.Lowered.Ports(), c.dataLimits())
	}
	if len(c.Inputs) > 0 {
		in, err := readInputs(c.Inputs, inputNames(ins), c.dataLimits())
		if err != nil {
			return nil, err
		}
		in, err = firmwareInputs(in, ins)
		return []inputCase{{source: "--input", inputs: in}}, err
	}
	var out []inputCase
	if len(c.Calib) > 0 {
		q, err := c.samples(state.New(o.Float, o.Lowered.Named()).Inputs())
		if err != nil {
			return nil, err
		}
		if s := o.Lowered.Streamed; s != nil {
			q = state.Frames(o.Lowered.Slides, q)
		}
		for i, s := range q {
			if len(out) == c.Cases {
				break
			}
			in, err := firmwareInputs(s, ins)
			if err != nil {
				return nil, err
			}
			out = append(out, inputCase{source: fmt.Sprintf("calibration sample %d", i), inputs: in})
		}
	}
	bytes := 0
	for _, v := range ins {
		bytes += v.Type.Bytes()
	}
	if c.Cases > MaxCases || bytes > 0 && c.Cases > max(1, maxCaseBytes/bytes) {
		return nil, usage("--cases %d: a case has %d bytes of inputs; want at most %d", c.Cases, bytes,
			min(MaxCases, max(1, maxCaseBytes/max(bytes, 1))))
	}
	for i := len(out); i < c.Cases; i++ {
		r := rand.New(rand.NewPCG(uint64(i), 20))
		var in []*tensor.Dense
		for _, v := range ins {
			in = append(in, seeded(r, v.Type))
		}
		out = append(out, inputCase{source: fmt.Sprintf("seed %d", i), seeded: true, inputs: in})
	}
	return out, nil
}

func inputNames(in []*ir.Value) []string {
	var s []string
	for _, v := range in {
		s = append(s, v.Name)
	}
	return s
}

func firmwareInputs(in []*tensor.Dense, vs []*ir.Value) ([]*tensor.Dense, error) {
	out := make([]*tensor.Dense, len(in))
	for i, d := range in {
		x, err := firmwareInput(d, vs[i])
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return out, nil
}

// seeded is a random input: the whole range of 8-bit integers, standard normal
// floats, small non-negative wide integers (they may be indices).
func seeded(r *rand.Rand, t ir.Type) *tensor.Dense {
	d := tensor.New(t.DType, t.Shape)
	for i, n := 0, d.Len(); i < n; i++ {
		switch {
		case t.DType.IsFloat():
			d.SetFloat(i, r.NormFloat64())
		case t.DType.Size() == 1 || t.DType == tensor.I16 || t.DType == tensor.U16:
			lo, hi := t.DType.IntRange()
			d.SetInt(i, lo+r.Int64N(hi-lo+1))
		default:
			d.SetInt(i, r.Int64N(2))
		}
	}
	return d
}

// goldenCases reads input_<i> and output_<i> from a .npz file, a folder of
// .npy files, or a folder of such folders and files.
func goldenCases(path string, r *state.Runner, lim npz.Limits) ([]inputCase, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, &InputError{err}
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
			return nil, &InputError{err}
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
		return nil, badInput("--golden %s: no input_0.npy, no folders with one, no case*.npz", path)
	}
	var out []inputCase
	for _, u := range units {
		get, err := reader(u, lim)
		if err != nil {
			return nil, &InputError{err}
		}
		k := inputCase{source: filepath.Base(u)}
		for i, v := range r.Inputs() {
			d, err := get(fmt.Sprintf("input_%d", i))
			if err != nil {
				return nil, &InputError{err}
			}
			if d == nil {
				return nil, badInput("%s: no input_%d (%s)", u, i, v.Name)
			}
			x, err := firmwareInput(d, v)
			if err != nil {
				return nil, err
			}
			k.inputs = append(k.inputs, x)
		}
		found := false
		for i, o := range r.Outputs() {
			d, err := get(fmt.Sprintf("output_%d", i))
			if err != nil {
				return nil, &InputError{err}
			}
			if t := r.Graph.Out[o].Type; d != nil && d.Len() != t.Elems() {
				return nil, badInput("%s: output_%d has shape %v, the model's output %s has %v", u, i, d.Shape,
					r.Graph.OutNames[o], t.Shape)
			}
			k.golden = append(k.golden, d)
			found = found || d != nil
		}
		if !found {
			return nil, badInput("%s: no output_0", u)
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

// reader gives arrays of a .npz file or a folder by name; nil for absent ones.
func reader(path string, lim npz.Limits) (func(string) (*tensor.Dense, error), error) {
	if !strings.HasSuffix(path, ".npz") {
		return func(name string) (*tensor.Dense, error) {
			p := filepath.Join(path, name+".npy")
			if !exists(p) {
				return nil, nil
			}
			return readNpy(p, lim)
		}, nil
	}
	es, err := npz.ReadNpzFile(path, lim)
	if err != nil {
		return nil, err
	}
	return func(name string) (*tensor.Dense, error) {
		for _, e := range es {
			if e.Name == name {
				return npz.ToTensor(e.Array)
			}
		}
		return nil, nil
	}, nil
}

// RunModel is the verb run: the float model, or with --board the program. The
// outputs become the folder --out, by default one called after the model.
func (c *Config) RunModel() error {
	dir := c.Out
	if dir == "" {
		dir = modelName(c.Model) + "-outputs"
	}
	if _, err := files.Ours(dir, runManifest); err != nil {
		return &InputError{err} // before any work
	}
	if c.Board == "" {
		return c.runFloat(dir)
	}
	if err := c.Check(); err != nil {
		return err
	}
	spec, err := c.board()
	if err != nil {
		return err
	}
	_, g, err := c.load(nil)
	if err != nil {
		return err
	}
	res, err := c.program(g, spec)
	if err != nil {
		return err
	}
	r := res.Interface()
	in, err := readInputs(c.Inputs, inputNames(r.Inputs()), c.dataLimits())
	if err != nil {
		return err
	}
	outs, names, err := r.Steps(in, firmwareInput, func(d *tensor.Dense, t ir.Type) *tensor.Dense {
		if c.Dequantize {
			return dequantised(d, t)
		}
		return d
	})
	if err != nil {
		return err
	}
	return c.writeOutputs(dir, outs, names)
}

// program is the graph that would be emitted for a board.
func (c *Config) program(g *ir.Graph, spec *boards.Spec) (*lower.Result, error) {
	opt, err := c.lowerOptions(spec, g)
	if err != nil {
		return nil, err
	}
	var res *lower.Result
	err = c.dumping(func(d *dump) error {
		opt.Observe = c.observer(d)
		if opt.MaxRAM == 0 { // nobody asks for a plan of the memory
			opt.StopAfter = "lowering"
		}
		if res, err = lower.Run(g, opt); err != nil {
			return &InputError{err}
		}
		return c.layersDone()
	})
	return res, err
}

// SPDX-License-Identifier: Apache-2.0

// Package verify compares what a firmware gave with what its program gives in the
// interpreter, the program with the model, and a rewritten model with the original.
package verify

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/state"
)

// Case is one inference.
type Case struct {
	Source string
	Seeded bool            // the inputs are random
	Inputs []*tensor.Dense // of the firmware's types
	Golden []*tensor.Dense // stored outputs; nil: none
}

// Input is user data in the type of a firmware input: floats are quantised as ONNX
// QuantizeLinear does, data of the firmware's type pass.
func Input(d *tensor.Dense, v *ir.Value) (*tensor.Dense, error) {
	t := v.Type
	if d.Len() != t.Elems() || len(d.Shape) > 0 &&
		!slices.Equal(tensor.Squeezed(d.Shape), tensor.Squeezed(t.Shape)) {
		return nil, text.Errorf("input %s has shape %v, got %v", v.Name, t.Shape, d.Shape)
	}
	return Typed(d.Reshaped(t.Shape), v)
}

// Typed is user data in the element type of an input: as it is; reals quantised as ONNX
// QuantizeLinear does where the input's integers stand for them; integers of another type
// where they stand for themselves and all of them fit.
func Typed(d *tensor.Dense, v *ir.Value) (*tensor.Dense, error) {
	t := op.Meant(v)
	float := d.DType.IsFloat()
	switch {
	case d.DType == t.DType:
		return d, nil
	case t.Quant != nil && float:
		return ir.QuantiseEven(d.Cast(tensor.F32), t), nil
	case t.Quant != nil:
		return nil, text.Errorf("input %s is of type %s and stands for reals (%s), got %s: its "+
			"numbers would mean others; want %s, or float, which is quantised", v.Name, t.DType.ONNXName(),
			t.Quant.Text(), d.DType.ONNXName(), t.DType.ONNXName())
	case t.DType.IsFloat() && float:
		return d.Cast(t.DType), nil
	case t.DType.IsFloat():
		return nil, text.Errorf("input %s is of type %s, got %s: want float (in NumPy, x.astype(\"float32\"), with "+
			"whatever mean and scale training had)", v.Name, t.DType.ONNXName(), d.DType.ONNXName())
	}
	out := d.Cast(t.DType)
	for i := range d.Len() {
		if out.Float(i) != d.Float(i) {
			return nil, text.Errorf("input %s is of type %s, got %s: element %d, %g, does not fit", v.Name,
				t.DType.ONNXName(), d.DType.ONNXName(), i, d.Float(i))
		}
	}
	return out, nil
}

// Dequantised is a firmware output as float32 where it stands for reals.
func Dequantised(d *tensor.Dense, t ir.Type) *tensor.Dense {
	if t.Quant == nil {
		return d
	}
	return ir.Dequantise(d, t.Quant).Cast(tensor.F32)
}

// Inputs are user data in the types of all firmware inputs.
func Inputs(in []*tensor.Dense, vs []*ir.Value) (_ []*tensor.Dense, err error) {
	defer fail.Catch(&err)
	return lists.Make(len(in), func(i int) *tensor.Dense { return fail.Must(Input(in[i], vs[i])) }), nil
}

// Seeded are random inputs, those of a seed and a stream. Where the graph refuses them, for an index out of range or
// a division by zero, integers are odd, else 0 or 1, else 0, and at last all is 0.
func Seeded(r *state.Runner, seed, stream int) []*tensor.Dense {
	draw := rand.New(rand.NewPCG(uint64(seed), uint64(stream)))
	in := lists.Map(r.Inputs(), func(v *ir.Value) *tensor.Dense { return random(draw, v.Type) })
	if !slices.ContainsFunc(r.Graph.Nodes, refuses) {
		return in
	}
	for _, tame := range []func(d *tensor.Dense, i int){
		func(*tensor.Dense, int) {},
		func(d *tensor.Dense, i int) { d.SetInt(i, d.Int(i)|1) },
		func(d *tensor.Dense, i int) { d.SetInt(i, d.Int(i)&1) },
		func(d *tensor.Dense, i int) { d.SetInt(i, 0) },
		nil,
	} {
		tamed := make([]*tensor.Dense, len(in))
		for k, d := range in {
			switch tamed[k] = d.Clone(); {
			case tame == nil:
				tamed[k] = tensor.New(d.DType, d.Shape)
			case d.DType.IsInt():
				for i := range d.Len() {
					tame(tamed[k], i)
				}
			}
		}
		if r.Takes(tamed) {
			return tamed
		}
	}
	return in
}

// refuses reports a node that does not take every number.
func refuses(n *ir.Node) bool {
	computed := func(l ir.Limit) bool { return n.In[l.Input].Const == nil }
	return op.Divides(n) || slices.ContainsFunc(ir.LimitsOf(n), computed)
}

// random is an input: the whole range of 8-bit integers, standard normal
// floats, small non-negative wide integers (they may be indices).
func random(r *rand.Rand, t ir.Type) *tensor.Dense {
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

// Memory are inputs as they lie in the arena.
func Memory(in []*tensor.Dense, vs []*ir.Value) [][]byte {
	var out [][]byte
	for i, d := range in {
		if t := vs[i].Type; t.Order != nil && !t.SameMemory(nil) {
			d = d.Transpose(t.Order)
		}
		out = append(out, d.Bytes())
	}
	return out
}

// FromMemory reads a value as it lies in the arena back into logical order.
func FromMemory(b []byte, t ir.Type) (*tensor.Dense, error) {
	if t.Order == nil || t.SameMemory(nil) {
		return tensor.FromBytes(t.DType, t.Shape, b)
	}
	d, err := tensor.FromBytes(t.DType, t.Phys(), b)
	if err != nil {
		return nil, err
	}
	inv := make([]int, len(t.Order))
	for i, x := range t.Order {
		inv[x] = i
	}
	return d.Transpose(inv), nil
}

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

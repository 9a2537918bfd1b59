// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/verify"
)

// intermediates are the values of --tensors: of the model, and of its program where there
// is one.
type intermediates struct {
	model, program *verify.Recorder
	run            []func(in []*tensor.Dense) error // an inference of each
	legal          *ir.Graph                        // behind the float rewrites
}

// record makes a runner of the float model keep what it computes, with --tensors.
func (c *Config) record(r *state.Runner) *state.Runner {
	if c.Tensors != "" {
		c.values = &intermediates{model: verify.Record(r, int(c.Limits.DataBytes))}
	}
	return r
}

// watch is an observer that keeps the graph behind the float rewrites.
func (x *intermediates) watch(s lower.Step) error {
	if s.Stage.Float() {
		x.legal = s.State.Graph.Clone()
	}
	return nil
}

// begin prepares a program and its model, as it was imported, for inferences.
func (x *intermediates) begin(c *Config, res *lower.Result, model *ir.Graph) {
	given := res.Interface().Inputs()
	inputs := func(r *state.Runner, to func(d *tensor.Dense, v *ir.Value) (*tensor.Dense, error)) {
		x.run = append(x.run, func(in []*tensor.Dense) error {
			_, _, err := r.Steps(in, to, func(d *tensor.Dense, _ ir.Type) *tensor.Dense { return d })
			return err
		})
	}
	program, float := res.Windows(res.Whole), res.Windows(model)
	x.program = verify.Record(program, int(c.Limits.DataBytes))
	x.model = verify.Record(float, int(c.Limits.DataBytes))
	inputs(program, verify.Input)
	inputs(float, func(d *tensor.Dense, v *ir.Value) (*tensor.Dense, error) { return modelInput(d, v, given) })
}

// modelInput brings user data, which may be of the firmware's type, to an input of the
// float model; given are the firmware's inputs.
func modelInput(d *tensor.Dense, v *ir.Value, given []*ir.Value) (*tensor.Dense, error) {
	t := verify.Meaning(v)
	switch {
	case d.DType.IsFloat() == v.Type.DType.IsFloat():
		return verify.Input(d.Cast(v.Type.DType), v)
	case t != nil: // the model's input are integers that stand for reals
		return verify.Input(d, &ir.Value{Name: v.Name, Type: v.Type.WithQuant(v.Type.DType, t)})
	}
	for _, w := range given {
		if w.Name == v.Name {
			d = verify.Dequantised(d, w.Type)
		}
	}
	return verify.Input(d.Cast(v.Type.DType), v)
}

// inference runs all on one inference.
func (x *intermediates) inference(in []*tensor.Dense) error {
	for _, f := range x.run {
		if err := f(in); err != nil {
			return err
		}
	}
	return nil
}

// writeTensors writes the values as the folder --tensors with its index.
func (c *Config) writeTensors(x *intermediates, res *lower.Result) (err error) {
	defer fail.Catch(&err)
	list := input(x.tensors(res))
	f := fail.Must(newFolder(c.Tensors, tensorsManifest))
	defer f.Discard()
	w := &tensorFiles{folder: f, used: map[string]bool{}}
	index := &report.Tensors{Generator: "nncc", Version: Version, Model: filepath.Base(c.Model), Board: c.Board}
	for _, t := range list {
		row := report.TensorRow{Program: []report.HeldTensor{}}
		name := ""
		if v := t.Model; v != nil {
			name = v.Name
			row.Model = fail.Must(w.tensor("model", name, v, x.model.Runs[v]))
			index.Runs = len(x.model.Runs[v])
		}
		for _, h := range t.Program {
			n := name
			if t.Model == nil {
				n = h.Value.Name + ".program" // no tensor of the model, though it may be called after one
			}
			p := fail.Must(w.tensor("program", n, h.Value, x.program.Runs[h.Value]))
			held := report.HeldTensor{TensorFile: *p}
			if t.Model != nil {
				held.SQNR, held.MaxDiff = h.SQNR, &h.MaxDiff
			}
			row.Program = append(row.Program, held)
		}
		index.Tensors = append(index.Tensors, row)
	}
	index.Files = append(f.Files(), tensorsManifest)
	fail.Check(asInput(f.Add(files.File{Path: tensorsManifest, Data: report.JSON(index)})))
	c.RunResult.Tensors = index
	return commit(f)
}

func (x *intermediates) tensors(res *lower.Result) ([]verify.Tensor, error) {
	if x.program != nil {
		return verify.Tensors(x.model, x.program, x.legal, res)
	}
	var list []verify.Tensor
	for _, v := range x.model.Values {
		list = append(list, verify.Tensor{Model: v})
	}
	return list, nil
}

// tensorFiles gives values files.
type tensorFiles struct {
	folder *files.Folder
	used   map[string]bool // in lower case: not every file system tells a from A
}

// tensor writes a value, run after run along a first axis where there are several.
func (w *tensorFiles) tensor(dir, name string, v *ir.Value, runs []*tensor.Dense) (*report.TensorFile, error) {
	t := &report.TensorFile{Name: v.Name, DType: v.Type.DType.ONNXName(), Shape: append([]int{}, v.Type.Shape...)}
	if v.Def != nil {
		t.Node, t.Op = v.Def.Name, v.Def.Op.Name
		if o := v.Def.Origin; len(o) > 0 && o[0] != "" {
			t.Node = strings.Join(o, ", ")
		}
	}
	base := w.name(dir, name)
	all := runs[0]
	if len(runs) > 1 {
		all = along(runs)
	}
	if q := verify.Meaning(v); q != nil && !all.DType.IsFloat() {
		t.Scale, t.Zero = q.Scale, q.Zero
		t.Raw = base + ".raw.npy"
		if err := w.write(t.Raw, all); err != nil {
			return nil, err
		}
		var reals []*tensor.Dense
		for _, d := range runs {
			reals = append(reals, verify.Real(d, v).Cast(tensor.F32))
		}
		if all = reals[0]; len(runs) > 1 {
			all = along(reals)
		}
	}
	t.File = base + ".npy"
	t.Least, t.Most = limitsOf(all)
	return t, w.write(t.File, all)
}

func (w *tensorFiles) write(path string, d *tensor.Dense) error {
	var b bytes.Buffer
	if err := npz.WriteNpy(&b, npz.FromTensor(d)); err != nil {
		return err
	}
	return asInput(w.folder.Add(files.File{Path: path, Data: b.Bytes()}))
}

// name is a path for a tensor that no other has, without its ending.
func (w *tensorFiles) name(dir, name string) string {
	base := dir + "/" + files.Portable(name)
	for k, s := 1, base; ; k++ {
		if !w.used[strings.ToLower(s)] && !w.used[strings.ToLower(s)+".raw"] {
			w.used[strings.ToLower(s)], w.used[strings.ToLower(s)+".raw"] = true, true
			return s
		}
		s = fmt.Sprintf("%s~%d", base, k)
	}
}

// along are tensors of one shape along a first axis.
func along(list []*tensor.Dense) *tensor.Dense {
	first := list[0]
	d := tensor.New(first.DType, append([]int{len(list)}, first.Shape...))
	for k, x := range list {
		for e := range first.Len() {
			d.CopyElem(k*first.Len()+e, x, e)
		}
	}
	return d
}

// limitsOf are the least and the largest value; nil where there is none.
func limitsOf(d *tensor.Dense) (least, most *float64) {
	for i := range d.Len() {
		v := d.Float(i)
		if v-v != 0 {
			continue // JSON has neither infinities nor NaN
		}
		if least == nil {
			a, b := v, v
			least, most = &a, &b
		}
		*least, *most = min(*least, v), max(*most, v)
	}
	return least, most
}

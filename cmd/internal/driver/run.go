// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend"
	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/verify"
)

// RunModel is the verb run: the float model, or with --board the program. The
// outputs become the folder --out, by default one called after the model.
func (c *Config) RunModel() (err error) {
	defer fail.Catch(&err)
	dir := c.Out
	if dir == "" {
		dir = modelName(c.Model) + "-outputs"
	}
	fail.Check(asInput(files.Ours(dir, runManifest))) // before any work
	if c.Tensors != "" {
		if filepath.Clean(c.Tensors) == filepath.Clean(dir) {
			return usage("--tensors %s: the outputs go there; want another folder than --out", c.Tensors)
		}
		fail.Check(asInput(files.Ours(c.Tensors, tensorsManifest)))
	}
	if c.Board == "" {
		return c.runFloat(dir)
	}
	return c.runProgram(dir)
}

func (c *Config) runProgram(dir string) (err error) {
	defer fail.Catch(&err)
	spec, g := fail.Must2(c.modelAndBoard())
	var watch []func(lower.Step) error
	var model *ir.Graph
	if c.Tensors != "" {
		c.values, model = &intermediates{}, g.Clone()
		watch = append(watch, c.values.watch)
	}
	res := fail.Must(c.program(g, spec, watch...))
	if c.values != nil {
		c.values.begin(c, res, model)
	}
	r := res.Interface()
	list := fail.Must(c.inferences(r.Inputs(), !r.Stateful()))
	post := fail.Must(c.poster(r))
	var all [][]*tensor.Dense
	var names []string
	for _, in := range list {
		var outs []*tensor.Dense
		outs, names = fail.Must2(c.steps(r, in, post))
		all = append(all, outs)
		if c.values != nil {
			fail.Check(asInput(c.values.inference(in)))
		}
	}
	return c.writeRun(dir, stacked(all), names, post, res)
}

func (c *Config) writeRun(dir string, outs []*tensor.Dense, names []string, post *poster,
	res *lower.Result) (err error) {
	defer fail.Catch(&err)
	if c.values != nil {
		fail.Check(c.strictly())
		c.writeTensors(c.values, res)
	}
	return c.writeOutputs(dir, outs, names, post)
}

// steps runs the program on an inference, or on the steps of one.
func (c *Config) steps(r *state.Runner, in []*tensor.Dense, post *poster) ([]*tensor.Dense, []string, error) {
	return r.Steps(in, verify.Input, func(d *tensor.Dense, t ir.Type) *tensor.Dense {
		post.add(d)
		if c.Dequantize {
			return verify.Dequantised(d, t)
		}
		return d
	})
}

// runReport is run.json beside the outputs of a run: what they are.
type runReport struct {
	Generator string `json:"generator"`
	Version   string `json:"version"`
	Model     string `json:"model"`
	Board     string `json:"board,omitempty"`
	// Samples are the files of the inferences, which the outputs have along a first axis.
	Samples []string    `json:"samples,omitempty"`
	Outputs []runOutput `json:"outputs"`
	Files   []string    `json:"files"`
}

// RunResult is what RunModel wrote, as --json prints it.
type RunResult struct {
	runReport
	Folder  string          `json:"folder"`
	Tensors *report.Tensors `json:"tensors,omitempty"`
}

type runOutput struct {
	File  string `json:"file"`
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

// writeOutputs writes output_0.npy, output_1.npy, ... and run.json as the
// folder dir and notes them.
func (c *Config) writeOutputs(dir string, outs []*tensor.Dense, names []string, post *poster) (err error) {
	defer fail.Catch(&err)
	fail.Check(c.strictly())
	r := runReport{Generator: "nncc", Version: Version, Model: filepath.Base(c.Model), Board: c.Board,
		Samples: c.RunResult.Samples, Outputs: []runOutput{}, Files: []string{runManifest}}
	var files []codegen.File
	for i, d := range outs {
		name := fmt.Sprintf("output_%d.npy", i)
		b := fail.Must(npy(d))
		files = append(files, codegen.File{Path: name, Data: b})
		r.Outputs = append(r.Outputs, runOutput{name, names[i], d.DType.ONNXName(), append([]int{}, d.Shape...)})
		r.Files = append(r.Files, name)
		c.Written = append(c.Written, fmt.Sprintf("wrote %s: %s, %s%v", filepath.Join(dir, name), names[i], d.DType,
			d.Shape))
	}
	if post != nil {
		r.Files = append(r.Files, postFile)
		files = append(files, codegen.File{Path: postFile, Data: report.JSON(post)})
		c.Written = append(c.Written, post.text(dir)...)
	}
	c.RunResult.runReport, c.RunResult.Folder = r, dir
	_, err = writeFolder(dir, runManifest, append(files, codegen.File{Path: runManifest, Data: report.JSON(r)}))
	return err
}

// runFloat interprets the model as it is; symbolic dimensions are taken from
// the inputs' shapes.
func (c *Config) runFloat(dir string) (err error) {
	defer fail.Catch(&err)
	m := input(frontend.Load(c.Model, c.Limits))
	names := fail.Must(c.given(m))
	fail.Check(c.readSpec())
	if m.Source != nil { // the import tells what the model keeps
		m, _ = fail.Must2(c.load(nil))
	}
	if len(c.States) > 0 || len(m.State) > 0 || c.Stream != "" {
		return c.runFloatSteps(dir)
	}
	if data.NeedsShapes(c.Inputs, c.spec) {
		return c.runSamples(dir)
	}
	in := input(npz.ReadInputs(c.Inputs, names, c.dataLimits()))
	if areSamples(m, names, in) {
		return c.runSamples(dir)
	}
	shapes := map[string][]int{}
	for i, n := range names {
		shapes[n] = in[i].Shape
	}
	_, g := fail.Must2(c.load(shapes))
	return c.interpret(dir, g, [][]*tensor.Dense{in})
}

// given are the names of the inputs that the user gives.
func (c *Config) given(m *onnx.Model) (names []string, err error) {
	set, err := pairs("set", c.Set)
	return slices.DeleteFunc(m.Inputs(), func(name string) bool { _, bound := set[name]; return bound }), err
}

// areSamples reports that arrays hold several samples of a model's inputs, whose shapes
// are known; a symbol takes any size.
func areSamples(m *onnx.Model, names []string, in []*tensor.Dense) bool {
	several := false
	for _, vi := range m.Proto.GetGraph().GetInput() {
		i := slices.Index(names, vi.GetName())
		if i < 0 {
			continue
		}
		var shape []int
		extra := len(in[i].Shape) - len(vi.GetType().GetTensorType().GetShape().GetDim())
		for k, d := range vi.GetType().GetTensorType().GetShape().GetDim() {
			n := int(d.GetDimValue())
			if n == 0 && k+extra >= 0 && k+extra < len(in[i].Shape) {
				n = in[i].Shape[k+extra]
			}
			shape = append(shape, n)
		}
		switch {
		case data.AreSamples(in[i].Shape, shape):
			several = true
		case !slices.Equal(in[i].Shape, shape):
			return false
		}
	}
	return several
}

// runSamples interprets the model on pictures, recordings or tables, for which its
// inputs have shapes; outputs of several samples have them along a first axis.
func (c *Config) runSamples(dir string) (err error) {
	defer fail.Catch(&err)
	_, g := fail.Must2(c.load(nil))
	list := fail.Must(c.inferences(g.In, true))
	return c.interpret(dir, g, list)
}

func (c *Config) interpret(dir string, g *ir.Graph, list [][]*tensor.Dense) (err error) {
	defer fail.Catch(&err)
	r := c.record(state.New(g, nil))
	post := fail.Must(c.poster(r))
	var all [][]*tensor.Dense
	for _, in := range list {
		for i, v := range g.In {
			in[i] = fail.Must(floatInput(in[i], v))
		}
		outs := fail.Must(r.Step(in))
		post.add(outs...)
		all = append(all, outs)
	}
	return c.writeRun(dir, stacked(all), g.OutNames, post, nil)
}

// stacked are the outputs of several inferences, along a first axis; of one as they are.
func stacked(all [][]*tensor.Dense) []*tensor.Dense {
	var out []*tensor.Dense
	for i := range all[0] {
		list := lists.Map(all, func(outs []*tensor.Dense) *tensor.Dense { return outs[i] })
		out = append(out, along(list))
	}
	return out
}

// floatInput brings user data to the type of an input of the float model.
func floatInput(d *tensor.Dense, v *ir.Value) (*tensor.Dense, error) {
	d, err := verify.Typed(d, v)
	if err != nil {
		return nil, asInput(err)
	}
	if !slices.Equal(d.Shape, v.Type.Shape) {
		return nil, badInput("input %s has shape %v, got %v%s", v.Name, v.Type.Shape, d.Shape,
			data.LooksLike(v, d.Shape))
	}
	return d, nil
}

func (c *Config) runFloatSteps(dir string) (err error) {
	defer fail.Catch(&err)
	_, g := fail.Must2(c.load(nil))
	bindings := c.bindings(g)
	r := input(state.Float(g, bindings, used(state.ParseStream(g, bindings, c.Stream))))
	in := single(c.inferences(r.Inputs(), false))
	post := fail.Must(c.poster(r))
	outs, names := fail.Must2(c.record(r).Steps(in, floatInput, func(d *tensor.Dense, _ ir.Type) *tensor.Dense {
		post.add(d)
		return d
	}))
	return c.writeRun(dir, outs, names, post, nil)
}

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

func (x *intermediates) inference(in []*tensor.Dense) error {
	for _, f := range x.run {
		if err := f(in); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) writeTensors(x *intermediates, res *lower.Result) {
	list := input(x.tensors(res))
	f := input(files.NewFolder(c.Tensors, tensorsManifest))
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
	fail.Check(asInput(f.Commit()))
}

func (x *intermediates) tensors(res *lower.Result) ([]verify.Tensor, error) {
	if x.program != nil {
		return verify.Tensors(x.model, x.program, x.legal, res)
	}
	list := lists.Map(x.model.Values, func(v *ir.Value) verify.Tensor { return verify.Tensor{Model: v} })
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
	all := along(runs)
	if q := verify.Meaning(v); q != nil && !all.DType.IsFloat() {
		t.Scale, t.Zero = q.Scale, q.Zero
		t.Raw = base + ".raw.npy"
		if err := w.write(t.Raw, all); err != nil {
			return nil, err
		}
		reals := lists.Map(runs, func(d *tensor.Dense) *tensor.Dense { return verify.Real(d, v).Cast(tensor.F32) })
		all = along(reals)
	}
	t.File = base + ".npy"
	t.Least, t.Most = limitsOf(all)
	return t, w.write(t.File, all)
}

func (w *tensorFiles) write(path string, d *tensor.Dense) error {
	b, err := npy(d)
	if err != nil {
		return err
	}
	return asInput(w.folder.Add(files.File{Path: path, Data: b}))
}

// npy is a tensor as a file.
func npy(d *tensor.Dense) ([]byte, error) {
	var b bytes.Buffer
	err := npz.WriteNpy(&b, npz.FromTensor(d))
	return b.Bytes(), err
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

// along are tensors of one shape along a first axis; one alone as it is.
func along(list []*tensor.Dense) *tensor.Dense {
	first := list[0]
	if len(list) == 1 {
		return first
	}
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

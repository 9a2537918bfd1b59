// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// CompareOptions of Compare and Cascade.
type CompareOptions struct {
	// Cases are given inputs, by the reference's input names. Seeded ones follow
	// until there are Count (at least one case is run).
	Cases []map[string]*tensor.Dense
	Count int
	Seed  uint64
	// Equal wants every bit equal; else max|got − reference| may be
	// ATol + RTol · max|reference|, of each output and case.
	Equal      bool
	ATol, RTol float64
	// Inputs and Outputs map names of the model to those of the reference;
	// names that are not listed stand for themselves.
	Inputs, Outputs map[string]string
	// Reshape compares tensors of different shapes in row-major order when they
	// have as many elements.
	Reshape bool
	// Partial allows outputs of the reference that nothing is compared with.
	Partial bool
}

// OutputDiff is the comparison of one output over all cases.
type OutputDiff struct {
	Name       string  `json:"name"`
	Reference  string  `json:"reference"`
	Shape      []int   `json:"shape"`
	Elements   int     `json:"elements"`   // of one case
	Min        float64 `json:"min"`        // of got − reference
	Max        float64 `json:"max"`        // of got − reference
	MaxAbs     float64 `json:"max_abs"`    // of got − reference
	Relative   float64 `json:"relative"`   // max|got − reference| / max|reference|, the largest of a case
	Mismatches int     `json:"mismatches"` // elements beyond the tolerance, or with other bits
}

// Comparison is the verdict of Compare.
type Comparison struct {
	Cases   int          `json:"cases"`
	Outputs []OutputDiff `json:"outputs"`
	// Missing are outputs of the reference that nothing was compared with.
	Missing    []string `json:"missing,omitempty"`
	Mismatches int      `json:"mismatches"`
	Wanted     string   `json:"wanted"` // the criterion in words
}

// OK reports that everything was as wanted.
func (c *Comparison) OK() bool { return c.Mismatches == 0 }

// engine runs a model with the reference interpreter.
type engine struct {
	g *ir.Graph
}

func (m *Model) engine(shapes map[string][]int) *engine {
	dims := map[string]int{}
	for _, k := range m.openDims() { // a part has not all that the model has
		if n, ok := m.Dims[k]; ok {
			dims[k] = n
		}
	}
	g := fail.Must(onnx.OpenModel(m.loaded(m.Proto), onnx.ImportOptions{Dims: dims, Shapes: shapes,
		Functions: m.Functions}))
	return &engine{g}
}

func (e *engine) inputs() []string {
	return lists.Map(e.g.In, func(v *ir.Value) string { return v.Name })
}

// run computes the outputs from inputs by name.
func (e *engine) run(in map[string]*tensor.Dense) map[string]*tensor.Dense {
	var list []*tensor.Dense
	for _, v := range e.g.In {
		d := in[v.Name]
		fail.If(d == nil, "input %s is not given; inputs: %s", quote(v.Name), quoted(e.inputs()))
		fail.If(d.DType != v.Type.DType || !slices.Equal(d.Shape, v.Type.Shape),
			"input %s is given as %s%v, the model wants %s%v", quote(v.Name), d.DType.ONNXName(), d.Shape,
			v.Type.DType.ONNXName(), v.Type.Shape)
		list = append(list, d)
	}
	outs := fail.Must(interp.Run(e.g, list, nil))
	res := map[string]*tensor.Dense{}
	for i, d := range outs {
		res[e.g.OutNames[i]] = d
	}
	return res
}

// Run computes the model's outputs by name with the reference interpreter.
// Symbolic dimensions are taken from Dims and from the inputs.
func (m *Model) Run(inputs map[string]*tensor.Dense) map[string]*tensor.Dense {
	shapes := map[string][]int{}
	for k, d := range inputs {
		shapes[k] = d.Shape
	}
	e := m.engine(shapes)
	for _, k := range sortedKeys(inputs) {
		fail.If(!slices.Contains(e.inputs(), k), "the model has no input %s%s; inputs: %s", quote(k),
			near(k, e.inputs()), quoted(e.inputs()))
	}
	return e.run(inputs)
}

// Seeded are inputs for the graph: standard normal floats, 8-bit integers over
// their whole range, 0 and 1 for wider ones, which may be indices.
func (e *engine) seeded(seed uint64) map[string]*tensor.Dense {
	r := rand.New(rand.NewPCG(seed, 20))
	in := map[string]*tensor.Dense{}
	for _, v := range e.g.In {
		d := tensor.New(v.Type.DType, v.Type.Shape)
		for i, n := 0, d.Len(); i < n; i++ {
			switch {
			case d.DType.IsFloat():
				d.SetFloat(i, r.NormFloat64())
			case d.DType.Bits() <= 8 && d.DType != tensor.Bool:
				lo, hi := d.DType.IntRange()
				d.SetInt(i, lo+r.Int64N(hi-lo+1))
			default:
				d.SetInt(i, r.Int64N(2))
			}
		}
		in[v.Name] = d
	}
	return in
}

// cases are the inputs to compare with: given ones, then seeded ones.
func (o *CompareOptions) cases(ref *engine) []map[string]*tensor.Dense {
	list := slices.Clone(o.Cases)
	for i := len(list); i < max(o.Count, 1); i++ {
		list = append(list, ref.seeded(o.Seed+uint64(i)))
	}
	return list
}

func (o *CompareOptions) shapes() map[string][]int {
	if len(o.Cases) == 0 {
		return nil
	}
	s := map[string][]int{}
	for k, d := range o.Cases[0] {
		s[k] = d.Shape
	}
	return s
}

func (o *CompareOptions) wanted() string {
	if o.Equal {
		return "bit for bit"
	}
	switch {
	case o.RTol == 0:
		return fmt.Sprintf("at most %g", o.ATol)
	case o.ATol == 0:
		return fmt.Sprintf("at most %g of the largest value", o.RTol)
	}
	return fmt.Sprintf("at most %g + %g of the largest value", o.ATol, o.RTol)
}

// engine of a model, for which an error says what cannot be run.
func running(what string, m *Model, shapes map[string][]int) (e *engine) {
	fail.Under(what+" cannot be run", func() { e = m.engine(shapes) })
	return e
}

// Compare runs a model and its reference on the same inputs and compares the
// outputs.
func Compare(got, ref *Model, opt CompareOptions) *Comparison {
	const reference, edited = "the reference", "the edited model"
	r := running(reference, ref, opt.shapes())
	g := running(edited, got, got.symbolicShapes(opt.shapes(), opt.Inputs))
	c := &Comparison{Wanted: opt.wanted()}
	c.Outputs = opt.pairs(c, g, r)
	c.run(r, reference, &opt, func(in map[string]*tensor.Dense) (have map[string]*tensor.Dense) {
		mine := opt.feed(g, in)
		fail.Under(edited+" cannot be run", func() { have = g.run(mine) })
		return have
	})
	return c
}

// run compares what get gives with the outputs of a reference, for all cases.
func (c *Comparison) run(ref *engine, name string, opt *CompareOptions,
	get func(in map[string]*tensor.Dense) map[string]*tensor.Dense) {
	for _, in := range opt.cases(ref) {
		var want map[string]*tensor.Dense
		fail.Under(name+" cannot be run", func() { want = ref.run(in) })
		have := get(in)
		c.Cases++
		for i := range c.Outputs {
			d := &c.Outputs[i]
			d.add(have[d.Name], want[d.Reference], opt)
		}
	}
	c.Mismatches += lists.Sum(c.Outputs, func(d OutputDiff) int { return d.Mismatches })
}

// symbolicShapes are the given shapes, by the reference's names, of those inputs
// that have symbolic dimensions.
func (m *Model) symbolicShapes(shapes map[string][]int, inputs map[string]string) map[string][]int {
	out := map[string][]int{}
	for _, name := range m.InputNames() {
		from := cmp.Or(inputs[name], name)
		_, decl, _ := declared(m.input(name))
		if s, ok := shapes[from]; ok && len(s) == len(decl) &&
			slices.ContainsFunc(decl, func(d Dim) bool { return d.Size < 0 }) {
			out[name] = s
		}
	}
	return out
}

// pairs finds which output is compared with which.
func (o *CompareOptions) pairs(c *Comparison, g, r *engine) []OutputDiff {
	var diffs []OutputDiff
	compared := map[string]bool{}
	for _, k := range sortedKeys(o.Outputs) {
		fail.If(!slices.Contains(g.g.OutNames, k), "the edited model has no output %s%s; outputs: %s", quote(k),
			near(k, g.g.OutNames), quoted(g.g.OutNames))
		if v := o.Outputs[k]; !slices.Contains(r.g.OutNames, v) {
			fail.Errorf("the reference has no output %s%s; outputs: %s", quote(v), near(v, r.g.OutNames),
				quoted(r.g.OutNames))
		}
	}
	for _, name := range g.g.OutNames {
		to := cmp.Or(o.Outputs[name], name)
		if slices.Contains(r.g.OutNames, to) {
			diffs = append(diffs, OutputDiff{Name: name, Reference: to, Min: math.Inf(1), Max: math.Inf(-1)})
			compared[to] = true
		}
	}
	c.Missing = append(c.Missing, lists.Filter(r.g.OutNames, func(name string) bool { return !compared[name] })...)
	fail.If(len(c.Missing) > 0 && (!o.Partial || len(diffs) == 0), "nothing to compare output %s of the reference "+
		"with; the edited model has %s (outputs: maps names, restore: rebuilds the original ones, partial: true "+
		"leaves them out)", quoted(c.Missing), quoted(g.g.OutNames))
	return diffs
}

// feed picks the model's inputs from those of the reference.
func (o *CompareOptions) feed(g *engine, in map[string]*tensor.Dense) map[string]*tensor.Dense {
	out := map[string]*tensor.Dense{}
	for _, v := range g.g.In {
		from := cmp.Or(o.Inputs[v.Name], v.Name)
		d := in[from]
		fail.If(d == nil,
			"input %s of the edited model is no input of the reference, which has %s (inputs: maps names)",
			quote(v.Name), quoted(sortedKeys(in)))
		if !slices.Equal(d.Shape, v.Type.Shape) {
			fail.If(!o.Reshape || d.Len() != v.Type.Elems(),
				"input %s has shape %v, the reference's %v (reshape: true takes them in "+
					"row-major order)", quote(v.Name), v.Type.Shape, d.Shape)
			d = d.Reshaped(v.Type.Shape)
		}
		out[v.Name] = d
	}
	return out
}

// add compares one case.
func (d *OutputDiff) add(got, want *tensor.Dense, opt *CompareOptions) {
	bug.If(got == nil || want == nil, "surgery: an output is missing")
	fail.If(got.DType != want.DType, "output %s is of type %s, the reference's %s of type %s", quote(d.Name),
		got.DType.ONNXName(), quote(d.Reference), want.DType.ONNXName())
	fail.If(!slices.Equal(got.Shape, want.Shape) && (!opt.Reshape || got.Len() != want.Len()),
		"output %s has shape %v, the reference's %s has %v (restore: changes it back; reshape: true "+
			"compares as many elements in row-major order)", quote(d.Name), got.Shape, quote(d.Reference), want.Shape)
	d.Shape, d.Elements = got.Shape, want.Len()
	if d.Elements == 0 {
		d.Min, d.Max = 0, 0
		return
	}
	largest, worst := largestOf(want), 0.0
	bound := opt.ATol + opt.RTol*largest
	x, y := got.Bytes(), want.Bytes()
	size := len(x) / d.Elements
	for i := range d.Elements {
		same := string(x[i*size:(i+1)*size]) == string(y[i*size:(i+1)*size])
		diff := 0.0
		if !same {
			diff = apart(got.Float(i), want.Float(i))
		}
		d.Min, d.Max = min(d.Min, diff), max(d.Max, diff)
		worst = max(worst, math.Abs(diff))
		if opt.Equal && !same || !opt.Equal && math.Abs(diff) > bound {
			d.Mismatches++
		}
	}
	d.MaxAbs = max(d.MaxAbs, worst)
	if largest > 0 {
		worst /= largest
	}
	d.Relative = max(d.Relative, worst)
}

// largestOf is the largest finite magnitude.
func largestOf(d *tensor.Dense) float64 {
	most := 0.0
	for i := range d.Len() {
		if x := math.Abs(d.Float(i)); x > most && !math.IsInf(x, 0) {
			most = x
		}
	}
	return most
}

// apart is a - b: 0 where both are no number, the largest number where one is none.
func apart(a, b float64) float64 {
	switch d := a - b; {
	case a != a && b != b || a == b:
		return 0
	case d != d || math.IsInf(d, 0):
		return math.MaxFloat64
	default:
		return d
	}
}

// Cascade runs parts one after the other, each with what the model's inputs and
// the parts before give, and compares the outputs with those of the whole.
func Cascade(whole *Model, parts []*Model, names []string, opt CompareOptions) *Comparison {
	const reference = "the whole model"
	w := running(reference, whole, opt.shapes())
	es := lists.Make(len(parts), func(i int) *engine { return running("part "+quote(names[i]), parts[i], nil) })
	c := &Comparison{Wanted: opt.wanted(), Outputs: lists.Map(w.g.OutNames, func(o string) OutputDiff {
		return OutputDiff{Name: o, Reference: o, Min: math.Inf(1), Max: math.Inf(-1)}
	})}
	c.run(w, reference, &opt, func(in map[string]*tensor.Dense) map[string]*tensor.Dense {
		env := cascade(es, names, in)
		for _, o := range w.g.OutNames {
			fail.If(env[o] == nil, "no part gives output %s of the whole model", quote(o))
		}
		return env
	})
	return c
}

// cascade runs every part as soon as its inputs are there.
func cascade(parts []*engine, names []string, in map[string]*tensor.Dense) map[string]*tensor.Dense {
	env := map[string]*tensor.Dense{}
	maps.Copy(env, in)
	done := make([]bool, len(parts))
	for range parts {
		for i, e := range parts {
			if done[i] || slices.ContainsFunc(e.inputs(), func(s string) bool { return env[s] == nil }) {
				continue
			}
			fail.Under("part "+quote(names[i]), func() { maps.Copy(env, e.run(env)) })
			done[i] = true
		}
	}
	for i, e := range parts {
		if !done[i] {
			for _, s := range e.inputs() {
				fail.If(env[s] == nil, "part %s reads %s, which neither the model's inputs nor another part give",
					quote(names[i]), quote(s))
			}
		}
	}
	return env
}

// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/stream"
)

// Runner runs a graph one step after the other: state goes from outputs to
// inputs, the caller sees the rest.
type Runner struct {
	Graph   *ir.Graph
	In, Out []int // of every binding, its places among the inputs and outputs
	init    []*tensor.Dense
	state   []*tensor.Dense
	slide   *stream.Options // the input that is fed a few frames at a time
	window  *tensor.Dense   // all frames of it
	// Eval evaluates the graph; nil: the interpreter.
	Eval func(in []*tensor.Dense) ([]*tensor.Dense, error)
}

// New is a Runner of a graph with state, which begins with what the bindings say.
func New(g *ir.Graph, bindings []Binding) *Runner {
	r := &Runner{Graph: g}
	for _, t := range bindings {
		r.init = append(r.init, t.Init)
		r.In = append(r.In, slices.IndexFunc(g.In, func(v *ir.Value) bool { return v.Name == t.In }))
		r.Out = append(r.Out, slices.Index(g.OutNames, t.Out))
	}
	r.reset()
	return r
}

// Sliding is a Runner whose graph wants whole windows of an input, of
// which the caller gives the newest frames.
func Sliding(g *ir.Graph, bindings []Binding, o *stream.Options) *Runner {
	r := New(g, bindings)
	r.slide = o
	r.reset()
	return r
}

// reset makes the state what it is before the first step, the window zero.
func (r *Runner) reset() {
	r.state = nil
	for k, i := range r.In {
		d := r.init[k]
		if d == nil {
			d = stream.Zero(r.Graph.In[i].Type)
		}
		r.state = append(r.state, d)
	}
	if r.slide != nil {
		r.window = stream.Zero(r.Graph.In[r.slide.Input].Type)
	}
}

// Inputs are those that the caller gives.
func (r *Runner) Inputs() []*ir.Value {
	var vs []*ir.Value
	for i, v := range r.Graph.In {
		switch {
		case slices.Contains(r.In, i):
		case r.slide != nil && r.slide.Input == i:
			shape := slices.Clone(v.Type.Shape)
			shape[r.slide.Axis] = r.slide.Hop
			vs = append(vs, &ir.Value{Name: v.Name, Type: v.Type.WithShape(shape)})
		default:
			vs = append(vs, v)
		}
	}
	return vs
}

// Outputs are the indices of those that the caller sees.
func (r *Runner) Outputs() []int {
	return lists.Where(len(r.Graph.Out), func(i int) bool { return !slices.Contains(r.Out, i) })
}

// Stateful reports that a step depends on those before it.
func (r *Runner) Stateful() bool { return len(r.In) > 0 || r.slide != nil }

func (r *Runner) full(in []*tensor.Dense) []*tensor.Dense {
	var all []*tensor.Dense
	k := 0
	for i := range r.Graph.In {
		if t := slices.Index(r.In, i); t >= 0 {
			all = append(all, r.state[t])
			continue
		}
		all = append(all, in[k])
		k++
	}
	return all
}

// Step is one run: all outputs of the graph, and the state moves on.
func (r *Runner) Step(in []*tensor.Dense) ([]*tensor.Dense, error) {
	if r.slide != nil {
		in = slices.Clone(in)
		for k, v := range r.Inputs() {
			if v.Name == r.Graph.In[r.slide.Input].Name {
				r.window = shifted(r.window, in[k], r.slide.Axis)
				in[k] = r.window
			}
		}
	}
	run := r.Eval
	if run == nil {
		run = func(in []*tensor.Dense) ([]*tensor.Dense, error) { return interp.Run(r.Graph, in, nil) }
	}
	outs, err := run(r.full(in))
	if err != nil {
		return nil, err
	}
	for t, i := range r.Out {
		r.state[t] = outs[i]
	}
	return outs, nil
}

// Takes reports that a step would run. It takes none.
func (r *Runner) Takes(in []*tensor.Dense) bool {
	next := *r
	next.state = slices.Clone(r.state)
	_, err := next.Step(in)
	return err == nil
}

// Sequence runs samples of the caller's inputs one after the other and gives
// them with the state that each step found.
func (r *Runner) Sequence(s []quant.Sample) ([]quant.Sample, error) {
	var out []quant.Sample
	for _, x := range s {
		out = append(out, r.full(x))
		if !r.Stateful() {
			continue
		}
		if _, err := r.Step(x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Steps takes one step, or, with state, one for every index of a first axis that
// the inputs have beyond the model's: the outputs then have it, too. to brings
// an input to its type, from an output to what the caller wants. It gives the
// outputs that the caller sees, and their names.
func (r *Runner) Steps(in []*tensor.Dense, to func(d *tensor.Dense, v *ir.Value) (*tensor.Dense, error),
	from func(d *tensor.Dense, t ir.Type) *tensor.Dense) (_ []*tensor.Dense, _ []string, err error) {
	defer fail.Catch(&err)
	vs := r.Inputs()
	steps := r.stepsOf(in, vs)
	names := lists.Map(r.Outputs(), func(i int) string { return r.Graph.OutNames[i] })
	all := make([]*tensor.Dense, len(names))
	for k := range max(steps, 1) {
		var now []*tensor.Dense
		for i, d := range in {
			if steps >= 0 && len(d.Shape) == vs[i].Type.Rank()+1 {
				d = d.Slice(0, k, k+1).Reshaped(d.Shape[1:])
			}
			now = append(now, fail.Must(to(d, vs[i])))
		}
		outs := fail.Must(r.Step(now))
		for j, i := range r.Outputs() {
			y := from(outs[i], r.Graph.Out[i].Type)
			if steps < 0 {
				all[j] = y
				continue
			}
			if all[j] == nil {
				all[j] = tensor.New(y.DType, append([]int{steps}, y.Shape...))
			}
			put(all[j], k, y)
		}
	}
	return all, names, nil
}

// stepsOf is how many steps inputs have; -1 where they are those of one.
func (r *Runner) stepsOf(in []*tensor.Dense, vs []*ir.Value) int {
	steps := -1
	for i, d := range in {
		if !r.Stateful() || len(d.Shape) != vs[i].Type.Rank()+1 {
			continue
		}
		if steps >= 0 && steps != d.Shape[0] {
			fail.Errorf("input %s has %d steps, another input %d", vs[i].Name, d.Shape[0], steps)
		}
		steps = d.Shape[0]
	}
	return steps
}

// put makes d index k of the first axis of all.
func put(all *tensor.Dense, k int, d *tensor.Dense) {
	n := d.Len()
	for e := range n {
		all.CopyElem(k*n+e, d, e)
	}
}

// Frames cuts samples of whole windows into steps.
func Frames(s *stream.Options, samples []quant.Sample) []quant.Sample {
	var out []quant.Sample
	for _, x := range samples {
		for at := 0; at+s.Hop <= x[s.Input].Shape[s.Axis]; at += s.Hop {
			y := slices.Clone(x)
			y[s.Input] = x[s.Input].Slice(s.Axis, at, at+s.Hop)
			out = append(out, y)
		}
	}
	return out
}

// shifted is a window with frames appended and as many dropped in front.
func shifted(window, frames *tensor.Dense, axis int) *tensor.Dense {
	y := tensor.New(window.DType, window.Shape)
	n, hop, inner := window.Shape[axis], frames.Shape[axis], tensor.Count(window.Shape[axis+1:])
	for i := range y.Len() {
		k := i / inner % n
		src, at := window, i+hop*inner
		if k >= n-hop {
			src, at = frames, (i/inner/n*hop+k-(n-hop))*inner+i%inner
		}
		y.CopyElem(i, src, at)
	}
	return y
}

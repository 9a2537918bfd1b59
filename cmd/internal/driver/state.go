package driver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/stream"
)

// ties reads --state: OUT=IN, or auto for the names that exporters use.
func (c *Config) ties(g *ir.Graph) ([]lower.StateBinding, error) {
	var out []lower.StateBinding
	var wrong []string
	for _, s := range c.States {
		if s == "auto" {
			found := namedTies(g)
			if len(found) == 0 {
				wrong = append(wrong, fmt.Sprintf("--state auto: no output is named after an input of its type (x "+
					"and xN, x_out, x_next, new_x; x_in and x_out; past_x and present_x); inputs: %s; outputs: %s",
					strings.Join(inputNames(g.In), ", "), strings.Join(g.OutNames, ", ")))
			}
			out = append(out, found...)
			continue
		}
		t, why := readTie(g, s)
		if why != "" {
			wrong = append(wrong, "--state "+s+": "+why)
			continue
		}
		for _, o := range out {
			if o.In == t.In || o.Out == t.Out {
				wrong = append(wrong, fmt.Sprintf("--state %s: %s=%s is there already", s, o.Out, o.In))
			}
		}
		out = append(out, t)
	}
	if len(out) == len(g.In) && len(out) > 0 && len(wrong) == 0 && len(g.Out) == len(out) {
		wrong = append(wrong, "--state: nothing is left that could be read or written: every input and output is state")
	}
	if len(wrong) > 0 {
		for i, w := range wrong {
			wrong[i] = text.Line(w)
		}
		return nil, &UsageError{Msg: strings.Join(wrong, "\n")}
	}
	return out, nil
}

// readTie reads OUT=IN; names may hold equals signs themselves.
func readTie(g *ir.Graph, s string) (lower.StateBinding, string) {
	for i := range s {
		if s[i] != '=' {
			continue
		}
		o := slices.Index(g.OutNames, s[:i])
		k := slices.IndexFunc(g.In, func(v *ir.Value) bool { return v.Name == s[i+1:] })
		if o < 0 || k < 0 {
			continue
		}
		if a, b := g.Out[o].Type, g.In[k].Type; a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) {
			return lower.StateBinding{}, fmt.Sprintf("output %s is %s%v, input %s is %s%v; want one type and shape",
				s[:i], a.DType, a.Shape, s[i+1:], b.DType, b.Shape)
		}
		return lower.StateBinding{Out: s[:i], In: s[i+1:]}, ""
	}
	return lower.StateBinding{}, fmt.Sprintf("want OUTPUT=INPUT; outputs: %s; inputs: %s",
		strings.Join(g.OutNames, ", "), strings.Join(inputNames(g.In), ", "))
}

// namedTies pairs outputs with inputs of the same type by the names that
// exporters give recurrent state.
func namedTies(g *ir.Graph) []lower.StateBinding {
	var out []lower.StateBinding
	for _, v := range g.In {
		x := v.Name
		names := []string{x + "N", x + "n", x + "_n", x + "_out", x + "_next", x + "_new", "new_" + x, "next_" + x,
			x + "_o"}
		for _, cut := range [][2]string{{"_in", "_out"}, {"_i", "_o"}, {"_prev", ""}, {"_prev", "_next"}, {"_0", "_n"},
			{"0", "n"}, {"0", "N"}} {
			if s, ok := strings.CutSuffix(x, cut[0]); ok {
				names = append(names, s+cut[1])
			}
		}
		for _, cut := range [][2]string{{"past_", "present_"}, {"past.", "present."}, {"past_key_values.", "present."},
			{"prev_", ""}, {"in_", "out_"}, {"input_", "output_"}} {
			if s, ok := strings.CutPrefix(x, cut[0]); ok {
				names = append(names, cut[1]+s)
			}
		}
		for i, n := range g.OutNames {
			t := g.Out[i].Type
			if slices.Contains(names, n) && t.DType == v.Type.DType && slices.Equal(t.Shape, v.Type.Shape) {
				out = append(out, lower.StateBinding{Out: n, In: x})
				break
			}
		}
	}
	return out
}

// recurrence runs a graph one step after the other: state goes from outputs to
// inputs, the caller sees the rest.
type recurrence struct {
	g       *ir.Graph
	in, out []int // of every tie
	init    []*tensor.Dense
	state   []*tensor.Dense
	slide   *stream.Options // the input that is fed a few frames at a time
	window  *tensor.Dense   // all frames of it
	// run evaluates the graph; nil: the interpreter.
	run func(in []*tensor.Dense) ([]*tensor.Dense, error)
}

func newRecurrence(g *ir.Graph, ties []lower.StateBinding) *recurrence {
	r := &recurrence{g: g}
	for _, t := range ties {
		r.init = append(r.init, t.Init)
		r.in = append(r.in, slices.IndexFunc(g.In, func(v *ir.Value) bool { return v.Name == t.In }))
		r.out = append(r.out, slices.Index(g.OutNames, t.Out))
	}
	r.reset()
	return r
}

// sliding is a recurrence whose graph wants whole windows of an input, of
// which the caller gives the newest frames.
func sliding(g *ir.Graph, ties []lower.StateBinding, o *stream.Options) *recurrence {
	r := newRecurrence(g, ties)
	r.slide = o
	r.reset()
	return r
}

// reset makes the state what it is before the first step, the window zero.
func (r *recurrence) reset() {
	r.state = nil
	for k, i := range r.in {
		d := r.init[k]
		if d == nil {
			d = zero(r.g.In[i].Type)
		}
		r.state = append(r.state, d)
	}
	if r.slide != nil {
		r.window = zero(r.g.In[r.slide.Input].Type)
	}
}

// zero is a tensor that stands for zeros.
func zero(t ir.Type) *tensor.Dense {
	d := tensor.New(t.DType, t.Shape)
	if t.Quant != nil {
		for k := range d.Len() {
			d.SetInt(k, int64(t.Quant.ZeroAt(0)))
		}
	}
	return d
}

// inputs are those that the caller gives.
func (r *recurrence) inputs() []*ir.Value {
	var vs []*ir.Value
	for i, v := range r.g.In {
		switch {
		case slices.Contains(r.in, i):
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

// outputs are the indices of those that the caller sees.
func (r *recurrence) outputs() []int {
	var is []int
	for i := range r.g.Out {
		if !slices.Contains(r.out, i) {
			is = append(is, i)
		}
	}
	return is
}

// full completes the caller's inputs by the state.
func (r *recurrence) full(in []*tensor.Dense) []*tensor.Dense {
	var all []*tensor.Dense
	k := 0
	for i := range r.g.In {
		if t := slices.Index(r.in, i); t >= 0 {
			all = append(all, r.state[t])
			continue
		}
		all = append(all, in[k])
		k++
	}
	return all
}

// step is one run: all outputs of the graph, and the state moves on.
func (r *recurrence) step(in []*tensor.Dense) ([]*tensor.Dense, error) {
	if r.slide != nil {
		in = slices.Clone(in)
		for k, v := range r.inputs() {
			if v.Name == r.g.In[r.slide.Input].Name {
				r.window = shifted(r.window, in[k], r.slide.Axis)
				in[k] = r.window
			}
		}
	}
	run := r.run
	if run == nil {
		run = func(in []*tensor.Dense) ([]*tensor.Dense, error) { return interp.Run(r.g, in, nil) }
	}
	outs, err := run(r.full(in))
	if err != nil {
		return nil, err
	}
	for t, i := range r.out {
		r.state[t] = outs[i]
	}
	return outs, nil
}

// calibration are samples for all inputs of a float graph with state: those of
// the files where they hold the state, too; else the files' samples are one
// sequence that starts from zero, and the state is what the float model makes of
// it.
func (c *Config) calibration(g *ir.Graph, ties []lower.StateBinding) ([]quant.Sample, error) {
	if len(ties) == 0 {
		return quant.ReadSamples(c.Calib, g.In, c.dataLimits())
	}
	if s, err := quant.ReadSamples(c.Calib, g.In, c.dataLimits()); err == nil {
		return s, nil
	}
	r := newRecurrence(g, ties)
	s, err := quant.ReadSamples(c.Calib, r.inputs(), c.dataLimits())
	if err != nil {
		return nil, err
	}
	return r.sequence(s)
}

// sequence runs samples of the caller's inputs one after the other and gives
// them with the state that each step found.
func (r *recurrence) sequence(s []quant.Sample) ([]quant.Sample, error) {
	var out []quant.Sample
	for _, x := range s {
		out = append(out, r.full(x))
		if _, err := r.step(x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// recurrence runs the program that verify compares with: on whole windows,
// where the firmware is fed a few frames at a time.
func (o *Compiled) recurrence() *recurrence {
	return sliding(o.reference(), o.tied(), o.Lowered.Slides)
}

// ports are the inputs and outputs of the firmware.
func (o *Compiled) ports() *recurrence {
	return newRecurrence(o.Lowered.Graph, o.Lowered.StateBindings)
}

// tied is the state that the user named, without that of --stream.
func (o *Compiled) tied() []lower.StateBinding {
	t := o.Lowered.StateBindings
	if s := o.Lowered.Streamed; s != nil {
		t = t[:len(t)-len(s.States)]
	}
	return t
}

// frames cuts samples of whole windows into steps.
func (o *Compiled) frames(samples [][]*tensor.Dense) [][]*tensor.Dense {
	var out [][]*tensor.Dense
	s := o.Lowered.Slides
	for _, x := range samples {
		for at := 0; at+s.Hop <= x[s.Input].Shape[s.Axis]; at += s.Hop {
			y := slices.Clone(x)
			y[s.Input] = rows(x[s.Input], s.Axis, at, at+s.Hop)
			out = append(out, y)
		}
	}
	return out
}

// rows are indices lo to hi of a dimension.
func rows(d *tensor.Dense, axis, lo, hi int) *tensor.Dense {
	shape := slices.Clone(d.Shape)
	shape[axis] = hi - lo
	st := tensor.Strides(d.Shape)
	y := tensor.New(d.DType, shape)
	tensor.Gather(y, d, shape, st, lo*st[axis])
	return y
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
		if y.DType.IsFloat() {
			y.SetFloat(i, src.Float(at))
		} else {
			y.SetInt(i, src.Int(at))
		}
	}
	return y
}

// stream reads --stream [INPUT=]AXIS[:HOP].
func (c *Config) stream(g *ir.Graph, ties []lower.StateBinding) (*stream.Options, error) {
	if c.Stream == "" {
		return nil, nil
	}
	s, o := c.Stream, &stream.Options{}
	if i := strings.LastIndex(s, "="); i >= 0 {
		o.Input = slices.IndexFunc(g.In, func(v *ir.Value) bool { return v.Name == s[:i] })
		if o.Input < 0 {
			return nil, usage("--stream %s: there is no input %s; inputs: %s", c.Stream, s[:i],
				strings.Join(inputNames(g.In), ", "))
		}
		s = s[i+1:]
	} else {
		free := newRecurrence(g, ties).inputs()
		if len(free) != 1 {
			return nil, usage("--stream %s: the model has %d inputs (%s); want INPUT=AXIS", c.Stream, len(free),
				strings.Join(inputNames(free), ", "))
		}
		o.Input = slices.Index(g.In, free[0])
	}
	axis, hop, given := strings.Cut(s, ":")
	var err error
	if o.Axis, err = strconv.Atoi(axis); err != nil {
		return nil, usage("--stream %s: want [INPUT=]AXIS[:FRAMES], with a dimension of the input and, if you like, "+
			"the new frames of a step", c.Stream)
	}
	if o.Axis < 0 {
		o.Axis += g.In[o.Input].Type.Rank()
	}
	if given {
		if o.Hop, err = strconv.Atoi(hop); err != nil || o.Hop < 1 {
			return nil, usage("--stream %s: %q new frames; want a positive number", c.Stream, hop)
		}
	}
	return o, nil
}

// runSteps takes one step, or, with state, one for every index of a first axis that
// the inputs have beyond the model's: the outputs then have it, too. to brings
// an input to its type, from an output to what is written.
func (r *recurrence) runSteps(in []*tensor.Dense, to func(d *tensor.Dense, v *ir.Value) (*tensor.Dense, error),
	from func(d *tensor.Dense, t ir.Type) *tensor.Dense) ([]*tensor.Dense, []string, error) {
	steps, vs := -1, r.inputs()
	for i, d := range in {
		if len(r.in) == 0 && r.slide == nil || len(d.Shape) != vs[i].Type.Rank()+1 {
			continue
		}
		if steps >= 0 && steps != d.Shape[0] {
			return nil, nil, badInput("input %s has %d steps, another input %d", vs[i].Name, d.Shape[0], steps)
		}
		steps = d.Shape[0]
	}
	var names []string
	for _, i := range r.outputs() {
		names = append(names, r.g.OutNames[i])
	}
	all := make([]*tensor.Dense, len(names))
	for k := range max(steps, 1) {
		var now []*tensor.Dense
		for i, d := range in {
			if steps >= 0 && len(d.Shape) == vs[i].Type.Rank()+1 {
				d = part(d, k)
			}
			x, err := to(d, vs[i])
			if err != nil {
				return nil, nil, err
			}
			now = append(now, x)
		}
		outs, err := r.step(now)
		if err != nil {
			return nil, nil, err
		}
		for j, i := range r.outputs() {
			y := from(outs[i], r.g.Out[i].Type)
			if steps < 0 {
				all[j] = y
				continue
			}
			if all[j] == nil {
				all[j] = tensor.New(y.DType, append([]int{steps}, y.Shape...))
			}
			n := y.Len()
			for e := range n {
				if y.DType.IsFloat() {
					all[j].SetFloat(k*n+e, y.Float(e))
				} else {
					all[j].SetInt(k*n+e, y.Int(e))
				}
			}
		}
	}
	return all, names, nil
}

// part is index k of the first axis.
func part(d *tensor.Dense, k int) *tensor.Dense {
	shape := d.Shape[1:]
	n := tensor.Count(shape)
	y := tensor.New(d.DType, shape)
	tensor.Gather(y, d, []int{n}, []int{1}, k*n)
	return y
}

// runFloatSteps interprets a float model with state.
func (c *Config) runFloatSteps(dir string) error {
	_, g, err := c.load(nil)
	if err != nil {
		return err
	}
	ties, err := c.ties(g)
	if err != nil {
		return err
	}
	o, err := c.stream(g, ties)
	if err != nil {
		return err
	}
	if o != nil {
		res, err := stream.Apply(g, *o) // only to check it, and for the frames of a step
		if err != nil {
			return &InputError{err}
		}
		o.Hop = res.Hop
	}
	r := sliding(g, ties, o)
	in, err := readInputs(c.Inputs, inputNames(r.inputs()), c.dataLimits())
	if err != nil {
		return err
	}
	outs, names, err := r.runSteps(in, floatInput, func(d *tensor.Dense, _ ir.Type) *tensor.Dense { return d })
	if err != nil {
		return err
	}
	return c.writeOutputs(dir, outs, names)
}

package driver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/stream"
)

// ties reads --state: OUT=IN, or auto for the names that exporters use.
func (c *Config) ties(g *ir.Graph) ([]state.Binding, error) {
	var out []state.Binding
	var wrong []string
	for _, s := range c.States {
		if s == "auto" {
			found := state.ByName(g)
			if len(found) == 0 {
				wrong = append(wrong, fmt.Sprintf("--state auto: no output is named after an input of its type (x "+
					"and xN, x_out, x_next, new_x; x_in and x_out; past_x and present_x); inputs: %s; outputs: %s",
					strings.Join(inputNames(g.In), ", "), strings.Join(g.OutNames, ", ")))
			}
			out = append(out, found...)
			continue
		}
		t, err := state.Find(g, s)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("--state %s: %v", s, err))
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

// calibration are samples for all inputs of a float graph with state: those of
// the files where they hold the state, too; else the files' samples are one
// sequence that starts from zero, and the state is what the float model makes of
// it.
func (c *Config) calibration(g *ir.Graph, ties []state.Binding) ([]quant.Sample, error) {
	if len(ties) == 0 {
		return quant.ReadSamples(c.Calib, g.In, c.dataLimits())
	}
	if s, err := quant.ReadSamples(c.Calib, g.In, c.dataLimits()); err == nil {
		return s, nil
	}
	r := state.New(g, ties)
	s, err := quant.ReadSamples(c.Calib, r.Inputs(), c.dataLimits())
	if err != nil {
		return nil, err
	}
	return r.Sequence(s)
}

// stream reads --stream [INPUT=]AXIS[:HOP].
func (c *Config) stream(g *ir.Graph, ties []state.Binding) (*stream.Options, error) {
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
		free := state.New(g, ties).Inputs()
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
	r := state.Sliding(g, ties, o)
	in, err := readInputs(c.Inputs, inputNames(r.Inputs()), c.dataLimits())
	if err != nil {
		return err
	}
	outs, names, err := r.Steps(in, floatInput, func(d *tensor.Dense, _ ir.Type) *tensor.Dense { return d })
	if err != nil {
		return err
	}
	return c.writeOutputs(dir, outs, names)
}

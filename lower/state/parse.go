// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/stream"
)

// Parse reads the values of --state: OUT=IN, or auto for the names that exporters use.
func Parse(g *ir.Graph, values []string) ([]Binding, error) {
	var out []Binding
	var wrong []string
	for _, s := range values {
		if s == "auto" {
			found := ByName(g)
			if len(found) == 0 {
				wrong = append(wrong, fmt.Sprintf("--state auto: no output is named after an input of its type (x "+
					"and xN, x_out, x_next, new_x; x_in and x_out; past_x and present_x); inputs: %s; outputs: %s",
					strings.Join(ir.Names(g.In), ", "), strings.Join(g.OutNames, ", ")))
			}
			out = append(out, found...)
			continue
		}
		t, err := Find(g, s)
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
		return nil, errors.New(strings.Join(wrong, "\n"))
	}
	return out, nil
}

// ParseStream reads the value of --stream: [INPUT=]AXIS[:FRAMES]; "" is nil.
func ParseStream(g *ir.Graph, bindings []Binding, value string) (*stream.Options, error) {
	if value == "" {
		return nil, nil
	}
	s, o := value, &stream.Options{}
	if i := strings.LastIndex(s, "="); i >= 0 {
		o.Input = slices.IndexFunc(g.In, func(v *ir.Value) bool { return v.Name == s[:i] })
		if o.Input < 0 {
			return nil, text.Errorf("--stream %s: there is no input %s%s; inputs: %s", value, s[:i],
				text.Meant(s[:i], ir.Names(g.In)), strings.Join(ir.Names(g.In), ", "))
		}
		s = s[i+1:]
	} else {
		free := New(g, bindings).Inputs()
		if len(free) != 1 {
			return nil, text.Errorf("--stream %s: the model has %d inputs (%s); want INPUT=AXIS", value, len(free),
				strings.Join(ir.Names(free), ", "))
		}
		o.Input = slices.Index(g.In, free[0])
	}
	axis, hop, given := strings.Cut(s, ":")
	var err error
	if o.Axis, err = strconv.Atoi(axis); err != nil {
		return nil, text.Errorf("--stream %s: want [INPUT=]AXIS[:FRAMES], with a dimension of the input and, if you "+
			"like, the new frames of a step", value)
	}
	if o.Axis < 0 {
		o.Axis += g.In[o.Input].Type.Rank()
	}
	if given {
		if o.Hop, err = strconv.Atoi(hop); err != nil || o.Hop < 1 {
			return nil, text.Errorf("--stream %s: %q new frames; want a positive number", value, hop)
		}
	}
	return o, nil
}

// Float is a Runner of a float model; with o it is fed a few frames at a time, which is
// checked.
func Float(g *ir.Graph, bindings []Binding, o *stream.Options) (*Runner, error) {
	if o == nil {
		return New(g, bindings), nil
	}
	made, err := stream.Apply(g, *o)
	if err != nil {
		return nil, err
	}
	at := *o
	at.Hop = made.Hop
	return Sliding(g, bindings, &at), nil
}

// Calibration are samples for all inputs of a float graph with state: those of the
// files where they hold the state, too; else the files' samples are one sequence that
// starts from zero, and the state is what the float model makes of it. Diagnostics say
// what was assumed of the files.
func Calibration(paths []string, g *ir.Graph, bindings []Binding, o data.Options) ([]quant.Sample, diag.List, error) {
	s, said, err := read(paths, g.In, o)
	if err == nil || len(bindings) == 0 {
		return s, said, err
	}
	r := New(g, bindings)
	if s, said, err = read(paths, r.Inputs(), o); err != nil {
		return nil, nil, err
	}
	s, err = r.Sequence(s)
	return s, said, err
}

func read(paths []string, in []*ir.Value, o data.Options) ([]quant.Sample, diag.List, error) {
	set, err := data.Open(paths, in, o)
	if err != nil {
		return nil, nil, err
	}
	s, err := quant.SamplesOf(set)
	return s, set.Diags, err
}

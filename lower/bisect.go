// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// reassociated bounds max|a-b| / max|b| of a float output before and after a
// stage that only takes sums in another order.
const reassociated = 1e-4

// Comparison is what a stage did to the outputs.
type Comparison struct {
	Step       string   `json:"stage"`
	Stage      string   `json:"-"`
	Numerics   string   `json:"numerics"`
	Allowed    string   `json:"allowed"`           // in words
	Difference float64  `json:"max_diff"`          // largest max|a-b| / max|b| of an output
	SQNR       *float64 `json:"sqnr_db,omitempty"` // least signal-to-noise ratio of an output in dB; nil: none differs
	Output     string   `json:"output,omitempty"`  // the output with the largest difference; "" where none differs
	Skipped    string   `json:"skipped,omitempty"` // why nothing was compared
	Error      string   `json:"error,omitempty"`   // why the graph could not be interpreted
	Beyond     bool     `json:"beyond"`            // the stage did more than its numerics allow
}

// Bisector interprets the graph after every stage and compares it with the
// graph before. Its method Observe is for Options.Observe.
type Bisector struct {
	// Samples are inputs of the model as it was imported, by name: each has all.
	Samples []map[string]*tensor.Dense
	Stages  []Comparison
	before  [][]result
}

// Guilty is the first stage that did more than its numerics allow; nil: none
// did.
func (b *Bisector) Guilty() *Comparison {
	for i := range b.Stages {
		if b.Stages[i].Beyond {
			return &b.Stages[i]
		}
	}
	return nil
}

// Observe compares the outputs after a stage with those before. Where the graph
// cannot be interpreted, the stage is guilty, and later ones are compared among
// themselves.
func (b *Bisector) Observe(s Step) error {
	c := Comparison{Step: s.Name(), Stage: s.Stage.Name, Numerics: s.Stage.Numerics.String(),
		Allowed: s.Stage.allowed()}
	var after [][]result
	for _, in := range b.Samples {
		out, err := results(s.State, in)
		if err != nil {
			c.Error, c.Beyond, after = err.Error(), true, nil
			break
		}
		after = append(after, out)
	}
	switch {
	case c.Error != "":
	case b.before == nil:
		c.Skipped = "nothing stands before it"
	case !sameOutputs(b.before, after):
		c.Skipped = "the outputs are others from here on"
	default:
		c.compare(s.Stage, b.before, after)
	}
	b.before = after
	b.Stages = append(b.Stages, c)
	return nil
}

// allowed says what a stage may do to the outputs.
func (t *Stage) allowed() string {
	switch t.Numerics {
	case pass.Exact:
		return "nothing"
	case pass.Reassoc:
		return fmt.Sprintf("%g of the largest value", reassociated)
	}
	return fmt.Sprintf("noise %g dB below the signal", t.LeastSQNR)
}

// result is an output as real numbers.
type result struct {
	name string
	real bool // it stands for real numbers: it is no index and no truth value
	data *tensor.Dense
}

// results runs the graph of a state on inputs of the model, as it is fed in the
// firmware, and gives the outputs of the model.
func results(s *State, sample map[string]*tensor.Dense) ([]result, error) {
	in := make([]*tensor.Dense, len(s.Graph.In))
	for i, v := range s.Graph.In {
		in[i] = fed(sample[v.Name], v.Type)
	}
	out, err := interp.Run(s.Graph, in, nil)
	if err != nil {
		return nil, err
	}
	named := func(g *ir.Graph, out []*tensor.Dense) []result {
		var list []result
		for i, v := range g.Out {
			r := result{g.OutNames[i], v.Type.DType.IsFloat() || v.Type.Quant != nil, out[i]}
			if v.Type.Quant != nil {
				r.data = ir.Dequantise(out[i], v.Type.Quant).Cast(tensor.F32)
			}
			list = append(list, r)
		}
		return list
	}
	native := named(s.Graph, out)
	if s.reconstruction == nil {
		return native, nil
	}
	in = in[:0]
	for _, v := range s.reconstruction.In {
		i := slices.IndexFunc(native, func(r result) bool { return r.name == v.Name })
		if i < 0 {
			return nil, fmt.Errorf("the graph has no output %s, which is needed to rebuild the model's", v.Name)
		}
		d := out[i]
		if v.Type.DType.IsFloat() { // it moves real numbers, whatever stands for them
			d = native[i].data.Cast(v.Type.DType)
		}
		in = append(in, d)
	}
	if out, err = interp.Run(s.reconstruction, in, nil); err != nil {
		return nil, err
	}
	return named(s.reconstruction, out), nil
}

// fed is a model's input as a graph takes it: quantised, in its type, and with
// zeros or without the rest where the graph takes another shape (padded channels,
// a few frames, state, which begins with zeros).
func fed(d *tensor.Dense, t ir.Type) *tensor.Dense {
	if d == nil || !slices.Equal(d.Shape, t.Shape) {
		d = resized(d, t)
	}
	switch {
	case d.DType == t.DType:
		return d
	case t.Quant != nil && d.DType.IsFloat():
		return ir.QuantiseEven(d.Cast(tensor.F32), t)
	}
	return d.Cast(t.DType)
}

// resized has the elements of d that have a place in the shape of t.
func resized(d *tensor.Dense, t ir.Type) *tensor.Dense {
	if d == nil {
		return tensor.New(t.DType, t.Shape)
	}
	if len(d.Shape) != len(t.Shape) {
		if d.Len() == t.Elems() {
			return d.Reshaped(t.Shape)
		}
		return tensor.New(t.DType, t.Shape)
	}
	return framed(d, t.Shape, func(*tensor.Dense, int) {})
}

func sameOutputs(a, b [][]result) bool {
	return slices.EqualFunc(a, b, func(a, b []result) bool {
		return slices.EqualFunc(a, b, func(x, y result) bool {
			return x.name == y.name &&
				x.data.Len() == y.data.Len()
		})
	})
}

// compare fills c from the outputs of all samples.
func (c *Comparison) compare(t *Stage, before, after [][]result) {
	least := math.Inf(1)
	for k := range before {
		for i, was := range before[k] {
			is := after[k][i]
			d := interp.Diff(is.data, was.data)
			if d > c.Difference {
				c.Difference, c.Output = d, was.name
			}
			snr := interp.SQNR(is.data, was.data)
			least = min(least, snr)
			switch {
			case t.Numerics == pass.Exact:
				c.Beyond = c.Beyond || d > 0
			case t.Numerics == pass.Reassoc:
				c.Beyond = c.Beyond || d > reassociated
			default:
				c.Beyond = c.Beyond || was.real && snr < t.LeastSQNR
			}
		}
	}
	if c.Difference > 0 {
		c.SQNR = &least
	}
}

package driver

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/nncc/nncc/ir"

	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/legal4d"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/target"
)

// Rewritten is a model written back as ONNX, with what was done to it.
type Rewritten struct {
	Model       []byte         `json:"-"`
	Passes      []string       `json:"passes"`
	Rewrites    []pass.Rewrite `json:"rewrites"`
	Calibration *quant.Report  `json:"calibration,omitempty"`
	Warnings    []string       `json:"warnings"`
	// Native describes how original outputs follow from the model's own, where
	// these are an accelerator's (--outputs native).
	Native []legal4d.Output `json:"outputs,omitempty"`
	// Left are nodes that have no 4-D form.
	Left []legal4d.Left `json:"left,omitempty"`
	// Differences compare the rewritten model with the original.
	Differences []Difference `json:"differences,omitempty"`
	nodes       [2]int
}

// Difference compares one output over the inputs tried.
type Difference struct {
	Output string  `json:"output"`
	Min    float64 `json:"min"` // of rewritten minus original
	Max    float64 `json:"max"`
	// Relative is the largest magnitude of the difference over that of the output.
	Relative float64 `json:"relative"`
}

// Text lists the rewrites.
func (r *Rewritten) Text() string {
	var b strings.Builder
	for _, w := range r.Rewrites {
		fmt.Fprintf(&b, "%s: %s: %s\n", w.Pass, w.Node, w.What)
	}
	for _, l := range r.Left {
		fmt.Fprintf(&b, "not 4-D: %s %s: %s\n", l.Op, l.Node, l.Reason)
	}
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "output %s: difference to the original from %.3g to %.3g, %.2g of the largest value\n", d.Output, d.Min, d.Max, d.Relative)
	}
	fmt.Fprintf(&b, "%d nodes before, %d after\n", r.nodes[0], r.nodes[1])
	return b.String()
}

// LegalizeModel runs the float passes (all, or those named) and exports.
func (c *Config) LegalizeModel(only []string) (*Rewritten, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	_, g, err := c.load(nil)
	if err != nil {
		return nil, err
	}
	r := &Rewritten{Rewrites: []pass.Rewrite{}}
	r.nodes[0] = len(g.Nodes)
	passes := lower.FloatPasses(c.Legalize == "on")
	if len(only) > 0 {
		if passes, err = pass.Select(legal.Passes, only...); err != nil {
			return nil, &UsageError{err.Error()}
		}
	}
	for _, p := range passes {
		r.Passes = append(r.Passes, p.Name)
	}
	ctx := &pass.Ctx{}
	if err := (&pass.Manager{Passes: passes}).Run(ctx, g); err != nil {
		return nil, err
	}
	for _, w := range ctx.Warnings {
		c.warn(w.Error())
	}
	r.Rewrites = append(r.Rewrites, ctx.Rewrites...)
	r.nodes[1] = len(g.Nodes)
	r.Warnings = append([]string{}, c.warnings...)
	if r.Model, err = exportBytes(g, false); err != nil {
		return nil, err
	}
	return r, nil
}

// Legalize4D writes the model on 4-D tensors: with the accelerator's own
// outputs (native) or with the original ones rebuilt, and compares both with
// the original on seeded inputs.
func (c *Config) Legalize4D(outputs string) (*Rewritten, error) {
	if err := oneOf("outputs", outputs, "native", "original"); err != nil {
		return nil, err
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	_, g, err := c.load(nil)
	if err != nil {
		return nil, err
	}
	if lower.Quantised(g) {
		return nil, &InputError{fmt.Errorf("%s is quantised: the 4-D rewrites take float models", c.Model)}
	}
	res, err := legal4d.Run(g, legal4d.Options{})
	if err != nil {
		return nil, err
	}
	whole, _, err := res.Original()
	if err != nil {
		return nil, err
	}
	r := &Rewritten{Passes: []string{"legal4d"}, Rewrites: append([]pass.Rewrite{}, res.Rewrites...), Left: res.Left}
	if r.Differences, err = differences(g, whole); err != nil {
		return nil, err
	}
	out := whole
	if outputs == "native" {
		out, r.Native = res.Native, res.Outputs
	}
	r.nodes = [2]int{len(g.Nodes), len(out.Nodes)}
	r.Warnings = append([]string{}, c.warnings...)
	if r.Model, err = exportBytes(out, false); err != nil {
		return nil, err
	}
	return r, nil
}

// triedInputs is how many seeded inputs two models are compared on.
const triedInputs = 3

// differences runs two float graphs with the same inputs and outputs.
func differences(a, b *ir.Graph) ([]Difference, error) {
	out := make([]Difference, len(a.Out))
	top := make([]float64, len(a.Out))
	for k := 0; k < triedInputs; k++ {
		r := rand.New(rand.NewPCG(uint64(k), 4))
		var in []*tensor.Dense
		for _, v := range a.In {
			in = append(in, seeded(r, v.Type))
		}
		x, err := interpret(a, in)
		if err != nil {
			return nil, err
		}
		y, err := interpret(b, in)
		if err != nil {
			return nil, err
		}
		for i := range x {
			d := &out[i]
			d.Output = a.OutNames[i]
			for e, n := 0, x[i].Len(); e < n; e++ {
				u, v := x[i].Float(e), y[i].Float(e)
				d.Min, d.Max = min(d.Min, v-u), max(d.Max, v-u)
				top[i] = max(top[i], math.Abs(u))
			}
		}
	}
	for i := range out {
		out[i].Relative = max(-out[i].Min, out[i].Max) / max(top[i], 1e-30)
	}
	return out, nil
}

// QuantizeModel legalises, quantises and exports the QDQ graph.
func (c *Config) QuantizeModel() (*Rewritten, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if c.Precision == "float32" {
		return nil, usage("quantize --precision float32: there is nothing to quantise")
	}
	_, g, err := c.load(nil)
	if err != nil {
		return nil, err
	}
	r := &Rewritten{Rewrites: []pass.Rewrite{}}
	r.nodes[0] = len(g.Nodes)
	if lower.Quantised(g) {
		return nil, &InputError{fmt.Errorf("%s is quantised already", c.Model)}
	}
	q, err := c.quantOptions(g)
	if err != nil {
		return nil, err
	}
	// Halves are rounded away from zero in fixed point; QuantizeLinear would
	// round them to even, so the model spells the rounding out.
	q.SpellRounding = q.FixedActivations != nil
	res := &lower.Result{}
	if err := lower.Legalise(g, lower.Options{Legalize: c.Legalize == "on", Target: target.Options{}}, res, nil); err != nil {
		return nil, err
	}
	for _, w := range res.Warnings {
		c.warn(w)
	}
	if r.Calibration, err = quant.Insert(g, q); err != nil {
		return nil, err
	}
	r.Rewrites = append(r.Rewrites, res.Rewrites...)
	r.nodes[1] = len(g.Nodes)
	r.Warnings = append([]string{}, c.warnings...)
	if r.Model, err = exportBytes(g, false); err != nil {
		return nil, err
	}
	return r, nil
}

package driver

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/legal"
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
	nodes       [2]int
}

// Text lists the rewrites.
func (r *Rewritten) Text() string {
	var b strings.Builder
	for _, w := range r.Rewrites {
		fmt.Fprintf(&b, "%s: %s: %s\n", w.Pass, w.Node, w.What)
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

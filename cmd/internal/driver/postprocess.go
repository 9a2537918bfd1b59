// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"path/filepath"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/verify"
)

// postFile is what --postprocess made of a run's outputs, beside them.
const postFile = "postprocess.json"

// poster makes of the outputs of runs what --postprocess declares.
type poster struct {
	Runs []data.Found `json:"runs"`

	post   *data.Post
	reader *data.Reader
	types  []ir.Type
	now    [][]float32 // outputs of a run that came so far
}

// resolvePost finds what --postprocess declares in the outputs of a model; nil: nothing is.
func (c *Config) resolvePost(r *state.Runner) (*data.Post, []ir.Type, error) {
	if err := c.readSpec(); err != nil || c.spec.Outputs.Empty() {
		return nil, nil, err
	}
	var names []string
	var types []ir.Type
	for _, i := range r.Outputs() {
		names = append(names, r.Graph.OutNames[i])
		types = append(types, verify.RealType(r.Graph.Out[i]))
	}
	p, err := c.spec.Outputs.Resolve(r.Inputs(), names, types)
	if err != nil {
		return nil, nil, asInput(err)
	}
	c.Diags.Add(p.Diags.From("data")...)
	return p, types, nil
}

// poster is nil where nothing is declared.
func (c *Config) poster(r *state.Runner) (*poster, error) {
	post, types, err := c.resolvePost(r)
	if post == nil {
		return nil, err
	}
	return &poster{post: post, reader: post.NewReader(), types: types, Runs: []data.Found{}}, nil
}

// add takes outputs in their order; with the last one of a run it looks at them.
func (p *poster) add(outs ...*tensor.Dense) {
	if p == nil {
		return
	}
	for _, d := range outs {
		p.now = append(p.now, reals(d, p.types[len(p.now)]))
	}
	if len(p.now) == len(p.types) {
		p.Runs, p.now = append(p.Runs, p.reader.Read(p.now)), nil
	}
}

// reals are the values of an output.
func reals(d *tensor.Dense, t ir.Type) []float32 {
	if d.DType == t.DType {
		d = verify.Dequantised(d, t)
	}
	out := make([]float32, d.Len())
	for i := range out {
		out[i] = float32(d.Float(i))
	}
	return out
}

// mostRuns bounds the runs of which something is printed.
const mostRuns = 20

// text is what was found, in lines.
func (p *poster) text(dir string) []string {
	out := []string{"wrote " + filepath.Join(dir, postFile) + ": what --postprocess made of the outputs"}
	for i, r := range p.Runs {
		if i == mostRuns {
			return append(out, fmt.Sprintf("... and of %d runs more", len(p.Runs)-i))
		}
		for _, l := range p.post.Lines(r) {
			if len(p.Runs) > 1 {
				l = fmt.Sprintf("run %d: %s", i, l)
			}
			out = append(out, l)
		}
	}
	return out
}

// postprocessing is what --postprocess wants as C, of outputs that the firmware has as the
// model has them; nil: nothing.
func (c *Config) postprocessing(o *Compiled) (*codegen.Postprocess, error) {
	if c.spec == nil || c.Eval.Data != "" { // eval writes no folder
		return nil, nil
	}
	if !c.spec.Outputs.Emits() {
		if c.Told["postprocess"] && !c.spec.Outputs.Empty() {
			c.warn("data", "no-effect", "--postprocess", "--postprocess has no effect: emit is not set, and only run "+
				"and eval look at outputs")
		}
		return nil, nil
	}
	r := o.Lowered.Interface()
	post, types, err := c.resolvePost(r)
	if err != nil {
		return nil, err
	}
	p := &codegen.Postprocess{}
	for _, i := range r.Outputs() {
		p.Outputs = append(p.Outputs, r.Graph.OutNames[i])
	}
	p.Boxes, p.Classes, p.Keywords = c.spec.Outputs.Emitted(post)
	if err := p.Check(types); err != nil {
		return nil, badInput("--postprocess: emit: %w", err)
	}
	return p, nil
}

// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/verify"
)

// Rewritten is a model written back as ONNX, with what was done to it.
type Rewritten struct {
	lower.Form
	Model       []byte        `json:"-"`
	Calibration *quant.Report `json:"calibration,omitempty"`
	Precision   string        `json:"precision,omitempty"` // of a quantised model
	Warnings    []string      `json:"warnings"`
	// Differences compare the rewritten model with the original.
	Differences []lower.Difference `json:"differences,omitempty"`
	// Differs is set where a difference is larger than the rewrites explain;
	// nothing is to be written then.
	Differs error `json:"-"`
	nodes   [2]int
	config  *Config
}

// Write puts the model at path and, where its outputs are an accelerator's, the
// description of how the original ones are rebuilt at path.json: both or none.
func (r *Rewritten) Write(path string) error {
	var beside []files.Target
	if r.Native != nil {
		beside = append(beside, files.Target{Path: filepath.Base(path) + ".json", Data: report.JSON(r.Native),
			Mine: lower.IsNative})
	}
	return r.config.replaceFiles(path, r.Model, beside...)
}

// Text lists the rewrites.
func (r *Rewritten) Text() string {
	r = text.Lines(r)
	var b strings.Builder
	if slices.Contains(r.Passes, "align") {
		b.WriteString(report.AlignmentText(r.Alignment))
	}
	for _, w := range r.Rewrites {
		if w.Pass == "align" {
			continue // in the table
		}
		fmt.Fprintf(&b, "%s: %s: %s\n", w.Pass, w.Node, w.What)
	}
	for _, l := range r.Left {
		fmt.Fprintf(&b, "not 4-D: %s %s: %s\n", l.Op, l.Node, l.Reason)
	}
	for _, d := range r.Differences {
		b.WriteString(d.String() + "\n")
	}
	fmt.Fprintf(&b, "%d nodes before, %d after\n", r.nodes[0], r.nodes[1])
	return b.String()
}

// LegalizeModel writes the rewritten float model, compared with the model as it was.
//
// outputs chooses the form: native is on 4-D tensors with an accelerator's own
// outputs, original has the nodes that rebuild the original outputs behind
// them. Without a choice, the form is that of what the model is for: with
// passes named (only), with --legalize off, for a board without an accelerator
// and for a quantised model it keeps its ranks and outputs; else it is native.
func (c *Config) LegalizeModel(only []string, outputs option.Outputs) (_ *Rewritten, err error) {
	defer fail.Catch(&err)
	if outputs != option.OutputsByUse && len(only) > 0 {
		return nil, usage("--outputs %s rewrites the whole model; it does not go with --only", outputs)
	}
	fail.Check(c.Check())
	accel := true
	if c.Board != "" {
		spec := fail.Must(c.board())
		accel = len(spec.Accelerators) > 0
	}
	_, g := fail.Must2(c.load(nil))
	if outputs == option.OutputsByUse && len(only) == 0 && accel && c.Legalize && !lower.Quantised(g) {
		outputs = option.NativeOutputs
	}
	form := fail.Must(c.form(g, only, outputs))
	r := &Rewritten{Form: form.Form, config: c, nodes: [2]int{len(g.Nodes), len(form.Graph.Nodes)}}
	fail.Check(c.compare(r, g, form))
	return r, r.export(form.Graph)
}

// export takes the model over, with what is to be said of it.
func (r *Rewritten) export(g *ir.Graph) (err error) {
	if err = r.config.strictly(); err == nil {
		r.Warnings = r.config.Diags.Texts(diag.Warning)
		r.Model, err = exportBytes(g, false)
	}
	return err
}

// form rewrites a copy of g: by the float passes (all, or those named) where it
// keeps its ranks, else on 4-D tensors.
func (c *Config) form(g *ir.Graph, only []string, outputs option.Outputs) (*lower.Rewritten, error) {
	if outputs != option.OutputsByUse {
		if lower.Quantised(g) {
			return nil, badInput("%s is quantised: --outputs %s takes float models; without it a quantised "+
				"model is written on its own ranks", c.Model, outputs)
		}
		return lower.On4D(g, outputs == option.NativeOutputs)
	}
	o, err := c.ranksOptions(g, only)
	if err != nil {
		return nil, err
	}
	return lower.OnRanks(g.Clone(), o)
}

// compare compares the rewritten model with g.
func (c *Config) compare(r *Rewritten, g *ir.Graph, form *lower.Rewritten) error {
	var given []*tensor.Dense
	if len(c.Inputs) > 0 {
		in, err := single(c.firmwareInferences(g.In))
		if err != nil {
			return err
		}
		given = in
	}
	var failed, err error
	r.Differences, r.Differs, failed, err = verify.Rewritten(g, form.Whole, given, form.Exact)
	if failed != nil {
		c.warn("compare", "not-compared", "", "the rewritten model was not compared with the original, which does "+
			"not run: %v", failed)
	}
	return err
}

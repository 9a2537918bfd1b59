// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/legal4d"
	"github.com/nncc/nncc/lower/option"
)

// Form is what was done to a float model that is written back.
type Form struct {
	Passes   []string       `json:"passes"`
	Rewrites []pass.Rewrite `json:"rewrites"`
	// Native describes how original outputs follow from the model's own, where
	// these are an accelerator's.
	Native []legal4d.Output `json:"outputs,omitempty"`
	// Left are nodes that have no 4-D form.
	Left []legal4d.Left `json:"left,omitempty"`
	// Alignment is the table of the alignment repair.
	Alignment []align.Row `json:"alignment,omitempty"`
}

// NewForm is that of a model to which nothing was done.
func NewForm() Form { return Form{Rewrites: []pass.Rewrite{}} }

// Rewritten is a float model in another form.
type Rewritten struct {
	Form
	Graph *ir.Graph // in the form asked for
	Whole *ir.Graph // with the original outputs
	Exact bool      // only data was moved: every bit is as before
}

// RanksOptions of OnRanks.
type RanksOptions struct {
	Legalize bool     // all float passes, not only those that later stages rely on
	Only     []string // passes, by name, in place of these; align is among them
	Align    option.Align
	PadInput bool // align may pad inputs
	// Aligned is what is padded in the program for a board, where Align is to do the
	// same; nil: it decides by the model alone.
	Aligned *align.Result
}

// passes are the float passes that the options choose. The alignment repair among them
// writes its table to res.
func (o RanksOptions) passes(res *align.Result) ([]pass.Pass, error) {
	if len(o.Only) == 0 {
		return FloatPasses(o.Legalize), nil
	}
	a := align.Options{Mode: o.Align, PadInput: o.PadInput}
	if o.Aligned != nil {
		a.Chosen = append([]align.Row{}, o.Aligned.Rows...)
	}
	return Select(a, res, o.Only...)
}

// Check refuses passes that do not exist.
func (o RanksOptions) Check() error {
	_, err := o.passes(&align.Result{})
	return err
}

// OnRanks runs float passes on g, which keeps its ranks and outputs.
func OnRanks(g *ir.Graph, o RanksOptions) (_ *Rewritten, err error) {
	defer fail.Catch(&err)
	aligned := &align.Result{}
	passes := fail.Must(o.passes(aligned))
	r := &Rewritten{Form: NewForm(), Graph: g, Whole: g}
	r.Passes = lists.Map(passes, func(p pass.Pass) string { return p.Name })
	ctx := &pass.Ctx{}
	fail.Check((&pass.Manager{Passes: passes}).Run(ctx, g))
	r.Alignment = aligned.Rows
	r.Rewrites = append(r.Rewrites, ctx.Rewrites...)
	r.Exact = exactRewrites(ctx.Rewrites)
	return r, nil
}

// On4D brings g to tensors of rank 4, with an accelerator's own outputs
// (native) or with the nodes behind them that rebuild the original ones.
func On4D(g *ir.Graph, native bool) (_ *Rewritten, err error) {
	defer fail.Catch(&err)
	res := fail.Must(legal4d.Run(g, legal4d.Options{}))
	whole := fail.Must(res.Original())
	r := &Rewritten{Form: NewForm(), Graph: whole, Whole: whole, Exact: res.Moved && exactRewrites(res.Rewrites)}
	r.Passes, r.Left = []string{"legal4d"}, res.Left
	r.Rewrites = append(r.Rewrites, res.Rewrites...)
	if native {
		r.Graph, r.Native = res.Native, res.Outputs
	}
	return r, nil
}

// exactRewrites: all of them were made by passes that keep every bit.
func exactRewrites(rs []pass.Rewrite) bool {
	return !slices.ContainsFunc(rs, func(w pass.Rewrite) bool {
		p := legal.Find(w.Pass)
		return p == nil || p.Numerics != pass.Exact
	})
}

// IsNative reports that a file is a description of native outputs.
func IsNative(b []byte) bool {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var list []legal4d.Output
	return d.Decode(&list) == nil
}

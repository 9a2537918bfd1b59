package driver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/option"
)

// alignOptions are the options of the repair of ONNX models. What pays is
// decided where it is known: on the program that would be emitted for the board.
func (c *Config) alignOptions(g *ir.Graph, only []string) (align.Options, error) {
	o := align.Options{Mode: c.Align, PadInput: c.PadInput}
	if !slices.Contains(only, "align") || c.Align != option.AlignAuto {
		return o, nil
	}
	if c.Board == "" {
		c.warn("align", "no-board", "--align", "--align auto decides by what kernels cost on a board: without "+
			"--board nothing is padded (--align always pads by the rule)")
		return o, nil
	}
	spec, err := c.board()
	if err != nil {
		return o, err
	}
	if len(spec.Accelerators) > 0 {
		return o, usage("--align auto knows no costs of the accelerator of %s; want --align always, or another board",
			spec.Name)
	}
	d := *c // its remarks are about a program that is not written
	d.DeadChannels, d.DumpIR, d.TimePasses, d.Note = false, "", false, nil
	res, err := d.program(g.Clone(), spec)
	if err != nil {
		return o, err
	}
	o.Chosen = append([]align.Row{}, res.Aligned.Rows...)
	return o, nil
}

// alignmentText is the table of the alignment repair with the reasons below.
func alignmentText(rows []align.Row) string {
	var b strings.Builder
	b.WriteString(align.Table(rows))
	for i, w := range rows {
		if w.Status == align.Patched {
			continue
		}
		if i == 0 || rows[i-1].Reason != w.Reason {
			fmt.Fprintf(&b, "%s, %s:\n", w.Status, w.Reason)
		}
		fmt.Fprintf(&b, "    %s %s\n", w.Node, w.Constraint)
	}
	return b.String()
}

// ISA is the instruction set that prices go by: mve, dsp or c.
func (o *Compiled) ISA() string { return ISA(o.Board) }

// ISA names the instruction set of a board in the cost tables.
func ISA(b *boards.Spec) string { return core(b).ISA() }

// CostKey names the cost model of a node's kernel.
func (o *Compiled) CostKey(n *ir.Node) cost.Key {
	opt := lower.Options{Installed: o.Config.CMSISLib != "", Target: kernel.Options{Core: core(o.Board)}}
	return opt.CostTarget().Key(o.Lowered.Choices[n].Layer())
}

// inputNotes say in the header which inputs have more channels than the model's.
func (o *Compiled) inputNotes() map[string]string {
	if o.Lowered.Aligned == nil {
		return nil
	}
	m := map[string]string{}
	for name, n := range o.Lowered.Aligned.Inputs {
		m[name] = fmt.Sprintf("the model has %d channels; those behind them are padding (--pad-input), any values "+
			"will do", n)
	}
	return m
}

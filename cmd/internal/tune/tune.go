// SPDX-License-Identifier: Apache-2.0

// Package tune says what to change in a model for a board, each with its worth: the verb tune.
package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/board"
	"github.com/nncc/nncc/lower/option"
)

// Advice is one change of a model, its precision or its board.
type Advice struct {
	Node   string `json:"node"` // "": the whole model
	Change string `json:"change"`
	Effect Effect `json:"effect"`
	// Measured is how the effect is known: counted (instructions under QEMU), prices (the tables of costs), or
	// compiled (the changed program).
	Measured string `json:"measured"`
}

// Effect is the worth of an advice; what it does not change is left out.
type Effect struct {
	Instructions int     `json:"instructions,omitempty"`  // more (or fewer) of an inference
	Share        float64 `json:"share,omitempty"`         // of all instructions
	SQNR         float64 `json:"sqnr_db,omitempty"`       // more
	MissingBytes uint64  `json:"missing_bytes,omitempty"` // on another board
}

// holds ends the advice about a board with enough memory.
const holds = " holds it"

// How effects are known.
const (
	counted  = "counted"
	prices   = "prices"
	compiled = "compiled"
)

const (
	worth     = 0.02 // the least share of all instructions that an advice is given for
	wide      = 16   // channels are rounded up to multiples of it at most
	finer     = 3    // layers that are tried in int16
	gains     = 1.   // dB that such a layer has to bring
	neighbour = 3    // boards that are too small and named all the same
)

// tuner is a compiled model under advice.
type tuner struct {
	c      *driver.Config
	o      *driver.Compiled
	pricer *lower.Pricer
	counts []float64 // instructions of every step
	known  string    // how they are known
	all    float64
	advice []Advice
}

// Model compiles a model and gives advice; it counts its instructions under QEMU where the tools are there.
func Model(ctx context.Context, c *driver.Config) (_ []Advice, err error) {
	defer fail.Catch(&err)
	asked := *c
	asked.Note = nil // of a dozen programs that are only tried
	t := &tuner{c: &asked, o: fail.Must(c.Compile()), advice: []Advice{}}
	opt := fail.Must(board.Options(t.o.Board))
	t.pricer = fail.Must(lower.NewPricer(opt))
	fail.Check(t.count(ctx))
	for i, n := range t.o.Lowered.Schedule.Nodes {
		t.layer(i, n)
	}
	note := func(what string) {
		if c.Note != nil {
			c.Note(what)
		}
	}
	note("trying layers in int16")
	t.precision()
	note("trying other boards")
	slices.SortStableFunc(t.advice, func(a, b Advice) int {
		return cmp.Compare(a.Effect.Instructions, b.Effect.Instructions)
	})
	t.boards()
	return t.advice, nil
}

// count fills in what every step takes.
func (t *tuner) count(ctx context.Context) error {
	t.known = counted
	steps := t.o.Lowered.Schedule.Nodes
	v, err := t.o.Verify(ctx)
	var tool *run.ToolError
	switch {
	case errors.As(err, &tool) || t.o.Board.IsHost():
		t.known = prices
		t.counts = lists.Map(steps, func(n *ir.Node) float64 { return t.predicted(t.o, n) })
	case err != nil:
		return err
	default:
		for _, l := range v.Layers {
			t.counts = append(t.counts, float64(l.Instructions))
		}
	}
	for _, n := range t.counts {
		t.all += n
	}
	return nil
}

// predicted are the instructions of a step by the tables; 0 where they do not know.
func (t *tuner) predicted(o *driver.Compiled, n *ir.Node) float64 {
	for _, x := range o.Lowered.Candidates[n] {
		if x.Chosen {
			return x.Price.Instructions
		}
	}
	return 0
}

func (t *tuner) add(node, how, change string, instructions, db float64) {
	t.advice = append(t.advice, Advice{Node: node, Change: change, Measured: how, Effect: Effect{
		Instructions: int(math.Round(instructions)), Share: instructions / max(t.all, 1), SQNR: db}})
}

// layer gives advice about a step.
func (t *tuner) layer(i int, n *ir.Node) {
	if len(n.Out) == 0 || len(n.In) == 0 {
		return
	}
	name := t.o.Report.Layers[i].Name
	if (n.Op == op.Transpose || n.Op == op.Relayout) && t.counts[i] >= worth*t.all {
		t.add(name, t.known, fmt.Sprintf("%s moves %v to %v: store the tensor in the order that its readers want "+
			"(export with channels where training has them, or --io-layout native)", n.Op.Name, n.In[0].Type.Shape,
			n.Out[0].Type.Shape), -t.counts[i], 0)
	}
	if now, then, ok := t.pricer.Smaller(n); ok && now > 0 {
		if saves := t.counts[i] * (1 - then/now); saves >= worth*t.all {
			k := n.In[1].Type.Shape[2:]
			what := fmt.Sprintf("windows of %v to at most 3 save %.0f %% of the layer", k, 100*(1-then/now))
			t.add(name, prices, what, -saves, 0)
		}
	}
	t.channels(name, n)
}

// channels looks for channels more that cost nothing.
func (t *tuner) channels(name string, n *ir.Node) {
	grouped := n.Op == op.Conv && ir.AttrsOf[op.GroupAttr](n).Group > 1
	if n.Op != op.Conv && n.Op != op.Gemm || n.Out[0].Type.Rank() < 2 || grouped {
		return
	}
	c := n.Out[0].Type.Shape[1]
	now, ok := t.pricer.Wider(n, 0)
	if !ok || c%wide == 0 {
		return
	}
	for more := wide - c%wide; more > 0; more-- {
		if then, ok := t.pricer.Wider(n, more); ok && then <= now {
			t.add(name, prices, fmt.Sprintf("channels %d to %d cost nothing", c, c+more), min(then-now, 0), 0)
			return
		}
	}
}

// precision compiles the model with the layers that lose most in int16.
func (t *tuner) precision() {
	r := t.o.Lowered.Calibration
	if r == nil || len(t.c.Calib) == 0 || t.c.LayersConfig != "" || t.c.Precision == option.Int16x8 {
		return
	}
	rank := *t.c
	s := fail.Must(rank.RankLayers())
	dir := fail.Must(os.MkdirTemp("", "nncc-tune-"))
	defer os.RemoveAll(dir)
	before := t.total(t.o)
	for i, l := range s.Layers[:min(len(s.Layers), finer)] {
		x := *t.c
		x.LayersConfig = filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
		fail.Check(os.WriteFile(x.LayersConfig, fmt.Appendf(nil, "layers:\n  %q: int16x8\n", l.Name), 0o666))
		o, err := x.Compile()
		if err != nil || o.Lowered.Calibration == nil {
			continue // a layer that has no form in int16
		}
		if db := o.Lowered.Calibration.SQNR - r.SQNR; db >= gains {
			t.add(l.Name, compiled, "int16x8 of this layer (--layers-config)", t.total(o)-before, db)
		}
	}
}

// total are the predicted instructions of a program.
func (t *tuner) total(o *driver.Compiled) (sum float64) {
	for _, n := range o.Lowered.Schedule.Nodes {
		sum += t.predicted(o, n)
	}
	return sum
}

// boards compiles the model for the other chips: those that hold it where this one does not, else the smallest.
func (t *tuner) boards() {
	var fits, misses []Advice
	for _, name := range boards.List() {
		spec := fail.Must(boards.Load(name))
		if !spec.IsChip() || spec.Name == t.o.Board.Name || len(spec.Accelerators) != len(t.o.Board.Accelerators) {
			continue
		}
		x := *t.c
		x.Board = name
		o, err := x.Compile()
		if err != nil {
			continue // what this board cannot run
		}
		a := Advice{Measured: compiled, Effect: Effect{MissingBytes: o.Firmware.Fit(nil).Missing()}}
		if a.Effect.MissingBytes == 0 {
			a.Change = name + holds
			fits = append(fits, a)
		} else {
			a.Change = fmt.Sprintf("%s misses %d KB", name, (a.Effect.MissingBytes+1023)/1024)
			misses = append(misses, a)
		}
	}
	slices.SortStableFunc(misses, func(a, b Advice) int {
		return cmp.Compare(a.Effect.MissingBytes, b.Effect.MissingBytes)
	})
	t.advice = append(append(t.advice, fits...), misses[:min(len(misses), neighbour)]...)
}

// Text is the advice for people.
func Text(list []Advice) string {
	rows := [][]string{{"layer", "advice", "instructions", "of all", "SQNR", "known by"}}
	var fits []string
	for _, a := range list {
		if name, ok := strings.CutSuffix(a.Change, holds); ok {
			fits = append(fits, name)
			continue
		}
		row := []string{cmp.Or(a.Node, "(model)"), a.Change, "", "", "", a.Measured}
		if a.Effect.Instructions != 0 {
			row[2], row[3] = fmt.Sprintf("%+d", a.Effect.Instructions), fmt.Sprintf("%+.1f %%", 100*a.Effect.Share)
		}
		if a.Effect.SQNR != 0 {
			row[4] = fmt.Sprintf("%+.1f dB", a.Effect.SQNR)
		}
		rows = append(rows, row)
	}
	s := "no change that was tried saves 2 % of the instructions, brings 1 dB, or costs nothing\n"
	if len(rows) > 1 {
		s = text.Table(rows)
	}
	if len(fits) > 0 {
		s += "boards that hold it, too: " + strings.Join(fits, ", ") + "\n"
	}
	return s
}

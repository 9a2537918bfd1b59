// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"slices"
	"time"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// Search looks for better options: it runs a slice of the table with several of
// them, and the program goes on with the best.
type Search struct {
	Name, Doc   string
	From, Until string // the rows of the slice
	Applies     func(f *Facts) bool
	run         func(s *State, rows []*Stage) (*State, error)
}

// Searches are all searches, in the order of the table. One whose slice lies
// within another's runs again whenever that one runs it.
func Searches() []*Search {
	return []*Search{
		{
			Name: "precision", Doc: "bfloat16 where int8 is not enough (--precision auto)",
			From: "calibrate", Until: "calibrate",
			Applies: func(f *Facts) bool {
				return fixedPoint.Holds(f) && floatModel.Holds(f) && f.bfloat16() != nil
			},
			run: (*State).searchPrecision,
		},
		{
			Name: "arena", Doc: "layers a few rows at a time where that meets --max-ram, or takes little",
			From: "stripes", Until: "schedule",
			// An accelerator has its own rows. Where reads of constants wait, a copy
			// of them in RAM saves more than rows do, and each call of few rows would fetch it again.
			Applies: func(f *Facts) bool {
				return (f.MaxRAM > 0 || fastest.Holds(f) && !slowConstants.Holds(f)) && noAccelerator.Holds(f) &&
					f.StopAfter == ""
			},
			run: (*State).searchArena,
		},
		{
			Name: "segments", Doc: "accelerator programs of less memory and more cycles where that meets --max-ram",
			From: "stripes", Until: "schedule",
			Applies: func(f *Facts) bool {
				_, ok := f.Accel.(accel.Sparing)
				return ok && f.MaxRAM > 0 && f.StopAfter == ""
			},
			run: (*State).searchSegments,
		},
		{
			Name: "selection", Doc: "kernels that share code where that meets --optimize",
			From: "lowering", Until: "lowering",
			Applies: func(f *Facts) bool { return byteWeight[f.Optimize] > 0 },
			run:     (*State).searchSelection,
		},
	}
}

// searchAt is the search that begins with the first of the rows and ends among
// them, with its slice; nil where there is none, or where it runs already.
func (s *State) searchAt(rows []*Stage) (*Search, []*Stage) {
	for _, x := range Searches() {
		if x.From != rows[0].Name || slices.Contains(s.searching, x.Name) || !x.Applies(&s.facts) {
			continue
		}
		if end := slices.IndexFunc(rows, func(t *Stage) bool { return t.Name == x.Until }); end >= 0 {
			return x, rows[:end+1]
		}
	}
	return nil, nil
}

// search runs x on its rows. The state that it gives is the one to go on with.
func (s *State) search(x *Search, rows []*Stage) (*State, error) {
	was := s.searching
	s.searching = append(slices.Clip(was), x.Name)
	best, err := x.run(s, rows)
	best.searching = was
	return best, err
}

// mostBudgets are tried for segments before the least.
const mostBudgets = 6

// searchSegments asks the accelerator for less memory by what is too much, until MaxRAM is met or nothing is gained.
func (s *State) searchSegments(rows []*Stage) (best *State, err error) {
	whole, most := s.facts.Accel.(accel.Sparing), s.facts.MaxRAM
	for tries, had := 1, 0; ; tries++ {
		x := s.fork()
		x.facts.Accel, x.facts.Target.Memo = whole.Within(most), map[any]any{}
		if x.table, err = x.facts.table(); err != nil {
			return s, err
		}
		if x, err = x.walk(rows); err != nil {
			return x, err
		}
		if best == nil || x.Program.RAMBytes() < best.Program.RAMBytes() {
			best = x
		}
		over := x.Program.RAMBytes() - s.facts.MaxRAM
		if best.Tried = tries; over <= 0 || most == 1 {
			return best, nil
		}
		if most -= over; most < 1 || tries == mostBudgets || over == had {
			most = 1
		}
		had = over
	}
}

// searchSelection is the search of --optimize: among the candidates of all nodes
// together, by their predicted instructions and bytes.
func (s *State) searchSelection(rows []*Stage) (*State, error) {
	err := pass.Guard(rows[0].Name, s.ctx, s.Graph, func() error {
		s.selection = s.fastestKernels()
		s.selection.improve()
		return nil
	})
	if err != nil {
		return s, err
	}
	return s.walk(rows)
}

// leastSQNR is the signal-to-noise ratio in dB, of the worst output on
// samples that calibration did not see, from which int8 is good enough.
const leastSQNR = 20

// searchPrecision quantises a float graph. Where int8 leaves more noise than
// leastSQNR allows, and the accelerator also computes in bfloat16, what it can
// compute so does: noise that many layers add up, each by rounding activations
// to 8 bits, cannot be calibrated away.
func (s *State) searchPrecision(rows []*Stage) (*State, error) {
	begin := time.Now()
	best, err := s.fork().walk(rows)
	if err != nil {
		return s, err
	}
	eight := best.Calibration
	if eight != nil && eight.SQNR < leastSQNR {
		x := s.fork()
		x.finer = &finer{format: s.options().bfloat16(), int8: eight, chosen: map[int]bool{}}
		if x, err = x.walk(rows); err != nil {
			return s, err
		}
		if x.Calibration.SQNR > eight.SQNR {
			x.Diags = best.Diags // what int8 says of the samples
			x.mixed(eight)
			best = x
		}
	}
	best.log = s.log // the trials were nobody's to see
	return best, best.observed(rows[0], time.Since(begin))
}

// finer is what runs in bfloat16 instead of int8.
type finer struct {
	format *accel.Bfloat16
	int8   *quant.Report
	chosen map[int]bool // by the ID of the node
	nodes  []string     // ONNX names
}

// options are those of calibration. What helped in int8 is known; rounding to
// bfloat16 is another matter.
func (f *finer) options(q quant.Options) quant.Options {
	q.Inputs = true
	q.Keep = func(n *ir.Node) bool {
		f.chosen[n.ID] = f.format.Takes(n)
		return f.chosen[n.ID]
	}
	q.Half = func(n *ir.Node) bool { return f.chosen[n.ID] }
	q.Finish = func(g *ir.Graph) error { return f.format.Convert(g, q.Half) }
	q.Method, q.BiasCorrection, q.Try = f.int8.Method, f.int8.Bias, quant.Trial{Rounding: q.Try.Rounding}
	return q
}

// names keeps the ONNX names of the nodes, which have their operator now.
func (f *finer) names(g *ir.Graph) {
	seen := map[string]bool{}
	for _, n := range g.Nodes {
		for _, name := range n.Origin {
			if f.chosen[n.ID] && !seen[name] {
				seen[name] = true
				f.nodes = append(f.nodes, name)
			}
		}
	}
}

// mixed completes the report of a program that runs in bfloat16 in part.
func (s *State) mixed(eight *quant.Report) {
	r := s.Calibration
	r.Int8SQNR, r.BF16, r.Tried = eight.SQNR, s.finer.nodes, append(eight.Tried, r.Tried...)
	d := diag.Warnf("bfloat16", "", "int8 alone reaches %.1f dB on samples that calibration did not see: %d of the "+
		"model's nodes run in bfloat16, which gives %.1f dB", eight.SQNR, len(r.BF16), r.SQNR)
	d.Hint = "--precision int8 keeps int8"
	s.Diags.Add(diag.List{d}.From("calibrate")...)
}

// bfloat16 is the accelerator's second format, where int8 alone may be given
// up for it: the user asked for no precision, and the calibration data say
// whether int8 is enough.
func (o *Options) bfloat16() *accel.Bfloat16 {
	q := &o.Quant
	if o.Accel == nil || o.Precision != option.Auto || q.Layer != nil || q.Source == quant.SyntheticSource ||
		q.FixedWeights != nil || q.FixedActivations != nil || len(o.StateBindings) != 0 {
		return nil
	}
	return o.Accel.Traits().Bfloat16
}

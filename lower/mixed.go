// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"time"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

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

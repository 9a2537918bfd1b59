package lower

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// leastSQNR is the signal-to-noise ratio in dB, of the worst output on
// samples that calibration did not see, from which int8 is good enough.
const leastSQNR = 20

// calibrate quantises a float graph. Where int8 leaves more noise than
// leastSQNR allows, and the accelerator also computes in bfloat16, what it can
// compute so does: noise that many layers add up, each by rounding activations
// to 8 bits, cannot be calibrated away.
func (r *Result) calibrate(g *ir.Graph, o Options) (*ir.Graph, error) {
	q := o.Quant
	finer := o.bfloat16()
	if finer == nil {
		out, rep, err := quant.Calibrate(g, q)
		r.calibrated(rep)
		return out, err
	}
	eight, rep, err := quant.Calibrate(g, q)
	if err != nil {
		return nil, err
	}
	r.calibrated(rep)
	if rep.SQNR >= leastSQNR {
		return eight, nil
	}
	chosen := map[int]bool{}
	q.Inputs = true
	q.Keep = func(n *ir.Node) bool {
		chosen[n.ID] = finer.Takes(n)
		return chosen[n.ID]
	}
	q.Half = func(n *ir.Node) bool { return chosen[n.ID] }
	q.Finish = func(g *ir.Graph) error {
		return finer.Convert(g, func(n *ir.Node) bool { return chosen[n.ID] })
	}
	// What helped in int8 is known; rounding to bfloat16 is another matter.
	q.Method, q.BiasCorrection, q.Try = rep.Method, rep.Bias, quant.Trial{Rounding: q.Try.Rounding}
	g, mixed, err := quant.Calibrate(g, q)
	if err != nil {
		return nil, err
	}
	if err := q.Finish(g); err != nil {
		return nil, err
	}
	if mixed.SQNR <= rep.SQNR {
		return eight, nil
	}
	mixed.Int8SQNR = rep.SQNR
	seen := map[string]bool{}
	for _, n := range g.Nodes {
		for _, name := range n.Origin {
			if chosen[n.ID] && !seen[name] {
				seen[name] = true
				mixed.BF16 = append(mixed.BF16, name)
			}
		}
	}
	mixed.Tried = append(rep.Tried, mixed.Tried...)
	r.Calibration = mixed
	d := diag.Warnf("bfloat16", "", "int8 alone reaches %.1f dB on samples that calibration did not see: %d of the "+
		"model's nodes "+
		"run in bfloat16, which gives %.1f dB", rep.SQNR, len(mixed.BF16), mixed.SQNR)
	d.Hint = "--precision int8 keeps int8"
	r.Diags.Add(d)
	return g, nil
}

// bfloat16 is the accelerator's second format, where int8 alone may be given
// up for it: the user asked for no precision, and the calibration data say
// whether int8 is enough.
func (o *Options) bfloat16() *accel.Bfloat16 {
	q := &o.Quant
	if o.Accel == nil || o.Precision != option.Auto || q.Layer != nil || q.Source == quant.SyntheticSource ||
		q.FixedWeights != nil || q.FixedActivations != nil || len(q.StateBindings) != 0 {
		return nil
	}
	return o.Accel.Traits().Bfloat16
}

// calibrated takes a report and what there is to say of it.
func (r *Result) calibrated(rep *quant.Report) {
	if r.Calibration = rep; rep != nil {
		r.Diags.Add(rep.Diagnostics()...)
	}
}

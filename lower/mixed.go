package lower

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/target/mla"
)

// leastSQNR is the signal-to-noise ratio in dB, of the worst output on the
// calibration data, from which int8 is good enough. New data is often a few dB
// worse than what ranges were taken from.
const leastSQNR = 20

// calibrate quantises a float graph. Where int8 leaves more noise than
// leastSQNR allows, and the accelerator also computes in bfloat16, what it can
// compute so does: noise that many layers add up, each by rounding activations
// to 8 bits, cannot be calibrated away.
func (r *Result) calibrate(g *ir.Graph, o Options) (*ir.Graph, error) {
	q := o.Quant
	mixed := o.MLA != nil && o.MLA.BF16 != 0 && o.Precision == "auto" && q.Layer == nil && q.Source != quant.SyntheticSource &&
		q.FixedWeights == nil && q.FixedActivations == nil && len(q.Ties) == 0
	if !mixed {
		rep, err := quant.Insert(g, q)
		r.Calibration = rep
		return g, err
	}
	eight := g.Clone()
	rep, err := quant.Insert(eight, q)
	if err != nil {
		return nil, err
	}
	r.Calibration = rep
	if rep.SQNR >= leastSQNR {
		return eight, nil
	}
	chosen := map[int]bool{}
	q.Inputs = true
	q.Keep = func(n *ir.Node) bool {
		chosen[n.ID] = mla.TakesBF16(n, *o.MLA)
		return chosen[n.ID]
	}
	q.Half = func(n *ir.Node) bool { return chosen[n.ID] }
	float := g.Clone()
	finer, err := quant.Insert(g, q)
	if err != nil {
		return nil, err
	}
	if err := mla.Bfloat16(g, func(n *ir.Node) bool { return chosen[n.ID] }); err != nil {
		return nil, err
	}
	if finer.SQNR, err = quant.Measure(float, g, q.Samples); err != nil {
		return nil, err
	}
	if finer.SQNR <= rep.SQNR {
		return eight, nil
	}
	finer.Int8SQNR = rep.SQNR
	seen := map[string]bool{}
	for _, n := range g.Nodes {
		for _, name := range n.Origin {
			if chosen[n.ID] && !seen[name] {
				seen[name] = true
				finer.BF16 = append(finer.BF16, name)
			}
		}
	}
	r.Calibration = finer
	r.Warnings = append(r.Warnings, fmt.Sprintf("int8 alone reaches %.1f dB on the calibration data: %d of the model's nodes run in bfloat16, which gives %.1f dB (--precision int8 keeps int8)",
		rep.SQNR, len(finer.BF16), finer.SQNR))
	return g, nil
}

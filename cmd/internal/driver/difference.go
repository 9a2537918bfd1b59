package driver

import (
	"math/rand/v2"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
)

// triedInputs is how many seeded inputs two models are compared on, behind those
// given.
const triedInputs = 3

// compare runs a model and its rewritten form on the --input given and on
// seeded ones. differs says which outputs are further apart than rounding
// explains, or apart at all where exact says that only data was moved.
func (c *Config) compare(a, b *ir.Graph, exact bool) (ds []lower.Difference, differs, err error) {
	var cases [][]*tensor.Dense
	if len(c.Inputs) > 0 {
		in, err := readInputs(c.Inputs, inputNames(a.In), c.dataLimits())
		if err != nil {
			return nil, nil, err
		}
		if in, err = firmwareInputs(in, a.In); err != nil {
			return nil, nil, err
		}
		cases = append(cases, in)
	}
	for k := range triedInputs {
		r := rand.New(rand.NewPCG(uint64(k), 4))
		var in []*tensor.Dense
		for _, v := range a.In {
			in = append(in, seeded(r, v.Type))
		}
		cases = append(cases, in)
	}
	if _, err := interpret(a, cases[0]); err != nil {
		// Not every model takes seeded inputs: that is no fault of the rewrites.
		c.warn("compare", "not-compared", "", "the rewritten model was not compared with the original, which does "+
			"not run: %v", err)
		return nil, nil, nil
	}
	if ds, err = lower.Differences(a, b, cases); err != nil {
		return nil, nil, err
	}
	if lower.Quantised(a) {
		return ds, nil, nil // rounding upstream of a QuantizeLinear becomes a step: no bound holds
	}
	return ds, lower.Differ(ds, exact), nil
}

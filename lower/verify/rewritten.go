// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/state"
)

// triedInputs is how many seeded inputs two models are compared on, behind those
// given.
const triedInputs = 3

// Rewritten runs a model and its rewritten form on the inputs given, which may be nil,
// and on seeded ones. differs says which outputs are further apart than rounding
// explains, or apart at all where exact says that only data was moved; failed, why the
// model does not run: not every one takes seeded inputs, which is no fault of the
// rewrites.
func Rewritten(a, b *ir.Graph, given []*tensor.Dense, exact bool) (ds []lower.Difference, differs, failed, err error) {
	var cases [][]*tensor.Dense
	if given != nil {
		cases = append(cases, given)
	}
	for k := range triedInputs {
		cases = append(cases, Seeded(state.New(a, nil), k, 4))
	}
	if _, err := interp.Run(a, cases[0], nil); err != nil {
		return nil, nil, err, nil
	}
	if ds, err = lower.Differences(a, b, cases); err != nil {
		return nil, nil, nil, err
	}
	if lower.Quantised(a) {
		return ds, nil, nil, nil // rounding upstream of a QuantizeLinear becomes a step: no bound holds
	}
	return ds, lower.Differ(ds, exact), nil, nil
}

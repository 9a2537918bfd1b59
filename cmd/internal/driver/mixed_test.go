// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/option"
)

// TestTargetMayChoose: without flags nothing insists on int8 for single layers,
// so that an accelerator with a wider format can use it; with flags they do.
func TestTargetMayChoose(t *testing.T) {
	for _, c := range []struct {
		precision option.Precision
		weights   option.Weights
		free      bool
	}{{option.Auto, option.Int8Weights, true}, {option.Int8, option.Int8Weights, true},
		{option.Int16x8, option.Int8Weights, false}, {option.Auto, option.Int4Weights, false}} {
		d := Defaults()
		d.Precision, d.Weights = c.precision, c.weights
		f, err := d.layerPrecision(ir.New("g"))
		testenv.OK(t, err)
		if free := f == nil; free != c.free {
			t.Errorf("--precision %s --weights %s: free %v", c.precision, c.weights, free)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/nncc/nncc/cmd/internal/report"
)

// figuresAddUp: what a report says of the whole is what it says of the parts.
func figuresAddUp(t *testing.T, r *report.Report) {
	t.Helper()
	io, weights := 0, 0
	for _, x := range r.Inputs {
		io += x.Bytes
	}
	for _, x := range r.Outputs {
		io += x.Bytes
	}
	if io != r.Memory.IOBytes {
		t.Errorf("inputs and outputs have %d bytes, io_bytes are %d", io, r.Memory.IOBytes)
	}
	var macs, placed int64
	for i := range r.Layers {
		weights += r.Layers[i].WeightBytes // what two layers share stands at both
		macs += r.Layers[i].MACs
	}
	for i := range r.Segments {
		placed += r.Segments[i].MACs
	}
	for i := range r.Fallback {
		placed += r.Fallback[i].MACs
	}
	if weights < r.Memory.WeightsBytes {
		t.Errorf("layers have %d bytes of weights, the model %d", weights, r.Memory.WeightsBytes)
	}
	if macs != placed {
		t.Errorf("layers have %d MACs, segments and what is outside %d", macs, placed)
	}
}

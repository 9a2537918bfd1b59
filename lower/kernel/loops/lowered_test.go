// SPDX-License-Identifier: Apache-2.0

package loops_test

import (
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/loops"
	"github.com/nncc/nncc/lower/kernel/reference"
)

// notLowered are the operators without a kernel, with the reason.
var notLowered = map[*ir.OpDef]string{
	op.Get("", "CenterCropPad"): "the import writes it as Slice and Pad",
	op.Segment:                  "a part that an accelerator runs; its driver's calls are the kernel",
}

// TestEveryOperatorIsLowered: every operator has a row of a kernel, or a reason
// for having none.
func TestEveryOperatorIsLowered(t *testing.T) {
	has := map[*ir.OpDef]bool{}
	for _, k := range slices.Concat(reference.Kernels, cmsisnn.Kernels, loops.Kernels) {
		for _, d := range k.Ops {
			has[d] = true
		}
	}
	for _, d := range op.All() {
		if why := notLowered[d]; has[d] == (why != "") {
			t.Errorf("operator %s %s: has a kernel: %v, reason for none: %q", d.Domain, d.Name, has[d], why)
		}
	}
}

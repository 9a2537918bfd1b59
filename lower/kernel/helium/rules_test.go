// SPDX-License-Identifier: Apache-2.0

package helium_test

import (
	"testing"

	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/helium"
	"github.com/nncc/nncc/lower/kerneltest"
)

// TestRules: every condition refuses a layer, the first one other cores.
func TestRules(t *testing.T) {
	kerneltest.Rules(t, helium.Kernels, []kernel.Core{{DSP: true, MVE: true, FPU: true}}, kernel.Core{},
		kernel.Core{DSP: true})
}

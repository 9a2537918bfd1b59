// SPDX-License-Identifier: Apache-2.0

package dsp_test

import (
	"testing"

	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/dsp"
	"github.com/nncc/nncc/lower/kerneltest"
)

func TestRules(t *testing.T) {
	kerneltest.Rules(t, dsp.Kernels, []kernel.Core{core.Core, {}}, kernel.Core{DSP: true, MVE: true})
}

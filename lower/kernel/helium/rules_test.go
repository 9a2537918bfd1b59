// SPDX-License-Identifier: Apache-2.0

package helium_test

import (
	"testing"

	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/helium"
	"github.com/nncc/nncc/lower/kerneltest"
)

func TestRules(t *testing.T) {
	kerneltest.Rules(t, helium.Kernels, []kernel.Core{core}, kernel.Core{}, kernel.Core{DSP: true})
}

// SPDX-License-Identifier: Apache-2.0

package cmsisnn_test

import (
	"testing"

	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kerneltest"
)

// TestRules: every condition refuses one layer.
func TestRules(t *testing.T) { kerneltest.Rules(t, cmsisnn.Kernels, []kernel.Core{{}, {MVE: true}}) }

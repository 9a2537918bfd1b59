// SPDX-License-Identifier: Apache-2.0

package cmsisnn_test

import (
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kerneltest"
)

// TestRules: every condition refuses one layer, every row takes another one.
func TestRules(t *testing.T) {
	cores := []kernel.Core{{}, {MVE: true}}
	kerneltest.Rules(t, cmsisnn.Kernels, cores)
	takes := map[*kernel.Kernel]bool{}
	for _, core := range cores {
		for _, l := range layers(3, 30) {
			g := ir.New("g")
			l.Add(t, g)
			n := g.Nodes[len(g.Nodes)-1]
			for _, k := range cmsisnn.Kernels {
				takes[k] = takes[k] || k.Name == l.Row && slices.Contains(k.Ops, n.Op) &&
					len(k.CheckLegality(kernel.NewNode(n, &kernel.Options{Core: core}))) == 0
			}
		}
	}
	for _, k := range cmsisnn.Kernels {
		if !takes[k] {
			t.Errorf("%s takes no layer", k.Name)
		}
	}
}

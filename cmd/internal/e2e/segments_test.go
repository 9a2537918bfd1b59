// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// kindsOfNets are networks of a kind by seed, and how many nodes of each may
// compute outside of its one segment. The figures only fall.
var kindsOfNets = []struct {
	name    string
	net     func(seed uint64) *ir.Graph
	seeds   uint64
	outside int
}{
	{"detector", func(seed uint64) *ir.Graph { g, _ := irtest.Detector(seed, tensor.F32); return g }, 2, 0},
	{"voice", func(seed uint64) *ir.Graph { return irtest.Voice(seed, tensor.F32) }, 1, 0},
	{"enhancer", func(seed uint64) *ir.Graph { return irtest.Enhancer(seed, tensor.F32) }, 1, 0},
}

// TestSegmentsOfKinds: networks of each kind run in one segment, and the
// simulator computes what the interpreter does. NNCC_LONG takes ten times as
// many.
func TestSegmentsOfKinds(t *testing.T) {
	for _, k := range kindsOfNets {
		n := k.seeds
		if testenv.Long() {
			n *= 10
		}
		for seed := range n {
			c := driver.Defaults()
			c.Board, c.Name, c.Cases, c.Precision = "mla-host", "net", 1, option.Int8
			o := compileNet(t, k.net(seed), &c)
			if s, n := len(o.Report.Segments), o.Report.ComputeFallback(); s != 1 || n > k.outside {
				t.Errorf("%s %d: %d segments, %d nodes outside, want 1 and at most %d", k.name, seed, s, n, k.outside)
			}
			figuresAddUp(t, o.Report)
			v := mustVerify(t, o)
			if v.Differs() {
				t.Errorf("%s %d\n%s", k.name, seed, v.Text())
			}
		}
	}
}

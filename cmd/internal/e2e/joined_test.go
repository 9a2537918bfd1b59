// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	_ "embed"
	"testing"

	"github.com/nncc/nncc/ir/op"
)

// joined is a network of joined channels: a split whose pieces are joined again
// with what was computed of one (of 5 and of 8 channels), and branches side by
// side.
//
//go:embed testdata/joined.ir
var joined string

// TestJoinedChannels: no copies of channels that are joined or split, the same
// results on every core.
func TestJoinedChannels(t *testing.T) {
	path := modelFile(t, joined)
	for _, board := range []string{"cortex-m55", "cortex-m4", "cortex-m0plus"} {
		t.Run(board, func(t *testing.T) {
			c := config(path, board)
			c.Cases, c.Layers = 2, true
			o := mustCompile(t, c)
			for i, s := range o.Lowered.Program.Steps {
				switch o.Lowered.Schedule.Nodes[i].Op {
				case op.Concat, op.Split:
					t.Errorf("%s is copied", s.Name)
				}
			}
			v := mustVerify(t, c)
			if v.Mismatches > 0 {
				t.Errorf("%d mismatches: %s", v.Mismatches, v.Failure)
			}
		})
	}
}

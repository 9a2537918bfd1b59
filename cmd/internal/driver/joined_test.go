// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"testing"

	"github.com/nncc/nncc/ir/op"
)

// joined is a network of joined channels: a split whose pieces are joined again
// with what was computed of one (of 5 and of 8 channels), and branches side by
// side.
const joined = `graph "joined" {
  in %x : f32[1,3,9,7]
  const %w0 : f32[10,3,3,3] = rand 1
  const %w1 : f32[5,5,3,3] = rand 2
  const %w2 : f32[16,15,1,1] = rand 3
  const %w3 : f32[8,8,3,3] = rand 4
  const %w4 : f32[6,24,1,1] = rand 5
  const %w5 : f32[4,24,1,1] = rand 6
  const %w6 : f32[7,24,1,1] = rand 7
  const %w7 : f32[3,17,3,3] = rand 8
  %c0 = Conv(%x, %w0) {pads=[1,1,1,1]} name "stem"
  %r0 = Relu(%c0)
  %a, %b = Split(%r0) {axis=1, num_outputs=2} name "split"
  %m = Conv(%b, %w1) {pads=[1,1,1,1]} name "bottle"
  %mr = Relu(%m)
  %j = Concat(%a, %b, %mr) {axis=1} name "join"
  %c2 = Conv(%j, %w2) name "merge"
  %r2 = Relu(%c2)
  %p, %q = Split(%r2) {axis=1, num_outputs=2} name "split2"
  %n = Conv(%q, %w3) {pads=[1,1,1,1], strides=[1,1]} name "bottle2"
  %nr = Relu(%n)
  %k = Concat(%p, %q, %nr) {axis=1} name "join2"
  %i0 = Conv(%k, %w4) name "one"
  %i1 = Conv(%k, %w5) name "narrow"
  %i2 = Conv(%k, %w6) name "wide"
  %i0r = Relu(%i0)
  %i1r = Relu(%i1)
  %i2r = Relu(%i2)
  %d0 = Concat(%i0r, %i1r, %i2r) {axis=1} name "branches"
  %e = Conv(%d0, %w7) {pads=[1,1,1,1]} name "end"
  %y = GlobalAveragePool(%e)
  out "y" = %y
}`

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

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/option"
)

// loopNets are element-wise networks of several inputs: gates, rows, residuals,
// pieces of normalisations.
var loopNets = []string{
	`  in %a : f32[1,512]
  in %b : f32[1,512]
  in %c : f32[1,512]
  const %one : f32[1] = {1}
  %s = Sigmoid(%a)
  %i = Sub(%one, %s)
  %p = Mul(%s, %b)
  %q = Mul(%i, %c)
  %y = Add(%p, %q)`,
	`  in %x : f32[1,64,32]
  in %z : f32[1,64,32]
  const %g : f32[32] = rand 1
  const %h : f32[32] = rand 2
  %m = Mul(%x, %g)
  %n = Add(%m, %h)
  %t = Tanh(%n)
  %u = Add(%t, %z)
  %y = Max(%u, %x)`,
	`  in %x : f32[1,8,16,16]
  in %z : f32[1,8,16,16]
  %t = Tanh(%x)
  %m = Mul(%t, %z)
  %a = Add(%m, %x)
  %b = Abs(%a)
  %y = Mul(%b, %m)`,
	`  in %x : f32[1,8,24]
  in %z : f32[1,8,24]
  const %ax : i64[1] = {1}
  %d = Sub(%x, %z)
  %q = Mul(%d, %d)
  %v = ReduceMean(%q, %ax)
  %r = Sqrt(%v)
  %y = Div(%d, %r)`,
}

// TestLoopsPay: under QEMU no network takes more instructions with fusion than
// without, whatever lower/cost predicts. NNCC_LONG tries every network and core;
// the default is a sample.
func TestLoopsPay(t *testing.T) {
	// The part by which a loop may be behind: the costs of float32 kernels by rows are off by up to half (lower/cost).
	slack := map[option.Precision]uint64{option.Float32: 10, option.Int8: 100, option.Int16x8: 100}
	all := testenv.Long()
	loops := 0
	for k, text := range loopNets {
		for j, board := range []string{"cortex-m4", "cortex-m55", "cortex-m0plus"} {
			for i, precision := range []option.Precision{option.Float32, option.Int8, option.Int16x8} {
				if !all && (k+j+2*i)%6 != 3 {
					continue
				}
				count := func(fuse bool) uint64 {
					c := driver.Defaults()
					c.Board, c.Precision, c.Fuse, c.Name, c.Cases = board, precision, fuse, "net", 1
					o := compileNet(t, irtest.Parse(t, "graph \"g\" {\n"+text+"\n  out \"y\" = %y\n}"), &c)
					for _, n := range o.Lowered.Graph.Nodes {
						if n.Op == op.Fused {
							loops++
						}
					}
					v := mustVerify(t, o)
					if v.Failure != "" || v.Mismatches > 0 {
						t.Errorf("net %d, %s, %s: %s", k, board, precision, v.Text())
					}
					return v.Instructions
				}
				with, without := count(true), count(false)
				what := fmt.Sprintf("net %d (%s), %s, %s: %d instructions with loops, %d without", k,
					strings.Fields(text)[1], board, precision, with, without)
				if with > without+without/slack[precision] {
					t.Error(what)
				}
				t.Log(what)
			}
		}
	}
	if loops == 0 {
		t.Error("no loop was tried")
	}
}

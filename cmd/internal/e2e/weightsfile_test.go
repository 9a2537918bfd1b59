// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/verify"
)

// retrained is the same network after another training: every weight is another one,
// and every tensor has another range.
func retrained(g *ir.Graph, seed uint64) *ir.Graph {
	r := rand.New(rand.NewPCG(seed, 77))
	out := g.Clone()
	for _, n := range out.Nodes {
		for _, v := range n.In {
			if v == nil || v.Const == nil || v.Const.DType != tensor.F32 || v.Const.Len() == 1 {
				continue
			}
			whole := 0.5 + r.Float32()
			y := make([]float32, v.Const.Len())
			for i, x := range v.Const.Floats() {
				y[i] = float32(x) * whole * (0.7 + 0.6*r.Float32())
			}
			v.Const = tensor.Of(v.Const.Shape, y)
		}
	}
	return out
}

func bindable(c *driver.Config) { c.WeightsFile = true }

// TestLayouts: two trainings of one network have, but for few, the same layout: what
// scales and weights decide is in the weights file. The others chose another kernel.
func TestLayouts(t *testing.T) {
	nets := 10
	if testenv.Long() {
		nets = 60
	}
	for _, b := range testenv.Boards("cortex-m0plus", "cortex-m4", "cortex-m55") {
		spec := mustLoad(t, b)
		same := 0
		for seed := range uint64(nets) {
			net := irtest.Gen(seed, tensor.F32)
			x, y := compileFor(t, net, "x", spec, bindable), compileFor(t, retrained(net, seed), "y", spec, bindable)
			if x.Info.Layout == y.Info.Layout {
				same++
			}
		}
		if t.Logf("%s: %d of %d", b, same, nets); same*10 < nets*7 {
			t.Errorf("on %s %d of %d networks keep their layout through another training, want 7 of 10", b, same, nets)
		}
	}
}

// TestWeightsSwap runs the firmware of one training with the weights file of another
// one: it computes what the other one's program does.
func TestWeightsSwap(t *testing.T) {
	for _, b := range testenv.Boards("host", "cortex-m55") {
		t.Run(b, func(t *testing.T) {
			spec := mustLoad(t, b)
			for _, seed := range swapSeeds() {
				net := irtest.Gen(seed, tensor.F32)
				old := compileFor(t, net, "x", spec, bindable)
				fresh := compileFor(t, retrained(net, seed), "x", spec, bindable)
				if old.Info.Layout != fresh.Info.Layout {
					t.Fatalf("network %d: another training has another layout", seed)
				}
				files := slices.Clone(old.Files)
				at := func(list []codegen.File) int {
					return slices.IndexFunc(list, func(f codegen.File) bool { return f.Path == old.Info.WeightsFile })
				}
				first := runFolder(t, spec, files, old)
				files[at(files)] = fresh.Files[at(fresh.Files)]
				second := runFolder(t, spec, files, fresh)
				if slices.EqualFunc(first, second, slices.Equal[[]byte]) {
					t.Errorf("network %d: another training gives the same outputs", seed)
				}
			}
		})
	}
}

// runFolder builds and runs emitted files on inputs of a program, and compares with
// its interpreter; the result are the outputs of the first case.
func runFolder(t *testing.T, spec *boards.Spec, files []codegen.File, o *driver.Compiled) [][]byte {
	t.Helper()
	im := mustBuild(t, spec, folder(t, files), run.BuildOptions{Jobs: 1, Sanitize: spec.Core == "host"})
	it := newItem(t, o.Info.Prefix, nil, o)
	var cases []run.Case
	for k := range batchCases {
		cases = append(cases, run.Case{Inputs: verify.Memory(it.in[k], o.Lowered.Graph.In)})
	}
	res, err := run.Run(context.Background(), spec, im, cases)
	require(t, err)
	for k, r := range res.Cases {
		if r.Status != 0 {
			t.Fatalf("%s: status %d", spec.Name, r.Status)
		}
		out := make([]*tensor.Dense, len(r.Outputs))
		for i, v := range o.Lowered.Graph.Out {
			if out[i], err = verify.FromMemory(r.Outputs[i], v.Type); err != nil {
				t.Fatal(err)
			}
		}
		compareInterpreter(t, it, k, spec.Name, out)
	}
	return res.Cases[0].Outputs
}

// swapSeeds are the networks of TestWeightsSwap.
func swapSeeds() []uint64 {
	if testenv.Long() {
		return []uint64{0, 1, 2, 3, 4, 5, 6}
	}
	return []uint64{2}
}

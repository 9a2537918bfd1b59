// SPDX-License-Identifier: Apache-2.0

package cmsisnn_test

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kerneltest"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// Networks of TestNetworks: networkAll with NNCC_LONG set, otherwise
// networkSample of them on the Cortex-M55 only; networkPart share one program.
const (
	networkAll    = 300
	networkSample = 3
	networkPart   = 75
)

// TestNetworks quantises random networks of layers (odd channels, pads on
// either side, strides, dilation, groups, residual connections) and compares
// the programs with the interpreter, bit for bit: on the host, Cortex-M3, M4 and
// M55, with nncc's sources and with an installed CMSIS-NN where the environment
// names one for the board. One random layer of every kernel row is added to
// each program, so that all int8 and int16 operators are there.
func TestNetworks(t *testing.T) {
	inc, all := testenv.Get("CMSIS_NN_INCLUDE"), testenv.Long()
	count := networkSample
	if all {
		count = networkAll
	}
	for _, b := range []board{{"cortex-m55", "CMSIS_NN_LIB_M55"}, {"host", "CMSIS_NN_LIB"},
		{"cortex-m3", "CMSIS_NN_LIB_M3"}, {"cortex-m4", "CMSIS_NN_LIB_M4"}} {
		t.Run(b.name, func(t *testing.T) {
			if !all && b.name != "cortex-m55" {
				t.Skipf("NNCC_LONG is not set, to run %d networks on four boards", networkAll)
			}
			spec, err := boards.Load(b.name)
			if err != nil {
				t.Fatal(err)
			}
			if b.name != "host" {
				testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
				testenv.Tool(t, "qemu", "qemu-system-arm")
			}
			core := kernel.Core{MVE: spec.ISA.HasMVE(), DSP: spec.ISA.DSP, FPU: spec.ISA.HasFPU(),
				Host: b.name == "host"}
			lib, wrong, rows := testenv.Get(b.env), 0, map[string]int{}
			for from := 0; from < count; from += networkPart {
				g := ir.New("networks")
				for i := from; i < min(count, from+networkPart); i++ {
					network(t, g, fmt.Sprintf("m%d_", i), uint64(i))
				}
				for _, l := range layers(1, 1000+uint64(from)) {
					l.Add(t, g)
				}
				m := kerneltest.Compile(t, table, "networks", g, core, uint64(from))
				for r, n := range m.Rows {
					rows[r] += n
				}
				wrong += m.RunBoard(t, spec, run.BuildOptions{Opt: "-O0"})
				if inc != "" && lib != "" {
					wrong += m.RunBoard(t, spec, run.BuildOptions{Opt: "-O0", CMSISInclude: inc, CMSISLib: lib})
				}
			}
			t.Logf("%d networks, library %q: %d bytes differ; layers by row: %v", count, lib, wrong, rows)
		})
	}
}

// network adds a random network, legalised and quantised, to g.
func network(t *testing.T, g *ir.Graph, prefix string, seed uint64) {
	t.Helper()
	n := irtest.Gen(seed, tensor.F32)
	if _, err := lower.Legalise(n, true); err != nil {
		t.Fatal(err)
	}
	if _, err := quant.Insert(n, quant.Options{Method: option.MinMax, Samples: quant.SyntheticSamples(n.In, 2, seed),
		Source: "synthetic"}); err != nil {
		t.Fatalf("network %d: %v", seed, err)
	}
	if err := quant.Integer(n, quant.IntegerOptions{}); err != nil {
		t.Fatalf("network %d: %v", seed, err)
	}
	copied := map[*ir.Value]*ir.Value{}
	for _, v := range n.In {
		copied[v] = g.AddInput(prefix+v.Name, v.Type)
	}
	value := func(v *ir.Value) *ir.Value {
		if v != nil && copied[v] == nil {
			copied[v] = g.AddConst(prefix+v.Name, v.Const)
			copied[v].Type = v.Type
		}
		return copied[v]
	}
	for _, k := range n.Nodes {
		var in []*ir.Value
		for _, v := range k.In {
			in = append(in, value(v))
		}
		c, err := g.Add(k.Op, prefix+k.Name, k.Attrs.Clone(), len(k.Out), in...)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range k.Out {
			c.Out[i].Type, copied[v] = v.Type, c.Out[i]
		}
	}
	for i, v := range n.Out {
		g.AddOutput(prefix+n.OutNames[i], value(v))
	}
}

// SPDX-License-Identifier: Apache-2.0

package cmsisnn_test

import (
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

var table = kernel.NewTable(cmsisnn.Kernels, reference.Kernels)

func TestHost(t *testing.T) {
	ls := layers(8, 1)
	ms := kerneltest.Separate(t, table, ls, kernel.Core{Host: true})
	taken := map[string]int{}
	for i, m := range ms {
		if m.Rows[ls[i].Row] > 0 {
			taken[ls[i].Row]++
		}
	}
	for _, k := range cmsisnn.Kernels {
		if taken[k.Name] == 0 {
			t.Errorf("no layer was taken by %s", k.Name)
		}
	}
	t.Logf("layers by row: %v", taken)
	kerneltest.RunHost(t, ms, "", "")
}

// TestHostLibrary is TestHost with a host build of CMSIS-NN.
func TestHostLibrary(t *testing.T) {
	inc, lib := testenv.Get("CMSIS_NN_INCLUDE"), testenv.Get("CMSIS_NN_LIB")
	if inc == "" || lib == "" {
		t.Skip("set CMSIS_NN_INCLUDE and CMSIS_NN_LIB to a host build of CMSIS-NN")
	}
	kerneltest.RunHost(t, kerneltest.Separate(t, table, layers(40, 5), kernel.Core{Host: true}), inc, lib)
}

// board is a machine to run on and where the environment names a CMSIS-NN for it.
type board struct{ name, env string }

// TestBoards runs layers side by side in one program under QEMU, on nncc's
// sources and, where CMSIS_NN_INCLUDE and CMSIS_NN_LIB_M4 or CMSIS_NN_LIB_M55
// name one, on CMSIS-NN itself.
func TestBoards(t *testing.T) {
	for _, b := range []board{{"cortex-m4", "CMSIS_NN_LIB_M4"}, {"cortex-m55", "CMSIS_NN_LIB_M55"}} {
		t.Run(b.name, func(t *testing.T) {
			testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
			testenv.Tool(t, "qemu", "qemu-system-arm")
			inc, lib := testenv.Get("CMSIS_NN_INCLUDE"), testenv.Get(b.env)
			count, parts := 2, 1
			if inc != "" && lib != "" {
				count, parts = 40, 8
			}
			spec, err := boards.Load(b.name)
			if err != nil {
				t.Fatal(err)
			}
			core := kernel.Core{MVE: spec.ISA.HasMVE(), DSP: spec.ISA.DSP, FPU: spec.ISA.HasFPU()}
			ls := layers(count, 9)
			for p := range parts {
				g := ir.New("layers")
				for i := p; i < len(ls); i += parts {
					ls[i].Add(t, g)
				}
				m := kerneltest.Compile(t, table, "layers", g, core, 3)
				if p == 0 {
					m.RunBoard(t, spec, run.BuildOptions{})
				}
				if lib != "" && inc != "" {
					t.Logf("part %d, %s: %d bytes differ", p, b.env,
						m.RunBoard(t, spec, run.BuildOptions{CMSISInclude: inc, CMSISLib: lib}))
				}
			}
		})
	}
}

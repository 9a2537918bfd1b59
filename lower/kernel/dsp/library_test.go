// SPDX-License-Identifier: Apache-2.0

package dsp_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/dsp"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

// library is the table of the library's own kernels.
var library = kernel.NewTable(cmsisnn.Kernels, reference.Kernels)

// limits are the shares of the library's instructions that kinds of layers may need on a core without the DSP
// extension, 1 where there is none. Of few channels, less than a group of four, half of the work is for nothing.
var limits = map[string]float64{"1x1": 0.65, "depthwise": 0.65}

// TestLibrary holds every layer against CMSIS-NN's for the same core, by
// instructions under QEMU: ours with the default flags, the library as it is
// installed. CMSIS_NN_INCLUDE and CMSIS_NN_LIB_M0PLUS, _M3, _M4 name it.
func TestLibrary(t *testing.T) {
	for _, c := range []struct{ board, variable string }{{"cortex-m0plus", "CMSIS_NN_LIB_M0PLUS"},
		{"cortex-m3", "CMSIS_NN_LIB_M3"}, {"cortex-m4", "CMSIS_NN_LIB_M4"}} {
		t.Run(c.board, func(t *testing.T) {
			opt := run.BuildOptions{Trace: true, Opt: "speed", CMSISInclude: testenv.Get("CMSIS_NN_INCLUDE"),
				CMSISLib: testenv.Get(c.variable)}
			if opt.CMSISInclude == "" || opt.CMSISLib == "" {
				t.Skipf("set CMSIS_NN_INCLUDE and %s to compare with a build of CMSIS-NN", c.variable)
			}
			spec, err := boards.Load(c.board)
			testenv.OK(t, err)
			core := kernel.Options{Core: kernel.Core{DSP: spec.ISA.DSP, Armv6M: spec.Armv6M()}}
			layers := kerneltest.ReadKinds(t, filepath.Join("testdata", "library.txt"))
			count := func(table kernel.Table, opt run.BuildOptions) map[string]uint64 {
				b := kerneltest.NewWriter(7)
				for _, l := range layers {
					b.Text(l.Layers[0])
				}
				return kerneltest.Guard(t, b.Graph(t), table, core, 7).RunBoard(t, spec, opt)
			}
			ours, theirs := count(table, run.BuildOptions{Trace: true, Opt: "speed"}), count(library, opt)
			for i, l := range layers {
				name := fmt.Sprintf("y%d", i+1)
				a, b := ours[name], theirs[name]
				kind, _, _ := strings.Cut(l.Name, ":")
				ratio, limit := float64(a)/float64(b), cmp.Or(limits[kind], 1)
				t.Logf("%-57s %9d %9d %5.2f", l.Name, b, a, ratio)
				if ratio > limit {
					t.Errorf("%s: %d instructions, want at most %.2f of the library's %d", l.Name, a, limit, b)
				}
			}
		})
	}
}

func TestRules(t *testing.T) {
	kerneltest.Rules(t, dsp.Kernels, []kernel.Core{core.Core, {}}, kernel.Core{DSP: true, MVE: true})
}

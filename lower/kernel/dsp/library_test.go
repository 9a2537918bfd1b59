// SPDX-License-Identifier: Apache-2.0

package dsp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

// library is the table of the library's own kernels.
var library = kernel.NewTable(cmsisnn.Kernels, reference.Kernels)

// class is a kind of layer and the share of the library's instructions that
// it may need on a core without the DSP extension.
type class struct {
	name  string
	limit float64
}

var (
	regular   = class{"conv", 1}
	pixelwise = class{"1x1", 0.65}
	separable = class{"depthwise", 0.65}
	tiny      = class{"few channels", 1} // fewer than a group of four: half of the work is for nothing
	dense     = class{"fully connected", 1}
	other     = class{"other", 1}
)

// measured is a layer of networks as they are: small ones and odd ones beside
// those of the benchmarks.
type measured struct {
	class
	what  string
	build func(b *kerneltest.Writer)
}

// convolved describes a convolution with Relu, padded as frameworks do.
func convolved(k class, ci, co, group int, size, kernel, stride []int) measured {
	c := kerneltest.ConvCase{Batch: 1, CIn: ci, COut: co, Group: group, Size: size, Kernel: kernel, Stride: stride,
		Plain: true}
	rank := len(size)
	c.Pads = make([]int, 2*rank)
	for d := range size {
		c.Dil = append(c.Dil, 1)
		out := (size[d] + stride[d] - 1) / stride[d]
		pad := max(0, (out-1)*stride[d]+kernel[d]-size[d])
		c.Pads[d], c.Pads[rank+d] = pad/2, pad-pad/2
	}
	what := fmt.Sprintf("%s, %d to %d, %s", times(kernel), ci, co, times(size))
	if group > 1 && group == ci && co == ci {
		what = fmt.Sprintf("%s, %d, %s", times(kernel), ci, times(size))
	} else if group > 1 {
		what += fmt.Sprintf(", %d groups", group)
	}
	if times(stride) != times(make([]int, rank)) && stride[0] > 1 {
		what += fmt.Sprintf(", stride %d", stride[0])
	}
	return measured{k, what, func(b *kerneltest.Writer) { b.Conv(c) }}
}

func times(v []int) string {
	var s []string
	for _, x := range v {
		s = append(s, fmt.Sprint(x))
	}
	return strings.Join(s, "x")
}

// square is [n, n].
func square(n int) []int { return []int{n, n} }

func pooled(kind string, channels int, size, kernel, stride []int) measured {
	return measured{other, fmt.Sprintf("%s %s, %d, %s", kind, times(kernel), channels, times(size)),
		func(b *kerneltest.Writer) {
			b.Pool(kind, 1, channels, size, kernel, stride, make([]int, 2*len(size)))
		}}
}

func multiplied(rows, inputs, outputs int) measured {
	return measured{dense, fmt.Sprintf("%d to %d, %d rows", inputs, outputs, rows),
		func(b *kerneltest.Writer) { b.Gemm(rows, inputs, outputs) }}
}

func elementwise(name string, write func(b *kerneltest.Writer, shape ...int), elements int) measured {
	return measured{other, fmt.Sprintf("%s, %d", name, elements), func(b *kerneltest.Writer) { write(b, 1, elements) }}
}

func exponential(rows, size int) measured {
	return measured{other, fmt.Sprintf("Softmax, %d of %d", rows, size),
		func(b *kerneltest.Writer) { b.Softmax(rows, size) }}
}

// layers of every class.
var layers = []measured{
	convolved(regular, 1, 64, 1, []int{49, 10}, []int{10, 4}, square(2)),
	convolved(regular, 3, 8, 1, square(32), square(3), square(2)),
	convolved(regular, 3, 16, 1, square(24), square(3), square(1)),
	convolved(regular, 1, 6, 1, square(20), square(5), square(1)),
	convolved(regular, 16, 16, 1, square(16), square(3), square(1)),
	convolved(regular, 16, 32, 1, square(16), square(3), square(2)),
	convolved(regular, 64, 64, 1, square(8), square(3), square(1)),
	convolved(regular, 7, 13, 1, square(9), square(3), square(1)),
	convolved(regular, 6, 16, 1, square(10), square(5), square(1)),
	convolved(regular, 12, 2, 1, square(10), square(3), square(1)),
	convolved(regular, 16, 16, 4, square(8), square(3), square(1)),
	convolved(regular, 16, 32, 1, []int{64}, []int{3}, []int{1}),
	convolved(regular, 1, 8, 1, []int{128}, []int{5}, []int{2}),
	convolved(regular, 9, 10, 1, []int{40}, []int{7}, []int{1}),
	convolved(pixelwise, 64, 64, 1, []int{25, 5}, square(1), square(1)),
	convolved(pixelwise, 8, 16, 1, square(24), square(1), square(1)),
	convolved(tiny, 3, 5, 1, square(16), square(1), square(1)),
	convolved(pixelwise, 17, 23, 1, square(9), square(1), square(1)),
	convolved(pixelwise, 128, 256, 1, square(3), square(1), square(1)),
	convolved(pixelwise, 16, 32, 1, square(16), square(1), square(2)),
	convolved(pixelwise, 64, 12, 1, square(1), square(1), square(1)),
	convolved(separable, 64, 64, 64, []int{25, 5}, square(3), square(1)),
	convolved(separable, 8, 8, 8, square(24), square(3), square(1)),
	convolved(separable, 16, 16, 16, square(24), square(3), square(2)),
	convolved(separable, 128, 128, 128, square(6), square(3), square(2)),
	convolved(separable, 256, 256, 256, square(3), square(3), square(1)),
	convolved(separable, 7, 7, 7, square(12), square(3), square(1)),
	convolved(tiny, 3, 3, 3, square(12), square(3), square(1)),
	convolved(separable, 24, 24, 24, square(12), square(5), square(1)),
	convolved(separable, 6, 12, 6, square(12), square(3), square(1)),
	convolved(separable, 32, 32, 32, []int{64}, []int{3}, []int{1}),
	convolved(separable, 10, 10, 10, []int{40}, []int{9}, []int{2}),
	multiplied(1, 640, 128), multiplied(1, 128, 8), multiplied(1, 256, 2), multiplied(1, 64, 10), multiplied(1, 16, 16),
	multiplied(1, 1, 16),
	multiplied(1, 77, 13), multiplied(8, 64, 64), multiplied(2, 33, 7),
	pooled("AveragePool", 64, []int{25, 5}, []int{25, 5}, square(1)),
	pooled("AveragePool", 256, square(3), square(3), square(1)),
	pooled("AveragePool", 16, square(16), square(2), square(2)),
	pooled("AveragePool", 5, square(12), square(3), square(2)),
	pooled("MaxPool", 16, square(16), square(2), square(2)),
	pooled("MaxPool", 5, square(12), square(3), square(2)),
	pooled("MaxPool", 32, []int{64}, []int{2}, []int{2}),
	elementwise("Add", (*kerneltest.Writer).Add, 4096), elementwise("Add", (*kerneltest.Writer).Add, 100),
	elementwise("Mul", (*kerneltest.Writer).Mul, 1000),
	exponential(1, 2), exponential(1, 12), exponential(16, 20), exponential(1, 100),
}

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
			count := func(table kernel.Table, opt run.BuildOptions) map[string]uint64 {
				b := kerneltest.NewWriter(7)
				for _, l := range layers {
					l.build(b)
				}
				return kerneltest.Guard(t, b.Graph(t), table, core, 7).RunBoard(t, spec, opt)
			}
			ours, theirs := count(table, run.BuildOptions{Trace: true, Opt: "speed"}), count(library, opt)
			for i, l := range layers {
				name := fmt.Sprintf("y%d", i+1)
				a, b := ours[name], theirs[name]
				ratio := float64(a) / float64(b)
				t.Logf("%-16s %-40s %9d %9d %5.2f", l.name, l.what, b, a, ratio)
				if ratio > l.limit {
					t.Errorf("%s %s: %d instructions, want at most %.2f of the library's %d", l.name, l.what, a,
						l.limit, b)
				}
			}
		})
	}
}

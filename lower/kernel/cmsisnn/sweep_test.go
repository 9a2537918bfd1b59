// SPDX-License-Identifier: Apache-2.0

package cmsisnn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kerneltest"
)

// Shapes of the sweep over 1-D convolutions: sweepAll with NNCC_LONG set,
// otherwise sweepSample of them; sweepPart share one program.
const (
	sweepAll    = 5600
	sweepSample = 160
	sweepPart   = 800
)

// conv1d is a layer of the sweep: strides 1 to 4, padding as ONNX counts it
// (the same on both sides, or any), TensorFlow's SAME (upper and lower) and
// VALID. Every fifth is rank 4 with one column.
func conv1d(i int, seen map[string]int) func(b *kerneltest.Builder) {
	return func(b *kerneltest.Builder) {
		c, co := b.One(1, 2, 3, 4, 4, 4, 6, 8, 12), b.In(1, 5)
		k, s := b.In(1, 10), 1+i%4
		w := b.In(max(4, k), 32)
		d := b.One(1, 1, 1, 1, 2)
		span := (k-1)*d + 1
		var front, end int
		style := []string{"explicit", "SAME_UPPER", "SAME_LOWER", "VALID", "any"}[i/4%5]
		same := max(0, ((w+s-1)/s-1)*s+span-w)
		switch style {
		case "explicit":
			front = b.In(0, span-1)
			end = front
		case "SAME_UPPER":
			front, end = same/2, same-same/2
		case "SAME_LOWER":
			front, end = same-same/2, same/2
		case "any":
			front, end = b.In(0, span-1), b.In(0, span-1)
		}
		for w+front+end < span {
			end++
		}
		seen[fmt.Sprintf("%s, stride %d", style, s)]++
		xq := b.Quant()
		shape, kernel, attrs := []int{b.One(1, 1, 1, 2), c, w}, []int{co, c, k}, ir.Attrs{"strides": kerneltest.Ints(s),
			"pads": kerneltest.Ints(front, end), "dilations": kerneltest.Ints(d)}
		if i%5 == 4 {
			shape, kernel = append(shape, 1), append(kernel, 1)
			attrs = ir.Attrs{"strides": kerneltest.Ints(s, 1), "pads": kerneltest.Ints(front, 0, end, 0),
				"dilations": kerneltest.Ints(d, 1)}
		}
		x, f := b.Input(xq, shape...), b.Weights(b.Chance(70), 0, kernel...)
		in := []*ir.Value{x, f}
		if b.Chance(60) {
			in = append(in, b.Bias(xq, f.Type.Quant, co))
		}
		b.Node("Conv", b.Clamp(attrs), b.AccQuant(xq, f.Type.Quant, c*k), in...)
	}
}

// TestConv1DSweep compares 1-D convolutions on the Cortex-M55 with the
// interpreter, bit for bit: with nncc's sources, and with an installed
// CMSIS-NN where CMSIS_NN_INCLUDE and CMSIS_NN_LIB_M55 name one.
func TestConv1DSweep(t *testing.T) {
	spec, err := boards.Load("cortex-m55")
	if err != nil {
		t.Fatal(err)
	}
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	inc, lib := testenv.Get("CMSIS_NN_INCLUDE"), testenv.Get("CMSIS_NN_LIB_M55")
	count := sweepSample
	if testenv.Long() {
		count = sweepAll
	}
	core := kernel.Core{MVE: true, DSP: true, FPU: true}
	seen, routes, wrong := map[string]int{}, map[string]int{}, 0
	for from := 0; from < count; from += sweepPart {
		g := ir.New("sweep")
		for i := from; i < min(count, from+sweepPart); i++ {
			kerneltest.Layer{Name: fmt.Sprintf("s%d", i), Seed: uint64(i), Build: conv1d(i, seen)}.Add(t, g)
		}
		m := kerneltest.Compile(t, table, "sweep", g, core, uint64(from))
		for r, n := range m.Routes {
			routes[r] += n
		}
		wrong += m.RunBoard(t, spec, run.BuildOptions{Opt: "-O0"})
		if inc != "" && lib != "" {
			wrong += m.RunBoard(t, spec, run.BuildOptions{Opt: "-O0", CMSISInclude: inc, CMSISLib: lib})
		}
	}
	for _, r := range []string{"arm_convolve_1_x_n_s8", "arm_convolve_s8", "arm_convolve_1x1_s8_fast",
		"arm_convolve_1x1_s8"} {
		if routes[r] == 0 {
			t.Errorf("no shape runs %s", r)
		}
	}
	t.Logf("%d shapes, library %q: %d bytes differ; routes %v; %v", count, lib, wrong, routes, seen)
}

// TestConv1DRoutes: with stride 1 and the same padding on both sides a 1-D
// convolution runs the 1xN kernel on Helium wherever the channels allow it,
// whichever of its axes has the data.
func TestConv1DRoutes(t *testing.T) {
	for _, c := range []int{1, 2, 3, 4, 6, 8} {
		for k := 2; k < 8; k++ {
			for _, column := range []bool{false, true} {
				pad := (k - 1) / 2
				src := fmt.Sprintf("in %%x : i8[1,%d,30] A\nconst %%w : i8[5,%d,%d] W = rand 1\n%%o : i8[1,5,%d] O "+
					"= Conv(%%x, %%w) {pads=[%d,%d]}", c, c, k, 30+2*pad-k+1, pad, pad)
				if column {
					src = fmt.Sprintf("in %%x : i8[1,%d,30,1] A\nconst %%w : i8[5,%d,%d,1] W = rand 1\n%%o : "+
						"i8[1,5,%d,1] O = Conv(%%x, %%w) {pads=[%d,0,%d,0]}", c, c, k, 30+2*pad-k+1, pad, pad)
				}
				n := last(t, src)
				opt := &kernel.Options{Core: helium}
				choice, err := table.Match(n, opt)
				if err != nil {
					t.Fatal(err)
				}
				l := choice.Lower()
				want := "arm_convolve_s8"
				if c%4 == 0 {
					want = "arm_convolve_1_x_n_s8"
				}
				if l.Route != want || (c%4 == 0) != (l.RouteReason == "") || c%4 != 0 &&
					!strings.Contains(l.RouteReason, "stride.w*in.c%4") {
					t.Errorf("%d channels, kernel %d, column %v: %s (%s), want %s", c, k, column, l.Route,
						l.RouteReason, want)
				}
			}
		}
	}
}

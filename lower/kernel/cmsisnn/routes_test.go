// SPDX-License-Identifier: Apache-2.0

package cmsisnn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir/call"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/reference"
)

var table = kernel.NewTable(cmsisnn.Kernels, reference.Kernels)

var (
	plainC = kernel.Core{}
	dsp    = kernel.Core{DSP: true}
	helium = kernel.Core{DSP: true, MVE: true}
)

// TestRoutes: the function called and the inner one that runs on each core,
// and the way round what the library computes wrongly.
func TestRoutes(t *testing.T) {
	conv := func(x, w, out, attrs string) string {
		return fmt.Sprintf("in %%x : i8[%s] A\nconst %%w : i8[%s] W = rand 1\n%%o : i8[%s] O = Conv(%%x, %%w) {%s}", x,
			w, out, attrs)
	}
	up := func(x, w, out, attrs string) string {
		return fmt.Sprintf("in %%x : i8[%s] A\nconst %%w : i8[%s] W = rand 1\n%%o : i8[%s] O = ConvTranspose(%%x, "+
			"%%w) {%s}", x, w, out, attrs)
	}
	for _, c := range []struct {
		name, src   string
		core        kernel.Core
		call, inner string
		why         string // part of the reason
	}{
		{"1x1", conv("1,4,5,5", "3,4,1,1", "1,3,5,5", ""), dsp, "arm_convolve_wrapper_s8", "arm_convolve_1x1_s8_fast",
			""},
		{"1x1 strided", conv("1,4,5,5", "3,4,1,1", "1,3,3,3", "strides=[2,2]"), plainC, "arm_convolve_wrapper_s8",
			"arm_convolve_1x1_s8", "instead of arm_convolve_1x1_s8_fast: stride.w is 2, wanted 1"},
		{"1x1 with padding behind the end", conv("1,4,5,5", "3,4,1,1", "1,3,3,4", "strides=[2,2], pads=[0,0,0,2]"), dsp,
			"arm_convolve_s8", "arm_convolve_s8",
			"instead of arm_convolve_1x1_s8: the 1x1 kernel knows no padding"},
		{"1x1 of one row", conv("1,4,1,9", "3,4,1,1", "1,3,1,9", "strides=[2,1]"), plainC, "arm_convolve_wrapper_s8",
			"arm_convolve_1x1_s8_fast", ""},
		{"Nx1 of one column", conv("1,4,16,1", "3,4,3,1", "1,3,16,1", "pads=[1,0,1,0]"), helium,
			"arm_convolve_wrapper_s8", "arm_convolve_1_x_n_s8", ""},
		{"1x1 grouped", conv("1,4,5,5", "4,2,1,1", "1,4,5,5", "group=2"), dsp, "arm_convolve_wrapper_s8",
			"arm_convolve_s8", "in.c is 4, wanted filter.c = 2"},
		{"3x3", conv("1,4,5,5", "3,4,3,3", "1,3,3,3", ""), helium, "arm_convolve_wrapper_s8", "arm_convolve_s8", ""},
		{"1xN", conv("1,4,16", "3,4,3", "1,3,16", "pads=[1,1]"), helium, "arm_convolve_wrapper_s8",
			"arm_convolve_1_x_n_s8", ""},
		{"1xN without Helium", conv("1,4,16", "3,4,3", "1,3,16", "pads=[1,1]"), dsp, "arm_convolve_wrapper_s8",
			"arm_convolve_s8", ""},
		{"1xN that fails", conv("1,4,16", "3,4,3", "1,3,8", "pads=[1,1], strides=[2]"), helium, "arm_convolve_s8",
			"arm_convolve_s8", "[X-C8-1]"},
		{"1xN that is wrong", conv("1,4,13", "3,4,5", "1,3,7", "pads=[2,2], strides=[2]"), helium, "arm_convolve_s8",
			"arm_convolve_s8", "instead of arm_convolve_1_x_n_s8: the 1xN kernel computes the last columns from the " +
				"wrong inputs [X-C8-3]"},
		{"1xN that would fail", conv("1,4,16", "3,4,3", "1,3,8", "pads=[1,1], strides=[2]"), dsp,
			"arm_convolve_wrapper_s8", "arm_convolve_s8", ""},
		{"depthwise 3x3", conv("1,4,5,5", "4,1,3,3", "1,4,5,5", "group=4, pads=[1,1,1,1]"), dsp,
			"arm_depthwise_conv_wrapper_s8", "arm_depthwise_conv_3x3_s8", ""},
		{"depthwise 3x3 Helium", conv("1,4,5,5", "4,1,3,3", "1,4,5,5", "group=4, pads=[1,1,1,1]"), helium,
			"arm_depthwise_conv_wrapper_s8", "arm_depthwise_conv_s8_opt", ""},
		{"depthwise 3x3 that reads too far", conv("1,4,5,5", "4,1,3,3", "1,4,5,6", "group=4, pads=[1,1,1,2]"), plainC,
			"arm_depthwise_conv_s8", "arm_depthwise_conv_s8",
			"instead of arm_depthwise_conv_3x3_s8: the 3x3 kernel reads beyond the row"},
		{"the same with Helium", conv("1,4,5,5", "4,1,3,3", "1,4,5,6", "group=4, pads=[1,1,1,2]"), helium,
			"arm_depthwise_conv_wrapper_s8", "arm_depthwise_conv_s8_opt", ""},
		{"depthwise multiplier", conv("1,4,5,5", "8,1,3,3", "1,8,3,3", "group=4"), helium,
			"arm_depthwise_conv_wrapper_s8", "arm_depthwise_conv_s8", "ch_mult is 2, wanted 1"},
		{"transposed", up("1,4,5,5", "4,3,3,3", "1,3,7,7", ""), helium, "arm_transpose_conv_wrapper_s8",
			"arm_transpose_conv_s8", ""},
		{"transposed, padding no multiple of the stride", up("1,4,5,5", "4,3,3,3", "1,3,9,9",
			"strides=[2,2], pads=[1,1,1,1]"), dsp, "nncc_copy_nd", "arm_transpose_conv_s8",
			"1 rows more are computed and dropped: arm_transpose_conv_s8: the kernel put rows into the wrong places"},
		{"transposed, deep", up("1,20,5,5", "20,3,3,3", "1,3,11,11", "strides=[2,2]"), dsp,
			"arm_transpose_conv_wrapper_s8", "arm_convolve_s8", ""},
		{"transposed, grouped", up("1,4,5,5", "4,2,3,3", "1,4,7,7", "group=2"), dsp, "arm_convolve_s8",
			"arm_convolve_s8", ""},
		{"product", "in %x : i8[2,5] A\nconst %w : i8[5,3] W = rand 1\n%o : i8[2,3] O = Gemm(%x, %w)", helium,
			"arm_fully_connected_wrapper_s8", "arm_fully_connected_s8", ""},
		{"product per channel", "in %x : i8[2,5] A\nconst %w : i8[5,3] q(axis=1,0.1:0,0.2:0,0.3:0) = rand 1\n%o : " +
			"i8[2,3] O = Gemm(%x, %w)", dsp,
			"arm_fully_connected_wrapper_s8", "arm_fully_connected_per_channel_s8", ""},
	} {
		n := last(t, c.src)
		opt := &kernel.Options{Core: c.core}
		choice := testenv.Must(table.Match(n, opt))(t)
		l := choice.Lower()
		end := l.Calls[len(l.Calls)-1]
		if end.Func != c.call || end.Func != "nncc_copy_nd" && l.Kernel != c.call || l.Route != c.inner {
			t.Errorf("%s: %s (kernel %s) runs %s, want %s and %s", c.name, end.Func, l.Kernel, l.Route, c.call, c.inner)
		}
		testenv.Check(t, strings.Contains(l.RouteReason, c.why) && (c.why != "" || l.RouteReason == ""),
			"%s: route because of %q, want %q", c.name, l.RouteReason, c.why)
		if end.Func == "nncc_copy_nd" {
			continue
		}
		if n.Op.Name == "Conv" || n.Op.Name == "ConvTranspose" {
			for _, a := range end.Args {
				if b, ok := a.(*call.Blob); ok && b.Hint == "bias" {
					end.Func = ""
				}
			}
			testenv.Check(t, end.Func == "", "%s: no bias; the library needs zeros", c.name)
		}
	}
}

// TestConcatViews: an axis with nothing in front of it in memory lets inputs
// live inside the output; other ones are copied.
func TestConcatViews(t *testing.T) {
	for _, c := range []struct {
		shape, out string
		axis       int
		order      []int
		parts      []int // offsets
		fn         string
	}{
		{"1,4,5,6", "1,8,5,6", 1, nil, []int{0, 120}, "arm_concatenation_s8_w"},
		{"1,4,5,6", "1,8,5,6", 1, []int{0, 2, 3, 1}, nil, "arm_concatenation_s8_x"},
		{"1,4,5,6", "1,4,10,6", 2, []int{0, 2, 3, 1}, []int{0, 120}, "arm_concatenation_s8_w"},
		{"2,4,5,6", "2,4,10,6", 2, nil, nil, "arm_concatenation_s8_y"},
		{"2,4,5,6", "2,8,5,6", 1, nil, nil, "arm_concatenation_s8_z"},
		{"2,4,5,6", "4,4,5,6", 0, nil, []int{0, 240}, "arm_concatenation_s8_w"},
		{"2,3,4,5,6", "2,3,8,5,6", 2, nil, nil, "arm_concatenation_s8_y"},
	} {
		n := last(t, fmt.Sprintf("in %%x : i8[%s] A\nin %%y : i8[%s] A\n%%o : i8[%s] A = Concat(%%x, %%y) {axis=%d}",
			c.shape, c.shape, c.out, c.axis))
		for _, v := range append(n.In, n.Out...) {
			v.Type.Order = c.order
		}
		choice := testenv.Must(table.Match(n, &kernel.Options{}))(t)
		l := choice.Lower()
		var at []int
		for i, p := range l.Parts {
			testenv.Check(t, p.Input && p.I == i, "part %+v", p)
			if p.Row > 0 { // columns, which CMSIS-NN's own calls do not read or write
				continue
			}
			at = append(at, p.Off)
		}
		if fmt.Sprint(at) != fmt.Sprint(c.parts) || l.Calls[1].Func != c.fn {
			t.Errorf("%s axis %d order %v: parts at %v by %s, want %v by %s", c.shape, c.axis, c.order, at,
				l.Calls[1].Func, c.parts, c.fn)
		}
	}
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
				choice := testenv.Must(table.Match(n, opt))(t)
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

// A, W, B, O and S at the end of a type stand for quantisations.
var quants = strings.NewReplacer("] A", "] q(0.5:3)", "] W", "] q(0.25:0)", "] B", "] q(0.125:0)", "] O", "] q(2.0:-5)",
	"] S", "] q(0.0625:0)")

// last is the last node of a graph with the result %o.
func last(t *testing.T, src string) *ir.Node {
	t.Helper()
	g := irtest.Parse(t, "graph \"g\" {\n"+quants.Replace(src)+"\nout \"o\" = %o\n}")
	return g.Nodes[len(g.Nodes)-1]
}

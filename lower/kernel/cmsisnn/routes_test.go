// SPDX-License-Identifier: Apache-2.0

package cmsisnn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir/call"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/reference"
)

var table = kernel.NewTable(cmsisnn.Kernels, reference.Kernels)

var cores = map[string]kernel.Core{"plain": {}, "dsp": {DSP: true}, "helium": {DSP: true, MVE: true}}

// TestRoutes: the function called and the inner one that runs on each core,
// and the way round what the library computes wrongly.
func TestRoutes(t *testing.T) {
	for _, f := range testenv.Must(txtar.ParseFile("testdata/routes.txtar"))(t).Files {
		src, says, _ := strings.Cut(string(f.Data), "\n# ")
		want := append(strings.SplitN(strings.TrimSpace(says), " ", 4), "")
		core, function, inner, why := want[0], want[1], want[2], want[3]
		n := last(t, src)
		opt := &kernel.Options{Core: cores[core]}
		choice := testenv.Must(table.Match(n, opt))(t)
		l := choice.Lower()
		end := l.Calls[len(l.Calls)-1]
		if end.Func != function || end.Func != "nncc_copy_nd" && l.Kernel != function || l.Route != inner {
			t.Errorf("%s: %s (kernel %s) runs %s, want %s and %s", f.Name, end.Func, l.Kernel, l.Route, function, inner)
		}
		testenv.Check(t, strings.Contains(l.RouteReason, why) && (why != "" || l.RouteReason == ""),
			"%s: route because of %q, want %q", f.Name, l.RouteReason, why)
		if end.Func == "nncc_copy_nd" {
			continue
		}
		if n.Op.Name == "Conv" || n.Op.Name == "ConvTranspose" {
			for _, a := range end.Args {
				if b, ok := a.(*call.Blob); ok && b.Hint == "bias" {
					end.Func = ""
				}
			}
			testenv.Check(t, end.Func == "", "%s: no bias; the library needs zeros", f.Name)
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
				opt := &kernel.Options{Core: cores["helium"]}
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

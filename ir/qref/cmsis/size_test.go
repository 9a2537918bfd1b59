// SPDX-License-Identifier: Apache-2.0

package cmsis_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/qref/cmsis"
)

func TestKnownSizes(t *testing.T) {
	one := cmsis.Tile{H: 1, W: 1}
	d := func(n, h, w, c int) cmsis.Dims { return cmsis.Dims{N: n, H: h, W: w, C: c} }
	for _, c := range []struct {
		fn   string
		q    cmsis.Query
		want int
	}{
		{"arm_convolve_wrapper_s8", cmsis.Query{Build: cmsis.MVE, In: d(1, 32, 32, 3), Filter: d(16, 3, 3, 3),
			Out: d(1, 32, 32, 16), Stride: one, Pad: one, Dilation: one}, 128},
		{"arm_convolve_wrapper_s8", cmsis.Query{Build: cmsis.PlainC, In: d(1, 32, 32, 3), Filter: d(16, 3, 3, 3),
			Out: d(1, 32, 32, 16), Stride: one, Pad: one, Dilation: one}, 112},
		{"arm_convolve_wrapper_s8", cmsis.Query{Build: cmsis.DSP, In: d(1, 5, 5, 64), Filter: d(64, 1, 1, 64),
			Out: d(1, 5, 5, 64), Stride: one, Dilation: one}, 0},
		{"arm_convolve_wrapper_s8", cmsis.Query{Build: cmsis.DSP, ArmClang: true, In: d(1, 5, 5, 64),
			Filter: d(64, 1, 1, 64), Out: d(1, 5, 5, 64), Stride: one, Dilation: one}, 256},
		{"arm_convolve_wrapper_s8", cmsis.Query{Build: cmsis.MVE, In: d(1, 1, 16, 4), Filter: d(8, 1, 3, 4),
			Out: d(1, 1, 16, 8), Stride: one, Pad: cmsis.Tile{W: 1}, Dilation: one}, 16},
		{"arm_depthwise_conv_wrapper_s8", cmsis.Query{Build: cmsis.MVE, In: d(1, 9, 9, 64), Filter: d(1, 3, 3, 64),
			Out: d(1, 9, 9, 64), Stride: one, Pad: one, Dilation: one, ChMult: 1}, 4464},
		{"arm_depthwise_conv_wrapper_s8", cmsis.Query{Build: cmsis.DSP, In: d(1, 9, 9, 64), Filter: d(1, 3, 3, 64),
			Out: d(1, 9, 9, 64), Stride: one, Pad: one, Dilation: one, ChMult: 1}, 0},
		{"arm_depthwise_conv_wrapper_s8", cmsis.Query{Build: cmsis.DSP, In: d(1, 9, 9, 64), Filter: d(1, 5, 5, 64),
			Out: d(1, 9, 9, 64), Stride: one, Pad: one, Dilation: one, ChMult: 1}, 3200},
		{"arm_avgpool_s8", cmsis.Query{Build: cmsis.DSP, In: d(1, 8, 8, 64)}, 256},
		{"arm_fully_connected_wrapper_s8", cmsis.Query{Build: cmsis.MVE, Filter: d(30, 1, 1, 12)}, 48},
	} {
		testenv.Equal(t, cmsis.Size(c.fn, &c.q), c.want, "%s %+v: bytes", c.fn, c.q)
	}
}

// libraryProgram prints what the library's size functions return for lines of
// "in filter out stride pad dilation" dimensions.
const libraryProgram = `
#include "arm_nnfunctions.h"
#include "arm_nnsupportfunctions.h"
#include <stdio.h>
int main(void)
{
    cmsis_nn_dims i, f, o, g;
    cmsis_nn_conv_params p = {0};
    cmsis_nn_dw_conv_params d = {0};
    cmsis_nn_transpose_conv_params t = {0};
    while (scanf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d", &i.n, &i.h, &i.w, &i.c, &f.n, &f.h, &f.w,
                 &f.c, &o.n, &o.h, &o.w, &o.c, &p.stride.h, &p.stride.w, &p.padding.h, &p.padding.w, &p.dilation.h,
                 &p.dilation.w) == 18)
    {
        d.stride = t.stride = p.stride;
        d.padding = t.padding = p.padding;
        d.dilation = t.dilation = p.dilation;
        g.n = 1; g.h = f.h; g.w = f.w; g.c = o.c; d.ch_mult = o.c % i.c == 0 ? o.c / i.c : 0;
        printf("%d %d %d %d %d %d %d %d %d ", arm_convolve_wrapper_s4_get_buffer_size(&p, &i, &f, &o),
               arm_convolve_wrapper_s4_get_buffer_size_mve(&p, &i, &f, &o),
               arm_convolve_wrapper_s16_get_buffer_size(&p, &i, &f, &o),
               arm_convolve_wrapper_s16_get_buffer_size_mve(&p, &i, &f, &o),
               arm_depthwise_conv_wrapper_s4_get_buffer_size(&d, &i, &g, &o),
               arm_depthwise_conv_wrapper_s4_get_buffer_size_mve(&d, &i, &g, &o),
               arm_depthwise_conv_wrapper_s16_get_buffer_size(&d, &i, &g, &o),
               arm_depthwise_conv_wrapper_s16_get_buffer_size_dsp(&d, &i, &g, &o),
               arm_depthwise_conv_wrapper_s16_get_buffer_size_mve(&d, &i, &g, &o));
        printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", arm_convolve_wrapper_s8_get_buffer_size(&p, &i, &f, &o),
               arm_convolve_wrapper_s8_get_buffer_size_dsp(&p, &i, &f, &o),
               arm_convolve_wrapper_s8_get_buffer_size_mve(&p, &i, &f, &o),
               arm_depthwise_conv_wrapper_s8_get_buffer_size(&d, &i, &g, &o),
               arm_depthwise_conv_wrapper_s8_get_buffer_size_dsp(&d, &i, &g, &o),
               arm_depthwise_conv_wrapper_s8_get_buffer_size_mve(&d, &i, &g, &o),
               arm_transpose_conv_s8_get_buffer_size(&t, &i, &f, &o),
               arm_transpose_conv_s8_get_buffer_size_mve(&t, &i, &f, &o),
               arm_transpose_conv_s8_get_reverse_conv_buffer_size(&t, &i, &f),
               arm_fully_connected_s8_get_buffer_size_dsp(&f), arm_fully_connected_s8_get_buffer_size_mve(&f),
               arm_avgpool_s8_get_buffer_size(o.w, i.c), arm_avgpool_s8_get_buffer_size_dsp(o.w, i.c),
               arm_avgpool_s8_get_buffer_size_mve(o.w, i.c));
    }
    return 0;
}
`

// TestSizesOfLibrary compares the sizes with a host build of CMSIS-NN.
func TestSizesOfLibrary(t *testing.T) {
	inc, lib := testenv.Get("CMSIS_NN_INCLUDE"), testenv.Get("CMSIS_NN_LIB")
	if inc == "" || lib == "" {
		t.Skip("set CMSIS_NN_INCLUDE and CMSIS_NN_LIB to a host build of CMSIS-NN to compare with it")
	}
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "sizes.c"), filepath.Join(dir, "sizes")
	testenv.OK(t, os.WriteFile(src, []byte(libraryProgram), 0o644))
	if out, err := exec.Command("cc", "-w", "-I"+inc, "-o", exe, src, lib).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	r := &gen{rand.New(rand.NewPCG(1, 1))}
	var req bytes.Buffer
	var want []string
	for range 20000 {
		q := r.conv()
		i, f, o, s, p, d := q.In, q.Filter, q.Out, q.Stride, q.Pad, q.Dilation
		fmt.Fprintln(&req, i.N, i.H, i.W, i.C, f.N, f.H, f.W, f.C, o.N, o.H, o.W, o.C, s.H, s.W, p.H, p.W, d.H, d.W)
		dw := q
		dw.Filter, dw.ChMult = cmsis.Dims{N: 1, H: f.H, W: f.W, C: o.C}, 0
		if o.C%i.C == 0 {
			dw.ChMult = o.C / i.C
		}
		size := func(fn string, q cmsis.Query, b cmsis.Build) int {
			q.Build = b
			return cmsis.Size(fn, &q)
		}
		sizes := func(fn string, q cmsis.Query, builds ...cmsis.Build) {
			for _, b := range builds {
				want = append(want, fmt.Sprint(size(fn, q, b)))
			}
		}
		C, D, M := cmsis.PlainC, cmsis.DSP, cmsis.MVE
		sizes("arm_convolve_wrapper_s4", q, C, M)
		sizes("arm_convolve_wrapper_s16", q, C, M)
		sizes("arm_depthwise_conv_wrapper_s4", dw, C, M)
		sizes("arm_depthwise_conv_wrapper_s16", dw, C, D, M)
		sizes("arm_convolve_wrapper_s8", q, C, D, M)
		sizes("arm_depthwise_conv_wrapper_s8", dw, C, D, M)
		sizes("arm_transpose_conv_s8_get_buffer_size", q, C, M)
		sizes("arm_transpose_conv_s8_get_reverse_conv_buffer_size", q, C)
		sizes("arm_fully_connected_s8", q, D, M)
		sizes("arm_avgpool_s8", q, C, D, M)
		// What the kernels use is never less than what the library asks for.
		if a, b := size("arm_transpose_conv_wrapper_s8", q, C), size("arm_transpose_conv_s8_get_buffer_size", q,
			C); a < b && s.H <= s.W {
			t.Errorf("%+v: %d bytes for a transposed convolution, the library asks for %d", q, a, b)
		}
	}
	lines := strings.Split(strings.TrimSpace(req.String()), "\n")
	cmd := exec.Command(exe)
	cmd.Stdin = &req
	out := testenv.Must(cmd.Output())(t)
	got := strings.Fields(string(out))
	per := len(want) / len(lines)
	testenv.Require(t, len(got) == len(want), "%d answers for %d questions", len(got), len(want))
	for i := range lines {
		if g, w := got[i*per:i*per+per], want[i*per:i*per+per]; !slices.Equal(g, w) {
			t.Fatalf("%s:\nlibrary %s\nhere    %s", lines[i], g, w)
		}
	}
}

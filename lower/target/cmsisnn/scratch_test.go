package cmsisnn

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestScratchKnownValues(t *testing.T) {
	one := Tile{1, 1}
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"3x3 on MVE", ConvScratch(MVE, Dims{1, 32, 32, 3}, Dims{16, 3, 3, 3}, Dims{1, 32, 32, 16}, one, one, one), 128},
		{"3x3 in C", ConvScratch(PlainC, Dims{1, 32, 32, 3}, Dims{16, 3, 3, 3}, Dims{1, 32, 32, 16}, one, one, one), 112},
		{"1x1", ConvScratch(DSP, Dims{1, 5, 5, 64}, Dims{64, 1, 1, 64}, Dims{1, 5, 5, 64}, one, Tile{}, one), 0},
		{"1x1, Arm Compiler", ConvScratch(DSPArmClang, Dims{1, 5, 5, 64}, Dims{64, 1, 1, 64}, Dims{1, 5, 5, 64}, one, Tile{}, one), 256},
		{"1xN", ConvScratch(MVE, Dims{1, 1, 16, 4}, Dims{8, 1, 3, 4}, Dims{1, 1, 16, 8}, one, Tile{0, 1}, one), 16},
		{"depthwise 3x3 on MVE", DepthwiseScratch(MVE, Dims{1, 9, 9, 64}, Dims{1, 3, 3, 64}, Dims{1, 9, 9, 64}, one, one, one), 4464},
		{"depthwise 3x3 with DSP", DepthwiseScratch(DSP, Dims{1, 9, 9, 64}, Dims{1, 3, 3, 64}, Dims{1, 9, 9, 64}, one, one, one), 0},
		{"depthwise 5x5 with DSP", DepthwiseScratch(DSP, Dims{1, 9, 9, 64}, Dims{1, 5, 5, 64}, Dims{1, 9, 9, 64}, one, one, one), 3200},
		{"average with DSP", AvgPoolScratch(DSP, 64), 256},
		{"fully connected on MVE", FullyConnectedScratch(MVE, 12), 48},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.what, c.got, c.want)
		}
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
        g.n = 1; g.h = f.h; g.w = f.w; g.c = o.c; d.ch_mult = o.c / i.c;
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

// TestScratchAgainstLibrary compares the sizes with a host build of CMSIS-NN.
func TestScratchAgainstLibrary(t *testing.T) {
	inc, lib := os.Getenv("CMSIS_NN_INCLUDE"), os.Getenv("CMSIS_NN_LIB")
	if inc == "" || lib == "" {
		t.Skip("set CMSIS_NN_INCLUDE and CMSIS_NN_LIB to a host build of CMSIS-NN to compare with it")
	}
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "sizes.c"), filepath.Join(dir, "sizes")
	if err := os.WriteFile(src, []byte(libraryProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-w", "-I"+inc, "-o", exe, src, lib).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	r := rand.New(rand.NewPCG(1, 1))
	in := func(lo, hi int) int { return lo + r.IntN(hi-lo+1) }
	var req bytes.Buffer
	var want []string
	for range 20000 {
		i := Dims{in(1, 2), in(1, 12), in(1, 20), []int{1, 2, 3, 4, 8, 16, 17, 130}[r.IntN(8)]}
		if r.IntN(3) == 0 {
			i.H = 1
		}
		f := Dims{in(1, 12), in(1, 5), in(1, 5), i.C}
		if r.IntN(3) == 0 {
			f.H = 1
		}
		s, p, d := Tile{in(1, 4), in(1, 4)}, Tile{in(0, f.H-1), in(0, f.W-1)}, Tile{in(1, 2), in(1, 2)}
		o := Dims{i.N, in(1, 12), (i.W+p.W)/s.W + 1, f.N}
		if r.IntN(3) == 0 {
			o.C, f.N = i.C, i.C
		}
		fmt.Fprintln(&req, i.N, i.H, i.W, i.C, f.N, f.H, f.W, f.C, o.N, o.H, o.W, o.C, s.H, s.W, p.H, p.W, d.H, d.W)
		g := Dims{1, f.H, f.W, o.C}
		tc, rev := TransposeConvScratch(PlainC, i, f, o, s)
		tm, _ := TransposeConvScratch(MVE, i, f, o, s)
		if rev == 0 && s.W > max(f.W, s.H) { // the library's formula is too small here
			less := 4 * (s.W - max(f.W, s.H)) * o.C * max(f.H, s.H)
			tc, tm = tc-less, tm-less
		}
		want = append(want, fmt.Sprint(ConvScratch(PlainC, i, f, o, s, p, d), ConvScratch(DSP, i, f, o, s, p, d), ConvScratch(MVE, i, f, o, s, p, d),
			DepthwiseScratch(PlainC, i, g, o, s, p, d), DepthwiseScratch(DSP, i, g, o, s, p, d), DepthwiseScratch(MVE, i, g, o, s, p, d),
			tc, tm, rev, FullyConnectedScratch(DSP, f.C), FullyConnectedScratch(MVE, f.C),
			AvgPoolScratch(PlainC, i.C), AvgPoolScratch(DSP, i.C), AvgPoolScratch(MVE, i.C)))
	}
	lines := strings.Split(strings.TrimSpace(req.String()), "\n")
	cmd := exec.Command(exe)
	cmd.Stdin = &req
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d answers for %d questions", len(got), len(want))
	}
	bad := 0
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s:\nlibrary %s\nhere    %s", lines[i], got[i], want[i])
			if bad++; bad == 5 {
				t.FailNow()
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package cmsis_test

import (
	"bufio"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/qref/cmsis"
)

// gen draws calls around the edges of the library's tests.
type gen struct{ *rand.Rand }

func (g *gen) in(lo, hi int) int { return lo + g.IntN(hi-lo+1) }

// conv is a convolution, ordinary or grouped, often of height 1 or of 1x1
// windows; pads are those of ONNX or of TensorFlow's SAME and VALID.
func (g *gen) conv() cmsis.Query {
	q := cmsis.Query{HasBias: true, ChMult: 1}
	q.In = cmsis.Dims{N: g.in(1, 2), H: g.in(1, 12), W: g.in(1, 20), C: []int{1, 2, 3, 4, 5, 8, 16, 17, 130}[g.IntN(9)]}
	if g.IntN(3) == 0 {
		q.In.H = 1
	}
	q.Filter = cmsis.Dims{N: g.in(1, 12), H: g.in(1, 5), W: g.in(1, 5), C: q.In.C}
	if g.IntN(3) == 0 {
		q.Filter.H = 1
		if g.IntN(2) == 0 {
			q.Filter.W = 1
		}
	}
	if g.IntN(8) == 0 {
		q.Filter.H, q.Filter.W = 3, 3
	}
	q.Stride, q.Dilation = cmsis.Tile{H: g.in(1, 4), W: g.in(1, 4)}, cmsis.Tile{H: 1, W: 1}
	if g.IntN(2) == 0 {
		q.Stride = cmsis.Tile{H: 1, W: 1}
	}
	if g.IntN(4) == 0 {
		q.Dilation = cmsis.Tile{H: g.in(1, 2), W: g.in(1, 2)}
	}
	var oh, ow int
	q.Pad.H, oh = g.pad(q.In.H, q.Filter.H, q.Stride.H, q.Dilation.H)
	q.Pad.W, ow = g.pad(q.In.W, q.Filter.W, q.Stride.W, q.Dilation.W)
	if c := q.In.C; g.IntN(6) == 0 && c%2 == 0 {
		q.Filter.C, q.Filter.N = c/2, 2*g.in(1, 5)
	}
	if g.IntN(3) == 0 {
		q.Filter.N = q.In.C
	}
	q.Out = cmsis.Dims{N: q.In.N, H: oh, W: ow, C: q.Filter.N}
	return q
}

// pad gives the padding in front and the output size of one axis.
func (g *gen) pad(in, k, s, d int) (front, out int) {
	span := (k-1)*d + 1
	switch g.IntN(3) {
	case 0: // SAME
		out = (in + s - 1) / s
		return max(0, (out-1)*s+span-in) / 2, out
	case 1: // VALID
		return 0, max(1, (in-span)/s+1)
	}
	front = g.in(0, k-1)
	return front, max(1, (in+front+g.in(0, k-1)-span)/s+1)
}

// TestDefectsMeasured pins what was measured on the library.
func TestDefectsMeasured(t *testing.T) {
	one := cmsis.Tile{H: 1, W: 1}
	bad := func(fn string, q cmsis.Query) string {
		s := ""
		for _, d := range cmsis.Defects(fn, &q) {
			s += d.Value
		}
		return s
	}
	for _, c := range []struct {
		w, k, s, pad int
		want         string
	}{{16, 3, 2, 1, "fails"}, {13, 5, 2, 2, "wrong"}, {15, 3, 2, 1, ""}, {16, 3, 1, 1, ""}, {16, 3, 1, 0, ""}} {
		q := cmsis.Query{Build: cmsis.MVE, HasBias: true, In: cmsis.Dims{N: 1, H: 1, W: c.w, C: 4},
			Filter: cmsis.Dims{N: 4, H: 1, W: c.k, C: 4},
			Out:    cmsis.Dims{N: 1, H: 1, W: (c.w+2*c.pad-c.k)/c.s + 1, C: 4}, Stride: cmsis.Tile{H: 1, W: c.s},
			Pad: cmsis.Tile{W: c.pad}, Dilation: one}
		testenv.Equal(t, bad("arm_convolve_wrapper_s8", q), c.want, "%+v", c)
		q.Build = cmsis.DSP
		testenv.Equal(t, bad("arm_convolve_wrapper_s8", q), "", "%+v without Helium", c)
	}
	tc := cmsis.Query{Build: cmsis.DSP, HasBias: true, In: cmsis.Dims{N: 1, H: 4, W: 4, C: 4},
		Filter: cmsis.Dims{N: 4, H: 1, W: 1, C: 4}, Out: cmsis.Dims{N: 1, H: 7, W: 7, C: 4},
		Stride: cmsis.Tile{H: 2, W: 2}, Dilation: one}
	testenv.Check(t, bad("arm_transpose_conv_wrapper_s8", tc) != "",
		"a kernel smaller than its stride overruns the output, but passes")
	tc.Filter.H, tc.Filter.W, tc.Pad, tc.Out.H, tc.Out.W = 3, 3, one, 8, 8
	testenv.Equal(t, bad("arm_transpose_conv_wrapper_s8", tc), "", "an ordinary transposed convolution is refused")
	if p := cmsis.Past("arm_transpose_conv_wrapper_s8", &tc); len(p) != 1 || !strings.HasPrefix(p[0].Until,
		"4a8f5b5d") {
		t.Errorf("padding 1 with stride 2 before 2026-07-14: %v", p)
	}
}

// TestReasons: what a user reads about the route of a layer.
func TestReasons(t *testing.T) {
	one := cmsis.Tile{H: 1, W: 1}
	d := func(n, h, w, c int) cmsis.Dims { return cmsis.Dims{N: n, H: h, W: w, C: c} }
	for _, c := range []struct {
		fn, kernel, why string
		q               cmsis.Query
	}{
		{"arm_convolve_wrapper_s8", "arm_convolve_1x1_s8",
			"arm_convolve_1x1_s8 instead of arm_convolve_1x1_s8_fast: stride.w is 2, wanted 1, stride.h is 2, wanted 1",
			cmsis.Query{Build: cmsis.DSP, In: d(1, 6, 6, 4), Filter: d(4, 1, 1, 4), Out: d(1, 3, 3, 4),
				Stride: cmsis.Tile{H: 2, W: 2}, Dilation: one}},
		{"arm_convolve_wrapper_s8", "arm_convolve_s8",
			"arm_convolve_s8 instead of arm_convolve_1_x_n_s8: stride.w*in.c%4 is 3, wanted 0",
			cmsis.Query{Build: cmsis.MVE, In: d(1, 1, 20, 3), Filter: d(4, 1, 3, 3), Out: d(1, 1, 18, 4), Stride: one,
				Dilation: one}},
		{"arm_convolve_wrapper_s8", "arm_convolve_s8", "", // nothing better exists there
			cmsis.Query{Build: cmsis.DSP, In: d(1, 1, 20, 3), Filter: d(4, 1, 3, 3), Out: d(1, 1, 18, 4), Stride: one,
				Dilation: one}},
		{"arm_convolve_wrapper_s8", "arm_convolve_s8", "", cmsis.Query{Build: cmsis.MVE, In: d(1, 6, 6, 4),
			Filter: d(4, 3, 3, 4), Out: d(1, 4, 4, 4), Stride: one, Dilation: one}},
		{"arm_depthwise_conv_wrapper_s8", "arm_depthwise_conv_s8",
			"arm_depthwise_conv_s8 instead of arm_depthwise_conv_s8_opt: ch_mult is 2, wanted 1",
			cmsis.Query{Build: cmsis.MVE, ChMult: 2, In: d(1, 6, 6, 4), Filter: d(1, 3, 3, 8), Out: d(1, 4, 4, 8),
				Stride: one, Dilation: one}},
		{"arm_depthwise_conv_wrapper_s8", "arm_depthwise_conv_s8_opt",
			"arm_depthwise_conv_s8_opt instead of arm_depthwise_conv_3x3_s8: pad.w is 2, wanted <= 1",
			cmsis.Query{Build: cmsis.DSP, ChMult: 1, In: d(1, 6, 6, 4), Filter: d(1, 3, 3, 4), Out: d(1, 6, 6, 4),
				Stride: one, Pad: cmsis.Tile{H: 1, W: 2}, Dilation: one}},
		{"arm_convolve_wrapper_s4", "arm_convolve_s4",
			"arm_convolve_s4 instead of arm_convolve_even_s4: cols%2 is 1, wanted 0",
			cmsis.Query{Build: cmsis.MVE, In: d(1, 6, 6, 3), Filter: d(4, 3, 3, 3), Out: d(1, 4, 4, 4), Stride: one,
				Dilation: one}},
	} {
		got := cmsis.Ask(c.fn, &c.q)
		if got.Kernel != c.kernel || got.Reason() != c.why {
			t.Errorf("%s in builds for %s: %s because %q, want %s because %q", c.fn, c.q.Build, got.Kernel,
				got.Reason(), c.kernel, c.why)
		}
	}
}

// TestRows: every row has an identifier of its own, a kind, a build and a source.
func TestRows(t *testing.T) {
	source := regexp.MustCompile(`^((; )?(Source|Include)/[\w/]+\.[ch]:\d+-\d+)+$`)
	seen := map[string]bool{}
	for _, r := range cmsis.Rows() {
		testenv.Check(t, r.ID != "" && !seen[r.ID] && r.Kind <= cmsis.Defect && r.Builds != 0 &&
			source.MatchString(r.Source), "row %+v", r)
		seen[r.ID] = true
	}
}

// TestSources compares the citations with the sources of CMSIS-NN: files and
// lines exist, and the lines of a route name the function it leads to.
func TestSources(t *testing.T) {
	dir := testenv.Get("CMSIS_NN_SOURCE")
	if dir == "" {
		t.Skip("set CMSIS_NN_SOURCE to a checkout of CMSIS-NN at revision " + cmsis.Revision)
	}
	files := map[string][]string{}
	for _, r := range cmsis.Rows() {
		text := ""
		for _, s := range strings.Split(r.Source, "; ") {
			file, span, _ := strings.Cut(s, ":")
			if files[file] == nil {
				files[file] = lines(t, filepath.Join(dir, filepath.FromSlash(file)))
			}
			a, b, _ := strings.Cut(span, "-")
			from, err1 := strconv.Atoi(a)
			to, err2 := strconv.Atoi(b)
			if err1 != nil || err2 != nil || from < 1 || to < from || to > len(files[file]) {
				t.Errorf("%s: %s has %d lines, cited are %s", r.ID, file, len(files[file]), span)
				continue
			}
			text += strings.Join(files[file][from-1:to], "\n")
		}
		testenv.Check(t, r.Kind != cmsis.Route || r.Value == r.Function || strings.Contains(text, r.Value+"("),
			"%s: the lines cited do not call %s", r.ID, r.Value)
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	f := testenv.Must(os.Open(path))(t)
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		out = append(out, s.Text())
	}
	return out
}

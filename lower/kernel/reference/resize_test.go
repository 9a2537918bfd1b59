// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

// resizeGraph has random int8 resizes: whole factors and others, every rule of
// coordinates, one and two dimensions, zero points at both ends, with and
// without a change of quantisation.
func resizeGraph(r *rand.Rand, count int) string {
	in := func(lo, hi int) int { return lo + r.IntN(hi-lo+1) }
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	var b strings.Builder
	b.WriteString("graph \"g\" {\n")
	for i := range count {
		q := fmt.Sprintf("q(0.05:%d)", []int{-128, 127, in(-128, 127)}[r.IntN(3)])
		c, h, w := []int{1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33, 64}[r.IntN(16)], in(1, 8), in(1, 9)
		x := []int{in(1, 2), c, h, w}
		to := []int{h << r.IntN(4), w << r.IntN(3)}
		if r.IntN(2) == 0 {
			to = []int{in(1, 19), in(1, 23)}
		}
		y := []int{x[0], c, to[0], to[1]}
		axes := "[2,3]"
		if r.IntN(6) == 0 {
			x, y, to, axes = []int{x[0], c, w}, []int{x[0], c, to[1]}, to[1:], "[2]"
		}
		mode, rule := pick("linear", "linear", "linear", "nearest"), pick("half_pixel", "align_corners", "asymmetric",
			"pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize")
		out := q
		if mode == "linear" && r.IntN(3) == 0 {
			out = fmt.Sprintf("q(%g:%d)", []float64{0.03, 0.05, 0.11}[r.IntN(3)], in(-128, 127))
		}
		region := make([]string, 2*len(to))
		for k := range region {
			region[k] = []string{"-0.2", "0", "0.1"}[r.IntN(3)]
			if k >= len(to) {
				region[k] = []string{"0.8", "1", "1.3"}[r.IntN(3)]
			}
		}
		list := func(v []int) string { return strings.ReplaceAll(strings.Trim(fmt.Sprint(v), "[]"), " ", ",") }
		fmt.Fprintf(&b, "  in %%x%d : i8[%s] %s\n  const %%s%d : i64[%d] = {%s}\n", i, list(x), q, i, len(to), list(to))
		roi := "-"
		if rule == "tf_crop_and_resize" {
			roi = fmt.Sprintf("%%r%d", i)
			fmt.Fprintf(&b, "  const %s : f32[%d] = {%s}\n", roi, len(region), strings.Join(region, ","))
		}
		fmt.Fprintf(&b, "  %%y%d : i8[%s] %s = Resize(%%x%d, %s, -, %%s%d) {axes=%s, mode=%q, "+
			"coordinate_transformation_mode=%q}\n  out \"y%d\" = %%y%d\n", i, list(y), out, i, roi, i, axes, mode, rule,
			i, i)
	}
	return b.String() + "}"
}

// TestResizeBoards: bilinear and nearest resizes on the host and on cores with
// Helium, the DSP extension and neither.
func TestResizeBoards(t *testing.T) {
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	table := kernel.NewTable(reference.Kernels)
	const program = 60
	from, n := testenv.Range(t, 40)
	for at := 0; at < n; at += program {
		g := irtest.Parse(t, resizeGraph(rand.New(rand.NewPCG(7, uint64(from+at))), min(program, n-at)))
		for _, name := range testenv.Boards("cortex-m55", "cortex-m4", "cortex-m0plus") {
			m := kerneltest.Compile(t, table, "resize", g, kernel.Core{}, uint64(at))
			for _, kernel := range []string{"linear", "linear_wide", "linear_few", "linear_few_wide"} {
				if m.Funcs["nncc_resize_"+kernel+"_s8"] == 0 {
					t.Fatalf("no layers of %s: %v", kernel, m.Funcs)
				}
			}
			spec, err := boards.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			kerneltest.Bodies(t, spec, run.BuildOptions{},
				func(t *testing.T, spec *boards.Spec, opt run.BuildOptions) { m.RunBoard(t, spec, opt) })
			if name == "cortex-m55" {
				kerneltest.RunHost(t, []*kerneltest.Model{m}, "", "")
			}
		}
	}
}

package reference_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/qref"
)

// TestSpectrum: the C gives the interpreter's bits.
func TestSpectrum(t *testing.T) {
	var cases []kase
	rng := rand.New(rand.NewPCG(7, 7))
	add := func(length, lead, window, step, pad, over, bins, power int, mode, typ string) {
		samples := max(pad, over) + 1 + rng.IntN(3*length)
		frames := max(1, (samples+over-length+pad)/step+1)
		cases = append(cases, kase{name: fmt.Sprintf("%s length %d pad %d bins %d power %d", typ, length, pad, bins,
			power), tol: -1, kernel: "nncc_spectrum", src: fmt.Sprintf("in %%x : %s\nconst %%w : f32[%d] = rand 3\n"+
			"%%o = nncc.Spectrum(%%x, %%w) {length=%d, frames=%d, step=%d, lead=%d, bins=%d, pad=%d, mode=\"%s\", "+
			"power=%d}\nout \"o\" = %%o", fmt.Sprintf(typ, 1+rng.IntN(2), samples), window, length, frames, step, lead,
			bins, pad, mode, power)})
	}
	modes := []string{"constant", "reflect", "edge"}
	types := []string{"f32[%d,%d]", "i8[%d,%d] q(0.02:-7)", "i16[%d,%d] q(0.001:0)"}
	all := testenv.Long()
	for n := 2; n <= 1024; n++ {
		if !qref.FFTLength(n) || !all && n > 40 && rng.IntN(8) > 0 {
			continue
		}
		lead := rng.IntN(2) * rng.IntN(n)
		window := 1 + rng.IntN(n-lead)
		if rng.IntN(2) == 0 {
			window = n - lead
		}
		add(n, lead, window, 1+rng.IntN(n), rng.IntN(2)*rng.IntN(n), rng.IntN(n), []int{n/2 + 1, 1 + rng.IntN(n),
			n}[rng.IntN(3)], rng.IntN(2), modes[rng.IntN(3)], types[rng.IntN(3)])
	}
	runCases(t, cases)
}

// TestSparse: filter banks and scattered weights, with and without a background.
func TestSparse(t *testing.T) {
	var cases []kase
	for i, c := range []struct {
		rows, in, out, run int
		background         string
	}{{5, 40, 7, 4, "0"}, {4, 65, 9, 1, "0.25"}, {9, 33, 12, 6, "-0.5"}, {1, 128, 20, 11, "0"}, {3, 64, 6, 0, "0.125"}} {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		w := make([]string, c.in*c.out)
		for j := range w {
			w[j] = c.background
		}
		for o := range c.out {
			at := rng.IntN(c.in - c.run + 1)
			for k := range c.run {
				w[o*c.in+at+k] = fmt.Sprintf("%.4f", rng.NormFloat64())
			}
		}
		src := one([]string{fmt.Sprintf("f32[%d,%d]", c.rows, c.in)}, fmt.Sprintf("const %%w : f32[%d,%d] = {%s}\n"+
			"const %%b : f32[%d] = rand 2", c.out, c.in, strings.Join(w, ","), c.out),
			`Gemm(%x, %w, %b) {transB=1, act_min=-0.75}`)
		cases = append(cases, kase{name: fmt.Sprint("sparse ", c), tol: 3e-6, kernel: "nncc_sparse_f32", src: src})
	}
	runCases(t, cases)
}

// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/qref"
)

// spectra draws layers of all lengths up to most that keep says, as one graph.
func spectra(rng *rand.Rand, most int, keep func(n int) bool) string {
	modes := []string{"constant", "reflect", "edge"}
	types := []string{"f32[%d,%d]", "i8[%d,%d] q(0.02:-7)", "i16[%d,%d] q(0.001:0)"}
	var b strings.Builder
	for n := 2; n <= most; n++ {
		if !qref.FFTLength(n) || !keep(n) {
			continue
		}
		lead := rng.IntN(2) * rng.IntN(n)
		window := []int{n - lead, 1 + rng.IntN(n-lead)}[rng.IntN(2)]
		pad, over, step := rng.IntN(2)*rng.IntN(n), rng.IntN(n), 1+rng.IntN(n)
		samples := max(pad, over) + 1 + rng.IntN(3*n)
		frames := min(5, max(1, (samples+over-n+pad)/step+1))
		bins := []int{n/2 + 1, 1 + rng.IntN(n), n}[rng.IntN(3)]
		fmt.Fprintf(&b, "in %%x%d : %s\nconst %%w%d : f32[%d] = rand %d\n", n,
			fmt.Sprintf(types[rng.IntN(3)], 1+rng.IntN(2), samples), n, window, n)
		fmt.Fprintf(&b, "%%o%d = nncc.Spectrum(%%x%d, %%w%d) {length=%d, frames=%d, step=%d, lead=%d, bins=%d, "+
			"pad=%d, mode=%q, power=%d, fixed=%d}\nout \"o%d\" = %%o%d\n", n, n, n, n, frames, step, lead, bins, pad,
			modes[rng.IntN(3)], rng.IntN(2), rng.IntN(2), n, n)
	}
	return b.String()
}

// TestSpectrum: the C gives the interpreter's bits, on the host for lengths of every kind.
func TestSpectrum(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	host := kase{name: "all lengths", tol: -1, kernel: "nncc_spectrum",
		src: spectra(rng, 1024, func(n int) bool { return n < 40 || testenv.Long() || rng.IntN(8) == 0 })}
	runCases(t, []kase{host})
}

// casesSparse: filter banks and scattered weights, with and without a background.
func casesSparse() []kase {
	var cases []kase
	for i, c := range []struct {
		rows, in, out, run int
		background         string
	}{
		{5, 40, 7, 4, "0"}, {4, 65, 9, 1, "0.25"}, {9, 33, 12, 6, "-0.5"}, {1, 128, 20, 11, "0"},
		{3, 64, 6, 0, "0.125"},
	} {
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
	return cases
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/option"
)

// big are models of about n nodes that have grown passes quadratic: text of
// the graph and constants.
var big = []struct {
	name  string
	build func(n int) string
}{
	{"chain", func(n int) string {
		return `(float[1, 16] x) => (float y) { ` + chain("x", "y", n, `%[2]s = Sigmoid (%[1]s)`) + `}`
	}},
	{"diamonds", func(n int) string {
		return `(float[1, 16] x) => (float y) { ` +
			chain("x", "y", n/3, `%[2]s_a = Relu (%[1]s) %[2]s_b = Neg (%[1]s) %[2]s = Add (%[2]s_a, %[2]s_b)`) + `}`
	}},
	{"views", func(n int) string {
		return `(float[1, 16] x) => (float y) <int64[3] a = {1, 4, 4}, int64[2] b = {1, 16}> { ` +
			chain("x", "z", n/4,
				`%[2]s_a = Reshape (%[1]s, a) %[2]s_b = Transpose <perm = [0, 2, 1]> (%[2]s_a) %[2]s_c = Identity (%[2]s_b)
					%[2]s = Reshape (%[2]s_c, b)`) + ` y = Relu (z) }`
	}},
	{"concatenation", func(n int) string {
		var nodes, list strings.Builder
		for i := range n {
			fmt.Fprintf(&nodes, "t%d = %s (x) ", i, []string{"Relu", "Neg", "Sigmoid"}[i%3])
			fmt.Fprintf(&list, ", t%d", i)
		}
		return `(float[1, 4] x) => (float y) { ` + nodes.String() + ` y = Concat <axis = 1> (` +
			list.String()[2:] + `) }`
	}},
	{"readers", func(n int) string {
		return `(float[1, 4] x) => (float y) <float[1, 4] k = {1, 2, 3, 4}> { s = Sigmoid (x) ` +
			chain("s", "y", n/2, `%[2]s_m = Mul (s, k) %[2]s = Sub (%[1]s, %[2]s_m)`) + `}`
	}},
	{"outputs", func(n int) string {
		var nodes, list strings.Builder
		for i := range n {
			fmt.Fprintf(&nodes, "y%d = %s (x) ", i, []string{"Relu", "Neg", "Sigmoid"}[i%3])
			fmt.Fprintf(&list, ", float y%d", i)
		}
		return `(float[1, 4] x) => (` + list.String()[2:] + `) { ` + nodes.String() + ` }`
	}},
	{"long skips", func(n int) string {
		var down, up strings.Builder
		for i := range n / 2 {
			fmt.Fprintf(&down, "a%d = Tanh (a%d) ", i+1, i)
			fmt.Fprintf(&up, "b%d = Add (b%d, a%d) ", n/2-i-1, n/2-i, n/2-i)
		}
		return fmt.Sprintf(`(float[1, 4] x) => (float y) { a0 = Neg (x) %s b%d = Relu (a%d) %s y = Relu (b0) }`, &down,
			n/2, n/2, &up)
	}},
}

// scaled are the configurations that the models are compiled for.
var scaled = []struct {
	name, board string
	change      func(*driver.Config)
}{
	{"m55", "cortex-m55", func(*driver.Config) {}},
	{"m4", "cortex-m4", func(*driver.Config) {}},
	{"mla", "mla-m55", func(*driver.Config) {}},
	{"host", "host", func(*driver.Config) {}},
	{"int16x8", "cortex-m55", func(c *driver.Config) { c.Precision = option.Int16x8 }},
	{"float32", "cortex-m55", func(c *driver.Config) { c.Precision = option.Float32 }},
}

// TestScaling: what a compilation allocates, which is what it visits and
// copies, grows about as the model does. Four times the nodes take about four
// times the memory; what goes through the graph for each node takes sixteen.
// NNCC_LONG compiles 1,000 and 8,000 nodes of each for several boards and
// precisions instead, and compares the processor's time.
func TestScaling(t *testing.T) {
	if testenv.Long() {
		grow(t)
		return
	}
	const most = 5.5
	for i, c := range append(slices.Clone(big), families...) {
		t.Run(c.name, func(t *testing.T) {
			n := 120
			if i >= len(big) { // many kinds, a smaller sample of each
				n = 40
			}
			cost := func(n int) float64 {
				cfg := config(writeText(t, t.TempDir(), 17, c.build(n)), "cortex-m55")
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if _, err := cfg.Compile(); err != nil {
					t.Fatalf("%.300v", err)
				}
				runtime.ReadMemStats(&after)
				return float64(after.TotalAlloc - before.TotalAlloc)
			}
			cost(n) // tables that are made once
			small, large := cost(n), cost(4*n)
			t.Logf("%.1f and %.1f MB", small/1e6, large/1e6)
			if large > most*small {
				t.Errorf("%d nodes take %.1f MB, %d nodes %.1f MB: %.1f times as much", n, small/1e6, 4*n, large/1e6,
					large/small)
			}
		})
	}
}

// grow is the long form: eight times the nodes may take 14 times the time.
func grow(t *testing.T) {
	const n, most = 1000, 14.0
	user := func() float64 {
		var r syscall.Rusage
		require(t, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
		return float64(r.Utime.Sec) + float64(r.Utime.Usec)/1e6
	}
	for _, s := range scaled {
		for _, c := range append(slices.Clone(big), families...) {
			t.Run(s.name+"/"+c.name, func(t *testing.T) {
				cost := func(n int) float64 {
					cfg := config(writeText(t, t.TempDir(), 17, c.build(n)), s.board)
					s.change(cfg)
					runtime.GC()
					before := user()
					if _, err := cfg.Compile(); err != nil {
						t.Fatalf("does not compile: %.200v", err)
					}
					return user() - before
				}
				small, large := max(0.2, cost(n)), cost(8*n)
				t.Logf("%.2f s and %.2f s: %.1f times", small, large, large/small)
				if large > most*small {
					t.Errorf("%d nodes take %.1f s, %d nodes %.1f s: %.1f times as long", n, small, 8*n, large,
						large/small)
				}
			})
		}
	}
}

// TestTooManyNodes: beyond the limit a model is refused at once, and the
// message says how to go on.
func TestTooManyNodes(t *testing.T) {
	cfg := config(writeText(t, t.TempDir(), 17, big[0].build(20_001)), "cortex-m55")
	if _, err := cfg.Compile(); err == nil || !strings.Contains(err.Error(), "too many nodes") ||
		!strings.Contains(err.Error(), "--limit nodes=N") {
		t.Errorf("error %v, want one that names the limit and the flag", err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kerneltest"
)

// TestRecurrent sweeps LSTM and GRU over odd numbers of units, inputs and steps,
// in int8 and int16: on the host under the sanitizers and on the boards.
// NNCC_RANDOM sets the number of layers for each (default 8) and the seeds, NNCC_BOARDS the targets.
func TestRecurrent(t *testing.T) {
	everywhere(t, 8, func(b *kerneltest.Writer) {
		b.Recurrent(b.One(1, 2, 3, b.In(1, 50)), b.One(1, 1, 2), b.In(1, 130), b.In(1, 70))
	})
}

// everywhere runs layers, NNCC_RANDOM of them, on the host and on a board of every kind of core, in programs of 40.
func everywhere(t *testing.T, few int, layer func(b *kerneltest.Writer)) {
	t.Helper()
	everywhereBy(t, few, layer, kerneltest.Bodies)
}

// everywhereBy has the bodies of a board's kernels chosen by the caller.
func everywhereBy(t *testing.T, few int, layer func(b *kerneltest.Writer), bodies func(t *testing.T, spec *boards.Spec,
	opt run.BuildOptions, test func(t *testing.T, spec *boards.Spec, opt run.BuildOptions))) {
	t.Helper()
	const program = 40
	for _, name := range testenv.Boards("host", "cortex-m55", "cortex-m4", "cortex-m3", "cortex-m0plus") {
		t.Run(name, func(t *testing.T) {
			spec, err := boards.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			opt := kernel.Options{Core: coreOf(spec)}
			table, err := lower.Kernels(spec.Kernels, opt)
			if err != nil {
				t.Fatal(err)
			}
			rows := map[string]int{}
			start, count := testenv.Range(t, few)
			for from := 0; from < count; from += program {
				b := kerneltest.NewWriter(uint64(1000 + start + from))
				for range min(program, count-from) {
					layer(b)
				}
				m := kerneltest.Guard(t, b.Graph(t), table, opt, uint64(start+from))
				for k, n := range m.Rows {
					rows[k] += n
				}
				if name == "host" {
					m.RunHost(t)
				} else {
					bodies(t, spec, run.BuildOptions{},
						func(t *testing.T, spec *boards.Spec, opt run.BuildOptions) { m.RunBoard(t, spec, opt) })
				}
			}
			t.Logf("layers by row: %v", rows)
		})
	}
}

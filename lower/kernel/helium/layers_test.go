// SPDX-License-Identifier: Apache-2.0

package helium_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/helium"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

var (
	table = kernel.NewTable(helium.Kernels, cmsisnn.Kernels, reference.Kernels)
	core  = kernel.Core{DSP: true, MVE: true, FPU: true}
)

// TestPairs runs operators with broadcasting, on the host and the board.
func TestPairs(t *testing.T) { written(t, (*kerneltest.Writer).Pair) }

// TestSums runs additions with broadcasting that are not linear.
func TestSums(t *testing.T) { written(t, (*kerneltest.Writer).Sum) }

// TestPhases runs transposed convolutions.
func TestPhases(t *testing.T) { written(t, (*kerneltest.Writer).ConvTranspose) }

// TestEntire runs convolutions whose windows are whole images.
func TestEntire(t *testing.T) { written(t, (*kerneltest.Writer).Entire) }

// TestSoftmaxPairs runs softmaxes of two values.
func TestSoftmaxPairs(t *testing.T) { written(t, softmaxPairs) }

// TestLines runs lines per channel, rounded once and twice, of all elements and of some.
func TestLines(t *testing.T) {
	written(t, func(w *kerneltest.Writer) { w.Line(); w.LineApart() })
}

// TestBatches runs products of two activations, transposed and broadcast.
func TestBatches(t *testing.T) { written(t, (*kerneltest.Writer).BatchMatMul) }

// written runs layers on the host and the board, NNCC_RANDOM of them.
func written(t *testing.T, layer func(w *kerneltest.Writer)) {
	t.Helper()
	spec, err := boards.Load("cortex-m55")
	if err != nil {
		t.Fatal(err)
	}
	const program = 60
	from, count := testenv.Range(t, program)
	for n, seed := count, uint64(from+1); n > 0; n, seed = n-program, seed+1 {
		w := kerneltest.NewWriter(seed)
		for range min(n, program) {
			layer(w)
		}
		m := kerneltest.Guard(t, w.Graph(t), table, kernel.Options{Core: core}, seed)
		if n == count {
			t.Logf("layers by row: %v", m.Rows)
			m.RunHost(t)
		}
		kerneltest.Bodies(t, spec, run.BuildOptions{},
			func(t *testing.T, spec *boards.Spec, opt run.BuildOptions) { m.RunBoard(t, spec, opt) })
	}
}

type generator struct {
	row   string
	build func(b *builder)
}

// generators are all rows with what makes layers for them.
var generators = slices.Concat([]generator{
	{"nncc_helium_convolve_s8", pointwise}, {"nncc_helium_convolve_s8", conv}, {"nncc_helium_convolve_s8", grouped},
	{"nncc_helium_depthwise_3x3_stride1_s8", depthwise3x3}, {"nncc_helium_depthwise_3x3_stride2_s8", depthwise3x3},
	{"nncc_helium_depthwise_s8", depthwise}, {"nncc_helium_depthwise_s8", windowed},
	{"nncc_helium_transpose_conv_s8", transposed}, {"nncc_helium_transpose_conv_s8", transposedFew},
	{"nncc_helium_transpose_conv_phase_s8", phased},
	{"nncc_helium_matmul_1row_s8", gemm},
	{"nncc_helium_avg_pool_short_s8", pool("AveragePool", 10)}, {"nncc_helium_avg_pool_s8", pool("AveragePool", 90)},
	{"nncc_helium_max_pool_s8", pool("MaxPool", 10)},
	{"nncc_helium_add_linear_s8", add}, {"nncc_pairs_s8", pair}, {"nncc_channel_lines_s8", line},
	{"nncc_lut_s8", limit},
	{"nncc_helium_transpose_s8", reordered}, {"nncc_helium_softmax_s8", softmax},
	{"nncc_softmax_pairs_s8", func(b *builder) { b.Written(softmaxPairs) }},
	{"nncc_helium_batch_matmul_s8", batch},
	{"nncc_helium_lstm_s8", recurrent(false, false)}, {"nncc_helium_lstm_s16", recurrent(false, true)},
	{"nncc_helium_gru_s8", recurrent(true, false)}, {"nncc_helium_gru_s16", recurrent(true, true)},
	{"nncc_helium_convolve_lut_s8", mapped}, {"nncc_helium_convolve_add_s8", residual},
	{"nncc_copy_nd", scattered}, {"nncc_helium_convolve_s16", wide}, {"nncc_helium_matmul_1row_s16", wideGemm},
	{"nncc_helium_depthwise_s16", wideDepthwise}, {"nncc_helium_batch_matmul_s16", batch16},
	{"nncc_helium_transpose_conv_phase_s16", phased16},
}, wideKinds(), []generator{{"nncc_helium_batch_matmul_s8", batchRow},
	{"nncc_pair_add_s8", sum}, {"nncc_pair_add_s8", sum}, {"nncc_pair_add_s8", sum},
	{"nncc_helium_convolve_s8", strided}})

// wideKinds are those on int16 data that other families have, too.
func wideKinds() []generator {
	var list []generator
	for _, k := range kerneltest.WideKinds {
		list = append(list, generator{k.Row, func(b *builder) { b.Written(k.Build) }})
	}
	return list
}

// layers are count random layers of every generator.
func layers(count int, seed uint64) []kerneltest.Layer {
	var out []kerneltest.Layer
	for i, g := range generators {
		for k := range count {
			out = append(out, kerneltest.Layer{Name: fmt.Sprintf("l%d_%d", i, k), Seed: seed + uint64(100_000*i+k),
				Build: g.build, Row: g.row})
		}
	}
	return out
}

// sample is how many layers of a kind there are where NNCC_RANDOM does not say.
const sample = 12

// TestDrawnHaveKernels: a kernel takes every node of every drawn layer, and fused layers as one node, at every scale.
func TestDrawnHaveKernels(t *testing.T) {
	const n = 400
	for i, k := range []generator{{"nncc_helium_convolve_lut_s8", mapped}, {"nncc_helium_convolve_add_s8", residual}} {
		taken := 0
		for s := range uint64(n) {
			g := ir.New("g")
			kerneltest.Layer{Name: "l", Seed: uint64(i*n) + s, Build: k.build, Row: k.row}.Add(t, g)
			for _, x := range g.Nodes {
				c, err := table.Match(x, &kernel.Options{Core: core})
				if err != nil {
					t.Fatalf("layer %d: %v", s, err)
				}
				if c.Kernel.Name == k.row {
					taken++
				}
			}
		}
		if taken != n {
			t.Errorf("%s takes %d of %d layers", k.row, taken, n)
		}
	}
}

// rounds are programs of layers of every kind: NNCC_RANDOM says how many
// of a kind in all, else a sample.
func rounds(t *testing.T, few int, seed uint64) [][]kerneltest.Layer {
	const program = 25
	from, n := testenv.Range(t, few)
	seed += uint64(from)
	var r [][]kerneltest.Layer
	for ; n > 0; n -= program {
		r = append(r, layers(min(n, program), seed))
		seed += 10_000_000
	}
	return r
}

// TestHost runs the portable bodies under the sanitizers.
func TestHost(t *testing.T) {
	for _, ls := range rounds(t, sample, 1) {
		ms := kerneltest.Separate(t, table, ls, core)
		taken := map[string]int{}
		for i, m := range ms {
			if m.Rows[ls[i].Row] > 0 {
				taken[ls[i].Row]++
			}
		}
		for _, k := range helium.Kernels {
			if taken[k.Name] == 0 {
				t.Errorf("no layer was taken by %s", k.Name)
			}
		}
		t.Logf("layers by row: %v", taken)
		kerneltest.RunHost(t, ms, "", "")
	}
}

// TestBoard runs the vector bodies, many layers side by side in one program.
func TestBoard(t *testing.T) {
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	spec, err := boards.Load("cortex-m55")
	if err != nil {
		t.Fatal(err)
	}
	onBoard(t, sample, 9, spec, run.BuildOptions{})
}

// TestIntrinsics runs the same without assembly.
func TestIntrinsics(t *testing.T) {
	n := 2
	if testenv.Long() {
		n = 100
	}
	kerneltest.Intrinsics(t, "cortex-m55", func(t *testing.T, spec *boards.Spec, opt run.BuildOptions) {
		onBoard(t, n, 17, spec, opt)
	})
}

func onBoard(t *testing.T, n int, seed uint64, spec *boards.Spec, opt run.BuildOptions) {
	t.Helper()
	for r, ls := range rounds(t, n, seed) {
		g := ir.New("layers")
		for _, l := range ls {
			l.Add(t, g)
		}
		m := kerneltest.Compile(t, table, "layers", g, core, uint64(3+r))
		m.RunBoard(t, spec, opt)
	}
}

// TestWide runs the rows on int16 data, NNCC_RANDOM layers of each.
func TestWide(t *testing.T) {
	spec, err := boards.Load("cortex-m55")
	if err != nil {
		t.Fatal(err)
	}
	kinds := append([]kerneltest.WideKind{
		{Row: "nncc_helium_transpose_conv_phase_s16", Build: (*kerneltest.Writer).ConvTranspose16},
		{Row: "nncc_helium_batch_matmul_s16", Build: (*kerneltest.Writer).BatchMatMul16}}, kerneltest.WideKinds...)
	kerneltest.RunWide(t, table, spec, kernel.Options{Core: core}, kinds)
}

// TestWideProducts runs convolutions of few inputs on int16 data on the host and on the board, without assembly, too:
// NNCC_RANDOM of them.
func TestWideProducts(t *testing.T) {
	const program = 40
	spec, err := boards.Load("cortex-m55")
	if err != nil {
		t.Fatal(err)
	}
	from, count := testenv.Range(t, program)
	for n, seed := count, uint64(from+1); n > 0; n, seed = n-program, seed+1 {
		w := kerneltest.NewWriter(seed)
		for range min(n, program) {
			ci, k := w.In(1, 46), 1
			if ci <= 5 {
				k = w.One(1, 3)
			}
			w.Conv(kerneltest.ConvCase{Wide: true, Plain: w.Chance(30), Batch: w.One(1, 1, 1, 2), CIn: ci,
				COut: w.In(1, 30), Group: 1, Size: []int{w.In(1, 6), w.In(1, 6)}, Kernel: []int{k, k},
				Stride: []int{w.One(1, 1, 2, 3), w.One(1, 1, 2)}, Dil: []int{1, 1}})
		}
		m := kerneltest.Guard(t, w.Graph(t), table, kernel.Options{Core: core}, seed)
		m.RunHost(t)
		m.RunBoard(t, spec, run.BuildOptions{})
		kerneltest.Intrinsics(t, spec.Name, func(t *testing.T, spec *boards.Spec, opt run.BuildOptions) {
			m.RunBoard(t, spec, opt)
		})
	}
}
